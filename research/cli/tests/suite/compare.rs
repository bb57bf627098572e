//! `compare`: every method in one table, on given records, and the committed table of the documentation.

use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca_literature::baselines::catalogue::{key, methods};
use serde_json::{Value, json};

use crate::leaks;
use crate::support::{Folder, PEOPLE, assert_has, npy_matrix, number};

/// One for [`PEOPLE`].
const SCHEMA: &str = r#"{"columns": [
    {"type": "numeric", "name": "age", "offset": 41, "scale": 16},
    {"type": "numeric", "name": "height", "offset": 1.7, "scale": 0.1},
    {"type": "categorical", "name": "plan", "values": ["free", "paid", "trial"], "unseen": "zero"},
    {"type": "numeric", "name": "score", "offset": 0.5, "scale": 2}
]}"#;

/// A folder with people and their schema.
fn people() -> Folder {
    let folder = Folder::new();
    folder.write("people.csv", PEOPLE);
    folder.write("schema.json", SCHEMA);
    folder
}

/// Six features; two directions have most of the variance.
fn records() -> Folder {
    let folder = Folder::new();
    let rows: Vec<Vec<f64>> = (0..600)
        .map(|row| {
            let wave = |step: usize, modulus: usize| (row * step % modulus) as f64 / modulus as f64 - 0.5;
            let (a, b) = (wave(37, 101), 0.7 * wave(53, 89));
            vec![2.0 * a, 2.0 * b, a + b, 0.2 * wave(29, 97), 0.2 * wave(31, 83), 0.2 * wave(41, 79)]
        })
        .collect();
    folder.write("records.npy", npy_matrix(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    folder
}

fn names() -> Vec<&'static str> {
    let all = methods(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    all.iter().map(|method| method.name()).collect()
}

fn rows(result: &Value, epsilon: usize) -> &Vec<Value> {
    result["epsilons"][epsilon]["rows"].as_array().unwrap()
}

fn row<'a>(result: &'a Value, epsilon: usize, name: &str) -> &'a Value {
    rows(result, epsilon).iter().find(|row| row["key"] == name).unwrap_or_else(|| panic!("{name}"))
}

fn errors(row: &Value) -> Vec<f64> {
    let trials = row["trials"].as_array().unwrap();
    trials.iter().map(|trial| number(&trial["sin_theta_squared"])).collect()
}

#[test]
fn every_method_has_a_row_with_its_figures_or_the_reason_of_its_refusal() {
    let folder = records();
    let line = "compare --records records.npy --rank 2 --epsilon 0.5,4 --trials 3";
    let expected = json!({"records": 600, "dimension": 6, "rank": 2});
    let result = folder.gives(&format!("{line} --plot methods.svg"), expected);
    assert!((number(&result["total_variance"]) - 1.0).abs() < 1e-12, "records of norm 1");
    let most = number(&result["most_captured"]);
    for epsilon in 0..2 {
        let found: Vec<&str> = rows(&result, epsilon).iter().map(|row| row["method"].as_str().unwrap()).collect();
        assert_eq!(found, names());
        for row in rows(&result, epsilon) {
            assert!(row["trusted"].is_string() && row["trust"].is_string());
            let refused = row["refusal"].as_str();
            assert_eq!(row["figures"].is_null(), row["trials"].as_array().unwrap().is_empty(), "{row}");
            assert!(refused.is_some() || errors(row).len() == 3, "{row}");
            for trial in row["trials"].as_array().unwrap() {
                assert!((0.0..=2.0).contains(&number(&trial["sin_theta_squared"])));
                assert!(number(&trial["captured"]) <= most + 1e-12);
            }
        }
    }
    let pca = row(&result, 0, "pca");
    assert!(errors(pca).iter().all(|error| *error < 1e-20) && pca["guarantee"].is_null());
    // With 600 records in 6 dimensions: what each side can do at epsilon 4 is far apart.
    let median = |name: &str| number(&row(&result, 1, name)["figures"]["sin_theta_squared"]["median"]);
    assert!(median("analyze-gauss") < 0.2 * median("gaussian-analytic-pca"), "{result}");
    let guarantee = &row(&result, 1, "double-cap-pca")["guarantee"];
    assert!(guarantee["adjacency"] == "any-two-records" && guarantee["proved"]["epsilon"] == 4.0, "{guarantee}");
    // Too few records for the theorem: the row stays, with the reason.
    assert!(row(&result, 0, "private-oja")["refusal"].as_str().unwrap().contains("Private Oja"));

    let picture = folder.read_text("methods.svg");
    for name in ["epsilon = 0.5", "epsilon = 4", "refuses", "trusts curator", "<desc"] {
        assert!(picture.contains(name), "{name}");
    }

    // The same randomness, whichever methods are asked for.
    let few = folder.json(&format!("{line} --methods analyze-gauss,Double-Cap-PCA"));
    assert_eq!(rows(&few, 0).len(), 2);
    for name in ["analyze-gauss", "double-cap-pca"] {
        assert_eq!(errors(row(&few, 1, name)), errors(row(&result, 1, name)));
    }
    let other = folder.json(&format!("{line} --methods analyze-gauss --seed 2"));
    assert_ne!(errors(row(&other, 1, "analyze-gauss")), errors(row(&result, 1, "analyze-gauss")));

    let text = folder.run(line).prints(&names()).prints(&["refuses: "]);
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 120), "{}", text.stdout);
    assert!(text.stderr.contains("not private"));
}

#[test]
fn records_are_read_as_everywhere_and_what_cannot_be_compared_is_explained() {
    let folder = people();
    let line = "compare --rank 1 --epsilon 1 --trials 1 --methods pca";
    let own = folder.json(&format!("{line} --records people.csv --schema schema.json --bounding clip:4"));
    assert_eq!(own["bounding"]["radius"], 4.0);
    let inferred = folder.gives(&format!("{line} --records people.csv"), json!({"dimension": own["dimension"]}));
    let fewer = folder.json(&format!("{line} --records people.csv --ignore plan"));
    assert!(fewer["dimension"].as_u64() < inferred["dimension"].as_u64());
    folder.write("bad.csv", format!("{PEOPLE}forty,1.7,free,1\n"));
    let bad = format!("{line} --records bad.csv --schema schema.json");
    folder.refused(&format!("{bad} --strict"), 1, &["bad.csv, line 12:", "'age'", "without --strict"]);
    assert_eq!(folder.json(&bad)["unread"][0]["column"], "age");

    let people = "compare --records people.csv --rank 1";
    for (line, code, parts) in [
        (&*format!("{line},nothing --records people.csv"), 2, &["no method 'nothing'", "analyze-gauss"][..]),
        ("compare --records people.csv --rank 99 --epsilon 1", 2, &["99"]),
        (&format!("{people} --epsilon 1,-1"), 2, &["--epsilon", "-1"]),
        (people, 2, &["--epsilon"]),
        (&format!("{people} --epsilon 1 --trials 0"), 2, &["--trials"]),
        (&format!("{line} --records nowhere.csv"), 1, &["nowhere.csv"]),
        (&format!("{line} --records people.csv --plot picture.png"), 2, &["picture.png", ".svg"]),
        ("compare --standard . --rank 1", 2, &["--standard", "--rank"]),
        ("compare --standard .", 1, &["kddcup99_10_percent.csv.gz", "archive.ics.uci.edu"]),
    ] {
        folder.refused(line, code, parts);
    }
}

#[test]
fn the_command_of_the_documentation_runs_as_printed() {
    let document = include_str!("../../../../docs/start/command-line.md");
    let line = document.lines().find_map(|line| line.strip_prefix("ldp-pca-research ")).unwrap();
    let folder = Folder::new();
    std::fs::create_dir(folder.path("examples")).unwrap();
    folder.write("examples/survey.csv", include_str!("../../../../examples/survey.csv"));
    folder.run(line).ok();
    assert!(folder.read_text("methods.svg").starts_with("<svg"));
}

/// What the commands of the product are tested for too, with the same words.
#[test]
fn wrong_commands_say_where_and_what_to_do() {
    let folder = people();
    folder.write("task.json", r#"{"schema": {}, "mechanism": {}}"#);
    let bad = |given: &str, problem: &str| {
        let several = "commas separate several epsilons, and decimals have a point, as in 0.5,1.5";
        format!("invalid value '{given}' for '--epsilon <EPSILON>': {problem}; {several}")
    };
    let zero = bad("0,5", "epsilon is 0: it must be a finite number greater than 0 (common choices are 0.5 to 8)");
    let semicolon = bad("1;5", "'1;5' is not a number");
    let task = "task.json: it holds a task, not records: give CSV, NPY, Parquet or Arrow";
    let schema = "people.csv: it holds text, not a schema: give the file that `ldp-pca schema infer` wrote";
    let column = "people.csv: the sample has no column 'salary' among its 4: correct the option that names it";
    let rank = "rank 7 exceeds the dimension 6: ask for at most 6 components";
    let both = "the argument '--standard <FOLDER>' cannot be used with '--rank <RANK>' \
                (Usage: `ldp-pca-research compare --help`)";
    for (command, code, message) in [
        ("compare --records task.json --rank 1 --epsilon 1", 1, task),
        ("compare --records people.csv --schema people.csv --rank 1 --epsilon 1", 1, schema),
        ("compare --records people.csv --rank 1 --epsilon 1 --ignore salary", 2, column),
        ("compare --records people.csv --rank 1 --epsilon 0,5", 2, &zero),
        ("compare --records people.csv --rank 1 --epsilon 1;5", 2, &semicolon),
        ("compare --records people.csv --rank 7 --epsilon 1", 2, rank),
        ("compare --standard folder --rank 1", 2, both),
        ("experiment run magic", 2, "there is no experiment 'magic': `ldp-pca-research experiment list` shows them"),
        ("experiment run all --data people.csv", 2, "--data people.csv is not a folder"),
    ] {
        let run = folder.run(command);
        assert_eq!((run.code, run.stderr.lines().last()), (Some(code), Some(&*format!("error: {message}"))), "{run:?}");
        let run = folder.run(&format!("{command} --json"));
        let document: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
        assert_has(&document["error"], json!({"exit_code": code, "message": message}), command);
    }
}

#[test]
fn what_a_form_or_a_column_does_to_records_is_as_everywhere() {
    let folder = Folder::new();
    folder.write("thousands.csv", "x,y\n\"1,234\",1\n999,2\n\"12,000.5\",4\n");
    let line = "compare --rank 1 --epsilon 2 --trials 1 --methods double-cap-pca --json --records";
    folder.run(&format!("{line} thousands.csv --number-format thousands")).gives(json!({"records": 3}));
    let row = |row: usize| format!("{},{},free,x{row}@y.org,5\n", row as f64 * 123.456789, -(row as f64));
    let rows: String = (0..40).map(row).collect();
    folder.write("wide.csv", format!("a,b,plan,contact,skip\n{rows}"));
    let compared = folder.run(&format!("{line} wide.csv --ignore skip")).ok();
    assert!(compared.stderr.contains("warning: one column is left out of the schema: `ldp-pca schema infer wide.csv`"));
}

#[test]
fn records_come_from_standard_input_and_a_picture_goes_to_standard_output() {
    let folder = people();
    let line = "compare --schema schema.json --rank 1 --epsilon 1 --methods mod-sulq --trials 1 --json --records";
    let named = folder.run(&format!("{line} people.csv")).json();
    let piped = folder.redirected(&format!("{line} -"), "people.csv").json();
    assert_eq!(errors(row(&piped, 0, "mod-sulq")), errors(row(&named, 0, "mod-sulq")));
    let both = "compare --records - --schema - --rank 1 --epsilon 1";
    folder.refused(both, 2, &["two inputs are standard input (-)", "give a file for one"]);
    let inferred = "compare --records - --rank 1 --epsilon 1";
    folder.refused(inferred, 2, &["standard input (-) can be read once", "records as a file"]);
    let plot = "compare --records people.csv --rank 1 --epsilon 1 --methods mod-sulq --trials 2 --plot";
    folder.run(&format!("{plot} o.svg")).ok();
    let printed = folder.run(&format!("{plot} -")).ok();
    assert!(printed.stdout == folder.read_text("o.svg") && printed.stderr.contains("wrote standard output\n"));
}

#[test]
fn a_picture_replaces_nothing_that_is_read_and_no_reports_unasked() {
    let folder = people();
    folder.write("reports.svg", "LDPR and more");
    let line = "compare --records people.csv --schema schema.json --rank 1 --epsilon 1 --methods pca --plot";
    for out in ["people.csv", "./people.csv", "schema.json"] {
        for force in ["", " --force"] {
            let parts = [out, "is also read by this command: write to another file"];
            folder.refused(&format!("{line} {out}{force}"), 2, &parts);
        }
    }
    assert_eq!(folder.read_text("people.csv"), PEOPLE);
    folder.refused(&format!("{line} reports.svg"), 1, &["reports.svg", "holds reports", "--force"]);
    folder.run(&format!("{line} reports.svg --force")).ok();
    assert!(folder.read_text("reports.svg").starts_with("<svg"));
}

#[test]
fn nothing_that_records_hold_is_printed() {
    let folder = people();
    folder.write("bad.csv", format!("{PEOPLE}s3cret,1.7,free,1\n"));
    let strict = "compare --records bad.csv --schema schema.json --rank 1 --epsilon 2 --strict";
    let silent = folder.run(strict);
    assert!(!silent.stderr.contains("s3cret"), "{silent:?}");
    silent.refused(1, &["bad.csv, line 12:"]);
    let given = "compare --records FILE --schema schema.json --rank 90 --epsilon 2";
    leaks::none_from(&folder, &[given, "compare --records FILE --rank 90 --epsilon 2 --ignore score"]);
}

#[test]
fn the_committed_table_has_every_method() {
    let document = include_str!("../../../docs/comparison.md");
    let table = document.split("## The error").nth(1).unwrap();
    let lines =
        table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let found: Vec<String> = lines.map(|line| line.split('|').nth(1).unwrap().trim().to_owned()).collect();
    assert_eq!(found, names(), "write it again: its first lines have the command");
    assert!(found.iter().all(|name| !key(name).is_empty()));
}
