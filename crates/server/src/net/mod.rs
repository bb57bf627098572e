//! Connections: who gets one, for how long, and how they end.
//!
//! Every connection has a phase and the time when it entered it. One task looks at all of them a few times a second and
//! closes those that take too long. So a request costs no timer, and the server's memory is bounded:
//!
//! - a head or a TLS handshake that is not complete in time: closed (slow clients cannot hoard connections);
//! - no request for too long: closed, which also ends connections whose other side vanished silently;
//! - an answer that nobody reads: closed;
//! - more connections than allowed: the one that has been idle longest gives way, and when none is idle the new one is
//!   answered with 503. It does not wait in the system's queue, where it would get no answer that sends a balancer
//!   elsewhere;
//! - more connections of one client than it may have: the same among its own, so that nobody can take all places. A
//!   trusted proxy speaks for many and is not a client; what comes through it is counted request by request (`routes`);
//! - no more file descriptors: connections that are open go on, and new ones are let in when there are some again.
//!
//! Bodies and handlers have time limits of their own. At shutdown idle connections are closed at once, and those with a
//! request after its answer or at the deadline.

mod accept;
mod activity;
mod client;
mod head;
#[cfg(unix)]
mod notify;
mod rate;
mod shares;
mod table;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use axum::response::Response;
use hyper::Request;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use self::table::Table;
use super::config::ServerConfig;

pub(super) use accept::TwoLengths;
pub(super) use activity::RequestBody;
pub(super) use client::{Client, FORWARDED_FOR, client_address, is_proxy};
pub(super) use rate::RateLimiter;
pub(super) use shares::{Full, Portion, Shares, Turns};
pub(super) use tls::Tls;

/// Serves until `shutdown` is ready and the open requests have ended or been cut off. A service manager is told when it
/// begins and when it stops. `respond` answers a request on a connection from the address at its other end.
pub(super) async fn serve<F, A>(
    listener: TcpListener,
    config: &Arc<ServerConfig>,
    tls: Option<Tls>,
    respond: F,
    shutdown: impl Future<Output = ()>,
) where
    F: Fn(IpAddr, Request<RequestBody>) -> A + Clone + Send + 'static,
    A: Future<Output = Response> + Send + 'static,
{
    let table = Arc::new(Table::new(config));
    // Every connection has a receiver for as long as it is open.
    let draining = watch::Sender::new(false);
    let mut keeping = JoinSet::new();
    keeping.spawn(sweep_forever(Arc::clone(&table)));
    if let Some(tls) = tls.clone() {
        keeping.spawn(tls.follow_hangups());
    }
    let mut failures = 0;
    let mut shutdown = pin!(shutdown);
    #[cfg(unix)]
    notify::tell_manager("READY=1");
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                failures = 0;
                // Answers are small: they leave at once.
                let _ = stream.set_nodelay(true);
                let (peer, respond) = (peer.ip(), respond.clone());
                let respond = move |request| respond(peer, request);
                let client = (!is_proxy(peer, &config.trusted_proxies)).then(|| Client::from(peer));
                accept::start(stream, tls.clone(), respond, draining.subscribe(), client, &table);
            }
            Err(error) => accept::pause(&mut failures, &error, &table).await,
        }
    }
    #[cfg(unix)]
    notify::tell_manager("STOPPING=1");
    drop(listener);
    draining.send_replace(true);
    if timeout(config.drain_timeout, draining.closed()).await.is_err() {
        table.close_all();
        draining.closed().await;
    }
}

async fn sweep_forever(table: Arc<Table>) {
    loop {
        sleep(table.period).await;
        table.sweep();
    }
}

/// Lets this process open as many files as the system allows, since every connection is one. At first it is often only
/// a fraction of them.
pub fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // With fewer files there are fewer connections: nothing else changes.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Makes new files and folders of this process readable only by its user.
pub fn keep_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}
