//! How long commands wait for an aggregator, and whom they ask with which token.

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
