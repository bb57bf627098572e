//! The relay: the real binary, between real clients and a real aggregator.

use std::collections::HashSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ldp_pca::report::Report;
use ldp_pca::task::Task;
use ldp_pca_server::{SealingKey, maintenance};
use tempfile::{TempDir, tempdir};

use super::gateway::{GATEWAY, SEALED};
use super::harness::{Answer, REPORTS, Serving, bytes_of, get, path, post, reports, segment_path, task, wait_until};
use crate::support::Folder;

/// A folder of both, and the aggregator in it.
pub fn aggregator(arguments: &[&str]) -> (TempDir, Serving) {
    let data = tempdir().unwrap();
    let file = data.path().join("task.json");
    fs::write(&file, task().to_json()).unwrap();
    let own = [text(&data.path().join("aggregator")), "--task".into(), file.to_str().unwrap().into()];
    let own: Vec<&str> = ["--data"].into_iter().chain(own.iter().map(String::as_str)).collect();
    let serving = Serving::start(&[&own, arguments].concat());
    (data, serving)
}

/// A relay before it.
pub fn relay(data: &Path, gateway: SocketAddr, batch: u64, arguments: &[&str]) -> Serving {
    relay_at("127.0.0.1:0", data, gateway, batch, arguments)
}

pub fn relay_at(at: &str, data: &Path, gateway: SocketAddr, batch: u64, arguments: &[&str]) -> Serving {
    let (folder, gateway) = (text(&data.join("relay")), format!("http://{gateway}"));
    let batch = batch.to_string();
    let own = ["--data", &folder, "--gateway", &gateway, "--batch", &batch];
    Serving::relay(at, &[&own, arguments].concat())
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Reports, each sealed to the key that the relay gives.
pub fn sealed(relay: SocketAddr, reports: &[Report]) -> Vec<Vec<u8>> {
    let key = SealingKey::read(&get(relay, "/keys").body).unwrap();
    reports.iter().map(|report| key.seal(task().digest(), &report.to_bytes()).unwrap()).collect()
}

pub fn send(relay: SocketAddr, sealed: &[u8]) -> Answer {
    post(relay, "/reports", SEALED, sealed)
}

pub fn records(aggregator: SocketAddr) -> u64 {
    get(aggregator, &path(&task(), "/status")).json()["records"].as_u64().unwrap()
}

/// Waits until so many reports count.
pub fn counted(aggregator: SocketAddr, count: u64) {
    wait_until(&format!("{count} reports to count"), || records(aggregator) >= count);
}

/// The files of a folder and of those in it, with their content.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((text(&path), fs::read(&path).unwrap()));
        }
    }
    found
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn whole_batches_are_released_and_fewer_never() {
    let (data, aggregator) = aggregator(&[]);
    let mut relay = relay(data.path(), aggregator.address, 10, &[]);
    let all = reports(&task(), 1, 25);
    let requests = sealed(relay.address, &all);
    for (index, request) in requests.iter().enumerate() {
        let answer = send(relay.address, request);
        assert_eq!((answer.status, answer.body.len()), (202, 0));
        if index == 8 {
            // Sent again, it is kept once: the batch is not complete by it.
            assert_eq!(send(relay.address, request).status, 202);
            sleep(Duration::from_millis(200));
            assert_eq!(records(aggregator.address), 0);
        }
    }
    counted(aggregator.address, 20);
    // It says so once the file is gone.
    relay.next_line("released batch=2 requests=10");
    sleep(Duration::from_millis(100));
    assert_eq!(records(aggregator.address), 20, "five wait");
    let waiting = |folder: &Path| -> u64 {
        files(folder).iter().filter(|(name, _)| name.ends_with(".batch")).map(|(_, bytes)| bytes.len() as u64).sum()
    };
    assert_eq!(waiting(&data.path().join("relay")), 5 * (344 + 4), "what was released is off the disk");
    // A stop in good order, and another start, keep them.
    relay.signal("TERM");
    assert!(relay.ended());
    let mut relay = self::relay(data.path(), aggregator.address, 10, &[]);
    let more = reports(&task(), 2, 5);
    for request in sealed(relay.address, &more) {
        assert_eq!(send(relay.address, &request).status, 202);
    }
    counted(aggregator.address, 30);
    relay.next_line("released batch=3 requests=10");
    assert_eq!(waiting(&data.path().join("relay")), 0);
    aggregator.signal("TERM");
    assert!(aggregator.ended());
    let segment = fs::read(segment_path(&data.path().join("aggregator"), &task())).unwrap();
    let stored = maintenance::read_segment(&segment, &task()).unwrap();
    let ids = |reports: &[Report]| reports.iter().map(Report::id).collect::<HashSet<_>>();
    assert_eq!(ids(&stored), ids(&[all, more].concat()));
}

/// The test of Spearman's rank correlation: one order in a million is as near to that of arrival, or its reverse.
#[test]
fn the_order_of_release_is_not_that_of_arrival() {
    const BATCH: usize = 100;
    let (data, aggregator) = aggregator(&[]);
    let relay = relay(data.path(), aggregator.address, BATCH as u64, &[]);
    let all = reports(&task(), 1, BATCH);
    for request in sealed(relay.address, &all) {
        assert_eq!(send(relay.address, &request).status, 202);
    }
    counted(aggregator.address, BATCH as u64);
    aggregator.signal("TERM");
    assert!(aggregator.ended());
    let segment = fs::read(segment_path(&data.path().join("aggregator"), &task())).unwrap();
    let stored = maintenance::read_segment(&segment, &task()).unwrap();
    let place = |report: &Report| stored.iter().position(|other| other.id() == report.id()).unwrap() as f64;
    let (mean, n) = ((BATCH - 1) as f64 / 2.0, BATCH as f64);
    let covariance: f64 = all.iter().zip(0u32..).map(|(r, i)| (place(r) - mean) * (f64::from(i) - mean)).sum();
    let correlation = covariance / ((n * n - 1.0) * n / 12.0);
    assert!((correlation * (n - 1.0).sqrt()).abs() < 4.9, "{correlation}");
}

/// A client at an address of its own, by which a trace of it would be found.
fn send_from(address: Ipv4Addr, relay: SocketAddr, sealed: &[u8]) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        let mut stream = socket.connect(relay).await.unwrap();
        let head = format!(
            "POST /reports HTTP/1.1\r\nhost: relay\r\nx-forwarded-for: {address}\r\ncontent-length: {}\r\nconnection: \
                close\r\n\r\n",
            sealed.len()
        );
        stream.write_all(&[head.as_bytes(), sealed].concat()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_and_no_log_has_the_address_of_a_sender_and_the_relays_none_of_its_report() {
    let address = Ipv4Addr::new(127, 91, 173, 219);
    let (data, aggregator) = aggregator(&["--log-level", "trace"]);
    let relay = relay(data.path(), aggregator.address, 4, &[]);
    let all = reports(&task(), 1, 6);
    for request in sealed(relay.address, &all) {
        send_from(address, relay.address, &request);
    }
    counted(aggregator.address, 4);
    // It is removed after its last report counts.
    wait_until("what was released to leave the disk", || !data.path().join("relay/1.batch").exists());
    let mut seen = files(data.path());
    assert!(seen.iter().any(|(name, bytes)| name.ends_with("2.batch") && bytes.len() == 2 * 348), "two wait");
    seen.push(("relay".into(), relay.log().into_bytes()));
    seen.push(("aggregator".into(), aggregator.log().into_bytes()));
    let (mut addresses, mut own) = (vec![], vec![]);
    addresses.extend([address.to_string().into_bytes(), address.octets().to_vec(), b"127, 91, 173, 219".to_vec()]);
    for report in &all {
        let bytes = report.to_bytes();
        own.extend([report.id().as_bytes().to_vec(), report.id().to_string().into_bytes(), bytes[16..].to_vec()]);
    }
    for (name, bytes) in seen {
        assert!(addresses.iter().all(|address| !contains(&bytes, address)), "{name} has the address");
        let is_aggregators = name.contains("/aggregator/");
        assert!(is_aggregators || own.iter().all(|part| !contains(&bytes, part)), "{name} has a report");
    }
}

#[test]
fn what_stands_out_is_refused_and_what_is_too_much_waits_outside() {
    let (data, aggregator) = aggregator(&[]);
    let mut relay = relay(data.path(), aggregator.address, 2, &["--max-waiting", "4"]);
    let keys = get(relay.address, "/keys");
    assert_eq!(
        (keys.header("content-type"), keys.header("access-control-allow-origin")),
        ("application/ohttp-keys", "*")
    );
    assert_eq!(keys.body, get(aggregator.address, GATEWAY).body);
    let good = sealed(relay.address, &reports(&task(), 1, 9));
    post(relay.address, "/reports", "text/plain", &good[0]).assert_problem(415, "media-type", &["text/plain"]);
    for other in [&good[0][1..], &[&good[0][..], b"x"].concat(), b""] {
        send(relay.address, other).assert_problem(400, "body-length", &[&other.len().to_string(), "344"]);
    }
    for at in 0..7 {
        let mut other = good[0].clone();
        other[at] ^= 1;
        let answer = send(relay.address, &other);
        assert!(answer.status == 400 && answer.json()["type"].as_str().unwrap().ends_with("#ohttp-key"), "{answer:?}");
    }
    send(relay.address, &vec![0; 20_000]).assert_problem(413, "body-too-large", &[]);
    get(relay.address, "/reports").assert_problem(405, "method-not-allowed", &[]);
    get(relay.address, "/tasks").assert_problem(404, "unknown-path", &["/keys"]);
    // The gateway goes away.
    let at = aggregator.address;
    drop(aggregator.log());
    for request in &good[..4] {
        assert_eq!(send(relay.address, request).status, 202);
    }
    let full = send(relay.address, &good[4]);
    full.assert_problem(503, "busy", &["send the same bytes again"]);
    assert_eq!(full.header("retry-after"), "60");
    assert_eq!(send(relay.address, &good[3]).status, 202, "it is there");
    // And comes back.
    let own = [text(&data.path().join("aggregator"))];
    let aggregator = Serving::start_at(&at.to_string(), &["--data", &own[0]]);
    counted(at, 4);
    assert_eq!(send(relay.address, &good[4]).status, 202);
    relay.next_line("does not answer");
    relay.log_until("released batch=2 requests=2");
    drop(aggregator.log());
}

/// The gateway answers for them, so that they do not hold up the others; no log line says which they were.
#[test]
fn what_does_not_open_is_released_with_its_batch() {
    let (data, aggregator) = aggregator(&[]);
    let relay = relay(data.path(), aggregator.address, 3, &[]);
    let mut requests = sealed(relay.address, &reports(&task(), 1, 3));
    requests[1][100] ^= 1;
    for request in &requests {
        assert_eq!(send(relay.address, request).status, 202);
    }
    counted(aggregator.address, 2);
    relay.log_until("batch=1 requests=3 refused=1");
}

/// The aggregator at the same address, with these keys.
fn restarted(aggregator: Serving, own: &Path, keys: &str) -> Serving {
    let at = aggregator.address.to_string();
    drop(aggregator.log());
    fs::write(own.join("gateway.keys"), keys).unwrap();
    Serving::start_at(&at, &["--data", &text(own)])
}

/// All devices have the same key as long as the folder lasts. What was sealed to it waits for a gateway that has it.
#[test]
fn a_relay_keeps_its_key_when_the_gateway_has_another_one() {
    let (data, aggregator) = aggregator(&[]);
    let mut relay = relay(data.path(), aggregator.address, 2, &[]);
    let (at, key, own) = (aggregator.address, get(relay.address, "/keys").body, data.path().join("aggregator"));
    let file = own.join("gateway.keys");
    let [old, new] = [fs::read_to_string(&file).unwrap(), format!("{}\n", "5a".repeat(32))];
    let restarted = |aggregator: Serving, keys: &str| restarted(aggregator, &own, keys);
    let aggregator = restarted(aggregator, &format!("{new}{old}"));
    assert_ne!(get(at, GATEWAY).body, key);
    assert_eq!(get(relay.address, "/keys").body, key);
    let requests = sealed(relay.address, &reports(&task(), 1, 4));
    for request in &requests[..2] {
        assert_eq!(send(relay.address, request).status, 202);
    }
    counted(at, 2);
    // The old key is removed too early.
    let aggregator = restarted(aggregator, &new);
    for request in &requests[2..] {
        assert_eq!(send(relay.address, request).status, 202);
    }
    relay.next_line("does not have the key that reports are sealed to");
    assert_eq!(records(at), 2);
    let aggregator = restarted(aggregator, &format!("{new}{old}"));
    counted(at, 4);
    relay.log_until("released batch=2 requests=2");
    let again = self::relay(data.path(), at, 2, &[]);
    assert_eq!(get(again.address, "/keys").body, key);
    again.log_until("the gateway advertises another key");
    drop(aggregator.log());
}

#[test]
fn a_batch_is_kept_where_the_gateway_has_another_key_of_the_same_id() {
    // The ids are the first bytes of their SHA-256.
    let [first, second] = ["5a".repeat(32), "ae01".repeat(16)];
    let (data, aggregator) = aggregator(&[]);
    let own = data.path().join("aggregator");
    let aggregator = restarted(aggregator, &own, &first);
    let id = get(aggregator.address, GATEWAY).body[2];
    let relay = relay(data.path(), aggregator.address, 2, &[]);
    let aggregator = restarted(aggregator, &own, &second);
    assert_eq!(get(aggregator.address, GATEWAY).body[2], id);
    for request in sealed(relay.address, &reports(&task(), 1, 2)) {
        assert_eq!(send(relay.address, &request).status, 202);
    }
    relay.log_until("another key of the same id");
    assert_eq!(records(aggregator.address), 0);
    let aggregator = restarted(aggregator, &own, &first);
    let again = self::relay(data.path(), aggregator.address, 2, &[]);
    counted(aggregator.address, 2);
    again.log_until("released batch=1 requests=2");
    drop(aggregator.log());
}

#[test]
fn a_folder_is_for_one_relay_with_one_size_of_batches() {
    let (data, aggregator) = aggregator(&[]);
    let relay = relay(data.path(), aggregator.address, 5, &[]);
    let (folder, gateway) = (Folder::new(), aggregator.address);
    let run = |rest: &str| {
        let relay_folder = data.path().join("relay");
        let line = format!("relay --listen localhost:0 --data {} --gateway {} {rest}", relay_folder.display(), gateway);
        folder.run(&line)
    };
    let refused = |rest: &str, code: i32, said: &str| {
        let run = run(rest);
        assert!(run.code == Some(code) && run.stderr.contains(said), "{run:?}");
    };
    refused("--batch 5", 1, "another relay has the folder open");
    drop(relay.log());
    refused("--batch 4", 1, "the folder was made with batch 5 and bytes 256");
    refused("--batch 5 --bytes 512", 1, "the folder was made with batch 5 and bytes 256");
    refused("--batch 1", 2, "hides nobody");
    refused("--batch 5 --bytes 300", 2, "256 bytes, 512, 1024");
    refused("--batch 5 --max-waiting 9", 2, "give 10 or more");
    fs::write(data.path().join("relay/relay.json"), "{}").unwrap();
    refused("--batch 5", 1, "relay.json: it is not a relay's");
    fs::remove_dir_all(data.path().join("relay")).unwrap();
    drop(aggregator.log());
    refused("--batch 5", 1, "a first start needs the gateway's keys");
}

#[test]
fn the_command_line_leaves_reports_with_a_relay() {
    let (data, aggregator) = aggregator(&[]);
    let mut relay = relay(data.path(), aggregator.address, 40, &[]);
    let folder = Folder::new();
    folder.write("task.json", task().to_json());
    folder.write("r.ldpr", bytes_of(&reports(&task(), 1, 40)));
    let submit = format!("submit r.ldpr --task task.json --relay http://{}", relay.address);
    let result = folder.run(&format!("{submit} --json")).json();
    assert_eq!((&result["relayed"], &result["sent"], &result["complete"]), (&40.into(), &0.into(), &true.into()));
    counted(aggregator.address, 40);
    // The aggregator's keys from elsewhere must be the relay's.
    folder.write("keys", get(aggregator.address, GATEWAY).body);
    let told = folder.run(&format!("{submit} --relay-keys keys")).ok().stdout;
    assert!(told.contains("40 reports left with the relay"), "{told}");
    relay.next_line("released batch=2 requests=40");
    // A command that is interrupted and repeated: of 39 reports that come twice no batch is complete.
    folder.write("r.ldpr", bytes_of(&reports(&task(), 2, 39)));
    for _ in 0..2 {
        folder.run(&submit).ok();
    }
    sleep(Duration::from_millis(200));
    assert_eq!(records(aggregator.address), 40);
    folder.write("r.ldpr", bytes_of(&reports(&task(), 3, 1)));
    folder.run(&submit).ok();
    counted(aggregator.address, 80);
    let mut other = SealingKey::read(&get(aggregator.address, GATEWAY).body).unwrap().list();
    let (_, fresh) = self::aggregator(&[]);
    other[2 + 3..2 + 68].copy_from_slice(&get(fresh.address, GATEWAY).body[2 + 3..2 + 68]);
    folder.write("keys", other);
    let refused = folder.run(&format!("{submit} --relay-keys keys"));
    assert!(refused.code == Some(1) && refused.stderr.contains("has another key"), "{refused:?}");
    folder.write("keys", "<html>");
    let refused = folder.run(&format!("{submit} --relay-keys keys"));
    assert!(refused.code == Some(1) && refused.stderr.contains("keys: it is not a gateway's key"), "{refused:?}");
    let refused = folder.run(&format!("{submit} --url localhost:1"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Its page connects to its own origin alone, and so reaches the relay by way of the aggregator.
#[test]
fn a_visitor_of_a_demo_sends_through_its_relay() {
    let (demo, relay) = Serving::demo(&["--population", "1000"]);
    let listed = get(demo.address, "/tasks").json();
    assert_eq!(listed["relay"], "relay");
    let shown = get(demo.address, &format!("/tasks/{}", listed["tasks"][0].as_str().unwrap()));
    let task = Task::from_json(&String::from_utf8(shown.body).unwrap()).unwrap();
    let records = || get(demo.address, &path(&task, "/status")).json()["records"].as_u64().unwrap();
    let keys = get(demo.address, "/relay/keys");
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/ohttp-keys"));
    assert_eq!(keys.body, get(relay, "/keys").body);
    let record = task.bound(vec![0.1; task.dimension()]).unwrap();
    let key = SealingKey::read(&keys.body).unwrap();
    let others = || task.randomize(&record, None).unwrap().to_bytes();
    let seal = |report: &[u8]| key.seal(task.digest(), report).unwrap();
    let counted = |count: u64| wait_until(&format!("{count} reports to count"), || records() >= count);
    // Simulated users fill batches.
    counted(1010);
    let (report, before) = (others(), records());
    let sealed = seal(&report);
    assert_eq!(post(demo.address, "/relay/reports", SEALED, &sealed).status, 202);
    // What the relay refuses is refused with its words.
    post(demo.address, "/relay/reports", SEALED, &sealed[1..]).assert_problem(400, "body-length", &["343 bytes"]);
    // Others fill its batch: the one on its way when it came, and the next.
    for _ in 0..19 {
        assert_eq!(send(relay, &seal(&others())).status, 202);
    }
    counted(before + 20);
    let again = post(demo.address, &path(&task, "/reports"), REPORTS, &report).json();
    assert_eq!((&again["accepted"], &again["duplicate"]), (&0.into(), &1.into()));
    demo.signal("TERM");
    assert!(demo.ended());
}

#[test]
fn an_aggregator_without_a_demo_has_no_relay_for_pages() {
    let (_data, aggregator) = aggregator(&[]);
    assert_eq!(get(aggregator.address, "/tasks").json().get("relay"), None);
    get(aggregator.address, "/relay/keys").assert_problem(404, "unknown-path", &[]);
}
