//! Reading shell text as a syntax tree.
