//! Second waves that open by themselves.

use ldp_pca::internal::waves::{OF_FIRST_WAVE, SecondTask};
use ldp_pca_server::LogConfig;
use rand::RngExt;
use rand_distr::StandardNormal;

use super::events::Listener;
use super::harness::*;

const DIMENSION: usize = 16;
/// Reports of the first wave.
const ENOUGH: usize = 800;

fn task() -> Task {
    with_folds(1)
}

fn with_folds(folds: u32) -> Task {
    let mechanism = MechanismSpec::double_cap(Epsilon::new(4.0).unwrap());
    Task::new(Schema::numeric(DIMENSION).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(folds).unwrap()).unwrap()
}

/// Another task: the server looks at it after `task` in each round, which is in the order of digests.
fn after(task: &Task, number: usize) -> Task {
    (2..=64).map(with_folds).filter(|other| other.digest() > task.digest()).nth(number).unwrap()
}

/// A second wave that somebody puts, of `rank` components.
fn placeholder(rank: usize) -> Task {
    SecondTask::placeholder(&task(), Rank::new(rank).unwrap()).unwrap()
}

/// The first wave, as the server shows it.
fn shown(server: &Client) -> Answer {
    server.get(&path(&task(), ""))
}

/// Waits until the server has looked at the task as it is now: until the second wave of another one is open.
fn look_at(server: &Running, task: &Task, number: usize) {
    let other = after(task, number);
    server.put(&other, &refined());
    server.send(&other, &bytes_of(&people(&other, 0.7, 7, ENOUGH)));
    refined_by(&other, || server.get(&path(&other, "")));
}

/// The settings of a first wave.
fn refined() -> TaskSettings {
    TaskSettings { refine_after: Some(ENOUGH as u64), refine_rank: Some(1), ..TaskSettings::default() }
}

/// Reports of other people for each seed: `share` of their variance is along the first feature.
fn people(task: &Task, share: f64, seed: u64, count: usize) -> Vec<Report> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rest = ((1.0 - share) / (DIMENSION - 1) as f64).sqrt();
    (0..count)
        .map(|_| {
            let mut record: Vec<f64> = (0..DIMENSION).map(|_| rest * rng.sample::<f64, _>(StandardNormal)).collect();
            record[0] *= share.sqrt() / rest;
            task.randomize_with_rng(&task.bound(record).unwrap(), None, &mut rng).unwrap()
        })
        .collect()
}

/// The second wave of exactly these reports.
fn expected(reports: &[u8]) -> Task {
    SecondTask::of(&aggregate_of(&task(), reports), &task(), Rank::new(1).unwrap(), None).unwrap().task
}

/// Asks until the answer has the header.
fn refined_by(task: &Task, ask: impl Fn() -> Answer) -> String {
    let mut named = String::new();
    wait_until("a second wave", || {
        let answer = ask();
        assert_eq!((answer.status, answer.text()), (200, &*task.to_json()));
        named = answer.header("refined-by").to_owned();
        !named.is_empty()
    });
    named
}

/// The second wave of `task`, once it is open.
fn second_of(server: &Running) -> Task {
    let named = refined_by(&task(), || shown(server));
    Task::from_json(server.get(&format!("/tasks/{named}")).text()).unwrap()
}

#[test]
fn a_second_wave_opens_when_there_are_enough_reports() {
    let data = tempdir().unwrap();
    let audit = data.path().join("audit.jsonl");
    let log = LogConfig { audit: Some(audit.clone()), ..LogConfig::default() };
    let settings = ServerConfig { log, ..config(&data.path().join("data")) };
    let server = Running::start(settings.clone(), &[]);
    server.put(&task(), &TaskSettings { minimum_batch: Some(5), ..refined() });
    let body = bytes_of(&people(&task(), 0.7, 1, ENOUGH + 1));
    let each = body.len() / (ENOUGH + 1);
    let (wave, late) = body.split_at(ENOUGH * each);
    server.send(&task(), &wave[..wave.len() - each]);
    look_at(&server, &task(), 0);
    let page = ("origin", "https://survey.example");
    let ask = || server.request("GET", &path(&task(), ""), &[page], b"");
    assert_eq!(ask().header("refined-by"), "", "one report is missing");
    assert_eq!(server.send(&task(), &wave[wave.len() - each..]).json()["accepted"], 1);
    let named = refined_by(&task(), ask);
    assert!(ask().header("access-control-expose-headers").split(',').any(|name| name == "refined-by"));
    // The second task is served as any other, and is a function of the first wave's sums.
    let answer = server.get(&format!("/tasks/{named}"));
    assert_eq!((answer.status, answer.header("refined-by")), (200, ""));
    let second = Task::from_json(answer.text()).unwrap();
    assert_eq!(second.refinement().unwrap().parent(), task().digest());
    assert_eq!((&second, second.digest().to_string()), (&expected(wave), named.clone()));
    let state = |task: &Task| server.status(task)["settings"].clone();
    assert_eq!(state(&second), json!({"minimum_batch": 5}));
    let closed = json!({"minimum_batch": 5, "refine_after": ENOUGH, "refine_rank": 1, "closed": true,
        "refined_by": named});
    assert_eq!(state(&task()), closed);
    // The first wave takes nothing new, alone or among others. What is there is a duplicate.
    for refused in [late, &body] {
        let problem = server.send(&task(), refused).refused(403, "task-refined", &[&named, "nothing"]);
        assert_eq!(problem["refined_by"], named);
    }
    assert_eq!(server.seeds(&task(), 1).refused(403, "task-refined", &[&named])["refined_by"], named);
    assert_ne!(server.seeds(&second, 1).status, 403);
    assert_eq!(server.counts(&task(), wave), (0, ENOUGH as u64));
    assert_eq!(server.counts(&second, &bytes_of(&people(&second, 0.7, 2, 20))), (20, 0));
    assert_eq!((server.records(&task()), server.records(&second)), (ENOUGH as u64, 20));
    // Only the first wave has components of its own.
    assert_eq!(server.recovery(&task(), "rank=1").status, 200);
    for both in ["", "&refined=true"] {
        let refused = server.recovery(&second, &format!("rank=1{both}"));
        refused.refused(409, "second-wave", &[&path(&task(), "/recovery"), "refined=true"]);
    }
    let lines = json_lines(&audit);
    let is_of_task = |line: &Value| line["action"] == "task-refine" && line["task"] == task().digest().to_string();
    let [line] = &lines.iter().filter(|line| is_of_task(line)).collect::<Vec<_>>()[..] else { panic!("{lines:?}") };
    assert_has(line, json!({"role": "refinement", "refined_by": named, "reports": ENOUGH}), "the line");
    server.shut_down();

    // Another start, and changes of settings, leave it as it is.
    let server = Running::start(settings, &[]);
    assert_eq!(shown(&server).header("refined-by"), named);
    for own in [json!({"closed": null}), json!({"refined_by": null}), json!({"refined_by": "0".repeat(64)})] {
        server.set(&task(), "", &own).refused(422, "bad-settings", &["leave them out"]);
    }
    server.set(&task(), "", &json!({"refine_after": 5})).refused(422, "bad-settings", &["is over"]);
    let changed = server.set(&task(), "", &json!({"minimum_batch": 6})).json();
    assert_eq!(changed["settings"]["refined_by"], named);
    server.set(&placeholder(1), "", &json!({})).refused(422, "bad-task", &[&named]);
    assert_eq!(server.delete(&second, "").status, 200);
    look_at(&server, &task(), 1);
    assert_eq!(shown(&server).header("refined-by"), "");
    // With both waves of two others.
    assert_eq!(server.get("/tasks").json()["tasks"].as_array().unwrap().len(), 5);
}

/// The answer has nothing that the command line's has not, and each number of it to the last bit.
#[test]
fn components_of_both_waves_are_those_of_the_command_line() {
    let folder = Folder::new();
    let server = Running::start(config(&folder.path("data")), &[]);
    server.put(&task(), &TaskSettings { minimum_batch: Some(5), ..refined() });
    let ask = |query: &str| server.recovery(&task(), query);
    let both = || ask("rank=1&refined=true");
    let refused = |status, kind: &str, said: &[&str]| both().refused(status, kind, said);
    server.send(&task(), &bytes_of(&people(&task(), 0.7, 1, 20)));
    refused(409, "not-refined", &["Refined-By"]);
    server.get(&path(&task(), "/events?rank=1&refined=true")).refused(409, "not-refined", &["Refined-By"]);
    let people_of_first = people(&task(), 0.7, 2, ENOUGH);
    server.send(&task(), &bytes_of(&people_of_first));
    let second = second_of(&server);
    let too_few = refused(409, "below-minimum-batch", &["0 reports of the second wave", "at least 5"]);
    assert_has(&too_few, json!({"records": 0, "minimum_batch": 5}), "the problem");
    let mut listener = Listener::open_at(&server, &path(&task(), "/events?rank=1&refined=true"));
    assert_eq!(listener.expect("status", 0).data["task"], second.digest().to_string());
    assert_eq!(listener.expect("problem", 0).data, too_few);

    let people_of_second = people(&second, 0.7, 3, 400);
    server.send(&second, &bytes_of(&people_of_second));
    let answer = both();
    assert_eq!((answer.status, &answer.json()["records"]), (200, &json!(20 + ENOUGH + 400)));
    listener.expect("status", 400);
    assert_eq!(listener.expect("recovery", 20 + ENOUGH as u64 + 400).data, answer.json());
    assert_eq!(both().body, answer.body);
    assert_eq!(server.figure("ldp_pca_recoveries_computed_total"), 1, "one answer for all");
    assert_members(&server.get("/openapi.json").json(), "Recovery", &answer.json());
    assert_ne!(ask("rank=1").json()["components"], answer.json()["components"]);
    assert_eq!(ask("rank=1&refined=false").body, ask("rank=1").body);
    ask("rank=2&refined=true").refused(400, "bad-rank", &["rank is '2'", "refines 1 component:"]);
    for other in ["penalty=auto", "penalty=0.1&path=5", "method=auto", "held_out=false", "baselines=true"] {
        let name = other.split('=').next().unwrap();
        let said = [&format!("'refined' and '{name}'"), OF_FIRST_WAVE];
        ask(&format!("rank=1&refined=true&{other}")).refused(400, "bad-query", &said);
    }
    ask("rank=1&refined=yes").refused(400, "bad-query", &["refined is 'yes'"]);

    // Who may have components of one wave alone has none of both.
    let settings = TaskSettings { minimum_batch: Some(5), ..TaskSettings::default() };
    server.put(&second, &TaskSettings { open_recovery: Some(false), ..settings.clone() });
    refused(401, "token-missing", &[]);
    let asked = server.ask(Some(COLLECTOR), "GET", &path(&task(), "/recovery?rank=1&refined=true"), b"");
    let page = |query: &str| server.ask(Some(COLLECTOR), "GET", &path(&task(), &format!("/report{query}")), b"");
    assert!(page("?rank=1&refined=true").text().contains("href=\"components.csv?rank=1&amp;refined=true\""));
    let of_one = ["", "?rank=1&refined=true"].map(|query| page(query).text().contains("href=\"aggregate"));
    assert_eq!(of_one, [true, false]);
    assert_eq!(asked.body, answer.body);
    server.put(&second, &settings);

    // What an erased report was in is not shown again.
    let erase = |task: &Task, reports: &[Report]| {
        assert_eq!(server.erase(Some(ADMIN), task, reports).json()["erased"], reports.len());
    };
    erase(&second, &people_of_second[..1]);
    assert_eq!(both().json()["records"], 20 + ENOUGH + 399);
    // A client connects again.
    listener.ends();
    let mut listener = Listener::open_at(&server, &path(&task(), "/events?rank=1&refined=true"));
    listener.expect("status", 399);
    listener.expect("recovery", 20 + ENOUGH as u64 + 399);
    erase(&task(), &people_of_first[..1]);
    // A client connects again.
    listener.ends();
    let answer = both().json();
    assert_eq!(answer["records"], 19 + ENOUGH + 399);
    let stored = [(&task(), "one"), (&second, "two")].map(|(task, name)| {
        folder.write(&format!("{name}.json"), task.to_json());
        (task.digest().to_string(), name)
    });
    server.shut_down();

    for (task, name) in &stored {
        folder.run(&format!("store export data --task {task} --output {name}.ldpr")).ok();
        folder.run(&format!("aggregate {name}.ldpr --task {name}.json -o {name}.ldpa")).ok();
    }
    let recover = "recover one.ldpa --task one.json --rank 1 --refined two.ldpa --refined-task two.json";
    let expected = folder.json(recover);
    let Value::Object(mut answer) = answer else { panic!("{answer}") };
    assert_eq!(answer.remove("task"), Some(json!(task().digest().to_string())));
    assert!(answer.contains_key("refined"));
    for (key, value) in &answer {
        assert_eq!(value, &expected[key], "{key}");
    }
}

/// It is of other sums than those of the first wave, whose settings would name it.
#[test]
fn a_first_wave_stays_open_beside_a_second_one_put_by_hand() {
    let (_data, server) = serving(config, &[]);
    server.put(&task(), &refined());
    let by_hand = placeholder(1);
    assert_eq!(server.put(&by_hand, &TaskSettings::default()), 201);
    let body = bytes_of(&people(&task(), 0.7, 6, ENOUGH + 1));
    let (wave, late) = body.split_at(body.len() / (ENOUGH + 1) * ENOUGH);
    assert_eq!(server.counts(&task(), wave), (ENOUGH as u64, 0));
    look_at(&server, &task(), 0);
    assert_eq!(shown(&server).header("refined-by"), "");
    assert_eq!(server.send(&task(), late).json()["accepted"], 1, "the first wave stays open");
    // Without it, the server's own one opens.
    assert_eq!(server.delete(&by_hand, "").status, 200);
    let named = refined_by(&task(), || shown(&server));
    assert_eq!(named, expected(&body).digest().to_string());
}

/// All directions have the same variance: there is nothing to refine.
#[test]
fn a_second_wave_that_does_not_pay_does_not_open() {
    let (folder, other) = (Folder::new(), after(&task(), 0));
    let settings = TaskSettings { minimum_batch: Some(1), refine_after: Some(50), ..refined() };
    let before = Running::start(config(&folder.path("data")), &[]);
    for task in [&task(), &other] {
        assert_eq!(before.put(task, &settings), 201);
    }
    before.shut_down();
    let mut server = Serving::start(&folder, "--data data");
    let body = bytes_of(&people(&task(), 1.0 / DIMENSION as f64, 3, 130));
    let (each, client): (_, Client) = (body.len() / 130, *server);
    let send = |task: &Task, body: &[u8]| {
        assert_eq!(client.counts(task, body).0, (body.len() / each) as u64, "the first wave stays open");
    };
    let mut asked = |task: &Task| {
        let line = server.next_line("no second wave for now: the first wave finds too little");
        assert!(line.contains(&task.digest().to_string()), "{line}");
    };
    send(&task(), &body[..60 * each]);
    asked(&task());
    // Not before there are 100: the other one is asked after it.
    send(&task(), &body[60 * each..90 * each]);
    send(&other, &bytes_of(&people(&other, 1.0 / DIMENSION as f64, 4, 60)));
    asked(&other);
    send(&task(), &body[90 * each..]);
    asked(&task());
    assert_eq!(shown(&client).header("refined-by"), "");
    let unchanged = json!({"minimum_batch": 1, "refine_after": 50, "refine_rank": 1});
    assert_eq!(client.status(&task())["settings"], unchanged);
}

#[test]
fn tasks_that_cannot_be_refined_refuse_the_settings() {
    let (_data, server) = serving(config, &[]);
    let centred = task().with_centring(ldp_pca::centring::Centring::default()).unwrap();
    let second = placeholder(1);
    for (task, settings, said) in [
        (task(), json!({"refine_rank": 2}), "without refine_after"),
        (task(), json!({"refine_after": 0}), "refine_after is 0"),
        (task(), json!({"refine_after": 5, "refine_rank": 0}), "rank 0"),
        (task(), json!({"refine_after": 5, "refine_rank": DIMENSION}), "rank 16"),
        (task(), json!({"refine_after": 5, "refine_rank": usize::MAX}), "rank 18446744073709551615"),
        (task(), json!({"refine_after": 5, "max_records": 4}), "max_records is 4"),
        (task(), json!({"closed": true}), "leave them out"),
        (centred, json!({"refine_after": 5}), "centring"),
        (other_task(), json!({"refine_after": 5}), "double-cap"),
        (second, json!({"refine_after": 5}), "cannot be refined"),
    ] {
        server.set(&task, "", &settings).refused(422, "bad-settings", &[said]);
    }
    assert_eq!(server.put(&task(), &TaskSettings { refine_after: Some(5), ..TaskSettings::default() }), 201);
    // A second wave that somebody put, and that the first does not name yet.
    let waves = [1, 2].map(placeholder);
    assert_eq!(server.put(&waves[0], &TaskSettings::default()), 201);
    assert_eq!(server.put(&waves[0], &TaskSettings::default()), 200);
    server.set(&waves[1], "", &json!({})).refused(422, "bad-task", &[&waves[0].digest().to_string()]);
}

/// The directions of the second wave are theirs no more.
#[test]
fn a_first_wave_that_lost_most_of_its_reports_is_not_put_together_with_the_second() {
    let (_data, server) = serving(config, &[]);
    server.put(&task(), &refined());
    let people_of_first = people(&task(), 0.7, 9, ENOUGH);
    server.send(&task(), &bytes_of(&people_of_first));
    let second = second_of(&server);
    server.send(&second, &bytes_of(&people(&second, 0.7, 10, 50)));
    let both = || server.recovery(&task(), "rank=1&refined=true");
    assert_eq!(both().status, 200);
    server.erase(Some(ADMIN), &task(), &people_of_first[20..]);
    both().refused(409, "not-refined", &["erased"]);
    assert_eq!(server.delete(&second, "").status, 200);
    both().refused(409, "not-refined", &["no second wave"]);
}

/// A folder in which a server ended between the two steps: the first wave of these reports is over, and that is all.
fn close(data: &Path, reports: &[u8]) {
    let server = Running::start(config(data), &[]);
    server.put(&task(), &refined());
    // The second one cannot be made where something is in its way.
    let way = data.join("tasks").join(format!("{}.new", expected(reports).digest()));
    fs::write(&way, "").unwrap();
    assert_eq!(server.send(&task(), reports).status, 200);
    wait_until("the end of the first wave", || server.status(&task())["settings"]["closed"] == true);
    server.shut_down();
    fs::remove_file(way).unwrap();
}

/// It goes on before it answers anybody, by itself: the plan is the closed task's own.
#[test]
fn a_server_goes_on_where_another_ended_between_the_steps() {
    let body = bytes_of(&people(&task(), 0.7, 4, ENOUGH));
    let folder = Folder::new();
    close(&folder.path("data"), &body);
    for _ in 0..2 {
        let mut server = Serving::start(&folder, "--data data");
        assert_eq!(shown(&server).header("refined-by"), expected(&body).digest().to_string());
        assert_eq!(server.get("/tasks").json()["tasks"].as_array().unwrap().len(), 2);
        server.kill();
    }
}

/// The next start finds too few reports for the operator.
#[test]
fn a_first_wave_with_too_few_reports_goes_on() {
    let body = bytes_of(&people(&task(), 0.7, 5, ENOUGH + 1));
    let (wave, late) = body.split_at(body.len() / (ENOUGH + 1) * ENOUGH);
    let folder = Folder::new();
    close(&folder.path("data"), wave);
    folder.write("server.toml", format!("minimum_batch = {}\n", ENOUGH + 1));
    let server = Serving::start(&folder, "--data data --config server.toml");
    let settings = || server.status(&task())["settings"].clone();
    assert_eq!(settings(), json!({"refine_after": ENOUGH, "refine_rank": 1}));
    assert_eq!(server.counts(&task(), late), (1, 0));
    let named = refined_by(&task(), || shown(&server));
    assert_eq!(named, expected(&body).digest().to_string());
}
