//! The command line: parse, run, report the error, set the exit code.

fn main() {}
