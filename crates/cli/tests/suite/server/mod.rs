//! The aggregator over HTTP: real requests to a real server.

mod addresses;
mod clients;
mod collector;
mod command;
mod crash;
mod erasing;
mod events;
mod gateway;
pub(crate) mod harness;
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
mod wrong_requests;

use ldp_pca::centring::Centring;
use ldp_pca::internal::recovery::mean_answer;
use ldp_pca::recovery::principal_components;

use harness::*;

#[test]
fn tasks_are_listed_and_shown() {
    let (_data, server) = serving(config, &[task(), other_task()]);
    assert_eq!(server.get("/healthz").json()["status"], "ok");
    let mut ids = [task().digest().to_string(), other_task().digest().to_string()];
    ids.sort();
    assert_eq!(server.get("/tasks").json()["tasks"], json!(ids));
    let shown = server.get(&path(&task(), ""));
    assert_eq!((shown.status, shown.header("content-type")), (200, "application/json"));
    assert_eq!(shown.body, task().to_json().into_bytes());
    let expected = json!({"records": 0, "duplicates": 0, "report_bytes": 35, "guarantee": task().guarantee()});
    assert_has(&server.status(&task()), expected, "the status");
}

#[test]
fn one_report_and_many_are_counted_and_duplicates_are_not() {
    let (data, server) = serving(config, &[task()]);
    let body = body_of(1, 20);
    let one = server.send(&task(), &body[..35]);
    assert_eq!(one.status, 200);
    assert_eq!(one.json(), json!({"accepted": 1, "duplicate": 0, "rejected": 0, "rejections": []}));
    let many = server.post(&path(&task(), "/reports"), "Application/Octet-Stream; x=y", &body).json();
    assert_eq!((&many["accepted"], &many["duplicate"]), (&19.into(), &1.into()));
    let again = server.send(&task(), &body);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &20.into()));
    assert_has(&server.status(&task()), json!({"records": 20, "duplicates": 21}), "the status");
    assert_eq!(stored(data.path(), &task()), body);
}

/// The covariance about the mean, and the mean beside it; a task without centring has no such member.
#[test]
fn the_components_of_a_centred_task_are_those_about_the_mean() {
    let centred = task().with_centring(Centring::default()).unwrap();
    let (_data, server) = serving(config, &[task(), centred.clone()]);
    server.send(&task(), &body_of(2, 300));
    let body = bytes_of(&reports(&centred, 2, 300));
    assert_eq!(server.send(&centred, &body).status, 200);
    let covariance = Covariance::estimate(&aggregate_of(&centred, &body), &centred).unwrap();
    let expected = principal_components(covariance.matrix(), Rank::new(4).unwrap()).unwrap();
    let found = server.recovery(&centred, "rank=4").json();
    let (deviation, edge) = (covariance.noise_deviation(), covariance.noise_edge());
    let expected = json!({"eigenvalues": expected.values.as_slice(), "noise_deviation": deviation, "noise_edge": edge,
        "mean": mean_answer(&covariance, &centred).unwrap()});
    assert_has(&found, expected, "the answer");
    assert_eq!(server.recovery(&centred, "rank=5").status, 400, "the constant does not count as a feature");
    assert!(server.recovery(&task(), "rank=1").json().get("mean").is_none());
}

#[test]
fn reports_from_many_connections_sum_to_the_same_bytes() {
    let (data, server) = serving(config, &[task()]);
    let body = body_of(5, 400);
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
    assert_has(&server.status(&task()), json!({"records": 400, "duplicates": 400}), "the status");
    let recovery = server.recovery(&task(), "rank=4");
    server.shut_down();
    let log = stored(data.path(), &task());
    assert_eq!(aggregate_of(&task(), &log).to_bytes(), aggregate_of(&task(), &body).to_bytes());
    let (_other, server) = serving(config, &[task()]);
    server.send(&task(), &body);
    assert_eq!(server.recovery(&task(), "rank=4").body, recovery.body);
}

#[test]
fn an_invalid_report_is_rejected_with_its_position_and_the_others_count() {
    let (_data, server) = serving(config, &[task(), other_task()]);
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
        let problem = server.send(&task(), &body).refused(422, "reports-rejected", &["5 reports", "others count"]);
        let counts = json!({"accepted": accepted, "duplicate": duplicate, "rejected": 5});
        assert_has(&problem, counts, "the problem");
        let rejections = problem["rejections"].as_array().unwrap();
        assert_eq!(rejections.len(), expected.len());
        for (rejection, (index, kind, detail)) in rejections.iter().zip(expected) {
            let kind = format!("urn:ldp-pca:problem:{kind}");
            assert_eq!((&rejection["index"], &rejection["type"]), (&json!(index), &json!(kind)));
            assert!(rejection["detail"].as_str().unwrap().contains(detail), "{rejection}");
        }
    }
    assert_eq!(server.records(&task()), 4);
    // One that is rejected alone: a problem too, and nothing counted.
    let alone = altered(&|bytes| bytes[34] ^= 1);
    assert_eq!(server.send(&task(), &alone).refused(422, "reports-rejected", &["checksum"])["accepted"], 0);
    assert_eq!(server.records(&task()), 4);
}

#[test]
fn bodies_that_are_no_whole_reports_are_refused_whole() {
    let (_data, server) = serving(config, &[task(), other_task()]);
    let body = body_of(9, 2);
    for length in [0, 1, 34, 36, 69] {
        let values = [&*length.to_string(), "35", "nothing was counted"];
        server.send(&task(), &body[..length]).refused(400, "body-length", &values);
    }
    let other = bytes_of(&reports(&other_task(), 9, 1));
    let digest = other_task().digest().to_string();
    server.send(&task(), &other).refused(400, "body-length", &["43", &digest[..16]]);
    assert_eq!(server.records(&task()) + server.records(&other_task()), 0);
}

#[test]
fn below_the_minimum_batch_nothing_is_given_out() {
    let settings = |minimum_batch| move |data: &Path| ServerConfig { minimum_batch, ..config(data) };
    let (_data, server) = serving(settings(10), &[task(), other_task()]);
    let body = body_of(11, 10);
    server.send(&task(), &body[..9 * 35]);
    server.recovery(&task(), "rank=1").refused(409, "below-minimum-batch", &["9 reports", "at least 10"]);
    server.send(&task(), &body);
    assert_eq!(server.recovery(&task(), "rank=1").status, 200);
    // Even a minimum of 0 asks for one report.
    let (_data, server) = serving(settings(0), &[other_task()]);
    server.recovery(&other_task(), "rank=1").refused(409, "below-minimum-batch", &["0 reports"]);
}

#[test]
fn a_taken_port_is_an_error_or_the_next_one_is_used() {
    let ((_data, first), data) = (serving(config, &[task()]), tempdir().unwrap());
    let taken = ServerConfig { listen: first.address, ..config(data.path()) };
    let refused = refusal(taken.clone(), &[task()]);
    assert!(matches!(refused, ServerError::Listen { .. }), "{refused}");
    assert!(refused.to_string().contains(&first.address.to_string()));
    // As the demo does.
    let fixed = FixedLimits { ports: 100, ..FixedLimits::default() };
    let second = Running::start(ServerConfig { fixed, ..taken }, &[task()]);
    assert!(second.address.port() > first.address.port());
    assert_eq!(second.get("/healthz").status, 200);
}
