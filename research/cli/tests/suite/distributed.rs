//! A run between data providers: real processes of the real program.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Stdio};

use chacha20::ChaCha8Rng;
use ldp_pca_dps::{NoiseSource, Provider, Session, run};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};

use crate::coordinator::{Coordinator, DIMENSION, PROVIDERS, start};
use crate::http::wait_until;
use crate::support::{Folder, PEOPLE, Run, assert_has};

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

/// A folder with the records of every provider, so many each, in `records-1.csv` and so on.
fn with_records(counts: &[usize]) -> Folder {
    let folder = Folder::new();
    for (provider, &count) in (1..).zip(counts) {
        let values = records(provider, count);
        let line = |record: &[f64]| record.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let lines: Vec<String> = values.chunks(DIMENSION).map(line).collect();
        folder.write(&format!("records-{provider}.csv"), lines.join("\n"));
    }
    folder
}

/// A folder with records, and with a session in a folder of its own.
struct World {
    folder: Folder,
    data: String,
    session: Session,
}

impl World {
    fn new(folder: Folder, data: &str, rounds: u32) -> Self {
        let started = start(&folder, data, rounds).json();
        let session = Session::from_json(&folder.read_text(&format!("{data}/session.json"))).unwrap();
        assert_eq!(started["session"], session.id().to_string());
        Self { folder, data: data.to_owned(), session }
    }

    fn coordinator(&self, address: &str) -> Coordinator {
        Coordinator::start_at(address, &self.folder.path(&self.data))
    }

    /// What a provider runs, with its noise from a seed.
    fn provide(&self, url: &str, provider: usize, memory: &str) -> String {
        let (id, data, seed) = (self.session.id(), &self.data, 40 + provider);
        format!(
            "dps-pca provide records-{provider}.csv --session {id} --url {url} --memory {memory} --epsilon 1 \
             --delta 1e-6 --token-file {data}/tokens/provider-{provider}.token --insecure-seed {seed} --json"
        )
    }

    /// A provider's process.
    fn spawn(&self, url: &str, provider: usize) -> Child {
        let line = self.provide(url, provider, &format!("memory-{provider}"));
        let mut command = self.folder.command(line.split(' '));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How many rounds a provider has on its disk.
    fn answered(&self, provider: usize) -> usize {
        fs::read_to_string(self.folder.path(&format!("memory-{provider}")))
            .map_or(0, |text| text.lines().count().saturating_sub(1))
    }
}

/// What a provider printed in the end.
fn told(provider: Child) -> Value {
    Run::of("provide", provider.wait_with_output().unwrap()).json()
}

#[test]
fn three_provider_processes_and_a_server_find_what_one_process_finds_to_the_last_bit() {
    let counts = [4000, 5, 2500];
    let world = World::new(with_records(&counts), "data", 6);
    let (server, folder) = (world.coordinator("127.0.0.1:0"), &world.folder);
    let (url, id) = (&server.url, world.session.id());
    let result = format!("dps-pca result --session {id} --token-file data/collector.token --url {url}");
    folder.refused(&format!("{result} --json"), 1, &["round 1 of 6", "1, 2, 3"]);

    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(url, provider)).collect();
    let expected = in_process(&world.session, &counts, 40);
    for (child, (provider, count)) in children.into_iter().zip((1..).zip(counts)) {
        let told = told(child);
        let guarantee = json!({"epsilon": 1.0, "delta": 1e-6});
        let run =
            json!({"provider": provider, "rounds": 6, "records": count, "guarantee": guarantee, "private": false});
        assert_has(&told, run, "a provider");
        assert!(provider == 2 || told["scaled"].as_u64().unwrap() > 0);
        assert_eq!(told["components"], json!(expected));
    }
    folder.gives(&format!("{result} --wait --output components.npy"), json!({"components": expected}));
    assert!(folder.read("components.npy").len() > DIMENSION * 2 * 8);
    // 6,500 records at epsilon 1: the strong features are found.
    for component in &expected {
        let strong: f64 = component[..4].iter().map(|value| value * value).sum();
        assert!(strong > 0.8, "{component:?}");
    }
    // One that has taken part gets the end again and sends nothing.
    folder.run(&world.provide(url, 1, "memory-1")).gives(json!({"rounds": 6, "components": expected}));
}

/// Whoever made the files that are there: a provider's token is for its owner alone.
#[cfg(unix)]
#[test]
fn tokens_are_private_and_follow_no_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new();
    let (elsewhere, tokens) = (folder.path("elsewhere"), folder.path("data/tokens"));
    fs::create_dir_all(&tokens).unwrap();
    folder.write("elsewhere", "mine");
    folder.write("data/tokens/provider-1.token", "open to all");
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
    assert_eq!(world.folder.read_text("elsewhere"), "mine");
    for secret in ["data/key", "data/collector.token"] {
        let metadata = fs::metadata(world.folder.path(secret)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{secret}");
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
    let address = lasting_address();
    let world = World::new(with_records(&counts), "data", 4);
    let server = world.coordinator(&address);
    let url = format!("http://{address}");
    // Two of three answer the first round, and wait.
    let mut first = world.spawn(&url, 1);
    let second = world.spawn(&url, 2);
    let messages = || fs::read_dir(world.folder.path("data/messages")).unwrap().count();
    wait_until("two answers", || world.answered(1) == 1 && world.answered(2) == 1 && messages() == 2);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = world.folder.read("memory-1");
    // A line that was being written when the machine stopped was never sent.
    world.folder.write("memory-1", [&before[..], b"{\"round\":2,\"cel"].concat());
    // Without its memory, or with that of another, a provider refuses to answer again.
    world.folder.write("memory-other", "dps-pca 1 session 0 provider 1\n");
    for (memory, reason) in [("lost", "another run has answered"), ("memory-other", "another session or provider")] {
        world.folder.refused(&world.provide(&url, 1, memory), 1, &[reason]);
    }
    let locked = world.folder.run(&world.provide(&url, 2, "memory-2"));
    assert!(locked.stderr.contains("another provider uses it"), "{locked:?}");
    assert_eq!(messages(), 2);
    // The coordinator is killed too, and comes back.
    drop(server);
    let server = world.coordinator(&address);
    let rest: Vec<Child> = [1, 3].map(|provider| world.spawn(&url, provider)).into_iter().chain([second]).collect();
    let expected = json!(in_process(&world.session, &counts, 40));
    for child in rest {
        assert_eq!(told(child)["components"], expected);
    }
    assert!(world.folder.read("memory-1").starts_with(&before));
    assert_eq!(messages(), 3 * 4);
    // A coordinator that has lost everything is sent the same bytes again, and finds the same.
    let kept: Vec<Vec<u8>> = (1..=PROVIDERS).map(|i| world.folder.read(&format!("memory-{i}"))).collect();
    drop(server);
    let world = World::new(world.folder, "again", 4);
    let _server = world.coordinator(&address);
    let children: Vec<Child> = (1..=PROVIDERS).map(|provider| world.spawn(&url, provider)).collect();
    for (child, (provider, kept)) in children.into_iter().zip((1..).zip(kept)) {
        assert_eq!(told(child)["components"], expected);
        assert_eq!(world.folder.read(&format!("memory-{provider}")), kept);
    }
}

#[test]
fn a_provider_refuses_sessions_above_its_limit_and_records_that_do_not_fit() {
    let world = World::new(with_records(&[10, 10, 10]), "data", 2);
    let (server, folder) = (world.coordinator("127.0.0.1:0"), &world.folder);
    let line = world.provide(&server.url, 1, "memory");
    let refused = |records: &str, line: &str, reason: &str| {
        folder.write("records-1.csv", records);
        let run = folder.run(line);
        assert!(run.code != Some(0) && run.stderr.contains(reason), "'{reason}' is not in {run:?}");
    };
    let row = "0.1,".repeat(11) + "0.1\n";
    let (id, unknown) = (world.session.id().to_string(), "0".repeat(64));
    for (right, wrong, reason) in [
        ("--epsilon 1 ", "--epsilon 0.99 ", "nothing was sent"),
        ("--delta 1e-6", "--delta 1e-7", "nothing was sent"),
        (&id, &unknown, "no session"),
        (&id, "0", "64 lower-case"),
    ] {
        refused(&row, &line.replace(right, wrong), reason);
    }
    for (records, reason) in [
        ("", "no records"),
        ("0.1,0.2\n", "line 1: the record has 2 numbers, but the session has 12"),
        (&row.replace("0.1\n", "x\n"), "line 1: field 12 is not a number"),
        (&row.replace("0.1\n", "inf\n"), "line 1: field 12 is not a finite number"),
    ] {
        refused(records, &line, reason);
    }
    for token in [&folder.read_text("data/collector.token"), "0123456789abcdef0123456789abcdef"] {
        folder.write("data/tokens/provider-1.token", token);
        refused(&row, &line, "not a provider's token");
    }
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
                let parts = [out, "is also read by this command: write to another file"];
                folder.refused(&format!("{line} {out}{force}"), 2, &parts);
            }
        }
        folder.refused(&format!("{line} reports"), 1, &["reports", "holds reports", "--force"]);
    }
    assert_eq!(folder.names(), ["memory", "people.csv", "reports", "token"]);
}
