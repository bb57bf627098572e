#![cfg(not(target_family = "wasm"))]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]
//! Integration tests, all in one binary.

mod accounting;
mod readme;
mod recovery;
mod reference;
#[cfg(feature = "server")]
mod server;
