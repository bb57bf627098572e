//! Pages of other origins, task by task.

use super::harness::*;

const HERE: (&str, &str) = ("origin", "https://survey.example");
const ELSEWHERE: (&str, &str) = ("origin", "https://elsewhere.example");

fn allowed(answer: &Answer) -> &str {
    answer.header("access-control-allow-origin")
}

#[test]
fn pages_of_any_origin_may_read_tasks_and_send_reports() {
    let (_data, server) = serving(config, &[task()]);
    let answer = server.request("GET", &path(&task(), ""), &[ELSEWHERE], b"");
    assert_eq!((allowed(&answer), answer.header("vary")), ("*", "origin"));
    assert!(answer.header("access-control-expose-headers").contains("retry-after"));
    let asked =
        [ELSEWHERE, ("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")];
    let answer = server.request("OPTIONS", &path(&task(), "/reports"), &asked, b"");
    assert_eq!((answer.status, allowed(&answer)), (204, "*"));
    assert_eq!(answer.header("access-control-allow-methods"), "GET,POST", "tasks are not put or deleted by pages");
    assert!(answer.header("access-control-allow-headers").contains("content-type"));
    // A refusal can be read there, too.
    let refused = server.request("POST", &path(&task(), "/reports"), &[ELSEWHERE, ("content-type", REPORTS)], b"x");
    refused.refused(400, "body-length", &[]);
    assert_eq!(allowed(&refused), "*");
    // Nobody asks: nothing is said.
    assert_eq!(allowed(&server.get(&path(&task(), ""))), "");
}

#[test]
fn pages_of_other_origins_see_nothing_that_is_for_operators_and_relays() {
    let (_data, server) = serving(config, &[task()]);
    for path in ["/", "/metrics", "/healthz", "/readyz", "/openapi.json", "/.well-known/ohttp-gateway"] {
        let answer = server.request("GET", path, &[ELSEWHERE], b"");
        assert_eq!((answer.status, allowed(&answer)), (200, ""), "{path}");
        let asked = [ELSEWHERE, ("access-control-request-method", "GET")];
        assert_eq!(allowed(&server.request("OPTIONS", path, &asked, b"")), "", "{path}");
    }
    assert_eq!(allowed(&server.request("GET", "/tasks", &[ELSEWHERE], b"")), "*");
}

#[test]
fn a_task_with_origins_is_for_their_pages_alone() {
    let (_data, server) = serving(config, &[other_task()]);
    server.put(&task(), &TaskSettings { origins: Some(vec![HERE.1.into()]), ..TaskSettings::default() });
    let body = body_of(1, 1);
    for rest in ["", "/status", "/recovery?rank=1"] {
        let of = |origin| server.request("GET", &path(&task(), rest), &[origin], b"");
        assert_eq!((allowed(&of(HERE)), allowed(&of(ELSEWHERE))), (HERE.1, ""), "{rest}");
        assert_eq!(of(ELSEWHERE).header("vary"), "origin", "no cache may give one page's answer to another");
    }
    let preflight = |origin| {
        let asked = [origin, ("access-control-request-method", "POST")];
        server.request("OPTIONS", &path(&task(), "/reports"), &asked, b"")
    };
    assert_eq!(allowed(&preflight(HERE)), HERE.1);
    assert_eq!((allowed(&preflight(ELSEWHERE)), preflight(ELSEWHERE).header("access-control-allow-methods")), ("", ""));
    let sent = server.request("POST", &path(&task(), "/reports"), &[HERE, ("content-type", REPORTS)], &body);
    assert_eq!((sent.status, allowed(&sent)), (200, HERE.1));
    assert_eq!(allowed(&server.request("GET", &path(&other_task(), ""), &[ELSEWHERE], b"")), "*");
}

/// A request that a browser sends without a preflight has no media type. Only such a request arrives when the page is
/// left.
#[test]
fn a_body_without_a_media_type_is_what_goes_there() {
    let (_data, server) = serving(config, &[other_task()]);
    let settings = TaskSettings { issued_ids: Some(true), ..TaskSettings::default() };
    server.put(&task(), &settings);
    for headers in [&[][..], &[ELSEWHERE]] {
        let issued = server.request("POST", &path(&task(), "/seeds"), headers, br#"{"count": 1}"#);
        assert_eq!(issued.status, 200);
        let body = bytes_of(&reports(&other_task(), headers.len() as u64, 1));
        let sent = server.request("POST", &path(&other_task(), "/reports"), headers, &body);
        assert_eq!((sent.status, allowed(&sent)), (200, if headers.is_empty() { "" } else { "*" }));
        assert_eq!(sent.json()["accepted"], 1);
    }
    // Pages that may not use the task need a preflight, as with any other type, and it is refused.
    server.put(&task(), &TaskSettings { origins: Some(vec![HERE.1.into()]), ..settings });
    let body = body_of(1, 1);
    for (rest, body) in [("/seeds", &br#"{"count": 1}"#[..]), ("/reports", &body)] {
        let of = |headers| server.request("POST", &path(&task(), rest), headers, body).status;
        // The report makes its own id, which is refused later.
        let read = if rest == "/seeds" { 200 } else { 422 };
        assert_eq!((of(&[]), of(&[HERE]), of(&[ELSEWHERE])), (read, read, 415), "{rest}");
    }
}
