//! A clipping radius: asked about, found, and planned with.

use std::fmt::Write as _;

use crate::support::Folder;

const SCHEMA: &str = r#"{"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1},
    {"name": "b", "type": "numeric", "offset": 0, "scale": 1}]}"#;

/// People whose records are from 2 to 6 long, 4 in the middle, in all directions.
fn collected(folder: &Folder, task: &str) {
    folder.write("schema.json", SCHEMA);
    let mut people = String::from("a,b\n");
    for index in 0..40_000 {
        let (length, angle) = (2.0 + 4.0 * f64::from(index) / 40_000.0, f64::from(index) * 2.4);
        let _ = writeln!(people, "{:.5},{:.5}", length * angle.cos(), length * angle.sin());
    }
    folder.write("people.csv", people);
    folder.run(task).ok();
    folder.run("randomize people.csv --task norms.json -o lengths.ldpr").ok();
    folder.run("aggregate lengths.ldpr --task norms.json -o lengths.ldpa").ok();
}

/// At epsilon 8 next to no report is false. There are some 600 about each length, so that a share has a deviation of at
/// most .02, the median one of .08, and a mean square one of 2 % beside 2 % for what is between two lengths.
#[test]
fn lengths_are_found_and_a_radius_has_its_price() {
    let folder = Folder::new();
    collected(&folder, "task norms --schema schema.json --radius 50 --epsilon 8 -o norms.json");
    let found = folder.run("norms lengths.ldpa --task norms.json --radius 40 --json").json();
    let quantiles = found["quantiles"].as_array().unwrap();
    let median = &quantiles[1];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert_eq!(median["share"], 0.5);
    assert!((number(&median["length"]) - 4.0).abs() < 0.5, "{median}");
    assert!(number(&median["lower"]) <= number(&median["upper"]), "{median}");
    // The mean square of lengths spread evenly from 2 to 6 is 52/3.
    let own = found["radii"].as_array().unwrap().last().unwrap();
    assert!((number(&own["mean_square"]) / (52.0 / 3.0 / 1600.0) - 1.0).abs() < 0.15, "{own}");
    let text = folder.run("norms lengths.ldpa --task norms.json --radius 40").ok().stdout;
    for part in
        ["length      50 % of the records: ", "radius      40.0: ", "choose one that half of the", "assumed     people"]
    {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let drawn = folder.run("norms lengths.ldpa --task norms.json --radius 40 --plot lengths.svg --json").json();
    assert_eq!((&drawn["plot"], &drawn["quantiles"]), (&"lengths.svg".into(), &found["quantiles"]));
    let picture = String::from_utf8(folder.read("lengths.svg")).unwrap();
    for part in ["40,000 reports", "95 % interval", "50 % of the records: ", "radius 40.0: ", "</svg>"] {
        assert!(picture.contains(part), "{picture} lacks {part}");
    }
    folder.run("norms lengths.ldpa --task norms.json --plot lengths.png").refused(2, &["lengths.png", ".svg"]);
    let task = folder.run("inspect norms.json").ok().stdout;
    assert!(task.contains("about      the lengths of records") && !task.contains("noise"), "{task}");
    let sums = folder.run("inspect lengths.ldpa --task norms.json").ok().stdout;
    assert!(sums.contains("about      the lengths of records"), "{sums}");
}

#[test]
fn a_plan_says_how_many_more_people_a_radius_takes() {
    let folder = Folder::new();
    collected(&folder, "task norms --schema schema.json --radius 50 --epsilon 8 -o norms.json");
    let plan = "plan --dimension 12 --spectrum 0.3,0.2 --rank 2 --epsilon 2 --target 0.05";
    let norms = "--norms lengths.ldpa --norms-task norms.json";
    let people = |line: &str| folder.run(line).json()["records_for_target"].as_f64().unwrap();
    let unit = people(&format!("{plan} --json"));
    let wide = folder.run(&format!("{plan} --radius 8 {norms} --json")).json();
    let factor = wide["clipping"]["people"].as_f64().unwrap();
    assert!((10.0..18.0).contains(&factor), "{wide}");
    // One more coordinate has its own noise.
    let found = wide["records_for_target"].as_f64().unwrap() / unit;
    assert!((0.7..1.3).contains(&(found / factor)), "{found} for {factor}");
    let text = folder.run(&format!("{plan} --radius 8 {norms}")).ok().stdout;
    assert!(text.contains("times the people that unit norm takes: choose"), "{text}");
    assert!(!folder.run(&format!("{plan} --json")).json().as_object().unwrap().contains_key("clipping"));
    folder.run(&format!("{plan} --radius 500 {norms}")).refused(2, &["the radius 500 is outside the lengths"]);
    folder.run(&format!("{plan} --radius 8")).refused(2, &["--norms"]);
    folder.run(&format!("{plan} {norms}")).refused(2, &["--radius"]);
    // A clipped collection has the same in its estimate.
    folder.run("task new --schema schema.json --bounding clip:8 --epsilon 8 -o task.json").ok();
    folder.run("randomize people.csv --task task.json -o people.ldpr").ok();
    folder.run("aggregate people.ldpr --task task.json -o people.ldpa").ok();
    let of_sums = folder.run("plan --aggregate people.ldpa --task task.json --rank 1 --json").json();
    let again = of_sums["clipping"]["people"].as_f64().unwrap();
    assert!((0.7..1.4).contains(&(again / factor)), "{again} for {factor}");
}

#[test]
fn sums_about_lengths_are_for_lengths_alone() {
    let folder = Folder::new();
    collected(&folder, "task norms --schema schema.json --radius 50 --epsilon 1 -o norms.json");
    for line in
        ["recover lengths.ldpa --task norms.json --rank 1", "plan --aggregate lengths.ldpa --task norms.json --rank 1"]
    {
        folder.run(line).refused(1, &["norm-cap is about the lengths of records, not about a covariance"]);
    }
    folder.run("task refine --aggregate lengths.ldpa --task norms.json --rank 1 -o r.json").refused(1, &["norm-cap"]);
    folder.run("task new --schema schema.json --epsilon 2 -o task.json").ok();
    folder.run("norms lengths.ldpa --task task.json").refused(1, &["lengths.ldpa"]);
    folder.run("randomize people.csv --task task.json -o people.ldpr").ok();
    folder.run("aggregate people.ldpr --task task.json -o people.ldpa").ok();
    folder.run("norms people.ldpa --task task.json").refused(1, &["task.json: the task is not about lengths"]);
    folder.run("task norms --schema schema.json --radius 0 --epsilon 1 -o n.json").refused(2, &["radius"]);
}
