//! The gateway of Oblivious HTTP, with a client that is not ours: that of the crate `ohttp`.

use std::io::Cursor;

use bhttp::{Message, Mode};
use ohttp::{ClientRequest, ClientResponse};

use super::harness::*;

pub const GATEWAY: &str = "/.well-known/ohttp-gateway";
pub const SEALED: &str = "message/ohttp-req";

/// A request of binary HTTP.
fn request(method: &str, path: &str, fields: &[(&str, &str)], content: &[u8]) -> Vec<u8> {
    let [method, path] = [method, path].map(|text| text.as_bytes().to_vec());
    let mut message = Message::request(method, b"https".to_vec(), b"reports.example.org".to_vec(), path);
    fields.iter().for_each(|(name, value)| message.put_header(*name, *value));
    message.write_content(content);
    let mut bytes = Vec::new();
    // The other form of the standard than our clients use.
    message.write_bhttp(Mode::IndeterminateLength, &mut bytes).unwrap();
    bytes
}

fn sealed(server: &Running, request: &[u8]) -> (Vec<u8>, ClientResponse) {
    let keys = server.get(GATEWAY);
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/ohttp-keys"));
    ClientRequest::from_encoded_config_list(&keys.body).unwrap().encapsulate(request).unwrap()
}

/// The status, the media type and the document of a sealed answer.
fn opened(answer: &Answer, opener: ClientResponse) -> (u16, String, Value) {
    assert_eq!((answer.status, answer.header("content-type")), (200, "message/ohttp-res"), "{answer:?}");
    // A nonce of 16 bytes and a tag of 16: a relay cannot tell what counts from what is refused.
    assert_eq!(answer.body.len(), 16 + 2048 + 16);
    let message = Message::read_bhttp(&mut Cursor::new(opener.decapsulate(&answer.body).unwrap())).unwrap();
    let media_type = String::from_utf8(message.header().get(b"content-type").unwrap().to_vec()).unwrap();
    let document = serde_json::from_slice(message.content()).unwrap();
    (message.control().status().unwrap().code(), media_type, document)
}

fn ask(server: &Running, request: &[u8]) -> (u16, String, Value) {
    let (sealed, opener) = sealed(server, request);
    opened(&server.post(GATEWAY, SEALED, &sealed), opener)
}

#[test]
fn sealed_reports_are_handled_as_those_of_the_plain_route() {
    let (_data, server) = serving(config, &[task()]);
    let body = body_of(1, 20);
    let fields = [("content-type", REPORTS), ("cookie", "a=b"), ("x-forwarded-for", "192.0.2.1")];
    let verdict = |accepted, duplicate| {
        let document = json!({"accepted": accepted, "duplicate": duplicate, "rejected": 0, "rejections": []});
        (200, "application/json".to_owned(), document)
    };
    let [path, unknown] = [task(), other_task()].map(|task| path(&task, "/reports"));
    assert_eq!(ask(&server, &request("POST", &path, &fields, &body)), verdict(20, 0));
    // Without a media type, with padding, and with the plain route beside it.
    let padded = [request("POST", &path, &[], &body[..35]), vec![0; 500]].concat();
    assert_eq!(ask(&server, &padded), verdict(0, 1));
    assert_eq!(server.send(&task(), &body).json()["duplicate"], 20);
    assert_eq!(server.records(&task()), 20);
    for (path, fields, body, expected, kind) in [
        (&path, &[][..], &body[1..36], 422, "reports-rejected"),
        (&unknown, &[], &body, 404, "unknown-task"),
        (&path, &[("content-type", "text/plain")], &body, 415, "media-type"),
    ] {
        let (status, media_type, problem) = ask(&server, &request("POST", path, fields, body));
        assert_eq!((status, &*media_type), (expected, "application/problem+json"));
        assert_eq!(problem["type"], format!("urn:ldp-pca:problem:{kind}"));
    }
}

/// Neither an admin's token nor anything else goes through.
#[test]
fn a_gateway_is_for_reports_alone() {
    let (_data, server) = serving(config, &[task()]);
    let fields = [("authorization", &*format!("Bearer {ADMIN}")), JSON];
    let task_path = path(&task(), "");
    for (method, path, status) in [
        ("DELETE", &*task_path, 405),
        ("PUT", &task_path, 405),
        ("GET", "/metrics", 405),
        ("POST", &format!("{task_path}/seeds"), 404),
        ("POST", &format!("{task_path}/erasures"), 404),
        ("POST", &format!("{task_path}/reports?x=1"), 404),
        ("POST", "/tasks/../reports", 404),
        ("POST", "/tasks//reports", 404),
        ("POST", GATEWAY, 404),
        ("CONNECT", "example.org:443", 405),
    ] {
        let body = put_body(&task(), &TaskSettings::default());
        let (found, _, problem) = ask(&server, &request(method, path, &fields, &body));
        assert_eq!(found, status, "{method} {path}: {problem}");
    }
    let (status, _, problem) = ask(&server, b"not binary HTTP");
    assert_eq!((status, &problem["type"]), (400, &json!("urn:ldp-pca:problem:sealed-request")));
    assert_eq!(server.records(&task()), 0);
}

#[test]
fn what_does_not_open_is_refused_in_the_clear_with_the_reason() {
    let (_data, server) = serving(config, &[task()]);
    let (good, _) = sealed(&server, &request("POST", &path(&task(), "/reports"), &[], &[1; 35]));
    server.post(GATEWAY, "text/plain", &good).refused(415, "media-type", &["text/plain", SEALED]);
    for bad in [&good[..good.len() - 1], &good[..8], &[good[0]; 40], &[&good[..], b"x"].concat()] {
        server.post(GATEWAY, SEALED, bad).refused(400, "sealed-request", &["does not open"]);
    }
    let mut other = good.clone();
    other[0] ^= 1;
    let answer = server.post(GATEWAY, SEALED, &other);
    let kind = "https://iana.org/assignments/http-problem-types#ohttp-key";
    assert_eq!((answer.status, &answer.json()["type"]), (400, &json!(kind)));
}

#[test]
fn a_file_that_has_no_keys_is_refused_by_the_start_and_by_the_check() {
    let data = tempdir().unwrap();
    let file = data.path().join("gateway.keys");
    fs::write(&file, "key").unwrap();
    let error = refusal(config(data.path()), &[]).to_string();
    assert!(error.contains("gateway.keys: line 1 is not a key") && error.contains("openssl rand"), "{error}");
    let named = ServerConfig { gateway_keys_file: Some(file), ..config(data.path()) };
    assert_eq!(Server::check(&named).unwrap_err().to_string(), error, "the check reads what is named");
}

/// A refusal that will pass is told to the relay too, which cannot open the answer.
#[test]
fn rates_of_one_client_are_not_for_relays_and_others_are_told_when_to_try_again() {
    let data = tempdir().unwrap();
    let limit = Some(RateLimit { per_second: 0.01, burst: 1 });
    let limited = || ServerConfig { reports_rate_limit: limit, ..config(data.path()) };
    let seal = |server: &Running, seed| {
        let key = SealingKey::read(&server.get(GATEWAY).body).unwrap();
        key.seal(task().digest(), &body_of(seed, 1)).unwrap()
    };
    let server = Running::start(limited(), &[task()]);
    let answers = [1, 2].map(|seed| server.post(GATEWAY, SEALED, &seal(&server, seed)));
    assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200]);
    assert_eq!(answers[0].header("retry-after"), "");
    assert!(answers[1].header("retry-after").parse::<u32>().unwrap() > 60, "{answers:?}");
    assert_eq!(server.records(&task()), 1);
    server.shut_down();
    let server = Running::start(ServerConfig { relays: vec!["127.0.0.1".parse().unwrap()], ..limited() }, &[]);
    let answers = [3, 4, 5].map(|seed| server.post(GATEWAY, SEALED, &seal(&server, seed)));
    assert!(answers.iter().all(|answer| answer.status == 200 && answer.header("retry-after").is_empty()));
    assert_eq!(server.records(&task()), 4);
}
