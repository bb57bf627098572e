//! The command line through the real binary, as a newcomer uses and misuses it.

mod compare;
#[cfg(feature = "experiments")]
mod experiment;
mod flow;
mod formats;
mod plan;
mod recover;
mod refusals;
mod secrets;
mod streams;
