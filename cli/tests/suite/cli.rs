//! The command line through the real binary, as a newcomer uses and misuses it.

mod account;
mod compare;
mod experiment;
mod flow;
mod formats;
mod plan;
mod recover;
mod refusals;
mod secrets;
mod streams;
