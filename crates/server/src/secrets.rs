//! Small files with secrets in the data folder: created once, readable only by their owner, never shown.
//!
//! A file is created under an unpredictable name, as a new file with mode 0600 from the start. It gets its own name by
//! a link, which fails if the name is taken. So nothing that another user put there is written into or followed. If two
//! servers create the same file at the same time, both use what the first one created.
//!
//! A secret that a server makes is one word, so that it can be a token:
//!
//! ```text
//! ldp-pca.<64 hexadecimal digits>.<CRC-32 of these digits as text, 8 hexadecimal digits>.crc32
//! ```
//!
//! A word that begins or ends so must be whole. So a flipped bit or a cut is noticed, wherever it is, and people may
//! add lines of their own without a checksum.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::config::{GATEWAY_KEYS, ISSUING_KEY, TokenConfig};
use super::durable::{folder_of, new_private, owner_and_rights, sync_folder};
use super::error::ServerError;

/// The start and the end of a secret that a server made. A flipped bit spares one of them, and a cut the start.
const MARKS: [&str; 2] = ["ldp-pca.", ".crc32"];

/// The fewest characters of a secret: it must not be guessable.
pub(super) const FEWEST_CHARACTERS: usize = 32;

/// A kind of file with secrets.
#[derive(Clone, Copy)]
pub(super) enum SecretFile {
    IssuingKey,
    GatewayKeys,
    Tokens,
}

impl SecretFile {
    /// The content of a file in which every secret that a server made is whole.
    pub(super) fn read(self, path: &Path) -> Result<String, ServerError> {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        // As some editors write it.
        let text = String::from_utf8_lossy(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes));
        let is_foreign = |letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER;
        let is_damaged = |word: &str| word.contains(is_foreign) || secret_in(word).is_none();
        let damaged = text.lines().position(|line| line.split_whitespace().any(is_damaged));
        match damaged {
            Some(line) => Err(self.damaged(path, &format!("line {} is not as it was made", line + 1))),
            None => Ok(text.into_owned()),
        }
    }

    /// The error of a damaged file, with the remedy.
    pub(super) fn damaged(self, path: &Path, problem: &str) -> ServerError {
        let loss = match self {
            Self::IssuingKey => "ids that were issued are refused",
            Self::GatewayKeys => "reports that were sealed to its keys cannot be opened",
            Self::Tokens => "its tokens are refused",
        };
        let remedy = format!("restore the file from a backup, or remove it, and {loss}");
        ServerError::Unusable(format!("{}: {problem}: {remedy}", path.display()))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ServerError {
    let remedy = "it must be this user's to read, and its folder to write";
    ServerError::Unusable(format!("{}: {error}; {remedy}", path.display()))
}

/// The problems of the secrets that a server made in its folder: one sentence for each file.
pub(super) fn problems(folder: &Path) -> Vec<String> {
    let files = [
        (SecretFile::IssuingKey, folder.join(ISSUING_KEY)),
        (SecretFile::GatewayKeys, folder.join(GATEWAY_KEYS)),
        (SecretFile::Tokens, TokenConfig::made_file(folder, "admin")),
        (SecretFile::Tokens, TokenConfig::made_file(folder, "collector")),
    ];
    let problem = |(file, path): &(SecretFile, PathBuf)| match file.read(path) {
        Ok(text) if text.split_whitespace().any(|word| word.len() >= FEWEST_CHARACTERS) => None,
        Ok(_) => Some(file.damaged(path, "it has no secret")),
        Err(error) => Some(error),
    };
    let found = files.iter().filter(|(_, path)| !is_missing(path)).filter_map(problem);
    found.map(|error| error.to_string()).collect()
}

/// Whether there is no such file, as far as this user can see.
pub(super) fn is_missing(path: &Path) -> bool {
    matches!(fs::exists(path), Ok(false))
}

/// Makes the file with a new secret if it is missing. Returns whether it did.
pub(super) fn make_if_missing(path: &Path) -> Result<bool, ServerError> {
    if is_missing(path) {
        return make_private(path).map_err(|error| unreadable(path, &error));
    }
    if fs::metadata(path).is_ok_and(|found| owner_and_rights(&found).1 != 0) {
        tracing::warn!(path = %path.display(), "others than its owner can read this secret: chmod 600");
    }
    Ok(false)
}

/// The secret of a word: its digits where a server made it, otherwise all of it. `None` if it is damaged.
pub(super) fn secret_in(word: &str) -> Option<&str> {
    let [start, end] = MARKS;
    if !word.starts_with(start) && !word.ends_with(end) {
        return Some(word);
    }
    let (digits, checksum) = word.strip_prefix(start)?.strip_suffix(end)?.split_once('.')?;
    (checksum == checksum_of(digits)).then_some(digits)
}

fn new_secret() -> io::Result<String> {
    let ([start, end], digits) = (MARKS, random_digits(32)?);
    Ok(format!("{start}{digits}.{}{end}", checksum_of(&digits)))
}

fn checksum_of(digits: &str) -> String {
    format!("{:08x}", crc32fast::hash(digits.as_bytes()))
}

/// Random bytes as hexadecimal digits.
fn random_digits(bytes: usize) -> io::Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Creates a file with a new secret, which is there whole or not at all, and which others can never read. `false` when
/// there is one already.
fn make_private(path: &Path) -> io::Result<bool> {
    let folder = folder_of(path);
    let temporary = path.with_extension(format!("{}.tmp", random_digits(8)?));
    let written = new_private(&temporary).and_then(|mut file| {
        writeln!(file, "{}", new_secret()?)?;
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
    let made = made?;
    sync_folder(folder)?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_and_no_cut_of_a_secret_is_silent() {
        for name in [ISSUING_KEY, GATEWAY_KEYS, "admin.token", "collector.token"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            assert!(make_if_missing(&path).unwrap() && !make_if_missing(&path).unwrap());
            let good = fs::read(&path).unwrap();
            let word = String::from_utf8(good.clone()).unwrap().trim().to_owned();
            let flips = (0..8 * good.len()).map(|bit| {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                bad
            });
            let cuts = (0..=good.len()).map(|length| good[..length].to_vec());
            for bad in flips.chain(cuts) {
                fs::write(&path, &bad).unwrap();
                let found = problems(folder.path());
                // White space around the secret is nothing.
                let is_damaged = String::from_utf8_lossy(&bad).trim() != word;
                assert_eq!(found.len(), usize::from(is_damaged), "{name}: {bad:?}");
                assert!(found.iter().all(|problem| problem.contains(name) && problem.contains("from a backup")));
                assert!(found.iter().all(|problem| !problem.contains(&word[8..16])), "a secret is shown");
            }
            fs::write(&path, vec![0u8; good.len()]).unwrap();
            assert_eq!(problems(folder.path()).len(), 1, "{name} of zeros");
        }
    }

    #[test]
    fn people_add_lines_without_a_checksum_and_name_those_that_have_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.token");
        assert_eq!(problems(folder.path()), [""; 0], "nothing is missing");
        let word = new_secret().unwrap();
        fs::write(&path, format!("alice {word}\n\nbob {}\n", "5a".repeat(32))).unwrap();
        assert_eq!(problems(folder.path()), [""; 0]);
        fs::write(&path, format!("{}\nalice {}\n", "5a".repeat(32), word.replacen('.', ". ", 1))).unwrap();
        assert!(problems(folder.path())[0].contains("line 2 is not as it was made"));
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_is_its_folder_s_owner_s_alone() {
        use std::os::unix::fs::{MetadataExt, chown};

        let folder = tempfile::tempdir().unwrap();
        // Root can. Otherwise both are this user's.
        let _ = chown(folder.path(), Some(12_345), Some(12_345));
        let owner = fs::metadata(folder.path()).unwrap();
        let path = folder.path().join(ISSUING_KEY);
        make_if_missing(&path).unwrap();
        let made = fs::metadata(&path).unwrap();
        assert_eq!((made.uid(), made.gid(), made.mode() & 0o777), (owner.uid(), owner.gid(), 0o600));
    }
}
