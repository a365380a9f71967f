//! Byte windows over output that is kept elsewhere.
