//! The aggregator over HTTP with its stores. It takes reports, never records; sums and components are the library's.
//!
//! It acknowledges a report when it is on disk. docs/reference/http-api.md describes the interface, and `store` the
//! folder that keeps everything.
//!
//! ```no_run
//! use ldp_pca_server::{Server, ServerConfig};
//! # async fn serve(task: ldp_pca::task::Task) -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::bind(ServerConfig::new("aggregator-data"), vec![task]).await?;
//! println!("listening on http://{}", server.local_addr());
//! server.serve(async { tokio::signal::ctrl_c().await.unwrap_or(()) }).await?;
//! # Ok(())
//! # }
//! ```

mod agent;
mod app;
mod audit;
mod config;
mod doctor;
mod durable;
mod error;
mod events;
mod history;
mod issuing;
mod limits;
mod locks;
mod metrics;
mod net;
mod oblivious;
mod origins;
mod problem;
mod process;
mod readiness;
mod recovery;
mod refining;
mod relay;
mod request;
mod retention;
mod routes;
mod secrets;
mod store;
mod tokens;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

use self::app::App;
use self::issuing::Issuer;
use self::net::Tls;
use self::oblivious::GatewayKeys;
use self::routes::Routes;
use self::store::{FolderOptions, FolderStore, ReportStore, StoreMetrics, TaskReports, unix_time};
use self::tokens::Tokens;
use ldp_pca::task::{Task, TaskDigest};

pub use agent::{UrlError, agent, at_fault, base_url, local_agent, printable, redirect};
pub use audit::{AuditLine, AuditLog};
pub use config::{
    AddressRange, FixedLimits, LogConfig, LogFormat, RateLimit, Secret, ServerConfig, TlsFiles, TokenConfig,
    socket_address,
};
pub use doctor::{Check, CheckState, examine};
pub use error::ServerError;
pub use net::{keep_files_private, raise_file_limit};
pub use oblivious::{SealError, SealingKey, is_for_a_gateway, sealed_length};
pub use relay::{Relay, RelayConfig};
#[cfg(feature = "postgres")]
pub use store::PostgresError;
pub use store::{StoreError, TaskSettings, maintenance};

/// A server that holds its folder and its port, and serves once [`Server::serve`] is called.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    made_tokens: Vec<PathBuf>,
    tls: Option<Tls>,
    /// Why the store is not to be trusted any more, once that is so.
    failed: watch::Receiver<Option<String>>,
}

/// A task of a server, with the findings of opening its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    /// The task.
    pub digest: TaskDigest,
    /// Reports counted.
    pub records: u64,
    /// The most reports that are accepted.
    pub ceiling: u64,
    /// Acknowledged reports that are damaged or gone, until somebody acknowledges it. The log has their places.
    pub damaged_reports: u64,
}

impl Server {
    /// Opens the folder with `tasks` and those that it already has, and takes the port. It does not answer yet. More
    /// tasks can be added over HTTP.
    ///
    /// # Errors
    /// [`ServerError`] when the folder cannot be opened, a token or a key cannot be used, or the port is taken.
    pub async fn bind(config: ServerConfig, tasks: Vec<Task>) -> Result<Self, ServerError> {
        let tls = Self::checked(&config)?;
        let metrics = StoreMetrics::default();
        let (failed, failure) = watch::channel(None);
        let store = open_store(&config, tasks, metrics.clone(), failed).await?;
        let is_issued = |task: &&Arc<dyn TaskReports>| {
            task.counts().records > 0 && task.settings().issued_ids.unwrap_or(config.issued_ids)
        };
        if let Some(task) = store.tasks().iter().find(is_issued) {
            Issuer::must_exist(&config.issuing_key(), task.task().digest())?;
        }
        // The folder is ours now: missing parts can be created.
        let (tokens, made_tokens) = Tokens::load(&config.tokens, &config.data)?;
        let audit = AuditLog::open(&config.log)?;
        for (role, names) in tokens.names() {
            // A token that is new or gone shows here: tokens are read at a start.
            let who = Some(&*names);
            audit.note(&AuditLine { action: "tokens-read", outcome: "done", role, who, ..AuditLine::default() });
        }
        let issuer = Issuer::load(&config.issuing_key())?;
        let gateway = GatewayKeys::load(&config.gateway_keys())?;
        let listener = listen(config.listen, config.fixed.ports)?;
        let address = listener.local_addr()?;
        let app = Arc::new(App::new(store, metrics, tokens, (issuer, gateway), audit, &Arc::new(config)));
        Ok(Self { listener, address, app, made_tokens, tls, failed: failure })
    }

    /// Checks the settings: limits, the page's folder, the certificate and its key, and the named files of tokens and
    /// of the gateway's keys. It creates nothing, and opens neither folder nor database nor port.
    ///
    /// # Errors
    /// [`ServerError`], as [`Server::bind`] would return it.
    pub fn check(config: &ServerConfig) -> Result<(), ServerError> {
        Self::checked(config).map(drop)
    }

    fn checked(config: &ServerConfig) -> Result<Option<Tls>, ServerError> {
        if let Some(problem) = config.problem() {
            return Err(ServerError::Config(problem));
        }
        if let Some(www) = config.www.as_ref().filter(|www| !www.is_dir()) {
            let problem = "is not a folder: build the page first, or serve without it";
            return Err(ServerError::Unusable(format!("{} {problem}", www.display())));
        }
        let tls = config.tls.as_ref().map(Tls::load).transpose().map_err(ServerError::Unusable)?;
        Tokens::check_files(&config.tokens)?;
        if let Some(keys) = config.gateway_keys_file.as_ref().filter(|keys| keys.exists()) {
            GatewayKeys::load(keys)?;
        }
        Ok(tls)
    }

    /// The address that it listens on.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The files of tokens that this start created: give them to the people who may do what they allow.
    #[must_use]
    pub fn made_tokens(&self) -> &[PathBuf] {
        &self.made_tokens
    }

    /// The tasks, in the order of their digests.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskSummary> {
        let summary = |store: &Arc<dyn TaskReports>| TaskSummary {
            digest: store.task().digest(),
            records: store.counts().records,
            ceiling: self.app.ceiling(&**store, &store.settings()),
            damaged_reports: store.damage().lost,
        };
        self.app.store.tasks().iter().map(summary).collect()
    }

    /// Lets the page send through the relay at this address, by way of this server: a page may connect to its own
    /// origin alone. For demos: the server then sees the senders that a relay hides.
    pub fn show_relay(&self, relay: SocketAddr) {
        // The first one stays.
        let _ = self.app.relay.set(relay);
    }

    /// Serves until `shutdown` is ready, or a disk is not to be trusted any more. Then it accepts no more connections,
    /// closes idle ones, ends event streams, finishes open requests for up to `drain_timeout`, cuts off the rest, and
    /// releases the folder. A service manager that set `NOTIFY_SOCKET` (sd_notify(3)) is told when it is ready and when
    /// it stops.
    ///
    /// # Errors
    /// [`ServerError::Doubt`] when it is unknown what the disk has: a start reads it. [`ServerError::Io`] when the
    /// store's last writes cannot be waited for.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), ServerError> {
        let Self { listener, app, tls, failed, .. } = self;
        let routes = Arc::new(Routes::new(Arc::clone(&app), app.config.www.as_deref()));
        // Before anybody can change what an earlier process began.
        refining::resume(&app).await;
        let mut keeping = JoinSet::new();
        keeping.spawn(retention::sweep_forever(Arc::clone(&app)));
        keeping.spawn(refining::refine_forever(Arc::clone(&app)));
        let counted = Arc::clone(&app);
        keeping.spawn(async move { counted.history.keep_forever(&*counted.store, unix_time).await });
        let mut failure = failed.clone();
        let stopped = async {
            // Where the store is a database, nobody tells of a failure.
            tokio::select! { () = shutdown => {}, Ok(_) = failure.wait_for(Option::is_some) => {} }
            // Streams end only on this signal, and connections are closed only after their last request.
            app.events.stop();
        };
        let respond = move |peer, request| Arc::clone(&routes).answer(peer, request);
        net::serve(listener, &app.config, tls, respond, stopped).await;
        drop(keeping);
        spawn_blocking(move || app.store.close()).await.map_err(io::Error::from)?;
        let doubt = failed.borrow().clone();
        doubt.map_or(Ok(()), |doubt| Err(ServerError::Doubt(doubt)))
    }
}

/// Opens the database if there is one, otherwise the folder, with `tasks` and those that it already has.
async fn open_store(
    config: &ServerConfig,
    tasks: Vec<Task>,
    metrics: StoreMetrics,
    failed: watch::Sender<Option<String>>,
) -> Result<Arc<dyn ReportStore>, ServerError> {
    if let Some(address) = &config.store {
        #[cfg(feature = "postgres")]
        {
            use self::store::{At, PostgresOptions, PostgresStore};

            // For tokens and keys.
            durable::make_folder(&config.data).at("make", &config.data)?;
            let options = PostgresOptions { metrics, ..PostgresOptions::default() };
            let store = PostgresStore::open(address.text(), &tasks, options).await?;
            return Ok(Arc::new(store));
        }
        #[cfg(not(feature = "postgres"))]
        {
            let _ = address;
            return Err(StoreError::NoDatabases.into());
        }
    }
    let (root, options) =
        (config.data.clone(), FolderOptions { metrics, failed: failed.into(), ..FolderOptions::default() });
    let store = spawn_blocking(move || FolderStore::open(&root, &tasks, options)).await.map_err(io::Error::from)??;
    Ok(Arc::new(store))
}

/// Connections that the system accepts for the server until it takes them: devices that send one report each arrive by
/// the thousand at once, and one without a place tries again after a second. The system's own limit may be lower
/// (net.core.somaxconn).
const BACKLOG: u32 = 4096;

/// The system's buffer of unread answers, per connection. By default it takes megabytes.
const UNREAD_BYTES: u32 = 256 << 10;

/// Takes the first free port of so many.
pub(crate) fn listen(mut address: SocketAddr, ports: u16) -> Result<TcpListener, ServerError> {
    match (listen_at(address), address.port().checked_add(1)) {
        (Err(error), Some(next)) if ports > 1 && error.kind() == io::ErrorKind::AddrInUse => {
            address.set_port(next);
            listen(address, ports - 1)
        }
        (listener, _) => listener.map_err(|source| ServerError::Listen { address, source }),
    }
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Connections of a server that just ended do not keep the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections have it from here.
    socket.set_send_buffer_size(UNREAD_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_server_whose_store_is_in_doubt_stops_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let config = ServerConfig { listen: ([127, 0, 0, 1], 0).into(), ..ServerConfig::new(folder.path()) };
        let mut server = Server::bind(config, Vec::new()).await.unwrap();
        let (failed, failure) = watch::channel(None);
        server.failed = failure;
        let served = tokio::spawn(server.serve(pending()));
        failed.send_replace(Some("a sync failed".to_owned()));
        let error = served.await.unwrap().unwrap_err();
        assert!(matches!(&error, ServerError::Doubt(doubt) if doubt == "a sync failed"), "{error}");
    }
}
