//! The command line through the real binary, as a newcomer uses and misuses it.

mod formats;
mod streams;
