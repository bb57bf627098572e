//! Small files of secrets in the data folder: made once, readable by their owner alone, never shown.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// What the file holds, or when there is none yet what `make` gives, which it holds from then on. The second value says whether it was
/// made.
pub(super) fn read_or_make(path: &Path, make: impl FnOnce() -> io::Result<String>) -> io::Result<(String, bool)> {
    match fs::read_to_string(path) {
        Ok(text) => {
            warn_if_shared(path);
            Ok((text, false))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = make()?;
            write_private(path, &text)?;
            Ok((text, true))
        }
        Err(error) => Err(error),
    }
}

/// `bytes` random bytes as hexadecimal digits and a line end.
pub(super) fn random_line(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).chain(["\n".into()]).collect())
}

/// Writes a file that is there whole or not at all, with no moment in which others could read it.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file: File = options.open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn warn_if_shared(path: &Path) {
    #[cfg(unix)]
    if let Ok(metadata) = fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
    {
        tracing::warn!(path = %path.display(), "others than its owner can read this secret: chmod 600");
    }
    #[cfg(not(unix))]
    let _ = path;
}
