//! The binary: parse, run, report the error, set the exit code.

fn main() -> std::process::ExitCode {
    ldp_pca_research::run()
}
