//! What `--version --verbose` says of a build, the same for the same source: no time, no machine.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let prefix = |name: String| name.strip_prefix("CARGO_FEATURE_").map(|name| name.to_lowercase().replace('_', "-"));
    let mut features: Vec<String> = env::vars_os().filter_map(|(name, _)| prefix(name.into_string().ok()?)).collect();
    features.retain(|name| name != "default");
    features.sort();
    set("FEATURES", &features.join(" "));
    set("TARGET", &env::var("TARGET").unwrap_or_default());
    set("PROFILE", &env::var("PROFILE").unwrap_or_default());
    set("COMMIT", &commit().unwrap_or_else(|| "unknown".into()));
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=LDP_PCA_{name}={value}");
}

/// The commit of the repository that this crate is in, or of the package that was published from it.
fn commit() -> Option<String> {
    let from =
        |text: &str| text.trim().get(..40).filter(|hash| hash.bytes().all(|b| b.is_ascii_hexdigit())).map(String::from);
    // A build without the repository, as in a container, may be given it.
    println!("cargo::rerun-if-env-changed=LDP_PCA_COMMIT");
    if let Ok(given) = env::var("LDP_PCA_COMMIT") {
        return from(&given);
    }
    if let Ok(published) = fs::read_to_string(".cargo_vcs_info.json") {
        return from(published.split_once("\"sha1\": \"")?.1);
    }
    // The workspace's own repository, not one that a vendored copy happens to be in.
    if !Path::new("../../.git").exists() {
        return None;
    }
    // A commit changes the branch's file, another branch changes HEAD, and `git gc` moves both.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", "packed-refs", branch.trim()] {
        let file = git(&["rev-parse", "--git-path", name]).unwrap_or_default();
        if Path::new(file.trim()).is_file() {
            println!("cargo::rerun-if-changed={}", file.trim());
        }
    }
    from(&git(&["rev-parse", "HEAD"])?)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
