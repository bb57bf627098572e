//! Integration tests, all in one binary.
#![cfg(not(target_family = "wasm"))]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod accounting;
mod audit;
mod centring;
mod examples;
mod facade;
mod properties;
mod reference;
mod shared;
mod shuffle;
mod statistical_confidence;
mod statistical_law;
mod statistical_prediction;
mod support;
mod vectors;
