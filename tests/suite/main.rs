#![cfg(not(target_family = "wasm"))]
//! Integration tests, all in one binary.

mod recovery;
mod reference;
