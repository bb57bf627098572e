//! `compare`: every method in one table, on given records, and the committed table of the documentation.

use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca_literature::baselines::catalogue::{key, methods};
use serde_json::Value;

use crate::support::{Folder, PEOPLE, npy_matrix};

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
    trials.iter().map(|trial| trial["sin_theta_squared"].as_f64().unwrap()).collect()
}

#[test]
fn every_method_has_a_row_with_its_figures_or_the_reason_of_its_refusal() {
    let folder = records();
    let line = "compare --records records.npy --rank 2 --epsilon 0.5,4 --trials 3";
    let result = folder.run(&format!("{line} --plot methods.svg --json")).json();
    assert_eq!(
        (result["records"].as_u64(), result["dimension"].as_u64(), result["rank"].as_u64()),
        (Some(600), Some(6), Some(2))
    );
    assert!((result["total_variance"].as_f64().unwrap() - 1.0).abs() < 1e-12, "records of norm 1");
    let most = result["most_captured"].as_f64().unwrap();
    for epsilon in 0..2 {
        let found: Vec<&str> = rows(&result, epsilon).iter().map(|row| row["method"].as_str().unwrap()).collect();
        assert_eq!(found, names());
        for row in rows(&result, epsilon) {
            assert!(row["trusted"].is_string() && row["trust"].is_string());
            let refused = row["refusal"].as_str();
            assert_eq!(row["figures"].is_null(), row["trials"].as_array().unwrap().is_empty(), "{row}");
            assert!(refused.is_some() || errors(row).len() == 3, "{row}");
            for trial in row["trials"].as_array().unwrap() {
                assert!((0.0..=2.0).contains(&trial["sin_theta_squared"].as_f64().unwrap()));
                assert!(trial["captured"].as_f64().unwrap() <= most + 1e-12);
            }
        }
    }
    let pca = row(&result, 0, "pca");
    assert!(errors(pca).iter().all(|error| *error < 1e-20) && pca["guarantee"].is_null());
    // With 600 records in 6 dimensions: what each side can do at epsilon 4 is far apart.
    let median = |name: &str| row(&result, 1, name)["figures"]["sin_theta_squared"]["median"].as_f64().unwrap();
    assert!(median("analyze-gauss") < 0.2 * median("gaussian-analytic-pca"), "{result}");
    let guarantee = &row(&result, 1, "double-cap-pca")["guarantee"];
    assert_eq!(
        (guarantee["adjacency"].as_str(), guarantee["proved"]["epsilon"].as_f64()),
        (Some("any-two-records"), Some(4.0))
    );
    // Too few records for the theorem: the row stays, with the reason.
    assert!(row(&result, 0, "private-oja")["refusal"].as_str().unwrap().contains("Private Oja"));

    let picture = folder.read_text("methods.svg");
    for name in ["epsilon = 0.5", "epsilon = 4", "refuses", "trusts curator", "<desc"] {
        assert!(picture.contains(name), "{name}");
    }

    // The same randomness, whichever methods are asked for.
    let few = folder.run(&format!("{line} --methods analyze-gauss,Double-Cap-PCA --json")).json();
    assert_eq!(rows(&few, 0).len(), 2);
    for name in ["analyze-gauss", "double-cap-pca"] {
        assert_eq!(errors(row(&few, 1, name)), errors(row(&result, 1, name)));
    }
    let other = folder.run(&format!("{line} --methods analyze-gauss --seed 2 --json")).json();
    assert_ne!(errors(row(&other, 1, "analyze-gauss")), errors(row(&result, 1, "analyze-gauss")));

    let text = folder.run(line).ok();
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 120), "{}", text.stdout);
    assert!(
        names().iter().all(|name| text.stdout.contains(name)) && text.stdout.contains("refuses: "),
        "{}",
        text.stdout
    );
    assert!(text.stderr.contains("not private"));
}

#[test]
fn records_are_read_as_everywhere_and_what_cannot_be_compared_is_explained() {
    let folder = Folder::with_task();
    let line = "compare --rank 1 --epsilon 1 --trials 1 --methods pca";
    let own = folder.run(&format!("{line} --records people.csv --schema schema.json --bounding clip:4 --json")).json();
    assert_eq!(own["bounding"]["radius"], 4.0);
    let inferred = folder.run(&format!("{line} --records people.csv --json")).json();
    assert_eq!(own["dimension"], inferred["dimension"]);
    let fewer = folder.run(&format!("{line} --records people.csv --ignore plan --json")).json();
    assert!(fewer["dimension"].as_u64() < inferred["dimension"].as_u64());
    folder.write("bad.csv", format!("{PEOPLE}forty,1.7,free,1\n"));
    let bad = format!("{line} --records bad.csv --schema schema.json");
    folder.run(&format!("{bad} --strict")).refused(1, &["bad.csv, line 12:", "'age'", "without --strict"]);
    assert_eq!(folder.run(&format!("{bad} --json")).json()["unread"][0]["column"], "age");

    folder.run(&format!("{line},nothing --records people.csv")).refused(2, &["no method 'nothing'", "analyze-gauss"]);
    folder.run("compare --records people.csv --rank 99 --epsilon 1").refused(2, &["99"]);
    folder.run("compare --records people.csv --rank 1 --epsilon 1,-1").refused(2, &["--epsilon", "-1"]);
    folder.run("compare --records people.csv --rank 1").refused(2, &["--epsilon"]);
    folder.run("compare --records people.csv --rank 1 --epsilon 1 --trials 0").refused(2, &["--trials"]);
    folder.run(&format!("{line} --records nowhere.csv")).refused(1, &["nowhere.csv"]);
    folder.run(&format!("{line} --records people.csv --plot picture.png")).refused(2, &["picture.png", ".svg"]);
    folder.run("compare --standard . --rank 1").refused(2, &["--standard", "--rank"]);
    folder.run("compare --standard .").refused(1, &["kddcup99_10_percent.csv.gz", "archive.ics.uci.edu"]);
}

#[test]
fn the_committed_table_has_every_method() {
    let document = include_str!("../../../../../docs/comparison.md");
    let table = document.split("## The error").nth(1).unwrap();
    let lines =
        table.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let found: Vec<String> = lines.map(|line| line.split('|').nth(1).unwrap().trim().to_owned()).collect();
    assert_eq!(found, names(), "write it again: its first lines have the command");
    assert!(found.iter().all(|name| !key(name).is_empty()));
}
