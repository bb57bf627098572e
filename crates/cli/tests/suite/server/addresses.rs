//! Addresses, proxies and redirects: nothing is sent to a host and a port that nobody wrote, nor past a proxy.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use super::harness::*;

/// What is sent nowhere else, and printed nowhere.
const SECRET: &str = "s3cret";

/// The commands that take an address.
const COMMANDS: [&str; 9] = [
    "submit r.ldpr -t task.json --patience 0 --url URL",
    "submit r.ldpr -t task.json --patience 0 --relay URL",
    "randomize people.csv --header no --separator comma -t task.json -o out.ldpr --force --url URL",
    "task put task.json --url URL",
    "task delete TASK --url URL",
    "task erase TASK 00000000000000000000000000000000 --url URL",
    "ready --url URL",
    "doctor --data data --url URL",
    "relay --data relay --batch 2 --listen 127.0.0.1:0 --gateway URL",
];

fn folder() -> Folder {
    let folder = task_folder();
    folder.write("r.ldpr", body_of(1, 2));
    folder.write("people.csv", "1,2,3,4\n");
    folder
}

/// Runs a command at an address, with a token and these variables alone.
fn run(folder: &Folder, line: &str, url: &str, variables: &[(&str, &str)]) -> Run {
    let task = task().digest().to_string();
    let mut command =
        folder.command(line.split_whitespace().map(|part| part.replace("URL", url).replace("TASK", &task)));
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command.env("LDP_PCA_TOKEN", SECRET).envs(variables.iter().copied());
    let run = Run::of(line, command.output().unwrap());
    assert!(!run.stderr.contains(SECRET) && !run.stdout.contains(SECRET), "{run:?}");
    run
}

/// What it printed, whatever its line breaks.
fn all_of(run: &Run) -> String {
    words(&format!("{} {}", run.stdout, run.stderr))
}

/// A server that gives every request this answer, and tells the heads of what it got, in small letters.
pub(super) fn answering(answer: String) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heads) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let (mut head, mut byte) = (vec![], [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap().to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            stream.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            if told.send(head).is_err() {
                return;
            }
        }
    });
    (address, heads)
}

fn moved(status: u16, location: &str) -> (SocketAddr, Receiver<String>) {
    answering(format!(
        "HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ))
}

#[test]
fn no_command_takes_an_address_that_stands_for_another_or_has_a_secret() {
    let folder = folder();
    let refused = |line: &str, url: &str, said: &str| run(&folder, line, url, &[]).refused(2, &[said]);
    for line in COMMANDS {
        refused(line, "http://127.0.0.1:99999", "not a port (0 to 65535)");
        refused(line, "http://user:s3cret@127.0.0.1:8080", "a user or a password");
        refused(line, "http://127.0.0.1:8080/?key=s3cret", "a query or a fragment");
    }
}

#[test]
fn no_command_goes_past_a_proxy_that_cannot_be_used() {
    let folder = folder();
    let (aggregator, heads) = answering("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned());
    let url = format!("http://{aggregator}");
    for (name, proxy) in [
        ("ALL_PROXY", "socks5://user:s3cret@127.0.0.1:9050"),
        ("http_proxy", "user:s3cret@127.0.0.1:99999"),
        ("HTTPS_PROXY", "nonsense://127.0.0.1"),
    ] {
        for line in COMMANDS {
            let run = run(&folder, line, &url, &[(name, proxy)]);
            let said = format!("the variable {name} names a proxy that cannot be used");
            assert_eq!(run.code, Some(if line.starts_with("doctor") { 1 } else { 2 }), "{run:?}");
            assert!(all_of(&run).contains(&said), "{run:?}");
        }
    }
    // A proxy that is away.
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = format!("http://user:s3cret@{dead}");
    let run_away = run(&folder, COMMANDS[0], &url, &[("http_proxy", &proxy)]);
    assert!(run_away.code == Some(1) && run_away.stderr.contains(&format!("the proxy {dead} ")), "{run_away:?}");
    assert!(!run_away.stderr.contains(&aggregator.to_string()), "{run_away:?}");
    assert!(heads.try_recv().is_err(), "nothing came past");
}

#[test]
fn requests_go_through_the_proxy_but_for_the_exceptions() {
    let folder = folder();
    let (proxy, heads) = answering("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n".to_owned());
    let proxy = format!("http://user:s3cret@{proxy}");
    let run_through = run(&folder, "ready --url URL", "http://aggregator.example:8080", &[("HTTP_PROXY", &proxy)]);
    assert_eq!(run_through.code, Some(1), "{run_through:?}");
    let head = heads.recv().unwrap();
    assert!(
        head.starts_with("connect aggregator.example:8080 ") && head.contains("proxy-authorization: basic"),
        "{head}"
    );
    for (status, said) in [
        ("407 Proxy Authentication Required", "http://user:password@proxy:3128"),
        ("403 Forbidden", "the proxy refuses this address"),
        ("502 Bad Gateway", "502"),
    ] {
        let (proxy, heads) = answering(format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n"));
        let (proxy, line) = (format!("http://{proxy}"), COMMANDS[0].replace("--patience 0", "--patience 1"));
        run(&folder, &line, "http://aggregator.example:8080", &[("HTTP_PROXY", &proxy)]).refused(1, &[said]);
        assert_eq!(heads.try_iter().count() > 1, status.starts_with("502"), "an outage alone is waited for: {status}");
    }
    let (_data, server) = serving(config, &[task()]);
    for exception in ["127.0.0.0/8".to_owned(), server.address.to_string(), "*".to_owned()] {
        let variables = [("ALL_PROXY", "socks5://127.0.0.1:9050"), ("NO_PROXY", &*exception)];
        run(&folder, "ready --url URL", &format!("http://{}", server.address), &variables).ok();
    }
}

#[test]
fn a_redirect_is_not_followed_and_its_address_can_be_given() {
    let folder = folder();
    let (_data, server) = serving(config, &[task()]);
    let target = format!("http://{}", server.address);
    let (old, _heads) = moved(308, &format!("http://user:s3cret@{}/readyz?key=s3cret", server.address));
    let said = format!("redirects to {target}/readyz: give the address {target}");
    run(&folder, "ready --url URL", &format!("http://{old}"), &[]).refused(1, &[&said]);
    run(&folder, "ready --url URL", &target, &[]).ok();
    let (elsewhere, heads) = moved(308, "/");
    let (old, _heads) = moved(301, &format!("http://{elsewhere}/tasks/0/reports"));
    for line in COMMANDS {
        let run = run(&folder, line, &format!("http://{old}"), &[]);
        let said = format!("redirects to http://{elsewhere}/tasks/0/reports");
        assert!(run.code == Some(1) && all_of(&run).contains(&said), "{run:?}");
    }
    assert!(heads.try_recv().is_err(), "nobody followed");
}

#[test]
fn another_server_is_not_taken_for_the_aggregator() {
    let folder = folder();
    let long = format!("{{\"detail\":\"\\u001b[2J{}\"}}", "x".repeat(5000));
    for (line, status, body, said) in [
        (COMMANDS[0], 413, "<html>413 too large</html>", "a gateway before the aggregator refuses the size"),
        (COMMANDS[0], 401, "", "a gateway before the aggregator asks for a token or refuses it"),
        (COMMANDS[0], 429, "", "a gateway limits requests: try again later"),
        ("ready --url URL", 404, "", "it is not an aggregator, or a gateway hides this path"),
        (COMMANDS[0], 400, long.as_str(), "\\u{1b}[2Jx"),
        ("task put task.json --url URL", 200, "<html></html>", "it is not an aggregator"),
        ("ready --url URL", 200, "{\"status\":\"ok\"}", "it is not an aggregator"),
    ] {
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-type: text/html\r\nconnection: close");
        let (gateway, _heads) = answering(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
        let refused = run(&folder, line, &format!("http://{gateway}"), &[]);
        assert!(refused.stderr.len() < 2000, "{refused:?}");
        refused.refused(1, &[&format!("answers {status}: {said}")]);
    }
}
