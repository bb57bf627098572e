//! Makes requests last before they are acknowledged: those that wait together share one write and one sync.

use std::collections::HashSet;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};

use super::folder::{Folder, Name, append, name_of};
use super::release::Releaser;
use crate::limits::Upload;
use crate::locks::hold;

/// Requests that wait for the disk at the same time; each also has its share of memory.
const QUEUED: usize = 4096;

/// A request, and who waits: for `true` once it is on the disk, or `false` if as many wait as may. Without an answer
/// the disk refuses.
pub(super) type Arrival = (Upload, oneshot::Sender<bool>);

/// The one thread that writes.
pub(super) struct Writer {
    folder: Folder,
    arrivals: mpsc::Receiver<Arrival>,
    /// The names of all requests in the folder.
    names: Arc<Mutex<HashSet<Name>>>,
    release: Sender<u64>,
    max_waiting: u64,
    /// A sync failed: what is on the disk is uncertain until the next start.
    broken: bool,
}

impl Writer {
    /// The writer of a folder, and where requests come in. Complete batches go to the releaser.
    pub(super) fn new(mut folder: Folder, releaser: &Releaser, max_waiting: u64) -> (Self, mpsc::Sender<Arrival>) {
        let (release, names) = (releaser.inlet.clone(), Arc::clone(&releaser.names));
        hold(&names).extend(folder.waiting.drain(..));
        let (inlet, arrivals) = mpsc::channel(QUEUED);
        (Self { folder, arrivals, names, release, max_waiting, broken: false }, inlet)
    }

    /// Writes until nobody can send any more.
    pub(super) fn run(mut self) {
        self.complete_if_full();
        let mut group = Vec::new();
        while self.arrivals.blocking_recv_many(&mut group, QUEUED) > 0 {
            self.keep(group.drain(..));
            self.complete_if_full();
        }
    }

    /// Keeps a group, and answers each.
    fn keep(&mut self, group: impl Iterator<Item = Arrival>) {
        let (mut buffer, mut added, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        let mut names = hold(&self.names);
        for (upload, waits) in group {
            let name = name_of(&upload.bytes);
            // Sent again: it is there already, or will be with this group.
            let kept = names.contains(&name) || (names.len() as u64) < self.max_waiting;
            if kept && names.insert(name) {
                added.push(name);
                append(&mut buffer, &upload.bytes);
            }
            answers.push((kept, waits));
        }
        drop(names);
        match self.write(&buffer) {
            Ok(()) => {
                self.folder.open.requests += added.len() as u64;
                for (kept, waits) in answers {
                    // Whoever does not wait any more sends again, or is content.
                    let _ = waits.send(kept);
                }
            }
            Err(error) => {
                tracing::error!(%error, "requests cannot be kept, and are refused: look at the relay's disk");
                let mut names = hold(&self.names);
                for name in &added {
                    names.remove(name);
                }
            }
        }
    }

    /// Appends to the open batch, on the disk, or leaves it as it was.
    fn write(&mut self, buffer: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write may be lost: restart the relay"));
        }
        if buffer.is_empty() {
            return Ok(());
        }
        let open = &mut self.folder.open;
        let written = open.file.seek(SeekFrom::Start(open.length)).and_then(|_| open.file.write_all(buffer));
        let written = written.and_then(|()| {
            let synced = open.file.sync_data();
            self.broken = synced.is_err();
            synced
        });
        match &written {
            Ok(()) => open.length += buffer.len() as u64,
            Err(_) => self.broken |= open.file.set_len(open.length).is_err(),
        }
        written
    }

    fn complete_if_full(&mut self) {
        if self.broken || self.folder.open.requests < self.folder.batch {
            return;
        }
        match self.folder.complete_batch() {
            // The releaser ends first only when the relay stops.
            Ok(number) => drop(self.release.send(number)),
            Err(error) => {
                tracing::error!(%error, "no next batch can begin: look at the relay's disk, and restart the relay");
                self.broken = true;
            }
        }
    }
}
