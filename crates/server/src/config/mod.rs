//! The operator's settings.

mod address;
mod less_safe;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

pub(super) use self::address::bits;
pub use self::address::{AddressRange, socket_address};

/// The file of the issuing key in a server's folder.
pub(crate) const ISSUING_KEY: &str = "issuing.key";

/// The file of the gateway's keys in a server's folder.
pub(crate) const GATEWAY_KEYS: &str = "gateway.keys";

/// The settings of a server. Start from [`ServerConfig::new`] and change fields, or read them from a file: the names
/// are the same, durations are in seconds, and an unknown name is an error.
///
/// ```
/// use ldp_pca_server::ServerConfig;
/// let config = ServerConfig { minimum_batch: 1_000, ..ServerConfig::new("aggregator-data") };
/// assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default = "ServerConfig::nowhere", deny_unknown_fields)]
pub struct ServerConfig {
    /// The folder of the store; created if missing. One server per folder.
    pub data: PathBuf,
    /// The PostgreSQL database that holds tasks and reports in place of the folder, as
    /// `postgres://user:password@host:port/database` or `postgres:///database?host=/run/postgresql&user=name` for a
    /// local socket; several servers may share it. `data` then holds only their tokens and keys. Needs the feature
    /// `postgres`. Default none.
    pub store: Option<Secret>,
    /// The address to listen on; port 0 takes any free port, and in a file `localhost` is 127.0.0.1. Default
    /// 127.0.0.1:8080, which only this machine reaches.
    #[serde(deserialize_with = "listened")]
    pub listen: SocketAddr,
    /// The folder of the web page served at `/`. Default none.
    pub www: Option<PathBuf>,
    /// The largest request body, in bytes. Default 8 MiB.
    pub max_body_bytes: usize,
    /// Bytes of reports that may wait for the disk at the same time, over all requests; beyond them requests are
    /// refused with 503. At least twice `max_body_bytes`. An additional eighth is only for bodies of up to 64 KiB. One
    /// client may have a quarter of what the others leave, or room for the largest body if that is more; a client is an
    /// IPv4 address or the /64 network of an IPv6 address, as in all limits by client. Default 64 MiB.
    pub max_pending_bytes: usize,
    /// The most reports of one task, unless the task has its own `max_records`. Reports under way at that moment still
    /// count. Default 50 million, which need about 3 GB of memory.
    pub max_task_records: u64,
    /// Components that may be computed at the same time, over all tasks, for requests with the collector's token;
    /// further requests wait. As many again for everybody else, where `open_recovery` allows it: the collector never
    /// waits for them. Default 1.
    pub max_recoveries: usize,
    /// The least number of reports for which components are returned. A task may have its own. Default 100.
    pub minimum_batch: u64,
    /// Whether everybody may see components, without the collector's token. A task may override it. Default false.
    pub open_recovery: bool,
    /// The rate at which one client without an admin's token may have reports erased, one by one, by their ids alone
    /// (`/tasks/{id}/erasures`). Default none: only an admin erases reports.
    pub open_erasure: Option<RateLimit>,
    /// Whether only reports with an id that this server issued are accepted (`/tasks/{id}/seeds`), so that clients
    /// cannot choose theirs. A task may override it. Default true.
    pub issued_ids: bool,
    /// How long the reports of a deleted task are kept, so that it can be brought back; 0 erases them at once. Default
    /// 24 hours.
    #[serde(deserialize_with = "seconds")]
    pub deletion_grace: Duration,
    /// The longest that a body, a commit and a recovery may each take, and that an answer may wait for its reader.
    /// Default 30 seconds.
    #[serde(deserialize_with = "seconds")]
    pub request_timeout: Duration,
    /// The longest wait for open requests at shutdown; then they are cut off. Default 10 seconds.
    #[serde(deserialize_with = "seconds")]
    pub drain_timeout: Duration,
    /// Connections that may be open at the same time. Beyond them a new one takes the place of the one that has been
    /// idle longest; when none is idle, it is answered with 503. One client may have a sixteenth of what the others
    /// leave, with the same rule among its own; for the clients of a trusted proxy, that limits the requests being
    /// answered. A sixteenth of all may be event streams, and one client may have a sixteenth of those that the others
    /// leave; beyond that requests for one are refused with 503. Default 16384.
    pub max_connections: usize,
    /// The rate of one client's requests; beyond it they are refused with 429. Default none.
    pub rate_limit: Option<RateLimit>,
    /// The rate of one client's reports; beyond it requests are refused with 429. A request with more than `burst` is
    /// accepted when the bucket is full, and the client waits afterwards. All reports of a task have one length, so
    /// this limits their bytes too. Default none.
    pub reports_rate_limit: Option<RateLimit>,
    /// The rate of report ids (`/tasks/{id}/seeds`) for one client without an admin's token; beyond it requests are
    /// refused with 429. `false` in a file for no limit. Default 5 a second and 100 at once.
    #[serde(deserialize_with = "limit_or_false")]
    pub seeds_rate_limit: Option<RateLimit>,
    /// Trusted proxies, whose `X-Forwarded-For` names the client. Default none.
    #[serde(deserialize_with = "ranges")]
    pub trusted_proxies: Vec<AddressRange>,
    /// The certificate and its key, to serve HTTPS. Needs the feature `tls`. Default none: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The tokens of each role. Default: one token per role, written to files in `data` at the first start.
    pub tokens: TokenConfig,
    /// The file of the key that issues report ids; created if missing, unless reports with issued ids are there.
    /// Several aggregators of one task share it. Default `issuing.key` in `data`.
    pub issuing_key_file: Option<PathBuf>,
    /// The file of the gateway's keys, one a line (`/.well-known/ohttp-gateway`): the first is advertised, and all open
    /// what relays send. Created with one key if missing. Default `gateway.keys` in `data`.
    pub gateway_keys_file: Option<PathBuf>,
    /// The addresses of relays, which send the reports of many people: the rates of one client do not apply to them.
    /// Default none.
    #[serde(deserialize_with = "ranges")]
    pub relays: Vec<AddressRange>,
    /// The process's log on standard error. [`Server`](crate::Server) only emits it; the program that starts it
    /// subscribes.
    pub log: LogConfig,
    /// Limits that no file sets.
    #[serde(skip)]
    pub fixed: FixedLimits,
}

/// The most bytes of reports of one task.
pub(crate) const TASK_BYTES: u64 = 64 << 30;

/// Limits that suit every server: neither a file of settings nor an option has them. Tests set others, which they reach
/// sooner, and so do demos.
#[derive(Clone, Debug)]
pub struct FixedLimits {
    /// Whether one client can have only a part of the connections, the event streams and the bytes that wait. Without
    /// that it can take them all, and nobody else is served. True.
    pub client_shares: bool,
    /// The longest that a client may take for the head of a request, and for the TLS handshake before it. 10 seconds.
    pub header_timeout: Duration,
    /// The longest that a connection stays open between requests. It is longer than that of most proxies, which would
    /// otherwise send requests into connections that are just being closed. 75 seconds.
    pub idle_timeout: Duration,
    /// The most bytes of reports of one task. Reports under way at that moment still count. 64 GiB.
    pub task_bytes: u64,
    /// How far devices' and operators' clocks may be off: a task starts this much earlier, and expires this much later.
    /// 60 seconds.
    pub clock_skew: Duration,
    /// The ports that are tried, from that of `listen` on, until one is free. 1, since programs expect a server at its
    /// port.
    pub ports: u16,
}

impl Default for FixedLimits {
    fn default() -> Self {
        Self {
            client_shares: true,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            task_bytes: TASK_BYTES,
            clock_skew: Duration::from_secs(60),
            ports: 1,
        }
    }
}

/// A bucket of `burst` requests (or ids) per client that fills up at the rate of `per_second`. A client is an IPv4
/// address or the /64 network of an IPv6 address; it is remembered only in memory, until its bucket is full again.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// Requests per second in the long run; positive.
    pub per_second: f64,
    /// Requests at once after a pause; at least 1.
    pub burst: u32,
}

/// The files of a certificate, in PEM. They are read again on SIGHUP.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// The certificate chain, the server's own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The tokens of a server: those listed and those in the files. A role without either has the file `<role>.token` in
/// the data folder, which is created at the first start. Several tokens of a role allow changing them: all are valid.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenConfig {
    /// The tokens for adding and deleting tasks.
    #[serde(deserialize_with = "one_or_many")]
    pub admin: Vec<Secret>,
    /// One token a line.
    pub admin_file: Option<PathBuf>,
    /// The tokens for seeing components.
    #[serde(deserialize_with = "one_or_many")]
    pub collector: Vec<Secret>,
    /// One token a line.
    pub collector_file: Option<PathBuf>,
}

impl TokenConfig {
    /// The file that a role without tokens gets.
    pub(crate) fn made_file(data: &Path, role: &str) -> PathBuf {
        data.join(format!("{role}.token"))
    }
}

/// A text that is never shown, not even by `{:?}`.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

/// The level and the form of the log.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// Default pretty.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` (a line for every request) or `trace`, or a filter such as
    /// `info,ldp_pca=debug`. Default `info`.
    pub level: String,
    /// The file of the audit trail: a line of JSON for each change by an admin, download of sums, erasure and deletion.
    /// Default none.
    pub audit: Option<PathBuf>,
    /// Whether lines of the audit trail have the client's address. The log itself never has one. Default false.
    pub addresses: bool,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object a line.
    Json,
}

/// A client's share of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Most {
    /// A fixed amount, whatever others hold.
    Fixed(usize),
    /// A fraction, one over this number, of what the others leave; at least 1. So the share shrinks as more is taken: a
    /// hundred clients that take all they get leave room for the next one, which gets about as much as each of them.
    Part(usize),
}

impl Most {
    /// The limit, given the amount that the other clients leave.
    pub(crate) fn of(self, left_by_others: usize) -> usize {
        match self {
            Self::Fixed(most) => most,
            Self::Part(parts) => (left_by_others / parts.max(1)).max(1),
        }
    }
}

/// The part of the connections that one client may have of what the others leave, and the same of the event streams:
/// one over this number.
const CLIENT_PLACES: usize = 16;

/// The part of the waiting bytes that one client may have of what the others leave: one over this number, or more where
/// the largest body would not fit.
const CLIENT_BYTES: usize = 4;

/// The part of the connections that may be event streams: one over this number.
const STREAMS: usize = 16;

impl ServerConfig {
    /// The defaults, with the store in the folder `data`.
    #[must_use]
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            store: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080),
            www: None,
            max_body_bytes: 8 << 20,
            max_pending_bytes: 64 << 20,
            max_task_records: 50_000_000,
            max_recoveries: 1,
            minimum_batch: 100,
            open_recovery: false,
            open_erasure: None,
            issued_ids: true,
            deletion_grace: Duration::from_secs(24 * 3600),
            request_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(10),
            max_connections: 16_384,
            rate_limit: None,
            reports_rate_limit: None,
            seeds_rate_limit: Some(RateLimit { per_second: 5.0, burst: 100 }),
            trusted_proxies: Vec::new(),
            tls: None,
            tokens: TokenConfig::default(),
            issuing_key_file: None,
            gateway_keys_file: None,
            relays: Vec::new(),
            log: LogConfig::default(),
            fixed: FixedLimits::default(),
        }
    }

    /// The file with an admin's token; `None` where the settings list the tokens themselves.
    #[must_use]
    pub fn admin_token_file(&self) -> Option<PathBuf> {
        let made = || self.tokens.admin.is_empty().then(|| TokenConfig::made_file(&self.data, "admin"));
        self.tokens.admin_file.clone().or_else(made)
    }

    /// The file of the key that issues report ids.
    pub(crate) fn issuing_key(&self) -> PathBuf {
        self.issuing_key_file.clone().unwrap_or_else(|| self.data.join(ISSUING_KEY))
    }

    /// The file of the gateway's keys.
    pub(crate) fn gateway_keys(&self) -> PathBuf {
        self.gateway_keys_file.clone().unwrap_or_else(|| self.data.join(GATEWAY_KEYS))
    }

    /// The first setting that makes no sense, with the remedy.
    pub(crate) fn problem(&self) -> Option<String> {
        let limits = [
            ("rate_limit", self.rate_limit),
            ("reports_rate_limit", self.reports_rate_limit),
            ("seeds_rate_limit", self.seeds_rate_limit),
            ("open_erasure", self.open_erasure),
        ];
        for (name, limit) in limits {
            let Some(RateLimit { per_second, burst }) = limit else { continue };
            if !(per_second.is_finite() && per_second > 0.0) {
                let none = if name == "seeds_rate_limit" { "say false" } else { "leave it out" };
                let remedy = format!("give a positive number, or {none} for no limit");
                return Some(format!("per_second of {name} is {per_second}: {remedy}"));
            }
            if burst == 0 {
                return Some(format!("burst of {name} is 0: let at least 1 pass at once"));
            }
        }
        let zeros = [
            ("max_connections", self.max_connections == 0),
            ("max_body_bytes", self.max_body_bytes == 0),
            ("max_task_records", self.max_task_records == 0),
            ("max_recoveries", self.max_recoveries == 0),
            ("request_timeout", self.request_timeout.is_zero()),
        ];
        let zero = zeros.iter().find(|(_, is_zero)| *is_zero)?.0;
        Some(format!("{zero} is 0: nobody would be served; give at least 1"))
    }

    /// One client's share of the connections, and of the event streams.
    pub(crate) fn client_places(&self) -> Most {
        self.share(CLIENT_PLACES)
    }

    /// The event streams that may be open at the same time, over all tasks.
    pub(crate) fn event_streams(&self) -> usize {
        (self.max_connections / STREAMS).max(1)
    }

    /// The largest body fits, and beside it another client's.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.max_pending_bytes.max(self.max_body_bytes.saturating_mul(2))
    }

    /// The largest body fits when nothing else waits.
    pub(crate) fn client_pending_bytes(&self) -> Most {
        self.share((self.pending_bytes() / self.max_body_bytes.max(1)).clamp(2, CLIENT_BYTES))
    }

    /// One client's share, where clients have shares.
    fn share(&self, parts: usize) -> Most {
        if self.fixed.client_shares { Most::Part(parts) } else { Most::Fixed(usize::MAX) }
    }

    /// The defaults of a file, which need not name the folder.
    fn nowhere() -> Self {
        Self::new("")
    }
}

impl Secret {
    /// A secret text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::default(), level: "info".into(), audit: None, addresses: false }
    }
}

/// An address and a port.
fn listened<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    socket_address(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A duration as a number of seconds.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| D::Error::custom(format!("{seconds} is not a number of seconds: use one from 0 on")))
}

/// A limit, or `false` for none, because a file cannot remove a default otherwise.
fn limit_or_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RateLimit>, D::Error> {
    match Either::<RateLimit, bool>::deserialize(deserializer) {
        Ok(Either::One(limit)) => Ok(Some(limit)),
        Ok(Either::Other(false)) => Ok(None),
        _ => Err(D::Error::custom("a limit is { per_second = 5, burst = 100 } or the like, or false for none")),
    }
}

/// A value in one of two forms.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Either<A, B> {
    One(A),
    Other(B),
}

/// One token or a list of them. Errors do not contain the value.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Secret>, D::Error> {
    match Either::<Secret, Vec<Secret>>::deserialize(deserializer) {
        Ok(Either::One(token)) => Ok(vec![token]),
        Ok(Either::Other(tokens)) => Ok(tokens),
        Err(_) => Err(D::Error::custom("a token is a text in quotes, or several are a list of them")),
    }
}

/// Ranges of addresses as texts.
fn ranges<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<AddressRange>, D::Error> {
    let ranges = Vec::<String>::deserialize(deserializer)?;
    ranges.iter().map(|range| range.parse().map_err(D::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_has_a_part_of_what_all_share() {
        let most = |config: &ServerConfig| {
            let (connections, streams) = (config.max_connections, config.event_streams());
            let of_client = (config.client_places().of(connections), config.client_places().of(streams));
            (streams, of_client, config.client_pending_bytes().of(config.pending_bytes()))
        };
        assert_eq!(most(&ServerConfig::new("")), (1024, (1024, 64), 16 << 20));
        // The least that there is, and the largest body that fits.
        let small = ServerConfig { max_connections: 1, max_body_bytes: 48 << 20, ..ServerConfig::new("") };
        assert_eq!(most(&small), (1, (1, 1), 48 << 20));
    }
}
