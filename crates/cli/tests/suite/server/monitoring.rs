//! The rules and the dashboard of docs/operate/prometheus, against the real figures of a server.

use std::collections::BTreeSet;
use std::io::Write;

use super::harness::*;

/// The figures that Prometheus itself and its blackbox exporter make.
const OF_OTHERS: [&str; 2] = ["up", "probe_success"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operate/prometheus")
}

/// The figures of a server that has done something, as its collector sees them.
fn metrics() -> String {
    let (_data, server) = serving(config, &[task()]);
    server.send(&task(), &body_of(1, 100));
    assert_eq!(server.recovery(&task(), "rank=2").status, 200);
    let answer = server.ask(Some(COLLECTOR), "GET", "/metrics", b"");
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    answer.text().to_owned()
}

/// The names of the samples.
fn names(metrics: &str) -> BTreeSet<String> {
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split(['{', ' ']).next().unwrap_or_default().to_owned()).collect()
}

/// The names of figures in an expression: they begin as ours do, or as those of every process, or are of others.
fn names_in(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| ["ldp_pca_", "process_"].iter().any(|start| word.starts_with(start));
    words.filter(|word| is_name(word) || OF_OTHERS.contains(word)).map(str::to_owned).collect()
}

/// Without what the name of a sample says of a histogram.
fn base_of(name: &str) -> &str {
    ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The expressions of the rules: `expr:` and the lines of a folded one.
fn rules() -> Vec<String> {
    let text = fs::read_to_string(folder().join("alerts.yml")).unwrap();
    let mut lines = text.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(expression) = line.trim().strip_prefix("expr: ") else { continue };
        let mut expression = expression.to_owned();
        if expression == ">-" {
            expression.clear();
            while let Some(more) = lines.next_if(|line| line.starts_with("          ")) {
                expression += more;
            }
        }
        found.push(expression);
    }
    found
}

fn panels() -> Vec<String> {
    let dashboard: Value = serde_json::from_slice(&fs::read(folder().join("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rules_and_dashboard_use_figures_that_exist() {
    let known = names(&metrics());
    let (rules, panels) = (rules(), panels());
    assert!(rules.len() >= 15 && panels.len() >= 15, "{} rules, {} panels", rules.len(), panels.len());
    let mut used = BTreeSet::new();
    for expression in rules.iter().chain(&panels) {
        let names = names_in(expression);
        assert!(!names.is_empty(), "{expression}");
        for name in names {
            assert!(
                known.contains(&name) || OF_OTHERS.contains(&&*name),
                "{name} of '{expression}' is not in {known:?}"
            );
            used.insert(name);
        }
    }
    // No figure of ours is left out of both.
    let used: BTreeSet<&str> = used.iter().map(|name| base_of(name)).collect();
    for name in known.iter().filter(|name| name.starts_with("ldp_pca_")) {
        assert!(used.contains(base_of(name)), "{name} is in no rule and no panel");
    }
}

#[test]
fn every_figure_is_in_the_manual() {
    let manual = fs::read_to_string(folder().join("../../reference/http-api.md")).unwrap();
    for name in names(&metrics()) {
        let base = base_of(&name);
        // Some are written as the end of the one before.
        let end = base.rsplit_once("reports").map_or(base, |(_, end)| end);
        assert!(manual.contains(&format!("`{base}")) || manual.contains(&format!("`…{end}")), "{name}");
    }
}

#[test]
fn the_process_and_the_release_are_among_the_figures() {
    let metrics = metrics();
    let version = format!("ldp_pca_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    assert!(metrics.lines().any(|line| line == version), "{metrics}");
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}")).parse().unwrap()
    };
    assert!(value("process_start_time_seconds") > 1.7e9);
    if cfg!(target_os = "linux") {
        assert!(value("process_resident_memory_bytes") > 1e6 && value("process_cpu_seconds_total") >= 0.0);
        assert!(value("process_open_fds") < value("process_max_fds") && value("process_threads") >= 1.0);
    }
    assert!(value("ldp_pca_store_free_bytes") > 0.0);
}

/// Debian has it in the package `prometheus`.
fn promtool(arguments: &[&str], input: &str) {
    let tool = Command::new("promtool")
        .args(arguments)
        .current_dir(folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else { return println!("promtool is not installed: {arguments:?} is skipped") };
    tool.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = tool.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{arguments:?}: {text}");
}

#[test]
fn promtool_takes_the_rules_their_tests_and_the_configuration() {
    promtool(&["check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"], "");
    promtool(&["test", "rules", "alerts_test.yml"], "");
    promtool(&["check", "config", "prometheus.yml"], "");
}

#[test]
fn promtool_finds_nothing_to_say_about_the_figures() {
    let (_data, server) = serving(config, &[task()]);
    server.send(&task(), &body_of(1, 100));
    let answer = server.request("GET", "/metrics", &[("accept", "text/plain")], b"");
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    promtool(&["check", "metrics"], answer.text());
}
