//! Streams of what a task has collected.

use std::io::{BufRead, BufReader, Read};

use super::harness::*;

/// One who listens.
pub(super) struct Listener {
    lines: BufReader<Box<dyn Read>>,
}

#[derive(Debug)]
pub(super) struct Told {
    name: String,
    pub(super) data: Value,
    retry: Option<String>,
}

impl Listener {
    fn open(server: &Running, rank: usize) -> Self {
        Self::open_at(server, &path(&task(), &format!("/events?rank={rank}")))
    }

    pub(super) fn open_at(server: &Running, path: &str) -> Self {
        // It is read for as long as the test takes.
        let agent = ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(NEVER)).build();
        let response = agent.new_agent().get(server.url(path)).header("origin", "https://example.org").call().unwrap();
        assert_eq!(response.status(), 200);
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("content-type").as_deref(), Some("text/event-stream"));
        assert_eq!(header("access-control-allow-origin").as_deref(), Some("*"));
        assert_eq!(header("content-length"), None);
        Self { lines: BufReader::new(Box::new(response.into_body().into_reader())) }
    }

    /// The next event; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> Option<Told> {
        let mut told = Told { name: String::new(), data: Value::Null, retry: None };
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", name)) => told.name = name.to_owned(),
                Some(("data", data)) => told.data = serde_json::from_str(data).unwrap(),
                Some(("retry", milliseconds)) => told.retry = Some(milliseconds.to_owned()),
                None if line == "\n" && !told.name.is_empty() => return Some(told),
                // A comment of the heartbeat, and its end.
                None => {}
                Some(other) => panic!("{other:?}"),
            }
        }
    }

    /// Waits for the end of the stream, before which a slow one is told the last counts.
    pub(super) fn ends(&mut self) {
        while let Some(told) = self.next() {
            assert_eq!(told.name, "status");
        }
    }

    /// The next event, which must have this name and be of so many reports.
    pub(super) fn expect(&mut self, name: &str, records: u64) -> Told {
        let told = self.next().unwrap();
        assert_eq!((told.name.as_str(), told.data["records"].as_u64()), (name, Some(records)), "{told:?}");
        told
    }
}

#[test]
fn all_listeners_get_the_present_state_and_then_every_change() {
    let (_data, server) = serving(|data| ServerConfig { minimum_batch: 5, ..config(data) }, &[task()]);
    let body = body_of(1, 9);
    server.send(&task(), &body[..2 * 35]);
    let mut listeners = [Listener::open(&server, 1), Listener::open(&server, 2), Listener::open(&server, 1)];
    for listener in &mut listeners {
        let status = listener.expect("status", 2);
        assert_eq!(status.retry.as_deref(), Some("2000"));
        assert_eq!(status.data, server.status(&task()));
        let problem = listener.expect("problem", 2).data;
        assert_eq!(problem, server.recovery(&task(), "rank=1").json());
        assert_eq!((&problem["status"], &problem["minimum_batch"]), (&409.into(), &5.into()));
    }
    server.send(&task(), &body[2 * 35..]);
    for (listener, rank) in listeners.iter_mut().zip([1, 2, 1]) {
        assert_eq!(listener.expect("status", 9).retry, None);
        let recovery = server.recovery(&task(), &format!("rank={rank}")).json();
        assert_eq!(listener.expect("recovery", 9).data, recovery);
    }
    // Duplicates change the status alone.
    server.send(&task(), &body[..35]);
    server.send(&task(), &body_of(2, 1));
    let mut told = vec![listeners[0].next().unwrap()];
    while let Some(Told { name, data, .. }) = told.last().filter(|told| told.name != "recovery") {
        assert_eq!((name.as_str(), &data["duplicates"]), ("status", &1.into()));
        told.push(listeners[0].next().unwrap());
    }
    assert!(told.len() <= 3 && told.last().unwrap().data["records"] == 10, "{told:?}");
}

#[test]
fn at_most_one_state_per_second_is_sent_and_the_last_one_always_is() {
    let (_data, server) = serving(config, &[task()]);
    let start = Instant::now();
    let mut listener = Listener::open(&server, 1);
    let body = body_of(3, 30);
    let mut states = vec![];
    thread::scope(|scope| {
        scope.spawn(|| {
            for report in body.chunks(35) {
                assert_eq!(server.send(&task(), report).status, 200);
                thread::sleep(Duration::from_millis(30));
            }
        });
        while states.last().is_none_or(|records| *records < 30) {
            let told = listener.next().unwrap();
            if told.name == "status" {
                states.push(told.data["records"].as_u64().unwrap());
            }
        }
    });
    assert!(states.is_sorted_by(|before, after| before < after), "{states:?}");
    // The present one at first, another at once, and then one for every second that has gone by.
    assert!(states.len() as f64 <= 2.0 + start.elapsed().as_secs_f64(), "{states:?} in {:?}", start.elapsed());
    assert_eq!(listener.expect("recovery", 30).data, server.recovery(&task(), "rank=1").json());
}

#[test]
fn streams_end_when_the_server_stops() {
    let (_data, server) = serving(|data| ServerConfig { drain_timeout: NEVER, ..config(data) }, &[task()]);
    server.send(&task(), &body_of(4, 3));
    let mut listeners = [Listener::open(&server, 1), Listener::open(&server, 4)];
    for listener in &mut listeners {
        assert_eq!(listener.next().unwrap().name, "status");
    }
    let start = Instant::now();
    server.shut_down();
    // Long before open requests are cut off.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    for mut listener in listeners {
        // A clean end of the body: one that is cut off is an error of the client.
        while listener.next().is_some() {}
    }
}
