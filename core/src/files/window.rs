//! The bounded window of one `read`: numbered lines, or entries of a directory.

/// Bytes of the whole rendered text.
pub const WINDOW_BYTES: usize = 51_200;
/// Lines of the whole rendered text.
pub const WINDOW_LINES: usize = 2_000;
/// Characters of one shown line.
pub const LINE_CHARACTERS: u64 = 2_000;

/// Room for what stands behind the lines: the end mark, the closing tag, and the notes below it.
const FOOT_BYTES: usize = 512;
const FOOT_LINES: usize = 4;

/// Which lines to show, and in how much room.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    first: u64,
    limit: u64,
    bytes: usize,
    lines: usize,
}

impl Bounds {
    /// Bounds behind a head of the envelope that has been rendered already.
    pub fn new(offset: u64, limit: u64, head: &str) -> Self {
        let head_lines = head.bytes().filter(|byte| *byte == b'\n').count();
        Self {
            first: offset.max(1),
            limit,
            bytes: WINDOW_BYTES.saturating_sub(head.len() + FOOT_BYTES),
            lines: WINDOW_LINES.saturating_sub(head_lines + FOOT_LINES),
        }
    }

    /// Takes room for one more row. The first one always fits, so that every row can be reached.
    fn take(&mut self, shown: usize, row: &str) -> bool {
        let lines = 1 + row.bytes().filter(|byte| *byte == b'\n').count();
        let fits = shown == 0 || (row.len() < self.bytes && lines <= self.lines);
        if shown as u64 >= self.limit || !fits {
            return false;
        }
        self.bytes = self.bytes.saturating_sub(row.len() + 1);
        self.lines = self.lines.saturating_sub(lines);
        true
    }
}

/// What was shown of how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The shown lines or entries, without numbers.
    pub rows: Vec<String>,
    /// The first of them, 1-based.
    pub first: u64,
    /// How many there are in all.
    pub total: u64,
    /// The first shown line that was cut: its number, how many of its bytes are shown, how many it has.
    pub cut: Option<(u64, u64, u64)>,
}

impl Window {
    /// The last shown row; one less than the first when nothing is shown.
    pub fn last(&self) -> u64 {
        (self.first + self.rows.len() as u64).saturating_sub(1)
    }

    /// More exists behind the window.
    pub fn truncated(&self) -> bool {
        self.last() < self.total
    }

    /// The offset lies behind the last row. The first row of nothing is fine.
    pub fn is_past_end(&self) -> bool {
        self.first > self.total.max(1)
    }

    /// The first twenty shown rows.
    pub fn preview(&self) -> String {
        self.rows.get(..20).unwrap_or(&self.rows).join("\n")
    }

    /// The line that says where the window ends.
    pub fn end(&self, whole: &str, unit: &str) -> String {
        let Self { first, total, .. } = self;
        let last = self.last();
        if self.truncated() {
            format!("({unit} {first}-{last} of {total}; continue with offset {})", last + 1)
        } else {
            format!("({whole}{total} {unit})")
        }
    }
}

/// Picks the lines of a text that arrives in pieces. Holds the window and one shown line, never more.
#[derive(Debug)]
pub struct LineWindow {
    bounds: Bounds,
    window: Window,
    full: bool,
    line: Line,
    started: bool,
}

/// The line being read.
#[derive(Debug, Default)]
struct Line {
    shown: String,
    characters: u64,
    bytes: u64,
    ends_in_return: bool,
}

impl Line {
    fn push(&mut self, piece: &str) {
        let mut characters = 0;
        for character in piece.chars() {
            if self.characters + characters < LINE_CHARACTERS {
                self.shown.push(character);
            }
            characters += 1;
        }
        self.characters += characters;
        self.bytes += piece.len() as u64;
        self.ends_in_return = piece.ends_with('\r');
    }

    fn drop_return(&mut self) {
        if self.ends_in_return {
            if self.characters <= LINE_CHARACTERS {
                self.shown.pop();
            }
            self.characters -= 1;
            self.bytes -= 1;
        }
    }
}

impl LineWindow {
    /// An empty window.
    pub fn new(bounds: Bounds) -> Self {
        let window = Window { first: bounds.first, ..Window::default() };
        Self { bounds, window, full: false, line: Line::default(), started: false }
    }

    /// The next piece of the text.
    pub fn push(&mut self, piece: &str) {
        let mut piece = piece;
        if !self.started && !piece.is_empty() {
            self.started = true;
            piece = piece.strip_prefix(super::snapshot::BYTE_ORDER_MARK).unwrap_or(piece);
        }
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(rest) => {
                    self.extend(rest);
                    self.end_line();
                }
                None => self.extend(part),
            }
        }
    }

    /// The window, once the text has ended.
    pub fn finish(mut self) -> Window {
        if self.line.bytes > 0 {
            self.line.ends_in_return = false;
            self.end_line();
        }
        self.window
    }

    fn wanted(&self) -> bool {
        !self.full && self.window.total + 1 >= self.window.first
    }

    fn extend(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        if self.wanted() {
            self.line.push(part);
        } else {
            self.line.bytes += part.len() as u64;
        }
    }

    fn end_line(&mut self) {
        let wanted = self.wanted();
        self.window.total += 1;
        let mut line = std::mem::take(&mut self.line);
        if !wanted {
            return;
        }
        line.drop_return();
        let number = self.window.total;
        let cut = line.characters > LINE_CHARACTERS;
        let shown_bytes = line.shown.len() as u64;
        if cut {
            line.shown.push_str(&format!(" [line has {} characters]", line.characters));
        }
        if self.bounds.take(self.window.rows.len(), &numbered(number, &line.shown)) {
            self.window.rows.push(line.shown);
            if cut && self.window.cut.is_none() {
                self.window.cut = Some((number, shown_bytes, line.bytes));
            }
        } else {
            self.full = true;
        }
    }
}

/// A line as it is shown.
pub fn numbered(number: u64, line: &str) -> String {
    format!("{number}: {line}")
}

/// Picks the entries of a list.
pub fn entries(mut bounds: Bounds, all: impl ExactSizeIterator<Item = String>) -> Window {
    let mut window = Window { first: bounds.first, total: all.len() as u64, ..Window::default() };
    let skipped = usize::try_from(window.first - 1).unwrap_or(usize::MAX);
    for entry in all.skip(skipped) {
        if !bounds.take(window.rows.len(), &entry) {
            break;
        }
        window.rows.push(entry);
    }
    window
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(text: &str, offset: u64, limit: u64) -> Window {
        let mut lines = LineWindow::new(Bounds::new(offset, limit, ""));
        lines.push(text);
        lines.finish()
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_are_not_shown() {
        for (text, rows, total) in [
            ("", vec![], 0),
            ("\u{feff}", vec![], 0),
            ("\n", vec![""], 1),
            ("\u{feff}a\r\nb\r\n", vec!["a", "b"], 2),
            ("a\nb", vec!["a", "b"], 2),
            ("a\rb\r", vec!["a\rb\r"], 1),
            ("a\r\r\n", vec!["a\r"], 1),
            ("\u{feff}\u{feff}a", vec!["\u{feff}a"], 1),
        ] {
            let found = window(text, 1, 2_000);
            assert_eq!((found.rows, found.total), (rows.into_iter().map(str::to_owned).collect(), total), "{text:?}");
        }
    }

    // case: 32
    #[test]
    fn a_long_line_names_its_length() {
        let found = window(&format!("{}\r\nshort\n", "é".repeat(10_000)), 1, 5);
        assert_eq!(found.rows[0], format!("{} [line has 10000 characters]", "é".repeat(2_000)));
        assert_eq!(found.cut, Some((1, 4_000, 20_000)));
        assert_eq!(found.rows[1], "short");
        let exact = window(&format!("{}\r\n", "x".repeat(2_000)), 1, 5);
        assert_eq!((exact.rows[0].len(), exact.cut), (2_000, None));
    }

    #[test]
    fn offsets_limits_and_ends() {
        let text = "l\n".repeat(10);
        let found = window(&text, 4, 3);
        assert_eq!((found.first, found.last(), found.truncated()), (4, 6, true));
        assert_eq!(found.end("end of file, ", "lines"), "(lines 4-6 of 10; continue with offset 7)");
        assert_eq!(window(&text, 8, 3).end("end of file, ", "lines"), "(end of file, 10 lines)");
        assert!(window(&text, 11, 3).is_past_end());
        assert!(!window("", 1, 3).is_past_end());
        assert!(window("", 2, 3).is_past_end());
    }

    // spec: BG-20
    #[test]
    fn both_bounds_hold() {
        assert!(window(&"x\n".repeat(3_000), 1, 2_000).rows.len() < 2_000);
        let wide = window(&format!("{}\n", "y".repeat(900)).repeat(100), 1, 2_000);
        assert!(wide.rows.iter().map(|row| row.len() + 5).sum::<usize>() < WINDOW_BYTES);
        assert!(wide.truncated());
        let names = (0..9_000).map(|n| format!("name\n{n}")).collect::<Vec<_>>();
        assert!(entries(Bounds::new(1, 2_000, ""), names.into_iter()).rows.len() <= 1_000);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[ab\r\n\u{feff}é]{0,60}", at in 0_usize..60, offset in 1_u64..5) {
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let mut parts = LineWindow::new(Bounds::new(offset, 3, ""));
            parts.push(&text[..at]);
            parts.push(&text[at..]);
            prop_assert_eq!(parts.finish(), window(&text, offset, 3));
        }

        #[test]
        fn following_the_offsets_shows_every_line(count in 0_u64..300, limit in 1_u64..40) {
            let text: String = (1..=count).map(|n| format!("line {n}\n")).collect();
            let (mut seen, mut offset) = (Vec::new(), 1);
            loop {
                let found = window(&text, offset, limit);
                seen.extend(found.rows.clone());
                if !found.truncated() { break }
                offset = found.last() + 1;
            }
            prop_assert_eq!(seen, (1..=count).map(|n| format!("line {n}")).collect::<Vec<_>>());
        }
    }
}
