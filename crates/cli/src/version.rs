//! What `--version --verbose` prints: of what the command was built, and how. The build (`build.rs`) gives it.

use std::io::{Write as _, stdout};

use super::error::Result;

/// The commit that the program was built from; "unknown" without a repository.
pub const COMMIT: &str = env!("LDP_PCA_COMMIT");
const FEATURES: &str = if env!("LDP_PCA_FEATURES").is_empty() { "none" } else { env!("LDP_PCA_FEATURES") };

/// Prints the version, and the rest too if it is to be `verbose`.
pub(super) fn print(verbose: bool) -> Result<()> {
    let mut out = stdout();
    writeln!(out, "ldp-pca {}", env!("CARGO_PKG_VERSION"))?;
    if verbose {
        let (target, profile) = (env!("LDP_PCA_TARGET"), env!("LDP_PCA_PROFILE"));
        writeln!(out, "commit    {COMMIT}\nfeatures  {FEATURES}\ntarget    {target}\nprofile   {profile}")?;
    }
    Ok(())
}
