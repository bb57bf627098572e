//! A run between data providers: real processes of the real program.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use chacha20::ChaCha8Rng;
use ldp_pca_dps::{NoiseSource, Provider, Session, run};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::coordinator::{Coordinator, wait_until};
use crate::support::{Folder, PEOPLE};

const DIMENSION: usize = 12;
const PROVIDERS: usize = 3;

/// Records of a provider: two strong directions, on the first four features. Some are longer than 1.
fn records(provider: usize, count: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(100 + provider as u64);
    let mut normal =
        move |deviation: f64| deviation * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, &mut rng);
    (0..count)
        .flat_map(|_| {
            let (first, second) = (normal(0.5), normal(0.4));
            let mut record = [0.0; DIMENSION].map(|_| normal(0.02));
            for (feature, weight) in [(0, first), (1, -first), (2, second), (3, second)] {
                record[feature] += weight * 0.7;
            }
            record
        })
        .collect()
}

fn write_records(path: &Path, values: &[f64]) {
    let lines: Vec<String> = values
        .chunks(DIMENSION)
        .map(|record| record.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
        .collect();
    fs::write(path, lines.join("\n")).unwrap();
}

/// The components of the same run in one process.
fn in_process(session: &Session, counts: &[usize], seed: u64) -> Vec<Vec<f64>> {
    let providers: Vec<Provider> = (1..)
        .zip(counts)
        .map(|(i, &count)| Provider::new(DIMENSION, &mut records(i, count).chunks_exact(DIMENSION), Some(1.0)).unwrap())
        .collect();
    let sources: Vec<NoiseSource> = (1..=counts.len() as u64).map(|i| NoiseSource::insecure(seed + i)).collect();
    let bases = run(&providers, &sources, Some(session.scale()), session.coordinator().unwrap()).unwrap();
    bases.last().unwrap().column_iter().map(|column| column.iter().copied().collect()).collect()
}

fn command(arguments: &[&str]) -> Output {
    Command::new(crate::PROGRAM).args(arguments).output().unwrap()
}

fn succeeded(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with records, and with a session in a folder of its own.
struct World {
    folder: TempDir,
    data: PathBuf,
    session: Session,
}

impl World {
    fn new(folder: TempDir, data: &str, rounds: u32) -> Self {
        let data = folder.path().join(data);
        let (rounds, dimension) = (rounds.to_string(), DIMENSION.to_string());
        let started = succeeded(&command(&[
            "dps-pca",
            "start",
            "--dimension",
            &dimension,
            "--rank",
            "2",
            "--kept-rows",
            "6",
            "--rounds",
            &rounds,
            "--providers",
            "3",
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            "--start",
            "7",
            "--data",
            text(&data),
            "--json",
        ]));
        let session = Session::from_json(&fs::read_to_string(data.join("session.json")).unwrap()).unwrap();
        assert_eq!(started["session"], session.id().to_string());
        Self { folder, data, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A provider's process, with its noise from a seed.
    fn provide(&self, url: &str, provider: usize, memory: &str, more: &[&str]) -> Command {
        let records_file = self.path(&format!("records-{provider}.csv"));
        let mut command = Command::new(crate::PROGRAM);
        command
            .args([
                "dps-pca",
                "provide",
                text(&records_file),
                "--session",
                &self.session.id().to_string(),
                "--url",
                url,
            ])
            .args(["--token-file", text(&self.data.join(format!("tokens/provider-{provider}.token")))])
            .args(["--memory", text(&self.path(memory)), "--epsilon", "1", "--delta", "1e-6", "--json"])
            .args(["--insecure-seed", &(40 + provider).to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn spawn(&self, url: &str, provider: usize) -> Child {
        self.provide(url, provider, &format!("memory-{provider}"), &[]).spawn().unwrap()
    }

    /// How many rounds a provider has on its disk.
    fn answered(&self, provider: usize) -> usize {
        fs::read_to_string(self.path(&format!("memory-{provider}")))
            .map_or(0, |text| text.lines().count().saturating_sub(1))
    }
}

fn write_all_records(folder: &Path, counts: &[usize]) {
    for (provider, &count) in (1..).zip(counts) {
        write_records(&folder.join(format!("records-{provider}.csv")), &records(provider, count));
    }
}

#[test]
fn three_provider_processes_and_a_server_find_what_one_process_finds_to_the_last_bit() {
    let counts = [4000, 5, 2500];
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &counts);
    let world = World::new(folder, "data", 6);
    let server = Coordinator::start(&world.data);
    let url = server.url.clone();
    let collector = world.data.join("collector.token");
    let id = world.session.id().to_string();
    let result = ["dps-pca", "result", "--session", &id, "--token-file", text(&collector), "--url", &url, "--json"];
    let early = command(&result);
    let said = String::from_utf8(early.stderr).unwrap();
    assert!(early.status.code() == Some(1) && said.contains("round 1 of 6") && said.contains("1, 2, 3"), "{said}");

    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(&url, provider)).collect();
    let expected = in_process(&world.session, &counts, 40);
    for (child, (provider, count)) in children.into_iter().zip((1..).zip(counts)) {
        let told = succeeded(&child.wait_with_output().unwrap());
        assert_eq!(
            (&told["provider"], &told["rounds"], &told["records"]),
            (&provider.into(), &6.into(), &count.into())
        );
        assert_eq!(told["guarantee"], json!({"epsilon": 1.0, "delta": 1e-6}));
        assert_eq!(told["private"], false);
        assert!(provider == 2 || told["scaled"].as_u64().unwrap() > 0);
        assert_eq!(told["components"], json!(expected));
    }
    let npy = world.path("components.npy");
    let told = succeeded(&command(&[&result[..], &["--wait", "--output", text(&npy)]].concat()));
    assert_eq!(told["components"], json!(expected));
    assert!(fs::metadata(npy).unwrap().len() > (DIMENSION * 2 * 8) as u64);
    // 6,500 records at epsilon 1: the strong features are found.
    for component in &expected {
        let strong: f64 = component[..4].iter().map(|value| value * value).sum();
        assert!(strong > 0.8, "{component:?}");
    }
    // One that has taken part gets the end again and sends nothing.
    let again = succeeded(&world.provide(&url, 1, "memory-1", &[]).output().unwrap());
    assert_eq!((&again["rounds"], &again["components"]), (&6.into(), &json!(expected)));
}

/// Whoever made the files that are there: a provider's token is for its owner alone.
#[cfg(unix)]
#[test]
fn tokens_are_private_and_follow_no_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempdir().unwrap();
    let (elsewhere, tokens) = (folder.path().join("elsewhere"), folder.path().join("data/tokens"));
    fs::write(&elsewhere, "mine").unwrap();
    fs::create_dir_all(&tokens).unwrap();
    fs::write(tokens.join("provider-1.token"), "open to all").unwrap();
    fs::set_permissions(tokens.join("provider-1.token"), fs::Permissions::from_mode(0o666)).unwrap();
    symlink(&elsewhere, tokens.join("provider-2.token")).unwrap();
    let world = World::new(folder, "data", 1);
    let mut names: Vec<_> = fs::read_dir(&tokens).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["provider-1.token", "provider-2.token", "provider-3.token"]);
    for provider in 1..=PROVIDERS {
        let path = tokens.join(format!("provider-{provider}.token"));
        assert!(fs::read_to_string(&path).unwrap().starts_with(&format!("{provider}-")));
        let metadata = fs::symlink_metadata(path).unwrap();
        assert!(metadata.is_file() && metadata.permissions().mode() & 0o777 == 0o600, "{metadata:?}");
    }
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
    for secret in ["key", "collector.token"] {
        assert_eq!(fs::metadata(world.data.join(secret)).unwrap().permissions().mode() & 0o777, 0o600, "{secret}");
    }
}

/// An address that is free again after its server was killed: systems give outgoing connections ports from 32768 on.
fn lasting_address() -> String {
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let free = (first..first + 1000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    format!("127.0.0.1:{}", free.unwrap())
}

#[test]
fn killed_providers_and_servers_resume_and_none_answers_twice() {
    let counts = [300, 200, 100];
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &counts);
    let address = lasting_address();
    let world = World::new(folder, "data", 4);
    let server = Coordinator::start_at(&address, &world.data);
    let url = format!("http://{address}");
    // Two of three answer the first round, and wait.
    let mut first = world.spawn(&url, 1);
    let second = world.spawn(&url, 2);
    let messages = || fs::read_dir(world.data.join("messages")).unwrap().count();
    wait_until("two answers", || world.answered(1) == 1 && world.answered(2) == 1 && messages() == 2);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = fs::read(world.path("memory-1")).unwrap();
    // A line that was being written when the machine stopped was never sent.
    fs::write(world.path("memory-1"), [&before[..], b"{\"round\":2,\"cel"].concat()).unwrap();
    // Without its memory, or with that of another, a provider refuses to answer again.
    for (memory, reason) in [("lost", "another run has answered"), ("memory-other", "another session or provider")] {
        fs::write(world.path("memory-other"), "dps-pca 1 session 0 provider 1\n").unwrap();
        let refused = world.provide(&url, 1, memory, &[]).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && said.contains(reason), "{said}");
    }
    let locked = world.provide(&url, 2, "memory-2", &[]).output().unwrap();
    assert!(String::from_utf8(locked.stderr).unwrap().contains("another provider uses it"));
    assert_eq!(messages(), 2);
    // The coordinator is killed too, and comes back.
    drop(server);
    let server = Coordinator::start_at(&address, &world.data);
    let rest: Vec<Child> = [1, 3].map(|provider| world.spawn(&url, provider)).into_iter().chain([second]).collect();
    let expected = json!(in_process(&world.session, &counts, 40));
    for child in rest {
        assert_eq!(succeeded(&child.wait_with_output().unwrap())["components"], expected);
    }
    assert!(fs::read(world.path("memory-1")).unwrap().starts_with(&before));
    assert_eq!(messages(), 3 * 4);
    // A coordinator that has lost everything is sent the same bytes again, and finds the same.
    let kept: Vec<Vec<u8>> = (1..=PROVIDERS).map(|i| fs::read(world.path(&format!("memory-{i}"))).unwrap()).collect();
    drop(server);
    let world = World::new(world.folder, "again", 4);
    let _server = Coordinator::start_at(&address, &world.data);
    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(&url, provider)).collect();
    for (child, (provider, kept)) in children.into_iter().zip((1..).zip(kept)) {
        assert_eq!(succeeded(&child.wait_with_output().unwrap())["components"], expected);
        assert_eq!(fs::read(world.path(&format!("memory-{provider}"))).unwrap(), kept);
    }
}

#[test]
fn a_provider_refuses_sessions_above_its_limit_and_records_that_do_not_fit() {
    let folder = tempdir().unwrap();
    write_all_records(folder.path(), &[10, 10, 10]);
    let world = World::new(folder, "data", 2);
    let server = Coordinator::start(&world.data);
    let url = server.url.clone();
    let refused = |records: &str, change: (&str, &str), reason: &str| {
        fs::write(world.path("records-1.csv"), records).unwrap();
        let mut command = world.provide(&url, 1, "memory", &[]);
        let arguments: Vec<String> = command.get_args().map(|argument| argument.to_str().unwrap().to_owned()).collect();
        let place = arguments.iter().position(|argument| argument == change.0).unwrap();
        let mut arguments = arguments;
        arguments[place + 1] = change.1.into();
        command = Command::new(crate::PROGRAM);
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(reason), "'{said}' lacks '{reason}'");
    };
    let row = "0.1,".repeat(11) + "0.1\n";
    refused(&row, ("--epsilon", "0.99"), "nothing was sent");
    refused(&row, ("--delta", "1e-7"), "nothing was sent");
    refused(&row, ("--session", &"0".repeat(64)), "no session");
    refused(&row, ("--session", "0"), "64 lower-case");
    refused("", ("--epsilon", "1"), "no records");
    refused("0.1,0.2\n", ("--epsilon", "1"), "line 1: the record has 2 numbers, but the session has 12");
    refused(&row.replace("0.1\n", "x\n"), ("--epsilon", "1"), "line 1: field 12 is not a number");
    refused(&row.replace("0.1\n", "inf\n"), ("--epsilon", "1"), "line 1: field 12 is not a finite number");
    fs::copy(world.data.join("collector.token"), world.data.join("tokens/provider-1.token")).unwrap();
    refused(&row, ("--epsilon", "1"), "not a provider's token");
    fs::write(world.data.join("tokens/provider-1.token"), "0123456789abcdef0123456789abcdef").unwrap();
    refused(&row, ("--epsilon", "1"), "not a provider's token");
}

#[test]
fn components_replace_nothing_that_is_read_and_no_reports_unasked() {
    let folder = Folder::new();
    folder.write("people.csv", PEOPLE);
    folder.write("token", "1-secret");
    folder.write("memory", "what was sent");
    folder.write("reports", "LDPR and more");
    let session = "0".repeat(64);
    let provide = "dps-pca provide people.csv --memory memory --epsilon 1 --delta 1e-6";
    for (command, inputs) in [(provide, &["people.csv", "token", "memory"][..]), ("dps-pca result", &["token"][..])] {
        let line = format!("{command} --session {session} --token-file token --output");
        for &out in inputs {
            for force in ["", " --force"] {
                let run = folder.run(&format!("{line} {out}{force}"));
                run.refused(2, &[out, "is also read by this command: write to another file"]);
            }
        }
        folder.run(&format!("{line} reports")).refused(1, &["reports", "holds reports", "--force"]);
    }
    assert_eq!(folder.names(), ["memory", "people.csv", "reports", "token"]);
}
