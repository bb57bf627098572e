//! The command line and the aggregator through the real binary, all in one test binary.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod cli;
mod http;
mod leaks;
mod pipeline;
mod readme;
mod server;
#[path = "../../../../tests/suite/shared.rs"]
mod shared;
mod support;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ldp-pca");
