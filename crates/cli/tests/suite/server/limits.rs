//! Bodies that are too long, too slow, cut off, or too many.

use super::harness::*;
use super::wire::Wire;

/// A request for `length` bytes, whose body is still to come.
fn open_request(server: &Running, length: usize) -> Wire {
    let mut wire = Wire::connect(server.address);
    let fields = format!("Content-Type: {REPORTS}\nContent-Length: {length}\nConnection: close");
    wire.begin(&format!("POST {}\n{fields}", path(&task(), "/reports")));
    wire
}

#[test]
fn an_oversized_body_is_refused_and_the_answer_is_read() {
    let (_data, server) = serving(|data| ServerConfig { max_body_bytes: 70, ..config(data) }, &[task()]);
    let body = body_of(1, 3);
    assert_eq!(server.send(&task(), &body[..70]).status, 200);
    server.send(&task(), &body).refused(413, "body-too-large", &["105 bytes", "at most 70"]);
    // In chunks, the length is not announced.
    let mut wire = Wire::connect(server.address);
    let fields = format!("Content-Type: {REPORTS}\nTransfer-Encoding: chunked\nConnection: close");
    wire.begin(&format!("POST {}\n{fields}", path(&task(), "/reports")));
    let chunks: Vec<u8> = body.chunks(35).flat_map(|report| [&b"23\r\n"[..], report, b"\r\n"].concat()).collect();
    // At once: the server reads the rest of a refused body for a moment only.
    wire.send([&chunks[..], b"0\r\n\r\n"].concat());
    let (status, refused) = wire.read_answer().unwrap();
    assert!(status == 413 && refused.contains("body-too-large"), "{status} {refused}");
    assert_eq!(server.records(&task()), 2);
}

#[test]
fn a_large_body_is_decoded_whole() {
    let (_data, server) = serving(config, &[task()]);
    let mut body = body_of(2, 10_000);
    body[35 * 1234 + 30] ^= 1;
    let said = ["1 report was rejected", "9999 accepted"];
    let problem = server.send(&task(), &body).refused(422, "reports-rejected", &said);
    assert_eq!(problem["rejections"][0]["index"], 1234);
    assert_eq!(server.records(&task()), 9999);
    let noise = vec![7; 35 * 2000];
    let problem = server.send(&task(), &noise).refused(422, "reports-rejected", &["2,000 reports"]);
    assert_eq!((&problem["rejected"], problem["rejections"].as_array().unwrap().len()), (&2000.into(), 1000));
}

/// The body never comes, and nothing ends the wait for it but the limit under test.
#[test]
fn a_refusal_does_not_wait_for_the_body() {
    let (rate_limit, request_timeout) = (Some(RateLimit { per_second: 1e-6, burst: 4 }), NEVER);
    let settings = |data: &Path| ServerConfig { max_body_bytes: 1 << 20, request_timeout, rate_limit, ..config(data) };
    let (_data, server) = serving(settings, &[task()]);
    let reports = path(&task(), "/reports");
    let missing = reports.replacen(&task().digest().to_string(), &"0".repeat(64), 1);
    for (path, media_type, length, status) in [
        (&reports, REPORTS, 8 << 20, 413),
        (&missing, REPORTS, 1 << 20, 404),
        (&reports, "text/plain", 1 << 20, 415),
        (&reports, REPORTS, 8 << 20, 413),
        (&reports, REPORTS, 1 << 20, 429),
    ] {
        let head = format!("POST {path}\nContent-Type: {media_type}\nContent-Length: {length}");
        assert_eq!(Wire::connect(server.address).status_of(&head), status, "{head}");
    }
}

/// Most clients look for an answer after they have sent everything.
#[test]
fn who_sends_all_of_a_refused_body_reads_why() {
    // The rest of it is read for two seconds: so little that it passes in them on a busy machine, too.
    let (_data, server) = serving(|data| ServerConfig { max_body_bytes: 256 << 10, ..config(data) }, &[task()]);
    for _ in 0..20 {
        let mut wire = open_request(&server, 384 << 10);
        wire.send(vec![0; 384 << 10]);
        assert_eq!(wire.read_answer().unwrap().0, 413);
    }
}

#[test]
fn a_body_that_trickles_in_is_given_up() {
    let (_data, server) = serving(|data| ServerConfig { request_timeout: NEVER, ..config(data) }, &[task()]);
    let mut slow = open_request(&server, 70);
    slow.send(body_of(3, 1));
    // A document has the same pace.
    let mut document = Wire::connect(server.address);
    let fields = format!("Authorization: Bearer {ADMIN}\nContent-Type: application/json\nContent-Length: 100");
    document.begin(&format!("PUT {}\n{fields}\nConnection: close", path(&task(), "")));
    document.send("{");
    for mut slow in [slow, document] {
        let (status, refused) = slow.read_answer().unwrap();
        assert!(status == 408 && refused.contains("bytes a second"), "{status} {refused}");
    }
}

#[test]
fn a_slow_body_is_given_up() {
    let request_timeout = Duration::from_millis(200);
    let (_data, server) = serving(|data| ServerConfig { request_timeout, ..config(data) }, &[task()]);
    let mut slow = open_request(&server, 70);
    slow.send(body_of(3, 1));
    let (status, refused) = slow.read_answer().unwrap();
    assert!(status == 408 && refused.contains("body-timeout"), "{status} {refused}");
}

#[test]
fn more_pending_bytes_than_allowed_are_refused_until_there_is_room() {
    let settings = |data: &Path| ServerConfig { max_body_bytes: 350, max_pending_bytes: 350, ..config(data) };
    let (_data, server) = serving(settings, &[task()]);
    let body = body_of(4, 10);
    // There is no room once the server has read what the slow request sent. On a slow machine it may not have read it
    // yet: then again.
    let attempt = || {
        let mut slow = open_request(&server, 350);
        slow.send(&body[..300]);
        thread::sleep(Duration::from_millis(100));
        (server.send(&task(), &body[..140]), slow)
    };
    let (refused, mut slow) = (0..20).map(|_| attempt()).find(|(answer, _)| answer.status != 200).expect("a refusal");
    refused.refused(503, "busy", &["none of this request was counted"]);
    assert_eq!(refused.header("retry-after"), "5");
    slow.send(&body[300..]);
    assert_eq!(slow.read_answer().unwrap().0, 200);
    assert_eq!(server.send(&task(), &body).json()["duplicate"], 10);
}

#[test]
fn shutdown_does_not_wait_for_a_client_that_never_finishes() {
    let (drain_timeout, request_timeout) = (Duration::from_millis(200), NEVER);
    let settings = |data: &Path| ServerConfig { drain_timeout, request_timeout, ..config(data) };
    let (data, server) = serving(settings, &[task()]);
    // So many that nothing but the end of the server ends the wait for them within minutes.
    let body = body_of(5, 3000);
    server.send(&task(), &body[..35]);
    let mut stuck = Wire::connect(server.address);
    stuck.begin_upload(&task(), &body);
    let idle = Wire::connect(server.address);
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
    let reports_rate_limit = Some(RateLimit { per_second: 0.001, burst: 10 });
    let settings = |data: &Path| ServerConfig { reports_rate_limit, ..config(data) };
    let body = body_of(1, 40);
    let (_data, server) = serving(settings, &[task()]);
    assert_eq!(server.send(&task(), &body[..35 * 4]).status, 200);
    // More than is left now, and none of it is counted.
    server.send(&task(), &body[..35 * 7]).refused(429, "rate-limit", &["again in", "nothing of this was counted"]);
    assert_eq!(server.send(&task(), &body[..35 * 6]).status, 200);
    server.send(&task(), &body[..35]).refused(429, "rate-limit", &[]);
    assert_eq!(server.records(&task()), 6, "the first four were there");
    // More than a bucket ever holds comes in, once.
    let (_data, server) = serving(settings, &[task()]);
    assert_eq!(server.send(&task(), &body).status, 200);
    server.send(&task(), &body[..35]).refused(429, "rate-limit", &[]);
}

/// Without any setting of the task: what nobody limits fills the memory or the disk.
#[test]
fn a_task_has_a_ceiling_and_acknowledged_reports_are_still_answered() {
    let (body, by_default) = (body_of(1, 5), FixedLimits::default().task_bytes);
    for (max_task_records, task_bytes) in [(3, by_default), (50_000_000, 139)] {
        let fixed = FixedLimits { task_bytes, ..FixedLimits::default() };
        let (_data, server) = serving(|data| ServerConfig { max_task_records, fixed, ..config(data) }, &[task()]);
        assert_eq!(server.send(&task(), &body[..105]).status, 200);
        let full = server.send(&task(), &body).refused(403, "quota", &["max_task_records", "64 GiB"]);
        assert_has(&full, json!({"max_records": 3, "records": 3}), "the problem");
        assert_eq!(server.counts(&task(), &body[..105]), (0, 3));
        assert_eq!(server.records(&task()), 3);
    }
    // A task may have more than the server gives by itself.
    let (_data, server) = serving(|data| ServerConfig { max_task_records: 3, ..config(data) }, &[task()]);
    server.put(&task(), &TaskSettings { max_records: Some(4), ..TaskSettings::default() });
    assert_eq!((server.send(&task(), &body[..140]).status, server.send(&task(), &body).status), (200, 403));
    assert_eq!((ServerConfig::new("").max_task_records, by_default), (50_000_000, 64 << 30));
}
