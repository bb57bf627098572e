//! What an operator decides.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::database::DatabaseAddress;
use super::net::AddressRange;

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
    /// The longest that a body, a commit and a recovery may each take, and that an answer may wait for its reader. Default 30 seconds.
    pub request_timeout: Duration,
    /// The longest that open requests are waited for at shutdown; then they are cut. Default 10 seconds.
    pub drain_timeout: Duration,
    /// Connections that may be open at the same time. Beyond them a new one takes the place of the one that has been idle longest;
    /// when none is idle, it is answered with 503. Default 16384.
    pub max_connections: usize,
    /// The longest that a client may take for the head of a request, and for the TLS handshake before it. Default 10 seconds.
    pub header_timeout: Duration,
    /// The longest that a connection stays open between requests. Longer than that of a proxy before the server, which would
    /// otherwise send requests into connections that are just being closed. Default 75 seconds.
    pub idle_timeout: Duration,
    /// The largest head of a request, in bytes; beyond it a request is refused with 431. At least 8 KiB. Default 32 KiB.
    pub max_header_bytes: usize,
    /// How often one client may ask; beyond it requests are refused with 429. Default none.
    pub rate_limit: Option<RateLimit>,
    /// Proxies that are believed when they say, in `X-Forwarded-For`, for whom they ask. Default none.
    pub trusted_proxies: Vec<AddressRange>,
    /// Where the certificate and its key are, to serve HTTPS. Needs the feature `tls`. Default none: plain HTTP.
    pub tls: Option<TlsFiles>,
}

/// A bucket of `burst` requests per client that fills up at the rate of `per_second`. A client is an IPv4 address or the /64 network of
/// an IPv6 address; it is remembered in memory alone, until its bucket is full again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Requests per second in the long run; positive.
    pub per_second: f64,
    /// Requests at once after a pause; at least 1.
    pub burst: u32,
}

/// The files of a certificate, in PEM. They are read again on SIGHUP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and those that it is derived from, the server's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
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
            max_connections: 16_384,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            max_header_bytes: 32 << 10,
            rate_limit: None,
            trusted_proxies: Vec::new(),
            tls: None,
        }
    }
}
