//! Bodies that are too long, too slow, cut off, or too many.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ldp_pca_server::{FixedLimits, RateLimit, ServerConfig};
use tempfile::tempdir;

use super::harness::{ADMIN, NEVER, REPORTS, Running, bytes_of, config, path, reports, task};
use super::wire::Wire;

/// A request for `length` bytes, whose body is still to come.
fn open_request(server: &Running, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let path = path(&task(), "/reports");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {REPORTS}\r\nContent-Length: {length}\r\nConnection: \
            close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_oversized_body_is_refused_and_the_answer_is_read() {
    let data = tempdir().unwrap();
    let settings = ServerConfig { max_body_bytes: 70, ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    let body = bytes_of(&reports(&task(), 1, 3));
    assert_eq!(server.send(&task(), &body[..70]).status, 200);
    server.send(&task(), &body).assert_problem(413, "body-too-large", &["105 bytes", "at most 70"]);
    // In chunks, the length is not announced.
    let mut stream = TcpStream::connect(server.address).unwrap();
    let path = path(&task(), "/reports");
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {REPORTS}\r\nTransfer-Encoding: chunked\r\nConnection: \
            close\r\n\r\n"
    );
    let chunks: Vec<u8> = body.chunks(35).flat_map(|report| [&b"23\r\n"[..], report, b"\r\n"].concat()).collect();
    // At once: the server reads the rest of a refused body for a moment only.
    stream.write_all(&[head.as_bytes(), &chunks, b"0\r\n\r\n"].concat()).unwrap();
    let refused = answer(stream);
    assert!(refused.starts_with("HTTP/1.1 413") && refused.contains("body-too-large"), "{refused}");
    assert_eq!(server.records(&task()), 2);
}

#[test]
fn a_large_body_is_decoded_whole() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let mut body = bytes_of(&reports(&task(), 2, 10_000));
    body[35 * 1234 + 30] ^= 1;
    let problem = server.send(&task(), &body).assert_problem(422, "reports-rejected", &["1 reports", "9999 accepted"]);
    assert_eq!(problem["rejections"][0]["index"], 1234);
    assert_eq!(server.records(&task()), 9999);
    let noise = vec![7; 35 * 2000];
    let problem = server.send(&task(), &noise).assert_problem(422, "reports-rejected", &["2000 reports"]);
    assert_eq!((&problem["rejected"], problem["rejections"].as_array().unwrap().len()), (&2000.into(), 1000));
}

/// The body never comes, and nothing ends the wait for it but the limit under test.
#[test]
fn a_refusal_does_not_wait_for_the_body() {
    let data = tempdir().unwrap();
    let settings = ServerConfig {
        max_body_bytes: 1 << 20,
        request_timeout: NEVER,
        rate_limit: Some(RateLimit { per_second: 1e-6, burst: 4 }),
        ..config(data.path())
    };
    let server = Running::start(settings, &[task()]);
    let reports = path(&task(), "/reports");
    let missing = reports.replacen(&task().digest().to_string(), &"0".repeat(64), 1);
    let cases = [
        (&reports, REPORTS, 8 << 20, "413"),
        (&missing, REPORTS, 1 << 20, "404"),
        (&reports, "text/plain", 1 << 20, "415"),
        (&reports, REPORTS, 8 << 20, "413"),
        (&reports, REPORTS, 1 << 20, "429"),
    ];
    for (path, media_type, length, status) in cases {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(start[9..], *status.as_bytes(), "{}", String::from_utf8_lossy(&start));
    }
}

/// Most clients look for an answer after they have sent everything.
#[test]
fn who_sends_all_of_a_refused_body_reads_why() {
    let data = tempdir().unwrap();
    // The rest of it is read for two seconds: so little that it passes in them on a busy machine, too.
    let settings = ServerConfig { max_body_bytes: 256 << 10, ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    for _ in 0..20 {
        let mut stream = open_request(&server, 384 << 10);
        stream.write_all(&vec![0; 384 << 10]).unwrap();
        assert!(answer(stream).starts_with("HTTP/1.1 413"));
    }
}

#[test]
fn a_body_that_trickles_in_is_given_up() {
    let data = tempdir().unwrap();
    let server = Running::start(ServerConfig { request_timeout: NEVER, ..config(data.path()) }, &[task()]);
    let mut slow = open_request(&server, 70);
    slow.write_all(&bytes_of(&reports(&task(), 3, 1))).unwrap();
    // A document has the same pace.
    let mut document = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "PUT {} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{",
        path(&task(), "")
    );
    document.write_all(head.as_bytes()).unwrap();
    for slow in [slow, document] {
        slow.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let refused = answer(slow);
        assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("bytes a second"), "{refused}");
    }
}

#[test]
fn a_slow_body_is_given_up_and_a_broken_one_counts_nothing() {
    let data = tempdir().unwrap();
    let settings = ServerConfig { request_timeout: Duration::from_millis(200), ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    let body = bytes_of(&reports(&task(), 3, 2));
    let mut slow = open_request(&server, 70);
    slow.write_all(&body[..35]).unwrap();
    let refused = answer(slow);
    assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("body-timeout"), "{refused}");
    server.shut_down();
    let server = Running::start(config(data.path()), &[]);
    let mut broken = open_request(&server, 70);
    broken.write_all(&body[..35]).unwrap();
    broken.shutdown(Shutdown::Both).unwrap();
    assert_eq!(server.send(&task(), &body).json()["accepted"], 2);
}

#[test]
fn more_pending_bytes_than_allowed_are_refused_until_there_is_room() {
    let data = tempdir().unwrap();
    let settings = ServerConfig { max_body_bytes: 350, max_pending_bytes: 350, ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    let body = bytes_of(&reports(&task(), 4, 10));
    // There is no room once the server has read what the slow request sent. On a slow machine it may not have read it
    // yet: then again.
    let attempt = || {
        let mut slow = open_request(&server, 350);
        slow.write_all(&body[..300]).unwrap();
        thread::sleep(Duration::from_millis(100));
        (server.send(&task(), &body[..140]), slow)
    };
    let (refused, mut slow) = (0..20).map(|_| attempt()).find(|(answer, _)| answer.status != 200).expect("a refusal");
    refused.assert_problem(503, "busy", &["none of this request was counted"]);
    assert_eq!(refused.header("retry-after"), "5");
    slow.write_all(&body[300..]).unwrap();
    assert!(answer(slow).starts_with("HTTP/1.1 200"));
    assert_eq!(server.send(&task(), &body).json()["duplicate"], 10);
}

#[test]
fn shutdown_does_not_wait_for_a_client_that_never_finishes() {
    let data = tempdir().unwrap();
    let settings =
        ServerConfig { drain_timeout: Duration::from_millis(200), request_timeout: NEVER, ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    // So many that nothing but the end of the server ends the wait for them within minutes.
    let body = bytes_of(&reports(&task(), 5, 3000));
    server.send(&task(), &body[..35]);
    let mut stuck = Wire::connect(server.address);
    stuck.begin_upload(&task(), body.len());
    stuck.send(&body[..body.len() - 35]);
    let idle = TcpStream::connect(server.address).unwrap();
    let start = Instant::now();
    server.shut_down();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    drop((stuck, idle));
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.records(&task()), 1);
}

/// Requests are not what fills the disk.
#[test]
fn reports_of_one_client_are_limited_where_that_is_set() {
    let start = |data: &std::path::Path| {
        let reports_rate_limit = Some(RateLimit { per_second: 0.001, burst: 10 });
        Running::start(ServerConfig { reports_rate_limit, ..config(data) }, &[task()])
    };
    let body = bytes_of(&reports(&task(), 1, 40));
    let data = tempdir().unwrap();
    let server = start(data.path());
    assert_eq!(server.send(&task(), &body[..35 * 4]).status, 200);
    // More than is left now, and none of it is counted.
    server.send(&task(), &body[..35 * 7]).assert_problem(
        429,
        "rate-limit",
        &["again in", "nothing of this was counted"],
    );
    assert_eq!(server.send(&task(), &body[..35 * 6]).status, 200);
    server.send(&task(), &body[..35]).assert_problem(429, "rate-limit", &[]);
    assert_eq!(server.records(&task()), 6, "the first four were there");
    // More than a bucket ever holds comes in, once.
    let data = tempdir().unwrap();
    let server = start(data.path());
    assert_eq!(server.send(&task(), &body).status, 200);
    server.send(&task(), &body[..35]).assert_problem(429, "rate-limit", &[]);
}

/// Without any setting of the task: what nobody limits fills the memory or the disk.
#[test]
fn a_task_has_a_ceiling_and_acknowledged_reports_are_still_answered() {
    for settings in [
        |data: &std::path::Path| ServerConfig { max_task_records: 3, ..config(data) },
        |data: &std::path::Path| {
            let fixed = FixedLimits { task_bytes: 139, ..FixedLimits::default() };
            ServerConfig { fixed, ..config(data) }
        },
    ] {
        let data = tempdir().unwrap();
        let server = Running::start(settings(data.path()), &[task()]);
        let body = bytes_of(&reports(&task(), 1, 5));
        assert_eq!(server.send(&task(), &body[..105]).status, 200);
        let full = server.send(&task(), &body).assert_problem(403, "quota", &["max_task_records", "64 GiB"]);
        assert_eq!((full["max_records"].as_u64(), full["records"].as_u64()), (Some(3), Some(3)));
        assert_eq!(server.send(&task(), &body[..105]).json()["duplicate"], 3);
        assert_eq!(server.records(&task()), 3);
    }
    // A task may have more than the server gives by itself.
    let data = tempdir().unwrap();
    let server = Running::start(ServerConfig { max_task_records: 3, ..config(data.path()) }, &[task()]);
    let more = ldp_pca_server::TaskSettings { max_records: Some(4), ..ldp_pca_server::TaskSettings::default() };
    server.put(&task(), &more);
    let body = bytes_of(&reports(&task(), 1, 5));
    assert_eq!((server.send(&task(), &body[..140]).status, server.send(&task(), &body).status), (200, 403));
    let by_default = (ServerConfig::new("").max_task_records, FixedLimits::default().task_bytes);
    assert_eq!(by_default, (50_000_000, 64 << 30));
}
