//! The relay: the real binary, between real clients and a real aggregator.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::thread::sleep;

use super::gateway::{GATEWAY, SEALED};
use super::harness::*;
use super::wire::Wire;

/// A folder of both, and the aggregator in it.
pub fn aggregator(options: &str) -> (Folder, Serving) {
    let folder = task_folder();
    let serving = Serving::start(&folder, &format!("--data aggregator --task task.json {options}"));
    (folder, serving)
}

/// A relay before it.
pub fn relay(folder: &Folder, gateway: SocketAddr, batch: u64, options: &str) -> Serving {
    relay_at("127.0.0.1:0", folder, gateway, batch, options)
}

pub fn relay_at(at: &str, folder: &Folder, gateway: SocketAddr, batch: u64, options: &str) -> Serving {
    Serving::relay(at, folder, &format!("--data relay --gateway http://{gateway} --batch {batch} {options}"))
}

/// Reports, each sealed to the key that the relay gives.
pub fn sealed(relay: &Client, reports: &[Report]) -> Vec<Vec<u8>> {
    let key = SealingKey::read(&relay.get("/keys").body).unwrap();
    reports.iter().map(|report| key.seal(task().digest(), &report.to_bytes()).unwrap()).collect()
}

fn send(relay: &Client, sealed: &[u8]) -> Answer {
    relay.post("/reports", SEALED, sealed)
}

/// Sends reports that the relay must take.
fn leave(relay: &Client, requests: &[Vec<u8>]) {
    for request in requests {
        assert_eq!(send(relay, request).status, 202);
    }
}

/// The reports of an aggregator that has ended.
pub fn stored_in(folder: &Folder) -> Vec<Report> {
    let stored = stored(&folder.path("aggregator"), &task());
    stored.chunks(35).map(|report| Report::from_bytes(report, &task()).unwrap()).collect()
}

/// The files of a folder and of those in it, with their content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.to_str().unwrap().to_owned(), fs::read(&path).unwrap()));
        }
    }
    found
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn whole_batches_are_released_and_fewer_never() {
    let (folder, aggregator) = aggregator("");
    let mut relay = relay(&folder, aggregator.address, 10, "");
    let all = reports(&task(), 1, 25);
    let requests = sealed(&relay, &all);
    for (index, request) in requests.iter().enumerate() {
        let answer = send(&relay, request);
        assert_eq!((answer.status, answer.body.len()), (202, 0));
        if index == 8 {
            // Sent again, it is kept once: the batch is not complete by it.
            assert_eq!(send(&relay, request).status, 202);
            sleep(Duration::from_millis(200));
            assert_eq!(aggregator.records(&task()), 0);
        }
    }
    aggregator.counted(&task(), 20);
    // It says so once the file is gone.
    relay.next_line("released batch=2 requests=10");
    sleep(Duration::from_millis(100));
    assert_eq!(aggregator.records(&task()), 20, "five wait");
    let batch = |(name, bytes): (String, Vec<u8>)| name.ends_with(".batch").then_some(bytes.len());
    let waiting = || files(&folder.path("relay")).into_iter().filter_map(batch).sum::<usize>();
    assert_eq!(waiting(), 5 * (344 + 4), "what was released is off the disk");
    // A stop in good order, and another start, keep them.
    relay.end();
    let mut relay = self::relay(&folder, aggregator.address, 10, "");
    let more = reports(&task(), 2, 5);
    leave(&relay, &sealed(&relay, &more));
    aggregator.counted(&task(), 30);
    relay.next_line("released batch=3 requests=10");
    assert_eq!(waiting(), 0);
    aggregator.end();
    let stored = stored_in(&folder);
    let ids = |reports: &[Report]| reports.iter().map(Report::id).collect::<HashSet<_>>();
    assert_eq!(ids(&stored), ids(&[all, more].concat()));
}

/// The test of Spearman's rank correlation: one order in a million is as near to that of arrival, or its reverse.
#[test]
fn the_order_of_release_is_not_that_of_arrival() {
    const BATCH: usize = 100;
    let (folder, aggregator) = aggregator("");
    let relay = relay(&folder, aggregator.address, BATCH as u64, "");
    let all = reports(&task(), 1, BATCH);
    leave(&relay, &sealed(&relay, &all));
    aggregator.counted(&task(), BATCH as u64);
    aggregator.end();
    let stored = stored_in(&folder);
    let place = |report: &Report| stored.iter().position(|other| other.id() == report.id()).unwrap() as f64;
    let (mean, n) = ((BATCH - 1) as f64 / 2.0, BATCH as f64);
    let covariance: f64 = all.iter().zip(0u32..).map(|(r, i)| (place(r) - mean) * (f64::from(i) - mean)).sum();
    let correlation = covariance / ((n * n - 1.0) * n / 12.0);
    assert!((correlation * (n - 1.0).sqrt()).abs() < 4.9, "{correlation}");
}

/// A client at an address of its own, by which a trace of it would be found.
fn send_from(address: Ipv4Addr, relay: SocketAddr, sealed: &[u8]) {
    let mut wire = Wire::connect_from(&address.to_string(), relay);
    let length = sealed.len();
    wire.begin(&format!("POST /reports\nX-Forwarded-For: {address}\nContent-Length: {length}\nConnection: close"));
    wire.send(sealed);
    assert_eq!(wire.read_answer().unwrap().0, 202);
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_and_no_log_has_the_address_of_a_sender_and_the_relays_none_of_its_report() {
    let address = Ipv4Addr::new(127, 91, 173, 219);
    let (folder, aggregator) = aggregator("--log-level trace");
    let relay = relay(&folder, aggregator.address, 4, "");
    let all = reports(&task(), 1, 6);
    for request in sealed(&relay, &all) {
        send_from(address, relay.address, &request);
    }
    aggregator.counted(&task(), 4);
    // It is removed after its last report counts.
    wait_until("what was released to leave the disk", || !folder.path("relay/1.batch").exists());
    let mut seen = files(&folder.path(""));
    assert!(seen.iter().any(|(name, bytes)| name.ends_with("2.batch") && bytes.len() == 2 * 348), "two wait");
    seen.push(("relay".into(), relay.log().into_bytes()));
    seen.push(("aggregator".into(), aggregator.log().into_bytes()));
    let addresses = [address.to_string().into_bytes(), address.octets().to_vec(), b"127, 91, 173, 219".to_vec()];
    let own = all.iter().flat_map(|report| {
        let (id, bytes) = (report.id(), report.to_bytes());
        [id.as_bytes().to_vec(), id.to_string().into_bytes(), bytes[16..].to_vec()]
    });
    let own: Vec<Vec<u8>> = own.collect();
    for (name, bytes) in seen {
        assert!(addresses.iter().all(|address| !contains(&bytes, address)), "{name} has the address");
        let is_aggregators = name.contains("/aggregator/");
        assert!(is_aggregators || own.iter().all(|part| !contains(&bytes, part)), "{name} has a report");
    }
}

#[test]
fn what_stands_out_is_refused_and_what_is_too_much_waits_outside() {
    let (folder, aggregator) = aggregator("");
    let mut relay = relay(&folder, aggregator.address, 2, "--max-waiting 4");
    let keys = relay.get("/keys");
    assert_eq!(keys.header("content-type"), "application/ohttp-keys");
    assert_eq!(keys.header("access-control-allow-origin"), "*");
    assert_eq!(keys.body, aggregator.get(GATEWAY).body);
    let good = sealed(&relay, &reports(&task(), 1, 9));
    relay.post("/reports", "text/plain", &good[0]).refused(415, "media-type", &["text/plain"]);
    let headers = [("content-type", SEALED), ("content-encoding", "gzip")];
    relay.request("POST", "/reports", &headers, &good[0]).refused(415, "media-type", &["Content-Encoding", "gzip"]);
    for other in [&good[0][1..], &[&good[0][..], b"x"].concat(), b""] {
        send(&relay, other).refused(400, "body-length", &[&other.len().to_string(), "344"]);
    }
    for at in 0..7 {
        let mut other = good[0].clone();
        other[at] ^= 1;
        let answer = send(&relay, &other);
        assert!(answer.status == 400 && answer.json()["type"].as_str().unwrap().ends_with("#ohttp-key"), "{answer:?}");
    }
    send(&relay, &vec![0; 20_000]).refused(413, "body-too-large", &[]);
    relay.get("/reports").refused(405, "method-not-allowed", &[]);
    relay.get("/tasks").refused(404, "unknown-path", &["/keys"]);
    // The gateway goes away.
    let at = aggregator.address.to_string();
    drop(aggregator.log());
    leave(&relay, &good[..4]);
    let full = send(&relay, &good[4]);
    full.refused(503, "busy", &["send the same bytes again"]);
    assert_eq!(full.header("retry-after"), "60");
    assert_eq!(send(&relay, &good[3]).status, 202, "it is there");
    // And comes back.
    let aggregator = Serving::start_at(&at, &folder, "--data aggregator");
    aggregator.counted(&task(), 4);
    assert_eq!(send(&relay, &good[4]).status, 202);
    relay.next_line("does not answer");
    relay.log_until("released batch=2 requests=2");
    drop(aggregator.log());
}

/// The gateway answers for them, so that they do not hold up the others; no log line says which they were.
#[test]
fn what_does_not_open_is_released_with_its_batch() {
    let (folder, aggregator) = aggregator("");
    let relay = relay(&folder, aggregator.address, 3, "");
    let mut requests = sealed(&relay, &reports(&task(), 1, 3));
    requests[1][100] ^= 1;
    leave(&relay, &requests);
    aggregator.counted(&task(), 2);
    relay.log_until("batch=1 requests=3 refused=1");
}

/// The aggregator at the same address, with these keys.
fn restarted(aggregator: Serving, folder: &Folder, keys: &str) -> Serving {
    let at = aggregator.address.to_string();
    drop(aggregator.log());
    folder.write("aggregator/gateway.keys", keys);
    Serving::start_at(&at, folder, "--data aggregator")
}

/// All devices have the same key as long as the folder lasts. What was sealed to it waits for a gateway that has it.
#[test]
fn a_relay_keeps_its_key_when_the_gateway_has_another_one() {
    let (folder, aggregator) = aggregator("");
    let mut relay = relay(&folder, aggregator.address, 2, "");
    let key = relay.get("/keys").body;
    let [old, new] = [folder.read_text("aggregator/gateway.keys"), format!("{}\n", "5a".repeat(32))];
    let restarted = |aggregator: Serving, keys: &str| restarted(aggregator, &folder, keys);
    let aggregator = restarted(aggregator, &format!("{new}{old}"));
    assert_ne!(aggregator.get(GATEWAY).body, key);
    assert_eq!(relay.get("/keys").body, key);
    let requests = sealed(&relay, &reports(&task(), 1, 4));
    leave(&relay, &requests[..2]);
    aggregator.counted(&task(), 2);
    // The old key is removed too early.
    let aggregator = restarted(aggregator, &new);
    leave(&relay, &requests[2..]);
    relay.next_line("does not have the key that reports are sealed to");
    assert_eq!(aggregator.records(&task()), 2);
    let aggregator = restarted(aggregator, &format!("{new}{old}"));
    aggregator.counted(&task(), 4);
    relay.log_until("released batch=2 requests=2");
    let again = self::relay(&folder, aggregator.address, 2, "");
    assert_eq!(again.get("/keys").body, key);
    again.log_until("the gateway advertises another key");
    drop(aggregator.log());
}

#[test]
fn a_batch_is_kept_where_the_gateway_has_another_key_of_the_same_id() {
    // The ids are the first bytes of their SHA-256.
    let [first, second] = ["5a".repeat(32), "ae01".repeat(16)];
    let (folder, aggregator) = aggregator("");
    let aggregator = restarted(aggregator, &folder, &first);
    let id = aggregator.get(GATEWAY).body[2];
    let relay = relay(&folder, aggregator.address, 2, "");
    let aggregator = restarted(aggregator, &folder, &second);
    assert_eq!(aggregator.get(GATEWAY).body[2], id);
    leave(&relay, &sealed(&relay, &reports(&task(), 1, 2)));
    relay.log_until("another key of the same id");
    assert_eq!(aggregator.records(&task()), 0);
    let aggregator = restarted(aggregator, &folder, &first);
    let again = self::relay(&folder, aggregator.address, 2, "");
    aggregator.counted(&task(), 2);
    again.log_until("released batch=1 requests=2");
    drop(aggregator.log());
}

#[test]
fn the_command_line_leaves_reports_with_a_relay() {
    let (folder, aggregator) = aggregator("");
    let mut relay = relay(&folder, aggregator.address, 40, "");
    folder.write("r.ldpr", body_of(1, 40));
    let submit = format!("submit r.ldpr --task task.json --relay {}", relay.url(""));
    folder.run(&format!("{submit} --json")).gives(json!({"relayed": 40, "sent": 0, "complete": true}));
    aggregator.counted(&task(), 40);
    // The aggregator's keys from elsewhere must be the relay's.
    folder.write("keys", aggregator.get(GATEWAY).body);
    folder.run(&format!("{submit} --relay-keys keys")).prints(&["40 reports left with the relay"]);
    relay.next_line("released batch=2 requests=40");
    // A command that is interrupted and repeated: of 39 reports that come twice no batch is complete.
    folder.write("r.ldpr", body_of(2, 39));
    for _ in 0..2 {
        folder.run(&submit).ok();
    }
    sleep(Duration::from_millis(200));
    assert_eq!(aggregator.records(&task()), 40);
    folder.write("r.ldpr", body_of(3, 1));
    folder.run(&submit).ok();
    aggregator.counted(&task(), 80);
    let mut other = SealingKey::read(&aggregator.get(GATEWAY).body).unwrap().list();
    let (_folder, fresh) = self::aggregator("");
    other[2 + 3..2 + 68].copy_from_slice(&fresh.get(GATEWAY).body[2 + 3..2 + 68]);
    folder.write("keys", other);
    folder.refused(&format!("{submit} --relay-keys keys"), 1, &["has another key"]);
    folder.write("keys", "<html>");
    folder.refused(&format!("{submit} --relay-keys keys"), 1, &["keys: it is not a gateway's key"]);
    folder.refused(&format!("{submit} --url localhost:1"), 2, &[]);
}

/// Its page connects to its own origin alone, and so reaches the relay by way of the aggregator.
#[test]
fn a_visitor_of_a_demo_sends_through_its_relay() {
    let folder = Folder::new();
    let (demo, relay) = Serving::demo(&folder, "--population 1000");
    let listed = demo.get("/tasks").json();
    assert_eq!(listed["relay"], "relay");
    let shown = demo.get(&format!("/tasks/{}", listed["tasks"][0].as_str().unwrap()));
    let task = Task::from_json(shown.text()).unwrap();
    let keys = demo.get("/relay/keys");
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/ohttp-keys"));
    assert_eq!(keys.body, relay.get("/keys").body);
    let record = task.bound(vec![0.1; task.dimension()]).unwrap();
    let key = SealingKey::read(&keys.body).unwrap();
    let others = || task.randomize(&record, None).unwrap().to_bytes();
    let seal = |report: &[u8]| key.seal(task.digest(), report).unwrap();
    // Simulated users fill batches.
    demo.counted(&task, 1010);
    let (report, before) = (others(), demo.records(&task));
    let sealed = seal(&report);
    assert_eq!(demo.post("/relay/reports", SEALED, &sealed).status, 202);
    // What the relay refuses is refused with its words.
    demo.post("/relay/reports", SEALED, &sealed[1..]).refused(400, "body-length", &["343 bytes"]);
    // Others fill its batch: the one on its way when it came, and the next.
    for _ in 0..19 {
        assert_eq!(send(&relay, &seal(&others())).status, 202);
    }
    demo.counted(&task, before + 20);
    assert_eq!(demo.counts(&task, &report), (0, 1));
    demo.end();
}

#[test]
fn an_aggregator_without_a_demo_has_no_relay_for_pages() {
    let (_folder, aggregator) = aggregator("");
    assert_eq!(aggregator.get("/tasks").json().get("relay"), None);
    aggregator.get("/relay/keys").refused(404, "unknown-path", &[]);
}
