//! A relay of Oblivious HTTP (RFC 9458) that shuffles: between devices, whose addresses it sees, and an aggregator,
//! which alone can open what they send.
//!
//! A sealed request is acknowledged (202) when it is on the disk, so that its sender can go away. Whole batches of at
//! least `batch` requests are shuffled and sent to the gateway. A batch is deleted when the gateway has answered for
//! each of its requests. After a crash it is shuffled and sent again: the aggregator counts a report once.
//!
//! The relay keeps sealed bytes and nothing else: no address and no time, in no file and no line of the log.

mod folder;
mod release;
mod routes;
mod upstream;
mod writer;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use self::folder::Folder;
use self::release::Releaser;
use self::routes::Intake;
use self::upstream::Upstream;
use self::writer::Writer;
use crate::config::ServerConfig;
use crate::error::ServerError;
use crate::limits::Limits;
use crate::net;
use crate::oblivious::sealed_length;

/// The fewest requests of a batch: a single one is not shuffled.
const SMALLEST_BATCH: u64 = 2;

/// The settings of a relay.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The folder of what waits; created if missing. One relay per folder, and one key, length and size of batches.
    pub data: PathBuf,
    /// The aggregator's URL, under which its gateway is (`/.well-known/ohttp-gateway`).
    pub gateway: String,
    /// Whether the aggregator runs on this machine, so that it is asked without a proxy. Default false.
    pub local: bool,
    /// The address to listen on. Default 127.0.0.1:8090.
    pub listen: SocketAddr,
    /// The fewest requests that are released together, the honest ones and others.
    pub batch: u64,
    /// The length that reports are padded to before they are sealed. Default 256, which compact reports have.
    pub bytes: usize,
    /// Requests that may wait at the same time; beyond them more are refused with 503. Default a million.
    pub max_waiting: u64,
}

impl RelayConfig {
    /// The defaults.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>, gateway: impl Into<String>, batch: u64) -> Self {
        Self {
            data: data.into(),
            gateway: gateway.into(),
            local: false,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090),
            batch,
            bytes: 256,
            max_waiting: 1_000_000,
        }
    }

    /// The first setting that makes no sense, with the remedy.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if self.batch < SMALLEST_BATCH {
            return Some(format!(
                "a batch of {} hides nobody: give the number of honest reports that the promise of a batch is for, and \
                 more for those that may not be honest",
                self.batch
            ));
        }
        if !self.bytes.is_power_of_two() || self.bytes < 256 {
            return Some(format!("reports are padded to 256 bytes, 512, 1024 and so on, and never to {}", self.bytes));
        }
        // While one batch is sent, the next one fills.
        let needed = self.batch.saturating_mul(2);
        (self.max_waiting < needed).then(|| {
            format!("max_waiting is {}: two batches must find room, so give {needed} or more", self.max_waiting)
        })
    }

    /// What the relay has in common with a server: limits of connections, sizes and times.
    fn server(&self) -> ServerConfig {
        ServerConfig { max_body_bytes: sealed_length(self.bytes).max(16 << 10), ..ServerConfig::new(&self.data) }
    }
}

/// A relay that holds its folder and its port, and serves once [`Relay::serve`] is called.
pub struct Relay {
    listener: TcpListener,
    address: SocketAddr,
    server: Arc<ServerConfig>,
    folder: Folder,
    upstream: Upstream,
    max_waiting: u64,
}

impl Relay {
    /// Opens the folder and takes the port, unless one is `taken` already: others may know it before the relay starts.
    /// The first start asks the gateway for its keys and keeps them: all devices get the same bytes, as long as the
    /// folder lasts.
    ///
    /// # Errors
    /// [`ServerError`] when the settings make no sense, the proxy to the gateway cannot be used, the folder is
    /// another's, the gateway has no keys, or the port is taken.
    pub async fn bind(config: RelayConfig, taken: Option<std::net::TcpListener>) -> Result<Self, ServerError> {
        if let Some(problem) = config.problem() {
            return Err(ServerError::Config(problem));
        }
        let server = Arc::new(config.server());
        let upstream = Upstream::new(&config.gateway, config.local)?;
        let (max_waiting, listen) = (config.max_waiting, config.listen);
        let (folder, upstream) = spawn_blocking(move || {
            let folder = Folder::open(&config.data, config.batch, config.bytes, || upstream.keys())?;
            Ok::<_, ServerError>((folder, upstream))
        })
        .await
        .map_err(io::Error::from)??;
        let listener = match taken {
            Some(taken) => taken.set_nonblocking(true).and_then(|()| TcpListener::from_std(taken))?,
            None => crate::listen(listen, 1)?,
        };
        let address = listener.local_addr()?;
        Ok(Self { listener, address, server, folder, upstream, max_waiting })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Requests that wait from an earlier run.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.folder.waiting.len() as u64
    }

    /// Serves until `shutdown` is ready. Then it accepts no more connections, answers open requests, and stops. What
    /// waits stays in the folder for the next start.
    ///
    /// # Errors
    /// [`ServerError::Io`] when a thread cannot be started or waited for.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), ServerError> {
        let Self { listener, server, folder, upstream, max_waiting, .. } = self;
        let (key, length) = (folder.key.clone(), folder.sealed_length);
        let releaser = Releaser::new(&folder, upstream);
        let (writer, inlet) = Writer::new(folder, &releaser, max_waiting);
        let stop = releaser.stop.clone();
        let named = |name: &str| thread::Builder::new().name(name.into());
        let writing = named("relay-writer").spawn(move || writer.run())?;
        let releasing = named("relay-release").spawn(move || releaser.run())?;
        let intake = Arc::new(Intake { inlet, key, length, limits: Limits::new(&server) });
        let respond = move |peer, request| Arc::clone(&intake).respond(peer, request);
        net::serve(listener, &server, None, respond, shutdown).await;
        stop.now();
        let ended = spawn_blocking(move || (writing.join().is_ok(), releasing.join().is_ok()));
        match ended.await.map_err(io::Error::from)? {
            (true, true) => Ok(()),
            _ => Err(io::Error::other("one of its threads failed").into()),
        }
    }
}
