//! The aggregator over HTTP: real requests to a real server.

mod clients;
mod command;
mod crash;
mod erasing;
mod events;
mod gateway;
mod harness;
mod issued;
mod limits;
mod logs;
mod monitoring;
mod net;
mod norms;
mod openapi;
mod origins;
mod page;
#[cfg(unix)]
mod relay;
#[cfg(unix)]
mod relay_crash;
mod robustness;
mod sparse;
mod store;
mod submit;
mod tasks;
mod waves;
mod wire;

use std::thread;

use ldp_pca::centring::Centring;
use ldp_pca::covariance::Covariance;
use ldp_pca::recovery::{Rank, principal_components};
use ldp_pca_server::{ServerError, StoreError};
use tempfile::tempdir;

use harness::{REPORTS, Running, aggregate_of, bytes_of, config, other_task, path, reports, stored, task};

#[test]
fn tasks_are_listed_and_shown() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task(), other_task()]);
    assert_eq!(server.get("/healthz").json()["status"], "ok");
    let mut ids = [task().digest().to_string(), other_task().digest().to_string()];
    ids.sort();
    assert_eq!(server.get("/tasks").json()["tasks"], serde_json::json!(ids));
    let shown = server.get(&path(&task(), ""));
    assert_eq!((shown.status, shown.header("content-type")), (200, "application/json"));
    assert_eq!(shown.body, task().to_json().into_bytes());
    let status = server.get(&path(&task(), "/status")).json();
    assert_eq!(status["records"], 0);
    assert_eq!(status["duplicates"], 0);
    assert_eq!(status["report_bytes"], 35);
    assert_eq!(status["guarantee"], serde_json::to_value(task().guarantee()).unwrap());
}

#[test]
fn one_report_and_many_are_counted_and_duplicates_are_not() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let body = bytes_of(&reports(&task(), 1, 20));
    let one = server.send(&task(), &body[..35]);
    assert_eq!(one.status, 200);
    assert_eq!(one.json(), serde_json::json!({"accepted": 1, "duplicate": 0, "rejected": 0, "rejections": []}));
    let many = server.post(&path(&task(), "/reports"), "Application/Octet-Stream; x=y", &body).json();
    assert_eq!((&many["accepted"], &many["duplicate"]), (&19.into(), &1.into()));
    let again = server.send(&task(), &body);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &20.into()));
    let status = server.get(&path(&task(), "/status")).json();
    assert_eq!((&status["records"], &status["duplicates"]), (&20.into(), &21.into()));
    assert_eq!(stored(data.path(), &task()), body);
}

/// The number of components, their values and every entry, to the last bit.
#[test]
fn the_components_are_those_of_the_same_reports_summed_directly() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let body = bytes_of(&reports(&task(), 2, 300));
    server.send(&task(), &body);
    let covariance = Covariance::estimate(&aggregate_of(&task(), &body), &task()).unwrap();
    for rank in [4, 1, 2] {
        let expected = principal_components(covariance.matrix(), Rank::new(rank).unwrap()).unwrap();
        let found = server.get(&path(&task(), &format!("/recovery?rank={rank}"))).json();
        assert_eq!((&found["records"], &found["rank"]), (&300.into(), &rank.into()));
        assert_eq!(found["noise_deviation"], covariance.noise_deviation());
        assert_eq!(found["feature_names"], serde_json::json!(task().schema().feature_names()));
        assert_eq!(found["eigenvalues"], serde_json::json!(expected.values.as_slice()));
        let columns: Vec<Vec<f64>> = expected.vectors.column_iter().map(|c| c.iter().copied().collect()).collect();
        assert_eq!(found["components"], serde_json::json!(columns));
    }
    let more = bytes_of(&reports(&task(), 3, 1));
    server.send(&task(), &more);
    assert_eq!(server.get(&path(&task(), "/recovery?rank=1")).json()["records"], 301, "never a state of the past");
}

/// The covariance about the mean, and the mean beside it; a task without centring has no such member.
#[test]
fn the_components_of_a_centred_task_are_those_about_the_mean() {
    let data = tempdir().unwrap();
    let centred = task().with_centring(Centring::default()).unwrap();
    let server = Running::start(config(data.path()), &[task(), centred.clone()]);
    server.send(&task(), &bytes_of(&reports(&task(), 2, 300)));
    let body = bytes_of(&reports(&centred, 2, 300));
    assert_eq!(server.send(&centred, &body).status, 200);
    let covariance = Covariance::estimate(&aggregate_of(&centred, &body), &centred).unwrap();
    let expected = principal_components(covariance.matrix(), Rank::new(4).unwrap()).unwrap();
    let found = server.get(&path(&centred, "/recovery?rank=4")).json();
    assert_eq!(found["eigenvalues"], serde_json::json!(expected.values.as_slice()));
    assert_eq!(found["noise_deviation"], covariance.noise_deviation());
    assert_eq!(found["noise_edge"], covariance.noise_edge());
    assert_eq!(found["mean"], serde_json::to_value(covariance.mean().unwrap()).unwrap());
    assert_eq!(server.get(&path(&centred, "/recovery?rank=5")).status, 400, "the constant does not count as a feature");
    assert!(server.get(&path(&task(), "/recovery?rank=1")).json().get("mean").is_none());
}

#[test]
fn a_restart_keeps_everything_acknowledged_and_its_tasks() {
    let data = tempdir().unwrap();
    let body = bytes_of(&reports(&task(), 4, 150));
    let recovery = path(&task(), "/recovery?rank=2");
    let server = Running::start(config(data.path()), &[task()]);
    server.send(&task(), &body);
    let before = server.get(&recovery);
    assert_eq!(before.status, 200);
    server.shut_down();
    // The folder knows its task.
    let server = Running::start(config(data.path()), &[]);
    assert_eq!(server.get(&recovery).body, before.body);
    assert_eq!(server.send(&task(), &body).json()["duplicate"], 150);
    server.abandon();
    let server = Running::start(config(data.path()), &[other_task(), task()]);
    assert_eq!(server.get(&recovery).body, before.body);
    assert_eq!(server.records(&other_task()), 0);
}

#[test]
fn reports_from_many_connections_sum_to_the_same_bytes() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let body = bytes_of(&reports(&task(), 5, 400));
    thread::scope(|scope| {
        for worker in 0..8 {
            let (server, body) = (&server, &body);
            // Every report is sent by two of the workers, in pieces of different lengths.
            scope.spawn(move || {
                let share = &body[(worker / 2) * 3500..(worker / 2 + 1) * 3500];
                for piece in share.chunks(35 * (1 + worker)) {
                    assert_eq!(server.send(&task(), piece).status, 200);
                }
            });
        }
    });
    let status = server.get(&path(&task(), "/status")).json();
    assert_eq!((&status["records"], &status["duplicates"]), (&400.into(), &400.into()));
    let recovery = server.get(&path(&task(), "/recovery?rank=4"));
    server.shut_down();
    let log = stored(data.path(), &task());
    assert_eq!(aggregate_of(&task(), &log).to_bytes(), aggregate_of(&task(), &body).to_bytes());
    let other = tempdir().unwrap();
    let server = Running::start(config(other.path()), &[task()]);
    server.send(&task(), &body);
    assert_eq!(server.get(&path(&task(), "/recovery?rank=4")).body, recovery.body);
}

#[test]
fn an_invalid_report_is_rejected_with_its_position_and_the_others_count() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task(), other_task()]);
    let good = reports(&task(), 6, 3);
    let mut body = bytes_of(&good);
    let altered = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = reports(&task(), 7, 1)[0].to_bytes();
        change(&mut bytes);
        bytes
    };
    body.extend(altered(&|bytes| bytes[30] ^= 1));
    body.extend(altered(&|bytes| bytes[4] = 2));
    body.extend(altered(&|bytes| bytes[5] ^= 0xff));
    body.extend(altered(&|bytes| bytes[0] = b'X'));
    body.extend(altered(&|bytes| {
        bytes[29..31].copy_from_slice(&64u16.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..31]).to_le_bytes();
        bytes[31..].copy_from_slice(&checksum);
    }));
    body.extend(reports(&task(), 8, 1)[0].to_bytes());
    let expected = [
        (3, "report-checksum", "altered"),
        (4, "report-version", "version 2"),
        (5, "report-other-task", "not "),
        (6, "report-not-a-report", "LDPR"),
        (7, "report-payload", "candidate 64"),
    ];
    for (accepted, duplicate) in [(4, 0), (0, 4)] {
        let problem =
            server.send(&task(), &body).assert_problem(422, "reports-rejected", &["5 reports", "others count"]);
        assert_eq!((&problem["accepted"], &problem["duplicate"]), (&accepted.into(), &duplicate.into()));
        assert_eq!(problem["rejected"], 5);
        let rejections = problem["rejections"].as_array().unwrap();
        assert_eq!(rejections.len(), expected.len());
        for (rejection, (index, kind, detail)) in rejections.iter().zip(expected) {
            assert_eq!(rejection["index"], index);
            assert_eq!(rejection["type"], format!("urn:ldp-pca:problem:{kind}"));
            assert!(rejection["detail"].as_str().unwrap().contains(detail), "{rejection}");
        }
    }
    assert_eq!(server.records(&task()), 4);
    // One that is rejected alone: a problem too, and nothing counted.
    let alone = altered(&|bytes| bytes[34] ^= 1);
    assert_eq!(server.send(&task(), &alone).assert_problem(422, "reports-rejected", &["checksum"])["accepted"], 0);
    assert_eq!(server.records(&task()), 4);
}

#[test]
fn bodies_that_are_no_whole_reports_are_refused_whole() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task(), other_task()]);
    let body = bytes_of(&reports(&task(), 9, 2));
    for length in [0, 1, 34, 36, 69] {
        let values = [length.to_string(), "35".into(), "nothing was counted".into()];
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        server.send(&task(), &body[..length]).assert_problem(400, "body-length", &values);
    }
    let other = bytes_of(&reports(&other_task(), 9, 1));
    let digest = other_task().digest().to_string();
    server.send(&task(), &other).assert_problem(400, "body-length", &["43", &digest[..16]]);
    assert_eq!(server.records(&task()) + server.records(&other_task()), 0);
}

#[test]
fn requests_that_make_no_sense_are_problems_with_the_value() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let body = bytes_of(&reports(&task(), 10, 5));
    server.send(&task(), &body);
    let unknown = other_task().digest().to_string();
    let upper = task().digest().to_string().to_uppercase();
    for id in [unknown.as_str(), upper.as_str(), "0", "%C3%A4", "..%2f.."] {
        for rest in ["", "/status", "/recovery?rank=1"] {
            server.get(&format!("/tasks/{id}{rest}")).assert_problem(404, "unknown-task", &["GET /tasks"]);
        }
        server.post(&format!("/tasks/{id}/reports"), REPORTS, &body).assert_problem(404, "unknown-task", &[]);
    }
    server.get(&format!("/tasks/{unknown}")).assert_problem(404, "unknown-task", &[&unknown]);
    server.get("/nowhere").assert_problem(404, "unknown-path", &[]);
    server.get(&path(&task(), "/reports")).assert_problem(405, "method-not-allowed", &[]);
    server.post("/tasks", REPORTS, &body).assert_problem(405, "method-not-allowed", &[]);
    for media_type in ["application/json", "text/plain; charset=utf-8", ""] {
        let refused = server.post(&path(&task(), "/reports"), media_type, &body);
        refused.assert_problem(415, "media-type", &[media_type, REPORTS]);
    }
    for rank in ["0", "5", "-1", "1.5", "two", "", "99999999999999999999"] {
        let answer = server.get(&path(&task(), &format!("/recovery?rank={rank}")));
        answer.assert_problem(400, "bad-rank", &[&format!("'{rank}'"), "from 1 to 4"]);
    }
    for penalty in ["-1", "nan", "inf", "Auto", "", "1e999"] {
        let answer = server.get(&path(&task(), &format!("/recovery?rank=1&penalty={penalty}")));
        answer.assert_problem(400, "bad-penalty", &[&format!("'{penalty}'"), "auto"]);
    }
    for points in ["1", "1001", "-1", "2.5", "all", ""] {
        let answer = server.get(&path(&task(), &format!("/recovery?rank=1&penalty=auto&path={points}")));
        answer.assert_problem(400, "bad-query", &[&format!("'{points}'"), "from 2 to 1000"]);
    }
    for flag in ["baselines", "held_out"] {
        for value in ["True", "1", "quick", ""] {
            let answer = server.get(&path(&task(), &format!("/recovery?rank=1&penalty=auto&{flag}={value}")));
            answer.assert_problem(400, "bad-query", &[&format!("{flag} is '{value}'"), "true or false"]);
        }
    }
    for method in ["pca", "Auto", ""] {
        let answer = server.get(&path(&task(), &format!("/recovery?rank=1&method={method}")));
        answer.assert_problem(400, "bad-query", &[&format!("'{method}'"), "must be auto"]);
    }
    for (query, value) in [
        ("", "no 'rank'"),
        ("?", "no 'rank'"),
        ("?rank=1&rank=2", "'rank' twice"),
        ("?penalty=1", "no 'rank'"),
        ("?rank=1&penalty=1&penalty=auto", "'penalty' twice"),
        ("?rank=1&shape=2", "'shape'"),
        ("?rank=1&path=20", "no 'penalty'"),
        ("?rank=1&baselines=true", "no 'penalty'"),
        ("?rank=1&penalty=1&path=20&path=20", "'path' twice"),
        ("?rank=1&method=auto&method=auto", "'method' twice"),
        ("?rank=1&method=auto&penalty=auto", "'method' and 'penalty'"),
        ("?rank=1&method=auto&path=20", "no 'penalty'"),
    ] {
        server.get(&path(&task(), &format!("/recovery{query}"))).assert_problem(400, "bad-query", &["?rank=k", value]);
    }
}

#[test]
fn below_the_minimum_batch_nothing_is_given_out() {
    let data = tempdir().unwrap();
    let settings = ldp_pca_server::ServerConfig { minimum_batch: 10, ..config(data.path()) };
    let server = Running::start(settings, &[task(), other_task()]);
    let body = bytes_of(&reports(&task(), 11, 10));
    server.send(&task(), &body[..9 * 35]);
    let recovery = path(&task(), "/recovery?rank=1");
    server.get(&recovery).assert_problem(409, "below-minimum-batch", &["9 reports", "at least 10"]);
    server.send(&task(), &body);
    assert_eq!(server.get(&recovery).status, 200);
    drop(server);
    // Even a minimum of 0 asks for one report.
    let settings = ldp_pca_server::ServerConfig { minimum_batch: 0, ..config(data.path()) };
    let server = Running::start(settings, &[]);
    server.get(&path(&other_task(), "/recovery?rank=1")).assert_problem(409, "below-minimum-batch", &["0 reports"]);
}

#[test]
fn a_folder_has_one_server() {
    let data = tempdir().unwrap();
    let server = Running::start(config(data.path()), &[task()]);
    let Err(second) = Running::try_start(config(data.path()), &[task()]) else { panic!("shared the folder") };
    assert!(matches!(second, ServerError::Store(StoreError::Locked { .. })), "{second}");
    assert!(second.to_string().contains("another server holds"));
    server.shut_down();
    drop(Running::start(config(data.path()), &[task()]));
}

#[test]
fn a_taken_port_is_an_error_or_the_next_one_is_used() {
    let (first_data, second_data) = (tempdir().unwrap(), tempdir().unwrap());
    let first = Running::start(config(first_data.path()), &[task()]);
    let taken = ldp_pca_server::ServerConfig { listen: first.address, ..config(second_data.path()) };
    let Err(refused) = Running::try_start(taken.clone(), &[task()]) else { panic!("two servers on a port") };
    assert!(matches!(refused, ServerError::Listen { .. }), "{refused}");
    assert!(refused.to_string().contains(&first.address.to_string()));
    let second = Running::start_near(taken, &[task()]);
    assert!(second.address.port() > first.address.port());
    assert_eq!(second.get("/healthz").status, 200);
}
