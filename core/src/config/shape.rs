//! The form of a configuration value, as data. The table of keys is made of these; one validator reads them.

use serde_json::Value;

/// What a value has to look like.
pub(super) enum Shape {
    /// `true` or `false`.
    Bool,
    /// An integer in an inclusive range.
    Int(u64, u64),
    /// A number in an inclusive range.
    Number(f64, f64),
    /// Text of so many bytes.
    Text(usize, usize),
    /// Text that is never shown again.
    Secret,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An absolute path.
    AbsolutePath,
    /// `provider/model`.
    Route,
    /// An array with so many items.
    List(&'static Shape, usize, usize),
    /// An object with known keys.
    Object(&'static [Key]),
    /// An object whose keys are names chosen by the author.
    Named(&'static Shape),
    /// An object the library hands on without reading it.
    Free,
    /// Permission rules; read by the rule parser.
    Rules,
    /// A short spelling of an object.
    Short(&'static Shorthand),
}

/// A scalar that stands for an object.
pub(super) struct Shorthand {
    /// The form of the scalar.
    pub(super) scalar: Shape,
    /// The form of the object.
    pub(super) object: Shape,
    /// The object a scalar stands for.
    pub(super) expand: fn(&Value) -> Value,
}

/// One known key of an object.
pub(super) struct Key {
    /// Its name.
    pub(super) name: &'static str,
    /// The form of its value.
    pub(super) shape: Shape,
    /// What the project file may do with it.
    pub(super) mark: Mark,
    /// The object is not complete without it.
    pub(super) required: bool,
}

/// How a narrowing layer may change a key.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    /// Not at all.
    Closed,
    /// To this word only.
    Only(&'static str),
    /// Towards the end of this list.
    Rank(&'static [&'static str]),
    /// To `false` only.
    False,
    /// To a smaller number.
    Smaller,
    /// To a smaller number, where 0 means that there is no limit.
    SmallerLimit,
    /// By adding items.
    Adds,
    /// Permission rules: only their restrictions count.
    Rules,
    /// Agents: new ones, and restrictions of known ones.
    Agents,
}

impl Key {
    /// A key only trusted layers may set.
    pub(super) const fn new(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, mark: Mark::Closed, required: false }
    }

    /// A key the project file may narrow.
    pub(super) const fn narrowed(name: &'static str, shape: Shape, mark: Mark) -> Self {
        Self { name, shape, mark, required: false }
    }

    /// A key its object is not complete without.
    pub(super) const fn required(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, mark: Mark::Closed, required: true }
    }

    /// Whether the project file may set this key or a key below it.
    pub(super) fn narrows(&self) -> bool {
        !matches!(self.mark, Mark::Closed) || self.shape.keys().iter().any(Self::narrows)
    }
}

impl Shape {
    /// The known keys of an object; empty for every other form.
    pub(super) fn keys(&self) -> &'static [Key] {
        match self {
            Self::Object(keys) => keys,
            Self::Short(short) => short.object.keys(),
            _ => &[],
        }
    }

    /// The form of the value under a key of an object with this form.
    pub(super) fn child(&self, name: &str) -> Option<&'static Self> {
        match self {
            Self::Named(item) => Some(item),
            _ => self.keys().iter().find(|key| key.name == name).map(|key| &key.shape),
        }
    }
}
