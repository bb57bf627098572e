//! The relay of the demo, and simulated users who send through it.

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use chacha20::ChaCha12Rng;
use ldp_pca::task::Task;
use ldp_pca_server::{Relay, RelayConfig, ServerError};
use ldp_pca_simulation::LeisureSurvey;
use rand::SeedableRng;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::aggregator::Aggregator;
use crate::error::{CliError, InFile as _, Result};
use crate::output::{note, print_line};
use crate::randomize::{BatchRandomizer, Ids};
use crate::submit::sealing_key;

/// The reports of a batch: so few that a visitor's counts within seconds. They hide nobody.
const BATCH: u64 = 10;

/// The time between two simulated users.
const BETWEEN: Duration = Duration::from_millis(400);

/// The relay, which runs.
pub(super) struct Relaying {
    url: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServerError>>,
    _folder: TempDir,
}

impl Relaying {
    /// Starts it at this port, before the aggregator at `gateway`, which serves.
    pub(super) fn start(runtime: &Runtime, port: TcpListener, gateway: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ldp-pca-relay-").tempdir().in_file(&std::env::temp_dir())?;
        let config = RelayConfig { local: true, ..RelayConfig::new(folder.path(), gateway, BATCH) };
        let relay = runtime.block_on(Relay::bind(config, Some(port))).map_err(CliError::failed)?;
        let url = format!("http://{}", relay.local_addr());
        let (stop, stopping) = oneshot::channel::<()>();
        // A dropped sender means the same as a message.
        let serving = runtime.spawn(relay.serve(async { stopping.await.unwrap_or(()) }));
        print_line(format_args!(
            "relay       {url}, batches of {BATCH}: a demo on one machine with so few hides nobody"
        ))?;
        Ok(Self { url, stop, serving, _folder: folder })
    }

    /// Starts users who send through it, one after the other, until what is returned is dropped.
    pub(super) fn start_users(&self, task: &Task) -> Result<Sender<()>> {
        let (url, task, (end, ended)) = (self.url.clone(), task.clone(), channel());
        thread::Builder::new()
            .name("demo-users".into())
            .spawn(move || {
                if let Err(error) = send_users(&url, &task, &ended) {
                    note(format_args!("no more simulated users: {error}"));
                }
            })
            .map_err(CliError::failed)?;
        Ok(end)
    }

    /// What waits then is lost.
    pub(super) fn stop(self, runtime: &Runtime) -> Result<()> {
        // The relay may have stopped by itself; then nobody receives the message.
        let _ = self.stop.send(());
        runtime.block_on(self.serving).map_err(CliError::failed)?.map_err(CliError::failed)
    }
}

fn send_users(url: &str, task: &Task, ended: &Receiver<()>) -> Result<()> {
    let relay = Aggregator::local(url, None);
    let key = sealing_key(&relay, None)?;
    let mut randomizer = BatchRandomizer::new(task, None, Ids::Own);
    // Others than those before, and the same ones each time; their reports are random as always.
    let mut rng = ChaCha12Rng::seed_from_u64(2);
    while ended.recv_timeout(BETWEEN) == Err(RecvTimeoutError::Timeout) {
        let features = task.schema().encode_numbers(&LeisureSurvey::answers(&mut rng));
        let full = randomizer.add(task.bound(features)?)?;
        for report in full.into_iter().chain(randomizer.rest()?) {
            let sealed = key.seal(task.digest(), &report.to_bytes()).map_err(CliError::failed)?;
            relay.send_sealed(&sealed)?.good()?;
        }
    }
    Ok(())
}
