//! The file of a provider's answers, which ensures that it answers every round once.
//!
//! The first line names the session and the provider; each further line is the message of the next round. A message is
//! on disk before it is sent. A line without an end was never sent, and is cut off. The file is locked while it is
//! used.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_dps::{Message, SessionId};

use super::{folder_of, sync_folder};
use crate::shared::locked;

/// The messages of a provider in a session.
pub(super) struct Memory {
    path: PathBuf,
    file: File,
    /// Of round 1, round 2, …
    messages: Vec<String>,
}

impl Memory {
    /// Opens the file, and creates it if it does not exist.
    pub(super) fn open(path: &Path, session: SessionId, provider: u32) -> Result<Self> {
        let mut file = locked(path, "another provider uses it: give every provider its own file")?;
        let header = format!("dps-pca 1 session {session} provider {provider}");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).in_file(path)?;
        let (messages, whole) = read(&bytes, &header).in_file(path)?;
        let mut memory = Self { path: path.to_owned(), file, messages };
        memory.file.set_len(whole as u64).and_then(|()| memory.file.seek(SeekFrom::End(0))).in_file(path)?;
        if whole == 0 {
            memory.append(&header)?;
            sync_folder(folder_of(path)).in_file(path)?;
        }
        Ok(memory)
    }

    /// How many rounds have been answered.
    pub(super) fn rounds(&self) -> u32 {
        self.messages.len() as u32
    }

    /// The message of a round that has been answered.
    pub(super) fn message(&self, round: u32) -> Option<&str> {
        self.messages.get(round.checked_sub(1)? as usize).map(String::as_str)
    }

    /// Keeps the message of the next round. It is on disk when this returns.
    pub(super) fn keep(&mut self, message: &Message) -> Result<()> {
        let line = message.to_json();
        self.append(&line)?;
        self.messages.push(line);
        Ok(())
    }

    fn append(&mut self, line: &str) -> Result<()> {
        let written = self.file.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(|error| CliError::file(&self.path, format!("{error}; nothing was sent")))
    }
}

/// The messages of a file that begins with the line `header`, and how many of its bytes are whole lines.
pub(crate) fn read(bytes: &[u8], header: &str) -> core::result::Result<(Vec<String>, usize), String> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    // Only a file that starts as one of these may lose its end.
    if whole == 0 && !header.as_bytes().starts_with(&bytes[..bytes.len().min(header.len())]) {
        return Err("it is not a file of a provider's answers: give another one".into());
    }
    let text = str::from_utf8(&bytes[..whole]).map_err(|error| error.to_string())?;
    let mut lines = text.lines();
    if lines.next().is_some_and(|found| found != header) {
        return Err("it holds the answers of another session or provider: give another file, and keep this one".into());
    }
    let mut messages = Vec::new();
    for (line, round) in lines.zip(1..) {
        // A message that is sent again must be the same.
        if Message::from_json(line).map(|message| message.round) != Ok(round) {
            return Err(format!(
                "line {} is not an answer to round {round}: the file was changed, and answering again would cost the \
                    privacy \
                 twice; bring back the file as it was, or take part in another session",
                round + 1
            ));
        }
        messages.push(line.to_owned());
    }
    Ok((messages, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "dps-pca 1 session 00ff provider 3";

    #[test]
    fn whole_lines_are_read_and_a_torn_one_is_left_out() {
        let file = format!("{HEADER}\n{{\"round\":1,\"cells\":[4,-5]}}\n{{\"round\":2,\"cells\":[6");
        let whole = file.rfind('\n').unwrap() + 1;
        let first = "{\"round\":1,\"cells\":[4,-5]}".to_owned();
        assert_eq!(read(file.as_bytes(), HEADER), Ok((vec![first], whole)));
        for start in [0, 5, HEADER.len()] {
            assert_eq!(read(&HEADER.as_bytes()[..start], HEADER), Ok((vec![], 0)));
        }
    }

    #[test]
    fn another_file_and_one_that_was_changed_are_refused() {
        let refused = |text: &str| read(text.as_bytes(), HEADER).unwrap_err();
        assert!(refused("a letter").contains("not a file of a provider's answers"));
        assert!(refused("dps-pca 1 session 00ff provider 2\n").contains("another session or provider"));
        let line = |round: u32| format!("{{\"round\":{round},\"cells\":[]}}\n");
        for lines in [line(2), format!("{}{}", line(1), line(3)), format!("{}\n", line(1)), "{\"round\":1}\n".into()] {
            let refused = refused(&format!("{HEADER}\n{lines}"));
            assert!(refused.contains("is not an answer to round") && refused.contains("bring back"), "{refused}");
        }
    }
}
