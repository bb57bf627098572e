//! Bindings for browsers and other JavaScript hosts: they translate, and never compute.
//!
//! This is the *client*: a page loads it to randomize records, so every byte counts. The aggregator's side is a crate
//! of its own, `crates/lab/`. The npm package (`pkg/`) wraps both and is what applications use. Only text, bytes and
//! numbers cross the boundary: objects would cost more glue than the work behind them. Texts cross as their bytes,
//! whose glue is the smallest.
//!
//! Everything here throws a text, `code: message`, with the crate's own message and a stable code:
//!
//! | code | what was wrong |
//! |---|---|
//! | `task` | the task document: not JSON, unknown fields, another version, parameters that make no sense |
//! | `schema` | bytes that are not a record as the package writes it |
//! | `report` | bytes that are not a report of the task |
//! | `entropy` | `crypto.getRandomValues` is missing or failed; there is no fallback |
//! | `argument` | an argument of the wrong type or length |

#![allow(clippy::missing_errors_doc, reason = "the table above says what is thrown, for all of them")]
#![allow(clippy::needless_pass_by_value, reason = "bytes that may be missing come by value")]

mod client;

pub use client::{Task, version};

/// Small, rather than fast at sizes that a client never meets.
#[cfg(feature = "client")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
