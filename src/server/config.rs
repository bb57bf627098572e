//! What an operator decides.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The address of a PostgreSQL database, as `postgres://user:password@host:port/database`. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseAddress(String);

impl DatabaseAddress {
    /// An address. It is read when the server starts.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    #[cfg(feature = "postgres")]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseAddress(…)")
    }
}

/// The settings of a server. Start from [`ServerConfig::new`] and change fields.
///
/// ```
/// use ldp_pca::server::ServerConfig;
/// let config = ServerConfig { minimum_batch: 1_000, ..ServerConfig::new("aggregator-data") };
/// assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
/// ```
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The folder of the store; it is made when it is not there. One server per folder.
    pub data: PathBuf,
    /// The database that holds tasks and reports in place of the folder. Default none. It needs the feature `postgres`.
    pub store: Option<DatabaseAddress>,
    /// The address to listen on; port 0 takes any free port. Default 127.0.0.1:8080, which only this machine reaches.
    pub listen: SocketAddr,
    /// Whether to try the ports after `listen`'s, up to 100 of them, when it is taken. Default false.
    pub next_free_port: bool,
    /// The folder of the web page served at `/`. Default none.
    pub www: Option<PathBuf>,
    /// The largest request body, in bytes. Default 8 MiB.
    pub max_body_bytes: usize,
    /// Bytes of reports that may wait for the disk at the same time, over all requests; beyond them requests are refused with 503.
    /// At least `max_body_bytes`. Default 64 MiB.
    pub max_pending_bytes: usize,
    /// Requests per task that may wait for the disk at the same time; beyond them requests are refused with 503. Default 4096.
    pub max_pending_requests: usize,
    /// Event streams that may be open at the same time, over all tasks; beyond them requests for one are refused with 503.
    /// Default 1024.
    pub max_event_streams: usize,
    /// The number of reports below which no components are given out. Default 100.
    pub minimum_batch: u64,
    /// The longest that a body, a commit and a recovery may each take. Default 30 seconds.
    pub request_timeout: Duration,
    /// The longest that open requests are waited for at shutdown. Default 10 seconds.
    pub drain_timeout: Duration,
}

impl ServerConfig {
    /// The defaults, with the store in the folder `data`.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            store: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            next_free_port: false,
            www: None,
            max_body_bytes: 8 << 20,
            max_pending_bytes: 64 << 20,
            max_pending_requests: 4096,
            max_event_streams: 1024,
            minimum_batch: 100,
            request_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
        }
    }
}
