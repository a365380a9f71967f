//! The private native module behind the Python package `zuno`.
