//! The private native module behind the Python package `zuno`.
//!
//! It converts and owns lifetimes, nothing else: one JSON text goes in, one comes out. Everything public is written
//! in Python on top of it.

mod blocking;
mod core;
mod errors;
mod fork;
mod waker;

/// The private native module of `zuno`. Import `zuno` instead.
#[pyo3::pymodule]
mod _zuno {
    #[pymodule_export]
    use super::core::Core;
    #[pymodule_export]
    use super::errors::error_codes;

    /// Version of the native module; equal to the package's.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
