//! `ldp-pca submit`, and `randomize` with ids that an aggregator issues, against a real server.

use std::io::Read as _;
use std::net::TcpListener;

use super::addresses::answering;
use super::harness::*;

/// A folder with the task, and that many reports of it in `r.ldpr`.
fn folder(count: usize) -> Folder {
    let folder = task_folder();
    folder.write("r.ldpr", body_of(1, count));
    folder
}

fn serve(folder: &Folder, change: impl FnOnce(&mut ServerConfig)) -> Running {
    let mut config = config(&folder.path("data"));
    change(&mut config);
    Running::start(config, &[task()])
}

fn submit(server: &Running, rest: &str) -> String {
    format!("submit r.ldpr --task task.json --url http://{} {rest}", server.address)
}

/// The members of a result that count reports.
fn counts(result: &Value) -> [u64; 4] {
    ["sent", "accepted", "duplicate", "rejected"].map(|name| result[name].as_u64().unwrap())
}

/// The result of a command that could not do all, and said so.
fn incomplete(run: &Run, said: &[&str]) -> Value {
    assert!(run.code == Some(1) && said.iter().all(|part| words(&run.stderr).contains(part)), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn reports_are_submitted_once_however_often_the_command_runs() {
    let folder = folder(2_500);
    let server = serve(&folder, |_| {});
    let digest = task().digest().to_string();
    let result = folder.run(&submit(&server, "--json"));
    let result = result.gives(json!({"complete": true, "task": digest, "rejections": []}));
    assert_eq!(counts(&result), [2_500, 2_500, 0, 0]);
    let again = folder.run(&submit(&server, "")).says(&["0 accepted, 2,500 were there already"]);
    assert_eq!(again.stderr, "", "no progress where there is no terminal");
    folder.write("more.ldpr", body_of(2, 40));
    // `localhost` in place of the address, another file beside the first, and both from a pipe.
    let both = format!("submit more.ldpr r.ldpr -t task.json --url localhost:{} --json", server.address.port());
    assert_eq!(counts(&folder.run(&both).json()), [2_540, 40, 2_500, 0]);
    let piped = folder.piped(&submit(&server, "--json").replace("r.ldpr", "-"), &folder.read("r.ldpr"));
    assert_eq!(counts(&piped.json()), [2_500, 0, 2_500, 0]);
    assert_eq!(server.records(&task()), 2_540);
}

#[test]
fn refused_reports_are_counted_by_kind_and_the_others_count() {
    let folder = folder(1_100);
    let mut bytes = folder.read("r.ldpr");
    let width = report_bytes(&task());
    for report in [3, 1_050, 1_060] {
        bytes[report * width + 30] ^= 1;
    }
    bytes[7 * width + 5] ^= 1;
    folder.write("r.ldpr", bytes);
    let server = serve(&folder, |_| {});
    let result = incomplete(&folder.run(&submit(&server, "--json")), &["4 reports were refused"]);
    assert_eq!((counts(&result), &result["complete"]), ([1_100, 1_096, 0, 4], &json!(true)));
    let expected = [("report-checksum", 3, "r.ldpr, report 4"), ("report-other-task", 1, "r.ldpr, report 8")];
    for (found, (kind, count, first)) in result["rejections"].as_array().unwrap().iter().zip(expected) {
        assert_has(found, json!({"kind": kind, "reports": count, "first": first}), "the rejections");
    }
    let text = folder.run(&submit(&server, ""));
    for part in ["0 accepted, 1,096 were there already, 4 refused", "3 report-checksum, the first in r.ldpr, report 4:"]
    {
        assert!(words(&text.stdout).contains(part), "{text:?}");
    }
}

/// One report passes at once. The others are more than may pass together, and do so when the bucket is full again,
/// after four seconds.
#[test]
fn an_order_to_wait_is_followed() {
    let folder = folder(20);
    let limit = RateLimit { per_second: 0.25, burst: 1 };
    let server = serve(&folder, |config| config.reports_rate_limit = Some(limit));
    let started = Instant::now();
    let run = folder.run(&submit(&server, "--json"));
    assert!(started.elapsed() >= Duration::from_millis(3_900), "{:?}", started.elapsed());
    assert_eq!(run.stderr.matches("answers 429").count(), 1, "it says so once: {run:?}");
    // Ten minutes, of which some are over on a busy machine.
    let left =
        run.stderr.split("trying again for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    assert!(left.is_some_and(|seconds| (500..=600).contains(&seconds)), "{run:?}");
    assert_eq!(counts(&run.json()), [20, 20, 0, 0]);
    // Without patience the first refusal is the end.
    folder.refused(&submit(&server, "--patience 0 --json"), 1, &["answers 429"]);
}

#[test]
fn it_waits_for_an_aggregator_that_is_away() {
    let folder = folder(20);
    // A port that was free a moment ago, and where possible on an address where no other test looks for one.
    let own = if cfg!(target_os = "linux") { "127.83.85.66:0" } else { "127.0.0.1:0" };
    let address = TcpListener::bind(own).unwrap().local_addr().unwrap();
    let line = format!("submit r.ldpr -t task.json --url http://{address} --json");
    folder.refused(&format!("{line} --patience 0"), 1, &["/reports: ", "refused"]);
    let mut waiting = folder.command(line.split_whitespace());
    let mut waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 20];
    // What it says when it begins to wait.
    waiting.stderr.as_mut().unwrap().read_exact(&mut said).unwrap();
    let server = Serving::start_at(&address.to_string(), &folder, "--data data --task task.json");
    let told: Value = serde_json::from_slice(&waiting.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(counts(&told), [20, 20, 0, 0]);
    drop(server.log());
}

#[test]
fn an_end_before_all_is_sent_says_how_far_it_came_and_can_be_repeated() {
    let folder = folder(2_500);
    let server = serve(&folder, |_| {});
    server.put(&task(), &TaskSettings { max_records: Some(1_500), ..TaskSettings::default() });
    let result = incomplete(&folder.run(&submit(&server, "--json")), &["answers 403", "max_records"]);
    assert_eq!((counts(&result), &result["complete"]), ([1_000, 1_000, 0, 0], &json!(false)));
    let text = words(&folder.run(&submit(&server, "")).stdout);
    assert!(text.contains("not all were sent: run the same command again"), "{text}");
    server.put(&task(), &TaskSettings::default());
    assert_eq!(counts(&folder.json(&submit(&server, ""))), [2_500, 1_500, 1_000, 0]);
}

#[test]
fn smaller_requests_are_sent_where_large_ones_are_refused() {
    let folder = folder(700);
    let server = serve(&folder, |config| config.max_body_bytes = 64 * report_bytes(&task()));
    assert_eq!(counts(&folder.json(&submit(&server, ""))), [700, 700, 0, 0]);
    server.shut_down();
    assert_eq!(stored(&folder.path("data"), &task()), folder.read("r.ldpr"), "those of the file, and no others");
}

#[test]
fn what_is_not_a_file_of_reports_is_named_and_not_sent() {
    let folder = folder(5);
    let server = serve(&folder, |_| {});
    let whole = folder.read("r.ldpr");
    folder.write("r.ldpr", &whole[..20]);
    folder.refused(&submit(&server, ""), 1, &["r.ldpr: the report has 20 bytes where reports of this task have 35"]);
    // A pipe has no length: the end is found when the whole reports are sent.
    let piped = folder.piped(&submit(&server, "--json").replace("r.ldpr", "-"), &whole[..3 * 35 + 1]);
    assert_eq!(counts(&incomplete(&piped, &["-: the file ends within report 4"])), [3, 3, 0, 0]);
    folder.write("task.json", other_task().to_json());
    folder.write("r.ldpr", bytes_of(&reports(&other_task(), 1, 2)));
    folder.refused(&submit(&server, ""), 1, &["answers 404", "there is no task"]);
    assert_eq!(server.records(&task()), 3);
}

/// A folder with people and their task, and a server that accepts ids that it issued.
fn issuing() -> (Folder, Running, Task) {
    let folder = Folder::with_task();
    let collected = Task::from_json(&folder.read_text("task.json")).unwrap();
    let config = ServerConfig { issued_ids: true, ..config(&folder.path("data")) };
    let server = Running::start(config, std::slice::from_ref(&collected));
    folder.write("admin.token", ADMIN);
    folder.write("collector.token", COLLECTOR);
    (folder, server, collected)
}

#[test]
fn reports_with_ids_that_the_aggregator_issues_are_accepted() {
    let (folder, server, collected) = issuing();
    let rows: String = PEOPLE.lines().skip(1).cycle().take(60).map(|row| format!("{row}\n")).collect();
    folder.write("people.csv", format!("{}\n{rows}", PEOPLE.lines().next().unwrap()));
    let url = format!("--url {}", server.url(""));
    // 16 at a time without a token, all at once with an admin's.
    for (output, token) in [("a.ldpr", ""), ("b.ldpr", "--token-file admin.token")] {
        folder.run(&format!("randomize people.csv -t task.json -o {output} {url} {token}")).ok();
        let result = folder.json(&format!("submit {output} -t task.json {url}"));
        assert_eq!(counts(&result), [60, 60, 0, 0], "{output}");
    }
    assert_eq!(server.records(&collected), 120);
    let make = "randomize people.csv -t task.json -o c.ldpr";
    let refused = ["answers 403", "an admin's token"];
    folder.refused(&format!("{make} {url} --token-file collector.token"), 1, &refused);
    folder.refused(&format!("{make} --token-file admin.token"), 2, &["--url"]);
    folder.refused(&format!("{make} {url} --ids i.json"), 2, &["--ids"]);
    assert!(!folder.path("c.ldpr").exists());
    // Where reports make their own ids, they do.
    server.put(&collected, &TaskSettings { issued_ids: Some(false), ..TaskSettings::default() });
    folder.run(&format!("{make} {url}")).ok();
    assert_eq!(counts(&folder.json(&format!("submit c.ldpr -t task.json {url}"))), [60, 60, 0, 0]);
}

#[test]
fn of_reports_without_issued_ids_the_aggregator_sees_one() {
    let (folder, server, collected) = issuing();
    folder.run("randomize people.csv -t task.json -o own.ldpr").ok();
    let line = format!("submit own.ldpr -t task.json --url http://{}", server.address);
    let result = incomplete(&folder.run(&format!("{line} --json")), &["the others were not sent"]);
    assert_eq!((counts(&result), &result["complete"]), ([1, 0, 0, 1], &json!(false)));
    assert_eq!(result["rejections"][0]["kind"], "report-not-issued");
    assert_eq!(server.figure("ldp_pca_reports_rejected_total{reason=\"report-not-issued\"}"), 1);
    server.put(&collected, &TaskSettings { issued_ids: Some(false), ..TaskSettings::default() });
    assert_eq!(counts(&folder.json(&line)), [10, 10, 0, 0]);
}

/// The head of the one request that a gateway gets from a command, which it turns away.
fn head_of(folder: &Folder, line: &str, variable: Option<&str>) -> String {
    let forbidden = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (gateway, heads) = answering(forbidden.to_owned());
    let line = line.replace("URL", &format!("http://{gateway}"));
    let mut command = folder.command(line.split_whitespace());
    command.env_remove("LDP_PCA_TOKEN").envs(variable.map(|token| ("LDP_PCA_TOKEN", token)));
    assert_eq!(command.output().unwrap().status.code(), Some(1), "{line}");
    heads.recv().unwrap()
}

#[test]
fn a_token_comes_from_a_file_or_the_variable() {
    let folder = folder(1);
    folder.write("people.csv", "1,2,3,4\n");
    folder.write("token", "from-the-file\n");
    for line in [
        "submit r.ldpr -t task.json --patience 0 --url URL",
        "randomize people.csv --header no --separator comma -t task.json -o out.ldpr --url URL",
        "task put task.json --url URL",
    ] {
        let by_file = format!("{line} --token-file token");
        for (line, variable, token) in
            [(line, "from-the-variable", "from-the-variable"), (&by_file, "x", "from-the-file")]
        {
            let head = head_of(&folder, line, Some(variable));
            assert!(head.contains(&format!("authorization: bearer {token}\r")), "{line}: {head}");
        }
    }
    assert!(!head_of(&folder, "submit r.ldpr -t task.json --url URL", None).contains("authorization"));
    for token in ["two words", "two\nlines", "clé-0123456789"] {
        let mut submit = folder.command(["submit", "r.ldpr", "-t", "task.json"]);
        let refused = Run::of("submit", submit.env("LDP_PCA_TOKEN", token).output().unwrap());
        refused.refused(2, &["the variable LDP_PCA_TOKEN has a space or another character"]);
    }
    for row in ["42.5", "free|12345678", "31\tsome-plan", "a name 0123456789abcdef", "0.123456789012", "clé-0123456789"]
    {
        folder.write("token", row);
        let refused = folder.run("task put task.json --token-file token");
        assert!(!refused.stderr.contains(row), "{refused:?}");
        refused.refused(1, &["token: the first line is no token"]);
    }
    let mut put = folder.command(["task", "put", "task.json"]);
    let refused = Run::of("task put", put.env_remove("LDP_PCA_TOKEN").output().unwrap());
    refused.refused(2, &["LDP_PCA_TOKEN", "--token-file"]);
}

/// A proxy may serve an aggregator, or a relay, under a path.
#[test]
fn the_path_of_an_address_stays_before_what_is_asked() {
    let folder = folder(1);
    folder.write("people.csv", "1,2,3,4\n");
    let task = format!("/under/tasks/{}", task().digest());
    let randomize = "randomize people.csv --header no --separator comma -t task.json -o out.ldpr --url URL/under/";
    let delete = format!("task delete {} --url URL/under", self::task().digest());
    for (line, asked) in [
        ("submit r.ldpr -t task.json --url URL/under/", format!("post {task}/reports")),
        (randomize, format!("post {task}/seeds")),
        ("task put task.json --url URL/under", format!("put {task}")),
        (&*delete, format!("delete {task}?now=false")),
        ("ready --url URL/under", "get /under/readyz".into()),
        ("submit r.ldpr -t task.json --relay URL/under/", "get /under/keys".into()),
        (
            "relay --data relay --batch 2 --listen 127.0.0.1:0 --gateway URL/under/",
            "get /under/.well-known/ohttp-gateway".into(),
        ),
    ] {
        let head = head_of(&folder, line, Some("from-the-variable"));
        assert!(head.starts_with(&format!("{asked} http/1.1\r")), "{line}: {head}");
    }
}
