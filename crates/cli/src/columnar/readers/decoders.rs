//! What keeps hostile files from ending the program: the decoders' panics become errors, and claims of gigabytes are
//! refused before memory is taken for them.

use core::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use crate::error::CliError;

/// The most bytes that one page of Parquet, one batch of Arrow or one file from a pipe may have: 1 GiB.
pub(super) const LARGEST: u64 = 1 << 30;

/// The problem of a file that another one was appended to: the places in its end are those in its last part.
pub(super) const JOINED: &str = "it is several files, one after the other: give each of them by itself";

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// What a decoder gives, or nothing where it fails.
///
/// Both crates return most errors, but they slice buffers by lengths from the file, and panic where these do not fit
/// (`Buffer::slice_with_length`), and where decoded columns do not go together. So a panic means a damaged file, as an
/// error does. Neither's message is shown: it can quote what the file holds.
pub(super) fn decoded<T, E>(decode: impl FnOnce() -> Result<T, E>) -> Option<T> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !DECODING.get() {
                usual(panic);
            }
        }));
    });
    DECODING.set(true);
    // What was being decoded is not used again.
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.ok()?.ok()
}

/// The error of a row that no decoder reads.
pub(super) fn damaged(path: &Path, row: u64) -> CliError {
    let problem = "the file is damaged or cut here, or its columns are written in a way that is not supported";
    CliError::at(path, "row", row, problem)
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn errors_and_panics_are_nothing() {
        assert_eq!(decoded(|| Ok::<_, ()>(1)), Some(1));
        assert_eq!(decoded(|| Err::<(), _>(())), None);
        assert_eq!(decoded(|| -> Result<(), ()> { panic!("a decoder's") }), None);
    }
}
