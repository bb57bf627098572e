//! The command line: parse, run, report the error, set the exit code.

#[cfg(not(target_family = "wasm"))]
mod cli;

#[cfg(not(target_family = "wasm"))]
fn main() -> std::process::ExitCode {
    cli::run()
}

/// A browser has no command line; an empty one lets every target of the package build for wasm.
#[cfg(target_family = "wasm")]
fn main() {}
