//! Connections that are slow, idle, too many or too often, and how they end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

use ldp_pca_server::{TlsFiles, raise_file_limit};

use super::harness::*;
use super::wire::Wire;

/// Whether the server has closed the connection; it waits for that.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

/// Whether a new connection is answered.
fn has_place(server: SocketAddr) -> bool {
    Wire::connect(server).try_get("/healthz").is_some_and(|(status, _)| status == 200)
}

#[test]
fn a_slow_head_is_closed_and_does_not_affect_other_clients() {
    let header_timeout = Duration::from_millis(300);
    let fixed = FixedLimits { header_timeout, idle_timeout: NEVER, ..FixedLimits::default() };
    let (_data, server) = serving(|data| ServerConfig { fixed, ..config(data) }, &[task()]);
    // A busy machine may be late with an honest head, too: then again.
    let connect = || {
        let mut wire = Wire::connect(server.address);
        wire.try_get("/healthz").map(|(status, _)| (status, wire))
    };
    let (status, mut kept) = (0..100).find_map(|_| connect()).unwrap();
    assert_eq!(status, 200);
    let (reports_path, body) = (path(&task(), "/reports"), body_of(1, 1));
    let mut slow: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let start = Instant::now();
    let head = format!("POST /tasks HTTP/1.1\r\nHost: test\r\nX-Slow: {}", "a".repeat(62));
    for byte in head.bytes().cycle() {
        slow.retain_mut(|stream| stream.write_all(&[byte]).is_ok());
        if slow.is_empty() {
            break;
        }
        let mut answer = None;
        while answer.is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "{} slow connections are still open", slow.len());
            answer = try_post(server.address, &reports_path, REPORTS, &body).ok();
        }
        assert_eq!(answer.unwrap().status, 200);
    }
    // One that never says anything is late with its first head; one between requests is not.
    assert!(is_closed(&TcpStream::connect(server.address).unwrap()));
    assert_eq!(kept.get("/healthz").0, 200);
}

#[test]
fn a_connection_without_requests_is_closed_after_its_time() {
    let idle_timeout = Duration::from_millis(200);
    let fixed = FixedLimits { header_timeout: NEVER, idle_timeout, ..FixedLimits::default() };
    let (_data, server) = serving(|data| ServerConfig { fixed, ..config(data) }, &[task()]);
    let mut kept = Wire::connect(server.address);
    assert_eq!(kept.get("/healthz").0, 200);
    assert!(is_closed(kept.stream()));
}

#[test]
fn beyond_the_limit_the_longest_idle_connection_gives_way_and_busy_ones_do_not() {
    let fixed = FixedLimits { client_shares: false, ..FixedLimits::default() };
    let settings = |data: &Path| ServerConfig { max_connections: 3, request_timeout: NEVER, fixed, ..config(data) };
    let (_data, server) = serving(settings, &[task()]);
    // So many that they may take minutes.
    let body = body_of(1, 3000);
    let mut first = Wire::connect(server.address);
    assert_eq!(first.get("/healthz").0, 200);
    let mut busy: Vec<Wire> = (0..2).map(|_| Wire::connect(server.address)).collect();
    busy.iter_mut().for_each(|wire| wire.begin_upload(&task(), &body));
    // One that has sent nothing yet is not idle for a moment: it takes the place of the first, and the next one finds
    // none.
    let (mut next, mut refused) = (Wire::connect(server.address), Wire::connect(server.address));
    assert!(is_closed(first.stream()));
    let (status, told) = refused.read_answer().unwrap();
    assert!(status == 503 && told.contains("urn:ldp-pca:problem:too-many-connections"), "{status} {told}");
    assert_eq!(next.get("/healthz").0, 200);
    for wire in &mut busy {
        wire.send(&body[body.len() - 35..]);
        assert_eq!(wire.read_answer().unwrap().0, 200);
    }
    // All are idle: `next` has been for longest.
    assert_eq!(Wire::connect(server.address).get("/healthz").0, 200);
}

/// Heads that have not come in two seconds give way when all places are taken, long before their time is over.
#[test]
fn slow_heads_give_way_when_all_places_are_taken() {
    let fixed = FixedLimits { client_shares: false, header_timeout: NEVER, ..FixedLimits::default() };
    let (_data, server) = serving(|data| ServerConfig { max_connections: 3, fixed, ..config(data) }, &[task()]);
    let mut slow: Vec<Wire> = (0..3).map(|_| Wire::connect(server.address)).collect();
    slow.iter_mut().for_each(|wire| wire.send(b"GET /healthz HT"));
    wait_until("a head to give way", || has_place(server.address));
    assert!(is_closed(slow[0].stream()));
}

/// Many devices send one report each at once. A device without a place in the system's queue retries after a second.
#[cfg(target_os = "linux")]
#[test]
fn a_thousand_connections_find_a_place_before_the_server_takes_them() {
    let data = tempdir().unwrap();
    raise_file_limit();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // It holds its port, and does not answer.
    let server = runtime.block_on(Server::bind(config(data.path()), vec![task()])).unwrap();
    let most: usize = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse().unwrap();
    // Without a place none of the attempts succeeds; on a busy machine the first may come too late.
    let attempt = || TcpStream::connect_timeout(&server.local_addr(), Duration::from_millis(900)).ok();
    let count = most.min(1000);
    let waiting: Vec<_> = (0..count).map_while(|_| (0..5).find_map(|_| attempt())).collect();
    assert_eq!(waiting.len(), count);
}

#[test]
fn a_head_larger_than_allowed_is_refused() {
    let (_data, server) = serving(config, &[task()]);
    let ask = |bytes: usize| {
        let mut wire = Wire::connect(server.address);
        wire.begin(&format!("GET /healthz\nX-Large: {}", "a".repeat(bytes)));
        wire.read_answer().unwrap().0
    };
    // At most 32 KiB.
    assert_eq!((ask(32_000), ask(70_000)), (200, 431));
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back() {
    let rate_limit = Some(RateLimit { per_second: 0.001, burst: 3 });
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let (_data, server) = serving(|data| ServerConfig { rate_limit, trusted_proxies, ..config(data) }, &[task()]);
    let body = body_of(1, 1);
    for _ in 0..3 {
        assert_eq!(server.send(&task(), &body).status, 200);
    }
    let refused = server.send(&task(), &body);
    refused.refused(429, "rate-limit", &["again in"]);
    let wait: u32 = refused.header("retry-after").parse().unwrap();
    assert!((900..=1001).contains(&wait), "{wait}");
    // Another client, as the proxy says. A supervisor that restarts servers is always answered.
    let mut wire = Wire::connect(server.address);
    for (client, path, status) in [
        ("203.0.113.1, 198.51.100.7", "/tasks", 200),
        ("127.0.0.1", "/tasks", 429),
        ("127.0.0.1", "/healthz", 200),
        ("127.0.0.1", "/readyz", 200),
    ] {
        wire.begin(&format!("GET {path}\nX-Forwarded-For: {client}"));
        assert_eq!(wire.read_answer().unwrap().0, status, "{client} {path}");
    }
}

/// The deadline is far away: only what has a request is waited for.
#[test]
fn shutdown_closes_idle_connections_at_once_and_finishes_open_requests() {
    let fixed = FixedLimits { header_timeout: Duration::from_secs(3), ..FixedLimits::default() };
    let settings = |data: &Path| ServerConfig { drain_timeout: NEVER, request_timeout: NEVER, fixed, ..config(data) };
    let (data, server) = serving(settings, &[task()]);
    // So many that they may take minutes.
    let body = body_of(1, 3000);
    let mut idle = Wire::connect(server.address);
    assert_eq!(idle.get("/healthz").0, 200);
    let silent = TcpStream::connect(server.address).unwrap();
    let mut begun = TcpStream::connect(server.address).unwrap();
    begun.write_all(b"GET /healthz HT").unwrap();
    let mut open = Wire::connect(server.address);
    open.begin_upload(&task(), &body);
    // All of them are accepted, and what they sent is seen, once a later connection is answered and closed again.
    assert_eq!(server.send(&task(), &body[..35]).status, 200);
    let address = server.address;
    let finish = thread::spawn(move || {
        assert!(is_closed(idle.stream()) && is_closed(&silent) && is_closed(&begun));
        assert!(TcpStream::connect(address).is_err(), "a server that stops lets nobody in");
        open.send(&body[body.len() - 35..]);
        assert_eq!(open.read_answer().unwrap().0, 200);
        assert!(is_closed(open.stream()));
    });
    server.shut_down();
    finish.join().unwrap();
    assert_eq!(Running::start(config(data.path()), &[]).records(&task()), 3000);
}

#[test]
fn a_client_that_closes_its_half_in_a_body_counts_nothing_and_frees_its_place() {
    let settings = |data: &Path| ServerConfig { max_connections: 1, request_timeout: NEVER, ..config(data) };
    let (_data, server) = serving(settings, &[task()]);
    let body = body_of(1, 2);
    let mut half = Wire::connect(server.address);
    half.open_upload(&task(), body.len());
    half.send(&body[..35]);
    half.stream().shutdown(Shutdown::Write).unwrap();
    // A refusal, or nothing any more.
    assert!(half.read_answer().is_ok_and(|(status, _)| status == 400) || is_closed(half.stream()));
    wait_until("its place to be free", || has_place(server.address));
    assert_eq!(server.records(&task()), 0);
    // Nothing of it is known.
    assert_eq!(server.send(&task(), &body).json()["accepted"], 2);
}

#[test]
fn a_certificate_that_cannot_be_served_with_is_named() {
    let data = tempdir().unwrap();
    let (certificate, key) = (data.path().join("certificate.pem"), data.path().join("key.pem"));
    fs::write(&certificate, "no certificate").unwrap();
    let tls = Some(TlsFiles { certificate, key });
    let error = refusal(ServerConfig { tls, ..config(data.path()) }, &[task()]).to_string();
    let expected = if cfg!(feature = "tls") { "certificate.pem" } else { "feature `tls`" };
    assert!(error.contains(expected), "{error}");
}

/// Uploads over HTTPS with a certificate made by openssl, and with another one after SIGHUP.
#[cfg(feature = "tls")]
#[test]
fn reports_come_over_tls() {
    let data = tempdir().unwrap();
    let (certificate, key) = (data.path().join("certificate.pem"), data.path().join("key.pem"));
    let make = |name: &str| {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
            .args(["-subj", &format!("/CN={name}"), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output();
        made.is_ok_and(|made| made.status.success())
    };
    if !make("first") {
        eprintln!("skipped: there is no openssl to make a certificate with");
        return;
    }
    let tls = Some(TlsFiles { certificate: certificate.clone(), key: key.clone() });
    let server = Running::start(ServerConfig { tls, ..config(data.path()) }, &[task()]);
    let upload = data.path().join("reports");
    fs::write(&upload, body_of(1, 3)).unwrap();
    let curl = || {
        let sent = Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "20", "--cacert"])
            .arg(&certificate)
            .args(["--header", &format!("content-type: {REPORTS}"), "--data-binary"])
            .arg(format!("@{}", upload.display()))
            .arg(format!("https://{}{}", server.address, path(&task(), "/reports")))
            .output()
            .unwrap();
        String::from_utf8(if sent.status.success() { sent.stdout } else { sent.stderr }).unwrap()
    };
    assert!(curl().contains("\"accepted\":3"), "{}", curl());
    // A new certificate: the old one is served until the server gets the signal.
    assert!(make("second"));
    assert!(curl().contains("certificate"), "{}", curl());
    assert!(Command::new("kill").args(["-HUP", &std::process::id().to_string()]).status().unwrap().success());
    wait_until("the new certificate", || curl().contains("\"duplicate\":3"));
}

/// A proxy before the server may have read another request from the same bytes.
#[test]
fn requests_with_an_uncertain_end_or_sender_are_refused_and_closed() {
    let (_data, server) = serving(config, &[task()]);
    let ask = |head: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        // It may be refused before.
        let _ = stream.write_all(body);
        let mut told = Vec::new();
        // To its end: the server closes.
        stream.read_to_end(&mut told).unwrap();
        String::from_utf8(told).unwrap()
    };
    let upload = format!("POST {} HTTP/1.1\r\nContent-Type: {REPORTS}\r\n", path(&task(), "/reports"));
    let behind = "GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n";
    for (head, said) in [
        (format!("{upload}Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), "Transfer-Encoding"),
        (format!("{upload}Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), "Transfer-Encoding"),
        (format!("{upload}Content-Length: 5\r\n\r\n"), "no Host"),
        (format!("{upload}Host: a\r\nHost: b\r\nContent-Length: 5\r\n\r\n"), "more than one Host"),
        ("GET /healthz HTTP/1.1\r\n\r\n".into(), "no Host"),
        ("GET http://a/healthz HTTP/1.1\r\n\r\n".into(), "no Host"),
        ("GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n".into(), "more than one Host"),
    ] {
        let told = ask(&head, format!("0\r\n\r\n{behind}").as_bytes());
        assert!(told.starts_with("HTTP/1.1 400") || told.starts_with("HTTP/1.0 400"), "{head}: {told}");
        assert!(told.contains("bad-head") && told.contains(said), "{told}");
        assert_eq!(told.matches("HTTP/1.").count(), 1, "one answer, and the end: {told}");
    }
    // A body in chunks is taken, and is the last of its connection: here the length came where nobody looked for it.
    let pipelined = format!(
        "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n{upload}Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: \
            chunked\r\n\r\n0\r\n\r\n{behind}"
    );
    let told = ask(&pipelined, b"");
    assert_eq!(told.matches("HTTP/1.1 ").count(), 2, "{told}");
    assert!(ask("GET /healthz HTTP/1.0\r\n\r\n", b"").starts_with("HTTP/1.0 200"));
}

/// A connection that has been idle for a while goes on where it was, and what came in pieces or pipelined is not lost.
#[test]
fn connections_that_rested_go_on() {
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(1, 6);
    let mut wires: Vec<Wire> = (0..3).map(|_| Wire::connect(server.address)).collect();
    for (round, report) in body.chunks(35).enumerate() {
        let wire = &mut wires[round % 3];
        assert_eq!(wire.upload(&task(), report).unwrap().0, 200);
        if round == 2 {
            // Longer than idle connections keep their buffers.
            thread::sleep(Duration::from_millis(1800));
        }
    }
    thread::sleep(Duration::from_millis(1800));
    // Two requests at once, and one in pieces with a pause.
    let get = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n";
    wires[0].send(format!("{get}{get}").as_bytes());
    let mut both = String::new();
    while both.matches("HTTP/1.1 200").count() < 2 || both.matches("\"ok\"").count() < 2 {
        let mut piece = [0; 4096];
        let bytes = wires[0].stream().read(&mut piece).unwrap();
        both += std::str::from_utf8(&piece[..bytes]).unwrap();
    }
    // A head that arrived in part with the earlier request.
    wires[2].send(format!("{get}{}", &get[..9]).as_bytes());
    assert_eq!(wires[2].read_answer().unwrap().0, 200);
    for piece in [&get[..7], &get[7..30]] {
        wires[1].send(piece.as_bytes());
        thread::sleep(Duration::from_millis(1300));
    }
    wires[1].send(&get.as_bytes()[30..]);
    assert_eq!(wires[1].read_answer().unwrap().0, 200);
    wires[2].send(&get.as_bytes()[9..]);
    assert_eq!(wires[2].read_answer().unwrap().0, 200);
    assert_eq!(server.records(&task()), 6);
    // One that rests does not keep the server from ending.
    server.shut_down();
}
