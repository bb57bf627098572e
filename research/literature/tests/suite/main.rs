//! Integration tests, all in one binary.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod baselines;
mod experiment_data;
mod experiments;
#[path = "../../../../tests/suite/shared.rs"]
mod shared;
