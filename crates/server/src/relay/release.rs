//! Releases whole batches: shuffled, to the gateway, and then off the disk.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{Rng, RngExt as _};

use super::folder::{Folder, Name, batch_file, read, scan};
use super::upstream::Upstream;
use crate::durable::sync_folder;
use crate::locks::hold;
use crate::oblivious::SealingKey;
use ldp_pca::internal::decimal::plural;
use ldp_pca::internal::sampling::system_rng;

/// Requests that are on their way to the gateway at the same time, each on a connection that is kept.
const AT_ONCE: usize = 16;

/// The first and the longest pause before a request is sent again.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// The time between two remarks that a request is sent again.
const BETWEEN_REMARKS: Duration = Duration::from_secs(60);

/// How soon it notices that the relay stops.
const NOTICE: Duration = Duration::from_millis(50);

/// The one thread that releases.
pub(super) struct Releaser {
    folder: PathBuf,
    sealed_length: usize,
    batch: u64,
    upstream: Upstream,
    key: SealingKey,
    /// The names of requests that wait.
    pub(super) names: Arc<Mutex<HashSet<Name>>>,
    complete: Mutex<Receiver<u64>>,
    /// Where batches come in when they are complete.
    pub(super) inlet: Sender<u64>,
    pub(super) stop: Stop,
}

/// Ends a releaser between two requests.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    pub(super) fn now(&self) {
        *hold(&self.0.0) = true;
        self.0.1.notify_all();
    }

    fn is_set(&self) -> bool {
        *hold(&self.0.0)
    }

    /// Waits; whether the relay goes on.
    fn wait(&self, time: Duration) -> bool {
        let (set, changed) = &*self.0;
        let waited = changed.wait_timeout_while(hold(set), time, |set| !*set);
        let (set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*set
    }
}

impl Releaser {
    /// Begins with the batches that are complete in the folder.
    pub(super) fn new(folder: &Folder, upstream: Upstream) -> Self {
        let (inlet, complete) = channel();
        for number in &folder.complete {
            // The other end is here.
            let _ = inlet.send(*number);
        }
        Self {
            folder: folder.path.clone(),
            sealed_length: folder.sealed_length,
            batch: folder.batch,
            upstream,
            key: folder.key.clone(),
            names: Arc::default(),
            complete: Mutex::new(complete),
            inlet,
            stop: Stop::default(),
        }
    }

    /// Releases until it is stopped.
    pub(super) fn run(self) {
        if self.upstream.keys().is_ok_and(|keys| keys != self.key.list()) {
            tracing::warn!(
                "the gateway advertises another key: a relay with a new folder uses it, this one keeps its own"
            );
        }
        let (mut kept, mut tried) = (Vec::new(), Instant::now());
        while !self.stop.is_set() {
            let complete = hold(&self.complete).recv_timeout(NOTICE);
            if let Ok(number) = complete
                && let Err(error) = self.release(number)
            {
                tracing::error!(batch = number, %error, "the batch stays in the folder, and is tried again");
                kept.push(number);
            }
            if tried.elapsed() > BETWEEN_REMARKS {
                tried = Instant::now();
                for number in kept.drain(..) {
                    // The other end is here.
                    let _ = self.inlet.send(number);
                }
            }
        }
    }

    /// Sends a batch, and removes it when the gateway has answered for each request.
    fn release(&self, number: u64) -> io::Result<()> {
        let file = File::open(batch_file(&self.folder, number))?;
        let found = scan(&file, self.sealed_length)?;
        let whole = found.len() as u64;
        if whole < self.batch {
            let (found, batch) = (plural(whole, "whole request"), self.batch);
            let problem = format!("it has {found}, and fewer than {batch} are never released");
            return Err(io::Error::other(format!("the disk damaged it: {problem}")));
        }
        let places = shuffled(&found, &mut system_rng().map_err(io::Error::other)?);
        let Some(refused) = self.send_all(&file, &places)? else { return Ok(()) };
        let advertised = || SealingKey::read(&self.upstream.keys().ok()?).ok();
        // It cannot open what the relay's key seals.
        let is_other = |key: SealingKey| key.header() == self.key.header() && key != self.key;
        if refused > 0 && advertised().is_some_and(is_other) {
            return Err(io::Error::other(
                "the gateway has another key of the same id, which opens nothing that is sealed to the relay's: give \
                 it the relay's key again",
            ));
        }
        self.remove(number, &found)?;
        if refused > 0 {
            tracing::warn!(batch = number, requests = whole, refused, "released; some do not open");
        } else {
            tracing::info!(batch = number, requests = whole, "released");
        }
        Ok(())
    }

    /// Removes a batch: its requests do not wait any more.
    fn remove(&self, number: u64, found: &[(u64, Name)]) -> io::Result<()> {
        fs::remove_file(batch_file(&self.folder, number))?;
        let gone: HashSet<&Name> = found.iter().map(|(_, name)| name).collect();
        hold(&self.names).retain(|name| !gone.contains(name));
        if let Err(error) = sync_folder(&self.folder) {
            tracing::warn!(batch = number, %error, "after a power cut the batch may be back, and is sent again");
        }
        Ok(())
    }

    /// Sends the requests at these places, in this order. The number of those that do not open, or nothing when the
    /// relay stops before the end.
    fn send_all(&self, file: &File, places: &[u64]) -> io::Result<Option<usize>> {
        let file = Mutex::new(file);
        let (next, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let remarks = Mutex::new(None);
        let send = || {
            while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                let sealed = read(*hold(&file), *place, self.sealed_length)?;
                match self.send(&sealed, &remarks)? {
                    None => return Ok(false),
                    Some(true) => {}
                    Some(false) => drop(refused.fetch_add(1, Ordering::Relaxed)),
                }
            }
            Ok(true)
        };
        let ends = thread::scope(|scope| {
            let threads: Vec<_> = (0..AT_ONCE.min(places.len())).map(|_| scope.spawn(send)).collect();
            let joined = threads.into_iter().map(ScopedJoinHandle::join);
            let panicked = |_| Err(io::Error::other("a thread failed"));
            joined.map(|end| end.unwrap_or_else(panicked)).collect::<io::Result<Vec<bool>>>()
        });
        Ok(ends?.into_iter().all(|complete| complete).then(|| refused.into_inner()))
    }

    /// Sends one request until there is an answer: whether it opened. Nothing when the relay stops.
    fn send(&self, sealed: &[u8], remarks: &Mutex<Option<Instant>>) -> io::Result<Option<bool>> {
        let [mut pause, longest] = PAUSES;
        let mut random = system_rng().map_err(io::Error::other)?;
        while !self.stop.is_set() {
            let (ordered, problem) = match self.upstream.send(sealed) {
                Ok(opened) => return Ok(Some(opened)),
                Err(later) => later,
            };
            let mut last = hold(remarks);
            if last.is_none_or(|last| last.elapsed() > BETWEEN_REMARKS) {
                *last = Some(Instant::now());
                tracing::warn!("{problem}; the batch is kept, and sent again");
            }
            drop(last);
            let spread = pause.mul_f64(random.random_range(0.5..1.0));
            if !self.stop.wait(spread.max(ordered.min(longest))) {
                break;
            }
            pause = (2 * pause).min(longest);
        }
        Ok(None)
    }
}

/// The places of a batch in a uniformly random order.
fn shuffled(found: &[(u64, Name)], random: &mut impl Rng) -> Vec<u64> {
    let mut places: Vec<u64> = found.iter().map(|(place, _)| *place).collect();
    places.shuffle(random);
    places
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use chacha20::ChaCha8Rng;
    use rand::SeedableRng;

    use super::super::folder::append;
    use super::*;
    use crate::oblivious::GatewayKeys;

    /// With a batch of two requests, one of which the disk damaged.
    fn releaser(data: &Path) -> Releaser {
        let keys = data.join("keys");
        let path = data.join("relay");
        let mut folder = Folder::open(&path, 2, 256, || Ok(GatewayKeys::load(&keys)?.advertised().into())).unwrap();
        let mut bytes = Vec::new();
        [[1; 344], [2; 344]].iter().for_each(|sealed| append(&mut bytes, sealed));
        bytes[400] ^= 1;
        fs::write(batch_file(&path, 1), &bytes).unwrap();
        folder.complete_batch().unwrap();
        // Nothing listens there: it would try forever.
        Releaser::new(&folder, Upstream::new("http://127.0.0.1:1", true).unwrap())
    }

    #[test]
    fn a_batch_that_the_disk_damaged_is_not_released_below_its_size() {
        let data = tempfile::tempdir().unwrap();
        let releaser = releaser(data.path());
        let problem = releaser.release(1).unwrap_err().to_string();
        assert!(problem.contains("it has 1 whole request, and fewer than 2 are never released"), "{problem}");
        assert!(batch_file(&releaser.folder, 1).exists());
    }

    /// Only root can open the folder then, to sync it.
    #[cfg(unix)]
    #[test]
    fn the_requests_of_a_batch_that_is_removed_do_not_wait_though_that_is_not_synced() {
        use std::os::unix::fs::PermissionsExt;
        let data = tempfile::tempdir().unwrap();
        let releaser = releaser(data.path());
        let allow = |rights| fs::set_permissions(&releaser.folder, fs::Permissions::from_mode(rights)).unwrap();
        hold(&releaser.names).extend([[1; 16], [2; 16]]);
        allow(0o300);
        releaser.remove(1, &[(0, [1; 16])]).unwrap();
        allow(0o700);
        assert_eq!(*hold(&releaser.names), HashSet::from([[2; 16]]));
        assert!(!batch_file(&releaser.folder, 1).exists());
    }

    /// All orders of four equally often: chi-square with 23 degrees of freedom, at 0.001.
    #[test]
    fn every_order_is_equally_likely() {
        const DRAWS: u32 = 24_000;
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let found: Vec<(u64, Name)> = (0..4).map(|place| (place, Name::default())).collect();
        let mut counts: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        (0..DRAWS).for_each(|_| *counts.entry(shuffled(&found, &mut random)).or_default() += 1);
        let expected = f64::from(DRAWS) / 24.0;
        let statistic: f64 = counts.values().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(counts.len() == 24 && statistic < 49.73, "{statistic}: {counts:?}");
    }
}
