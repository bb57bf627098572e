//! The example runs to its end.
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

#[path = "../examples/handler.rs"]
mod handler;

#[test]
fn reports_and_components_over_http() {
    handler::main().unwrap();
}
