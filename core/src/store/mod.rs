//! SQLite.
/// The store.
#[derive(Clone)]
pub struct Store;
/// One transaction.
pub struct Tx<'a>(std::marker::PhantomData<&'a ()>);
