//! The commands of the README and of the documentation run as printed, their figures are what the programs say, the
//! unit fits the settings, and the example file is the survey.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Folder, number, words};

#[path = "../../../../research/studies/src/bin/survey.rs"]
mod survey;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The text of a file of the repository.
fn read(file: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap()
}

/// The `ldp-pca` commands of each shell block of a document, without their comments.
fn commands(document: &str) -> Vec<Vec<String>> {
    let text = read(document).replace("\\\n", " ");
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap().lines());
    let stated = |line: &str| line.split(" # ").next().unwrap().trim().to_owned();
    blocks.map(|lines| lines.filter(|line| line.starts_with("ldp-pca ")).map(stated).collect()).collect()
}

/// A folder with the survey where the documents have it.
fn survey_folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("examples")).unwrap();
    std::fs::copy(Path::new(ROOT).join("examples/survey.csv"), folder.path("examples/survey.csv")).unwrap();
    folder
}

/// Makes a file that a command reads where none before it has: the survey by another name, its schema, a task, or the
/// sums of a collection.
fn make(folder: &Folder, name: &str) {
    if folder.path(name).exists() {
        return;
    }
    match name.rsplit_once('.') {
        Some(("public", "csv")) => {
            let survey = folder.read_text("examples/survey.csv");
            folder.write(name, survey.lines().take(301).collect::<Vec<_>>().join("\n"));
        }
        Some((_, "csv")) => folder.write(name, folder.read("examples/survey.csv")),
        Some(("schema", "json")) => drop(folder.run("schema infer examples/survey.csv -o schema.json").ok()),
        Some(("refined", "json")) => {
            make(folder, "wave1.ldpa");
            folder.run("task refine --aggregate wave1.ldpa --task task.json --rank 3 -o refined.json").ok();
        }
        Some((_, "json")) => {
            make(folder, "schema.json");
            folder.run(&format!("task new --schema schema.json --epsilon 2 -o {name}")).ok();
        }
        Some((stem, "ldpa")) => {
            let task = match stem {
                "low" | "high" => stem,
                "wave" | "wave2" => "refined",
                _ => "task",
            };
            make(folder, &format!("{task}.json"));
            folder.collect("examples/survey.csv", task, stem);
        }
        _ => {}
    }
}

/// Runs the commands of a block in `folder`, and gives back how many ran.
fn run(commands: &[String], folder: &Folder) -> usize {
    // What needs an aggregator or its folder, and what shells read: they have tests of their own. The last one takes a
    // minute.
    const ELSEWHERE: [&str; 10] = [
        "serve",
        "relay",
        "submit",
        "store",
        "task put",
        "task delete",
        "task erase",
        "completions",
        "man",
        "simulate --dimension 400 ",
    ];
    let mut ran = 0;
    for command in commands.iter().map(|command| command.strip_prefix("ldp-pca ").unwrap()) {
        let asks_server = command.contains("--url ");
        if asks_server || command.contains('$') || ELSEWHERE.iter().any(|start| command.starts_with(start)) {
            continue;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        let is_written = |at: usize| at > 0 && ["-o", "--output", "--plot", "--report"].contains(&words[at - 1]);
        (0..words.len()).filter(|at| !is_written(*at)).for_each(|at| make(folder, words[at]));
        folder.run(command).ok();
        ran += 1;
    }
    ran
}

/// The documents for users, from the root.
fn documents() -> Vec<String> {
    let mut documents: Vec<String> = ["README.md", "crates/cli/README.md", "pkg/README.md"].map(str::to_owned).into();
    for folder in ["docs/start", "docs/guides", "docs/operate", "docs/privacy", "docs/reference"] {
        let names = std::fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        documents.extend(names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")));
    }
    documents
}

#[test]
fn every_command_of_the_documents_runs_as_printed() {
    let (mut all, mut collections) = (0, 0);
    for document in documents() {
        // A collection replaces none of another's files: each block has a folder.
        for block in commands(&document) {
            let folder = survey_folder();
            let ran = run(&block, &folder);
            all += ran;
            if block.iter().any(|command| command.contains("examples/survey.csv -o schema.json")) {
                collections += 1;
                // 5,000 reports at epsilon 2 find most of sport, screens and home. Noise finds 0 on average.
                let line = "recover sums.ldpa --task task.json --rank 3 --reference examples/survey.csv";
                let found = number(&folder.json(line)["reference"]["share_found"]);
                assert!(ran >= 5 && found > 0.8, "{document}: {ran} ran, {found}");
                let example = read("examples/task.json");
                assert_eq!(folder.read_text("task.json"), example, "the example is the task of the survey");
            }
        }
    }
    assert_eq!(collections, 2, "the README and docs/start/command-line.md collect the survey");
    assert!(all >= 40, "the documents have lost their commands: {all} ran");
}

/// The shell block of a document that has this text.
fn block(document: &str, part: &str) -> String {
    let text = read(document);
    let mut blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.find(|block| block.contains(part)).unwrap_or_else(|| panic!("{document} lacks {part}")).to_owned()
}

/// Whether the programs are there that commands of the documents need beside ours.
fn can_run(programs: &[&str]) -> bool {
    let lacking = programs.iter().find(|program| Command::new(program).arg("--version").output().is_err());
    lacking.inspect(|program| eprintln!("skipped: the commands need {program}")).is_none()
}

/// The aggregator that this command starts, and its port.
fn serve(folder: &Folder, command: &str) -> (Child, String) {
    let mut server = folder.command(command.split_whitespace().skip(1));
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("listening on http://127.0.0.1:").unwrap().to_owned();
    (server, port)
}

/// As printed but for the port, which another program may have.
#[cfg(unix)]
#[test]
fn the_aggregator_of_the_documentation_runs_to_its_end_as_printed() {
    if !can_run(&["curl", "jq"]) {
        return;
    }
    let folder = survey_folder();
    folder.make_task("examples/survey.csv", "--epsilon 2");
    let guide = "docs/start/command-line.md";
    let command = block(guide, "ldp-pca serve").replace("localhost:8080", "localhost:0");
    let (mut server, port) = serve(&folder, command.split(" # ").next().unwrap());
    let collect = block(guide, "ldp-pca submit");
    let ran = folder.shell(&collect.replace("localhost:8080", &format!("localhost:{port}")));
    server.kill().unwrap();
    server.wait().unwrap();
    let said = ran.prints(&["5,000 accepted"]).stdout;
    let (_, recovery) = said.split_once("\n{").unwrap();
    let recovery: serde_json::Value = serde_json::from_str(&format!("{{{recovery}")).unwrap();
    assert_eq!((&recovery["records"], &recovery["rank"]), (&5000.into(), &3.into()));
}

/// As printed but for addresses, folders, digests and ids.
#[cfg(target_os = "linux")]
#[test]
fn the_commands_of_operators_run_as_printed() {
    if !can_run(&["curl", "jq", "zcat"]) {
        return;
    }
    let folder = survey_folder();
    folder.make_task("examples/survey.csv", "--epsilon 2");
    let digest = folder.json("inspect task.json")["digest"].as_str().unwrap().to_owned();
    let (mut server, port) = serve(&folder, "ldp-pca serve --data served --listen 127.0.0.1:0");
    let (url, data) = (format!("http://127.0.0.1:{port}"), folder.path("served").display().to_string());
    let token = format!("--token-file {data}/admin.token");
    let names = [
        ("--token-file /var/lib/ldp-pca/admin.token", format!("--url {url} {token}")),
        ("--token-file admin.token", token.clone()),
        ("https://aggregator.example", url.clone()),
        ("https://reports.example.org", url.clone()),
        ("/var/lib/ldp-pca", data.clone()),
        ("aggregator-data", data.clone()),
        ("export old", "export merged".to_owned()),
        ("/backup/first", "copy".to_owned()),
        ("/backup/second", "again".to_owned()),
        ("5d41…the-whole-digest", digest.clone()),
        (" 5d41", format!(" {digest}")),
    ];
    let here = |document: &str, part: &str| {
        names.iter().fold(block(document, part), |text, (name, value)| text.replace(*name, value))
    };
    let collect = |task: &str| {
        let from = format!("--task {task}.json --url {url}");
        folder.run(&format!("randomize examples/survey.csv {from} {token} -o sent.ldpr --force")).ok();
        folder.run(&format!("submit sent.ldpr {from}")).says(&["5,000 accepted"]);
    };
    let [erasing, keeping] = ["docs/operate/erase-and-close.md", "docs/operate/back-up.md"];

    folder.shell(&here(erasing, "retention")).ok();
    collect("task");
    let reports = folder.read("sent.ldpr");
    let id = |at: usize| -> String { reports[35 * at + 13..][..16].iter().map(|byte| format!("{byte:02x}")).collect() };
    folder.write("ids.txt", id(1));
    let erase = here(erasing, "task erase").replace("00112233445566778899aabbccddeeff", &id(0));
    folder.shell(&erase).says(&["erased: 1"]);

    let periods = "docs/guides/periods.md";
    folder.shell(&here(periods, "task put")).ok();
    for week in ["w46", "w47", "w48"] {
        collect(week);
    }
    folder.shell(&here(periods, "store export")).says(&["change"]);

    // Its schema has the name of another.
    Folder::new().shell(&here("docs/start/one-vm.md", "printf")).says(&["2 accepted"]);

    folder.shell(&format!("{}cp -r copy again", here(keeping, "store backup"))).says(&["all is as it was written"]);
    let merge = here(keeping, "store merge");
    let merge: Vec<&str> = merge.lines().filter(|line| !line.starts_with("ldp-pca serve")).collect();
    folder.shell(&merge.join("\n")).says(&["4,998 in all"]);
    folder.shell(&here(keeping, "store export old")).says(&["4,998 were there"]);

    folder.shell(&here(erasing, "task delete")).says(&["is deleted"]);
    server.kill().unwrap();
    server.wait().unwrap();
    folder.shell(&here(erasing, "store restore")).says(&["4,998 reports are back"]);

    folder.write("records.csv.gz", crate::support::gzip(&folder.read("examples/survey.csv")));
    folder.shell(&block("docs/start/command-line.md", "zcat")).ok();
    assert!(folder.path("sums.ldpa").is_file());
}

/// The reports of a demo are random: what they capture differs from run to run, by a few tenths of a percent.
#[test]
fn the_readme_says_what_the_demo_finds() {
    let (demo, readme) = (words(&Folder::new().text("demo --once --listen 127.0.0.1:0")), words(&read("README.md")));
    let figure = |text: &str, before: &str| -> f64 {
        let (_, after) = text.split_once(before).unwrap();
        after.split(' ').next().unwrap().parse().unwrap()
    };
    let (found, stated) = (figure(&demo, "captured "), figure(&readme, "capture about "));
    assert!((found - stated).abs() < 1.0, "the README says {stated} %: {demo}");
    let possible = figure(&demo, "where ");
    assert!(readme.contains(&format!("where {possible} % is possible")), "{demo}");
    assert!(readme.contains("one report of 35 bytes") && demo.contains("20,000 reports of 35 bytes"), "{demo}");
}

/// Shares are rounded up, to three digits, or four of nearly all.
#[test]
fn the_documents_say_what_a_report_lets_anybody_tell() {
    let percent = |share: f64| {
        let (percent, digits) = (100.0 * share, if (0.1..0.99).contains(&share) { 1 } else { 2 });
        let unit = f64::powi(10.0, digits);
        format!("{:.*} %", digits as usize, (percent * unit).ceil() / unit)
    };
    let folder = survey_folder();
    let power = |options: &str| {
        folder.make_task("examples/survey.csv", options);
        number(&folder.json("account --task task.json")["detection"]["power"])
    };
    let (threats, guide) = (read("docs/privacy/threat-model.md"), read("docs/guides/what-epsilon.md"));
    for epsilon in [0.5, 1.0, 2.0, 4.0, 6.0, 8.0] {
        let double_cap = percent(power(&format!("--epsilon {epsilon}")));
        let gaussian = percent(power(&format!("--epsilon {epsilon} --mechanism gaussian --delta 1e-6")));
        let row = format!("| {epsilon} | {double_cap} | {gaussian} |\n");
        assert!(threats.contains(&row), "docs/privacy/threat-model.md lacks {row}");
        let factor = f64::exp(epsilon);
        let any_mechanism = (0.01 * factor).min(1.0 - 0.99 / factor);
        let belief = 0.01 * factor / (0.99 + 0.01 * factor);
        let row = format!("| {epsilon} | {double_cap} | {} | {} |\n", percent(any_mechanism), percent(belief));
        assert!(guide.contains(&row), "docs/guides/what-epsilon.md lacks {row}");
    }
    let recognized = format!("{} in 100", (1000.0 * power("--epsilon 2")).ceil() / 10.0);
    for document in ["README.md", "docs/start/faq.md", "pkg/README.md", "docs/privacy/sign-off.md"] {
        assert!(words(&read(document)).contains(&recognized), "{document} lacks {recognized}");
    }
}

#[test]
fn the_unit_of_systemd_may_write_what_the_settings_name() {
    let running = read("docs/operate/run.md");
    let (_, unit) = running.split_once("```ini\n").unwrap();
    let (unit, below) = unit.split_once("```").unwrap();
    let (head, service) = unit.split_once("[Service]").unwrap();
    assert!(head.contains("\nStartLimitIntervalSec=0\n") && service.contains("\nType=notify\n"), "{unit}");
    let granted = [("/var/lib", "StateDirectory="), ("/var/log", "LogsDirectory=")].map(|(parent, name)| {
        let folder = service.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        Path::new(parent).join(folder)
    });
    let documents = ["run.md", "aggregator.toml", "settings.toml"];
    let documents = documents.map(|name| read(&format!("docs/operate/{name}"))).concat();
    let paths = documents.lines().filter_map(|line| {
        let setting = line.trim_start_matches("# ");
        ["data = ", "audit = "].iter().find_map(|name| setting.strip_prefix(name))
    });
    let paths: Vec<&str> = paths.map(|path| path.trim_matches('"')).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    for path in paths {
        assert!(granted.iter().any(|folder| Path::new(path).starts_with(folder)), "the unit cannot write {path}");
    }
    // A command on its folder has the same user and folders.
    let (_, command) = below.split_once("\nsystemd-run ").unwrap();
    let command = command.split("```").next().unwrap();
    let properties = command.split(" -p ").skip(1).map(|rest| rest.split_whitespace().next().unwrap());
    let properties: Vec<&str> = properties.collect();
    assert_eq!(properties.len(), 7, "{properties:?}");
    for property in properties {
        assert!(service.lines().any(|line| line == property), "{property} is not the unit's");
    }
}

#[test]
fn the_example_file_is_the_survey_it_is_said_to_be() {
    assert!(
        read("examples/survey.csv") == survey::csv().unwrap(),
        "write it again: cargo run -p ldp-pca-studies --bin survey > examples/survey.csv"
    );
}
