//! A relay, or its aggregator, that is killed at any moment: nothing that was acknowledged is lost, and nothing counts
//! twice.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;

use rand::RngExt as _;

use super::gateway::SEALED;
use super::harness::*;
use super::relay::{aggregator, relay, relay_at, sealed, stored_in};

const BATCH: u64 = 16;

/// Several batches, so that some are on their way when the process is killed.
const PER_ROUND: usize = 80;

/// Sends each until it is acknowledged, on several connections, while `meanwhile` happens.
fn send_all(relay: SocketAddr, requests: &[Vec<u8>], meanwhile: impl FnOnce()) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let end = Instant::now() + Duration::from_secs(60);
                    while !try_post(relay, "/reports", SEALED, request).is_ok_and(|answer| answer.status == 202) {
                        assert!(Instant::now() < end, "it is never acknowledged");
                        sleep(Duration::from_millis(2));
                    }
                }
            });
        }
        meanwhile();
    });
}

/// Every report that was sent is stored, once.
fn assert_stored(folder: &Folder, sent: &[Report]) {
    let stored = stored_in(folder);
    let ids: HashSet<_> = stored.iter().map(Report::id).collect();
    assert_eq!(ids.len(), stored.len(), "some count twice");
    let lost = sent.iter().filter(|report| !ids.contains(&report.id())).count();
    assert_eq!(lost, 0, "of {} reports", sent.len());
}

/// Kills the relay or the aggregator in every round, while reports arrive and leave.
fn kill(is_relay: bool) {
    let (folder, mut aggregator) = aggregator("");
    let gateway = aggregator.address;
    let mut relay = relay(&folder, gateway, BATCH, "");
    let at = relay.address;
    let mut sent = Vec::new();
    let mut rng = ChaCha8Rng::seed_from_u64(if is_relay { 1 } else { 2 });
    for round in 0..kills() {
        let more = reports(&task(), 100 + round, PER_ROUND);
        let requests = sealed(&relay, &more);
        sent.extend(more);
        let pause = Duration::from_micros(rng.random_range(0..80_000));
        send_all(at, &requests, || {
            sleep(pause);
            if is_relay {
                relay.kill();
                relay = relay_at(&at.to_string(), &folder, gateway, BATCH, "");
            } else {
                aggregator.kill();
                aggregator = Serving::start_at(&gateway.to_string(), &folder, "--data aggregator");
            }
        });
    }
    // One more batch, so that those before it are complete.
    let last = reports(&task(), 1, usize::try_from(BATCH).unwrap());
    send_all(at, &sealed(&relay, &last), || {});
    let batches = || {
        let names = fs::read_dir(folder.path("relay")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(".batch")).count()
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    while batches() > 1 {
        assert!(Instant::now() < deadline, "{} batches are left", batches());
        sleep(Duration::from_millis(20));
    }
    relay.end();
    aggregator.end();
    assert_stored(&folder, &sent);
}

#[test]
fn a_relay_that_is_killed_loses_nothing_and_doubles_nothing() {
    kill(true);
}

#[test]
fn an_aggregator_that_is_killed_behind_a_relay_loses_nothing_and_doubles_nothing() {
    kill(false);
}
