//! The integration tests, in one binary.
#![cfg(not(target_family = "wasm"))]

mod vectors;
