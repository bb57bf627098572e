//! The command line: parse, run, report the error, set the exit code.

#[cfg(not(target_family = "wasm"))]
fn main() {}

/// A browser has no command line; an empty one lets every target of the package build for wasm.
#[cfg(target_family = "wasm")]
fn main() {}
