//! All connections, so that those that take too long can be closed.
//!
//! No library has this: tower's limit makes new connections wait, and knows neither clients nor which connection is
//! idle.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinHandle};

use super::activity::{Activity, Phase};
use super::client::Client;
use super::shares::{Full, give_back};
use crate::config::ServerConfig;
use crate::locks::hold;

/// How often connections are looked at, unless a limit is short.
const SWEEP: Duration = Duration::from_millis(250);

/// The connections and their limits.
pub(super) struct Table {
    start: Instant,
    /// Milliseconds since the start, as of the last sweep.
    pub(super) clock: Arc<AtomicU64>,
    open: Mutex<Open>,
    config: Arc<ServerConfig>,
    /// The time between sweeps.
    pub(super) period: Duration,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, Entry>,
    /// How many of them each client has.
    of_clients: HashMap<Client, usize>,
    next: u64,
    /// The idle connections at the last look.
    idle: Idle,
}

/// The numbers of connections that may give way, in that order, as of the last look: idle ones, longest idle first,
/// then those whose head is overdue. A look takes a moment for every connection, so it is not done for every new one: a
/// connection takes constant time, however many there are.
#[derive(Default)]
struct Idle {
    looked: Option<Instant>,
    of_all: VecDeque<u64>,
    /// For each client at its limit, the numbers of its connections that may give way, in the order of `of_all`.
    of_clients: HashMap<Client, VecDeque<u64>>,
}

/// A look is old after this time.
const LOOK: Duration = Duration::from_secs(1);

/// The time per connection between two looks, which take about a tenth of it.
const BETWEEN_LOOKS: Duration = Duration::from_micros(1);

struct Entry {
    activity: Arc<Activity>,
    task: AbortHandle,
    /// `None` for a proxy.
    client: Option<Client>,
}

impl Entry {
    /// Its rank among those that may be closed for others: the lowest goes first. A connection with a request has none.
    fn gives_way(&self) -> Option<(bool, Reverse<u64>)> {
        match self.activity.phase() {
            (Phase::Idle, since) => Some((false, Reverse(since))),
            (Phase::Head, since) => (since >= PROMPT_HEAD).then_some((true, Reverse(since))),
            (Phase::Busy, _) => None,
        }
    }

    /// Takes it off its client's count.
    fn leave(&self, of_clients: &mut HashMap<Client, usize>) {
        if let Some(client) = self.client {
            give_back(of_clients, client, 1);
        }
    }
}

/// Milliseconds after which an idle connection releases its buffers.
const REST: u64 = 1000;

/// Milliseconds in which a head arrives from any client that is not slow on purpose, or far away.
const PROMPT_HEAD: u64 = 2000;

/// With no more connections than these, each may hold more.
const FEW: usize = 256;

/// Takes a connection out of the table when it ends.
pub(super) struct Place {
    table: Arc<Table>,
    number: u64,
    /// Whether few were open when it arrived: at most `FEW` of these are ever open.
    pub(super) among_few: bool,
}

impl Table {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Self {
        let fixed = &config.fixed;
        let shortest = fixed.header_timeout.min(fixed.idle_timeout).min(config.request_timeout);
        Self {
            start: Instant::now(),
            clock: Arc::default(),
            open: Mutex::default(),
            config: Arc::clone(config),
            period: (shortest / 4).clamp(Duration::from_millis(1), SWEEP),
        }
    }

    /// Closes connections that have taken too long.
    pub(super) fn sweep(&self) {
        self.clock.store(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
        let Open { connections, of_clients, .. } = &mut *hold(&self.open);
        connections.retain(|_, entry| {
            let (phase, since) = entry.activity.phase();
            let allowed = match phase {
                Phase::Idle => self.config.fixed.idle_timeout,
                Phase::Head => self.config.fixed.header_timeout,
                Phase::Busy => Duration::MAX,
            };
            let stalled = Duration::from_millis(entry.activity.stalled());
            let late = Duration::from_millis(since) > allowed || stalled > self.config.request_timeout;
            if late {
                entry.task.abort();
                entry.leave(of_clients);
            } else if phase == Phase::Idle && since > REST && stalled.is_zero() {
                entry.activity.rest();
            }
            !late
        });
    }

    /// Starts a connection's task, unless there is no place for it and no idle one can give way, among all connections
    /// or those of its client.
    pub(super) fn start<T>(
        self: &Arc<Self>,
        activity: Arc<Activity>,
        client: Option<Client>,
        task: impl FnOnce(Place) -> JoinHandle<T>,
    ) -> Result<(), Full> {
        let mut open = hold(&self.open);
        let held = client.and_then(|client| open.of_clients.get(&client)).copied().unwrap_or(0);
        let by_others = open.connections.len() - held;
        let all = self.config.max_connections;
        let most = self.config.client_places().of(all.saturating_sub(by_others));
        if client.is_some() && held >= most && !open.make_room(client, most) {
            return Err(Full::Client);
        }
        if open.connections.len() >= all && !open.make_room(None, most) {
            return Err(Full::All);
        }
        let number = open.next;
        open.next += 1;
        // Under the lock: the task removes itself when it ends, which is after it was added.
        let among_few = open.connections.len() < FEW;
        let task = task(Place { table: Arc::clone(self), number, among_few }).abort_handle();
        open.connections.insert(number, Entry { activity, task, client });
        if let Some(client) = client {
            *open.of_clients.entry(client).or_default() += 1;
        }
        Ok(())
    }

    /// Closes the connection that has been without a request longest, if there is one.
    pub(super) fn make_room(&self) -> bool {
        hold(&self.open).make_room(None, usize::MAX)
    }

    /// Cuts all connections.
    pub(super) fn close_all(&self) {
        let mut open = hold(&self.open);
        open.of_clients.clear();
        open.connections.drain().for_each(|(_, entry)| entry.task.abort());
    }
}

impl Open {
    /// Closes the connection that has been idle longest, of all or of those of a client that has `most`.
    fn make_room(&mut self, client: Option<Client>, most: usize) -> bool {
        let between = BETWEEN_LOOKS * u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        if self.idle.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look(most);
        }
        self.close_idle(client)
            || self.idle.looked.is_some_and(|looked| looked.elapsed() >= between) && {
                self.look(most);
                self.close_idle(client)
            }
    }

    fn close_idle(&mut self, client: Option<Client>) -> bool {
        loop {
            let numbers = match client {
                None => Some(&mut self.idle.of_all),
                Some(client) => self.idle.of_clients.get_mut(&client),
            };
            let Some(number) = numbers.and_then(VecDeque::pop_front) else { return false };
            if self.connections.get(&number).is_some_and(|entry| entry.gives_way().is_some())
                && let Some(entry) = self.remove(number)
            {
                entry.task.abort();
                return true;
            }
        }
    }

    fn look(&mut self, most: usize) {
        let giving_way = self.connections.iter().map(|(&number, entry)| (entry.gives_way(), number, entry.client));
        let mut idle: Vec<_> = giving_way.filter(|(rank, ..)| rank.is_some()).collect();
        // Of equal connections, the first comes first.
        idle.sort_unstable_by_key(|&(rank, number, _)| (rank, number));
        self.idle.of_clients.clear();
        for &(_, number, client) in &idle {
            if let Some(client) = client.filter(|client| self.of_clients.get(client).is_some_and(|held| *held >= most))
            {
                self.idle.of_clients.entry(client).or_default().push_back(number);
            }
        }
        self.idle.of_all = idle.into_iter().map(|(_, number, _)| number).collect();
        self.idle.looked = Some(Instant::now());
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.connections.remove(&number)?;
        entry.leave(&mut self.of_clients);
        Some(entry)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        hold(&self.table.open).remove(self.number);
    }
}
