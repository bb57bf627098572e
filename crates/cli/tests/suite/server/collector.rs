//! What a collector downloads and publishes, and sees in a browser.

use std::io::Read as _;

use flate2::read::GzDecoder;
use ldp_pca::components::PublishedComponents;

use super::harness::*;
use crate::support::gzip;

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");
const ELSEWHERE: (&str, &str) = ("origin", "https://elsewhere.example");

/// The tokens as passwords, of `anyone` and of nobody.
pub(super) const COLLECTOR_PASSWORD: (&str, &str) =
    ("authorization", "Basic YW55b25lOmNvbGxlY3Rvci0wMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==");
const ADMIN_PASSWORD: (&str, &str) = ("authorization", "basic OmFkbWluLTAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm");

fn closed(data: &Path) -> ServerConfig {
    ServerConfig { open_recovery: false, ..config(data) }
}

/// What a browser is shown, with these headers too.
fn shown(server: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    server.request("GET", path, &[&[BROWSER][..], headers].concat(), b"")
}

#[test]
fn tables_are_those_of_the_command_line_and_sums_are_for_the_collector_alone() {
    let folder = task_folder();
    let server = Running::start(config(&folder.path("data")), &[task()]);
    let body = body_of(1, 300);
    folder.write("sums.ldpa", aggregate_of(&task(), &body).to_bytes());
    server.send(&task(), &body);
    let files = "-o components.csv --covariance covariance.csv";
    folder.run(&format!("recover sums.ldpa --task task.json --rank 2 --method pca {files}")).ok();
    for file in ["components.csv", "covariance.csv"] {
        let table = server.get(&path(&task(), &format!("/{file}?rank=2")));
        assert_eq!(table.text(), folder.read_text(file));
        assert_eq!(table.header("content-disposition"), format!("attachment; filename=\"{file}\""));
    }
    server.get(&path(&task(), "/covariance.csv?rank=9")).refused(400, "bad-rank", &["'9'"]);
    // It shows whether a known id is in it: it is for everybody nowhere.
    let sums = path(&task(), "/aggregate");
    server.get(&sums).refused(401, "token-missing", &["a collector's token"]);
    server.ask(Some(ADMIN), "GET", &sums, b"").refused(403, "token-role", &[]);
}

#[test]
fn a_browser_shows_the_list_and_the_results_with_the_token_as_its_password() {
    let (_data, server) = serving(closed, &[task()]);
    server.send(&task(), &body_of(1, 2_000));
    let report = path(&task(), "/report");
    for place in ["/", "/tasks", &report] {
        for header in [
            ("accept", "*/*"),
            ("authorization", "Basic YTpi"),
            ("authorization", "Basic ?"),
            ("authorization", "Bearer x"),
            ADMIN_PASSWORD,
        ] {
            let refused = shown(&server, place, &[header]);
            assert_eq!(refused.status, 401, "{place} {header:?}");
            assert_eq!(refused.header("www-authenticate"), "Basic realm=\"collector\"");
            assert!(refused.text().starts_with("<!DOCTYPE html>"), "{refused:?}");
            assert_eq!(refused.header("content-security-policy"), ldp_pca_page::CSP);
        }
        let found = shown(&server, place, &[COLLECTOR_PASSWORD]);
        assert_eq!(found.status, 200, "{found:?}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", ldp_pca_page::CSP),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("vary", "accept, authorization"),
        ] {
            assert_eq!(found.header(name), value, "{place}");
        }
        // Behind a proxy everything is under a path that the server does not know.
        let page = found.text();
        assert!(!page.contains("href=\"/") && !page.contains("href=\"http"), "{page}");
    }
    let (list, result) = ["/tasks", &report].map(|place| shown(&server, place, &[COLLECTOR_PASSWORD])).into();
    assert!(
        list.text().contains(&format!("href=\"tasks/{}/report\"", task().digest())) && list.text().contains("2,000")
    );
    let strongest = &task().schema().feature_names()[3];
    for part in ["href=\"../../tasks\"", "href=\"components.csv\"", "2,000", strongest] {
        assert!(result.text().contains(part), "{part} is not in {}", result.text());
    }
    // A rank leads to downloads of the same one.
    let two = shown(&server, &format!("{report}?rank=2"), &[COLLECTOR_PASSWORD]);
    for part in ["href=\"components.csv?rank=2\"", "p-values of plain components"] {
        assert!(two.text().contains(part), "{part} is not in {}", two.text());
    }
    // Programs have what they had.
    assert_eq!(server.get("/").json()["tasks"], "tasks");
    for accepted in ["application/json, text/html;q=0.1", "text/html, application/json", "text/html;q=0", "*/*"] {
        let found = server.request("GET", "/", &[("accept", accepted)], b"");
        assert_eq!(found.header("content-type"), "application/json", "{accepted}");
    }
    let page = server.request("GET", "/", &[("accept", "application/json;q=0.8, text/html;q=0.9")], b"");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert_eq!(server.get("/tasks").json()["tasks"], json!([task().digest().to_string()]));
    server.request("GET", &report, &[ADMIN_PASSWORD], b"").refused(403, "token-role", &[]);
    let refused = server.get(&report);
    refused.refused(401, "token-missing", &["Bearer"]);
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    assert!(server.ask(Some(COLLECTOR), "GET", &report, b"").text().contains("2,000"));
    let password = server.request("GET", &path(&task(), "/recovery?rank=1"), &[COLLECTOR_PASSWORD], b"");
    password.refused(401, "token-unknown", &["Bearer"]);
}

#[test]
fn a_password_that_a_browser_keeps_closes_nothing_that_is_open() {
    let (_data, server) = serving(config, &[task()]);
    server.send(&task(), &body_of(1, 30));
    for password in [COLLECTOR_PASSWORD, ADMIN_PASSWORD, ("authorization", "Basic ?")] {
        for place in ["/metrics", &path(&task(), "/recovery?rank=1"), &path(&task(), "/status")] {
            assert_eq!(server.request("GET", place, &[password], b"").status, 200, "{place} {password:?}");
        }
    }
    let put = server.request(
        "PUT",
        &path(&task(), ""),
        &[ADMIN_PASSWORD, JSON],
        &put_body(&task(), &TaskSettings::default()),
    );
    put.refused(401, "token-unknown", &["Bearer"]);
}

#[test]
fn below_the_minimum_the_page_says_so_and_guesses_are_limited() {
    let rate_limit = Some(RateLimit { per_second: 0.001, burst: 5 });
    let (_data, server) = serving(|data| ServerConfig { minimum_batch: 20, rate_limit, ..closed(data) }, &[task()]);
    server.send(&task(), &body_of(1, 19));
    let report = path(&task(), "/report");
    let few = shown(&server, &report, &[COLLECTOR_PASSWORD]);
    assert_eq!((few.status, few.header("content-type")), (409, "text/html; charset=utf-8"));
    assert!(few.text().contains("19 reports, and components need at least 20"), "{}", few.text());
    let guess = || shown(&server, &report, &[("authorization", "Basic YTpi")]).status;
    assert_eq!([guess(), guess(), guess(), guess()], [401, 401, 401, 429]);
}

#[test]
fn a_page_of_another_site_has_nothing_of_what_a_browser_keeps_the_password_for() {
    let (_data, server) = serving(closed, &[task()]);
    server.send(&task(), &body_of(1, 30));
    let places = ["/report", "/components", "/components.csv", "/covariance.csv", "/aggregate"];
    for place in places.map(|rest| path(&task(), rest)).iter().map(String::as_str).chain(["/tasks"]) {
        for (site, shown_as, user, status) in [
            ("cross-site", "image", "?0", 403),
            ("cross-site", "empty", "?1", 403),
            ("same-site", "iframe", "?1", 403),
            // A script opens the page, or a person follows a link.
            ("cross-site", "document", "?0", 403),
            ("cross-site", "document", "?1", 200),
            ("same-origin", "document", "?0", 200),
            ("none", "document", "?0", 200),
        ] {
            let browser = [("sec-fetch-site", site), ("sec-fetch-dest", shown_as), ("sec-fetch-user", user), ELSEWHERE];
            let answer = shown(&server, place, &[&browser[..], &[COLLECTOR_PASSWORD]].concat());
            assert_eq!(answer.status, status, "{place} {site} {shown_as} {user}");
            assert_eq!(answer.header("access-control-allow-origin"), "", "{place}");
            assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{place}");
        }
    }
    let asked =
        [ELSEWHERE, ("access-control-request-method", "GET"), ("access-control-request-headers", "authorization")];
    let preflight = server.request("OPTIONS", &path(&task(), "/report"), &asked, b"");
    assert_eq!(preflight.header("access-control-allow-origin"), "");
}

#[test]
fn published_components_are_for_everybody_who_then_chooses_nothing() {
    let folder = task_folder();
    let server = Running::start(ServerConfig { minimum_batch: 20, ..closed(&folder.path("data")) }, &[task()]);
    let (components, body) = (path(&task(), "/components"), body_of(1, 2_000));
    let visited = |query: &str| server.request("GET", &format!("{components}{query}"), &[ELSEWHERE], b"");
    visited("").refused(401, "token-missing", &["--publish"]);
    let unknown = server.request("GET", &path(&other_task(), "/components"), &[ELSEWHERE], b"");
    unknown.refused(404, "unknown-task", &[]);
    assert_eq!(unknown.header("access-control-allow-origin"), "*");
    folder.write("token", ADMIN);
    folder.run(&format!("task put task.json --publish --url {} --token-file token", server.url(""))).ok();
    assert_eq!(server.status(&task())["settings"], json!({"publish": true}));
    server.send(&task(), &body[..19 * 35]);
    visited("").refused(409, "below-minimum-batch", &["at least 20"]);
    server.send(&task(), &body);
    let found = visited("");
    assert_eq!((found.status, found.header("access-control-allow-origin")), (200, "*"));
    let read = |answer: &Answer| PublishedComponents::from_json(answer.text()).unwrap();
    assert_eq!((read(&found).task(), read(&found).records()), (task().digest(), 2_000));
    visited("?rank=3").refused(400, "bad-query", &["no parameters"]);
    server.recovery(&task(), "rank=1").refused(401, "token-missing", &[]);
    // An answer is good for a minute, except for the collector.
    server.send(&task(), &body_of(2, 10));
    assert_eq!(visited("").body, found.body);
    let chosen = server.ask(Some(COLLECTOR), "GET", &format!("{components}?rank=3"), b"");
    assert_eq!((read(&chosen).rank(), read(&chosen).records()), (3, 2_010));
    server.set(&task(), "", &json!({"publish": null}));
    visited("").refused(401, "token-missing", &[]);
}

#[test]
fn pages_and_their_files_are_compressed_for_those_who_read_that() {
    let www = Folder::new();
    www.write("main.js", "export {};\n".repeat(1_000));
    www.write("main.js.gz", gzip(&www.read("main.js")));
    www.write("other.js", www.read("main.js"));
    let (_data, server) = serving(|data| ServerConfig { www: Some(www.path("")), ..config(data) }, &[task()]);
    server.send(&task(), &body_of(1, 30));
    let unpacked = |answer: &Answer| {
        let mut text = String::new();
        GzDecoder::new(&answer.body[..]).read_to_string(&mut text).unwrap();
        text
    };
    let asked = |path: &str, coding| server.request("GET", path, &[("accept-encoding", coding)], b"");
    let result = asked(&path(&task(), "/report"), "br, gzip;q=0.5");
    assert_eq!(result.header("content-encoding"), "gzip");
    assert!(unpacked(&result).contains("30 reports") && 2 * result.body.len() < unpacked(&result).len());
    let file = asked("/main.js", "gzip");
    assert_eq!((file.header("content-type"), &file.body), ("text/javascript", &www.read("main.js.gz")));
    assert_eq!((file.header("content-encoding"), file.header("vary")), ("gzip", "accept-encoding"));
    let plain = ["br", "gzip;q=0"].map(|coding| asked("/main.js", coding));
    for plain in plain.into_iter().chain([server.get("/main.js"), asked("/other.js", "gzip")]) {
        assert_eq!((plain.header("content-encoding"), &plain.body), ("", &www.read("main.js")));
        assert_ne!(plain.header("etag"), file.header("etag"));
    }
}
