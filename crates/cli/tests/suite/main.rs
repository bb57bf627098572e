//! The command line and the aggregator through the real binary, all in one test binary.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod cli;
mod pipeline;
mod readme;
mod server;
#[path = "../../../../tests/suite/shared.rs"]
mod shared;
mod support;
