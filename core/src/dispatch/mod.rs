//! The one pipeline every call walks.
