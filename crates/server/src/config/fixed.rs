//! Limits that no file sets.

use std::time::Duration;

/// The most bytes of reports of one task.
pub(crate) const TASK_BYTES: u64 = 64 << 30;

/// Limits that suit every server: neither a file of settings nor an option has them. Tests set others, which they reach
/// sooner.
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
}

impl Default for FixedLimits {
    fn default() -> Self {
        Self {
            client_shares: true,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            task_bytes: TASK_BYTES,
            clock_skew: Duration::from_secs(60),
        }
    }
}
