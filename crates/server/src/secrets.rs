//! Small files with secrets in the data folder: created once, readable only by their owner, never shown.
//!
//! A file is created under an unpredictable name, as a new file with mode 0600 from the start. It gets its own name by
//! a link, which fails if the name is taken. So nothing that another user put there is written into or followed. If two
//! servers create the same file at the same time, both use what the first one created.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::durable::new_private;

/// The file's content. If there is no file yet, it is created with the result of `make`. The second value is whether it
/// was created.
pub(super) fn read_or_make(path: &Path, make: impl FnOnce() -> io::Result<String>) -> io::Result<(String, bool)> {
    match fs::read_to_string(path) {
        Ok(text) => {
            warn_if_shared(path);
            Ok((text, false))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = make()?;
            if make_private(path, &text)? { Ok((text, true)) } else { Ok((fs::read_to_string(path)?, false)) }
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

/// Creates a file that is there whole or not at all, and that others can never read. `false` when there is one already.
fn make_private(path: &Path, text: &str) -> io::Result<bool> {
    let temporary = path.with_extension(format!("{}.tmp", random_line(8)?.trim()));
    let written = new_private(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let made = written.and_then(|()| match fs::hard_link(&temporary, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        // A file system without links: the name that was free a moment ago is taken.
        Err(_) => fs::rename(&temporary, path).map(|()| true),
    });
    // After a rename there is none.
    let _ = fs::remove_file(&temporary);
    made
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
