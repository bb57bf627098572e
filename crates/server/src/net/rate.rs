//! The rate limit: a bucket of requests per client, which refills steadily.
//!
//! Addresses are kept only in memory, and forgotten once their bucket is full again: a full bucket needs no entry.
//!
//! The crate `governor` does not fit: it always refuses more than a bucket holds, where this one allows a debt. It also
//! keeps every address until it is asked to remove old ones, where these tables have a fixed limit.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::client::Client;
use crate::config::RateLimit;
use crate::locks::hold;

/// Clients in each of the two tables. A flood from more addresses than these, within the time of one bucket, gets fresh
/// buckets: memory is bounded, and `max_connections` and the bounded queue hold then.
const CLIENTS: usize = 1 << 16;

/// The buckets of all clients.
pub(in super::super) struct RateLimiter {
    pub(in super::super) limit: RateLimit,
    /// The time in which the emptiest bucket becomes full.
    refill: Duration,
    tables: Mutex<Tables>,
}

/// Clients seen since the tables were turned, and those seen in the turn before.
struct Tables {
    turned: Instant,
    newer: HashMap<Client, Bucket>,
    older: HashMap<Client, Bucket>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl RateLimiter {
    /// For a valid limit: a positive rate, and at least one at once. No more than `most` are ever taken at once.
    pub(in super::super) fn new(limit: RateLimit, most: u32) -> Self {
        let owed = f64::from(limit.burst.max(most));
        let refill = Duration::try_from_secs_f64(owed / limit.per_second).unwrap_or(Duration::MAX);
        let tables = Tables { turned: Instant::now(), newer: HashMap::new(), older: HashMap::new() };
        Self { limit, refill, tables: Mutex::new(tables) }
    }

    /// Takes `count` from the client's bucket. If it has fewer, returns how long until there are enough. An excess over
    /// the bucket's size is taken from a full one, as a debt.
    pub(in super::super) fn take(&self, client: Client, count: u32, now: Instant) -> Result<(), Duration> {
        let count = f64::from(count);
        let RateLimit { per_second, burst } = self.limit;
        let mut tables = hold(&self.tables);
        tables.turn(now, self.refill);
        let full = Bucket { tokens: f64::from(burst), at: now };
        let Bucket { tokens, at } = tables.newer.get(&client).or(tables.older.get(&client)).copied().unwrap_or(full);
        let tokens = (tokens + now.saturating_duration_since(at).as_secs_f64() * per_second).min(f64::from(burst));
        let needed = count.min(f64::from(burst));
        let enough = tokens >= needed;
        tables.newer.insert(client, Bucket { tokens: if enough { tokens - count } else { tokens }, at: now });
        if enough {
            return Ok(());
        }
        Err(Duration::try_from_secs_f64((needed - tokens) / per_second).unwrap_or(Duration::MAX))
    }
}

impl Tables {
    /// Forgets the older clients once a bucket's time has passed since they were last seen, or when there are too many
    /// newer ones.
    fn turn(&mut self, now: Instant, refill: Duration) {
        let turns = now.saturating_duration_since(self.turned).as_secs_f64() / refill.as_secs_f64();
        if turns >= 2.0 {
            self.newer.clear();
        }
        if turns >= 1.0 || self.newer.len() >= CLIENTS {
            self.older = std::mem::take(&mut self.newer);
            self.turned = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn limiter(per_second: f64, burst: u32) -> RateLimiter {
        RateLimiter::new(RateLimit { per_second, burst }, burst)
    }

    #[test]
    fn more_than_a_bucket_holds_is_taken_from_a_full_one_and_owed() {
        let (client, start) = (address("192.0.2.1"), Instant::now());
        let limiter = RateLimiter::new(RateLimit { per_second: 10.0, burst: 20 }, 100);
        let take = |count, seconds| limiter.take(client, count, start + Duration::from_secs(seconds));
        assert_eq!((take(1, 0), take(100, 0).is_err(), take(100, 1)), (Ok(()), true, Ok(())));
        assert_eq!((take(1, 9).is_err(), take(1, 10)), (true, Ok(())));
    }

    fn address(text: &str) -> Client {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn a_bucket_is_emptied_at_once_and_fills_up_at_the_rate() {
        let (limiter, client, start) = (limiter(2.0, 3), address("192.0.2.1"), Instant::now());
        let after = |seconds: f64| limiter.take(client, 1, start + Duration::from_secs_f64(seconds));
        assert_eq!([after(0.0), after(0.0), after(0.0)], [Ok(()); 3]);
        assert_eq!(after(0.0), Err(Duration::from_millis(500)));
        assert_eq!(limiter.take(address("192.0.2.2"), 1, start), Ok(()), "another client has its own");
        assert_eq!(after(0.25), Err(Duration::from_millis(250)), "asking in vain costs nothing");
        assert_eq!((after(0.5), after(0.5).is_err()), (Ok(()), true));
        assert_eq!([after(100.0), after(100.0), after(100.0)], [Ok(()); 3], "and no more than the burst");
        assert!(after(100.0).is_err());
        let three = |seconds: f64| limiter.take(client, 3, start + Duration::from_secs_f64(seconds));
        assert_eq!((three(101.0), three(101.5)), (Err(Duration::from_millis(500)), Ok(())), "several at a time");
    }

    #[test]
    fn addresses_are_forgotten_with_their_bucket_and_never_too_many() {
        let (limiter, start) = (limiter(10.0, 5), Instant::now());
        let held = || {
            let tables = limiter.tables.lock().unwrap();
            tables.newer.len() + tables.older.len()
        };
        for client in 0..200_000u32 {
            assert_eq!(limiter.take(IpAddr::from(client.to_be_bytes()).into(), 1, start), Ok(()));
        }
        assert!(held() <= 2 * CLIENTS, "{}", held());
        // A bucket's time is half a second.
        limiter.take(address("192.0.2.1"), 1, start + Duration::from_millis(1100)).unwrap();
        assert_eq!(held(), 1);
    }
}
