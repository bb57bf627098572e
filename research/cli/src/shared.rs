//! What several commands have: times in text, and files under a lock.

use std::fs::{File, TryLockError};
use std::path::Path;

use ldp_pca_cli::error::{CliError, InFile as _, Result};

/// A time, as precise as readers need it.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => "< 1 ms".to_owned(),
        _ if seconds < 0.9995 => format!("{:.0} ms", 1e3 * seconds),
        _ if seconds < 99.5 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// Opens a file under an exclusive lock, and creates it if it does not exist. `busy` is the message if it is locked.
pub(crate) fn locked(path: &Path, busy: &str) -> Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path).in_file(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(CliError::file(path, busy)),
        Err(TryLockError::Error(error)) => Err(CliError::file(path, error)),
    }
}
