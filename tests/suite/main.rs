#![cfg(not(target_family = "wasm"))]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
//! Integration tests, all in one binary.

mod cli;
mod pipeline;
mod properties;
mod recovery;
mod reference;
mod statistical;
mod support;
