//! The place of the data that checkouts share, for the tests of every crate.

use std::path::{Path, PathBuf};

/// What is in the folder `shared` beside the checkout, or in the one that the environment variable `LDP_PCA_SHARED`
/// names.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let beside =
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared")).find(|it| it.is_dir());
    let path = std::env::var_os("LDP_PCA_SHARED").map(PathBuf::from).or_else(beside)?.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}
