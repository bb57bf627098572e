//! One schema, week after week.

use serde_json::json;

use super::recover::records;
use crate::support::{Folder, assert_has, number};

/// Three weeks of one schema, in the last of which the strong component is on (y, z) instead of (w, x).
fn weeks() -> Folder {
    let folder = Folder::new();
    let people = records(3000, [4.0, 3.0, 0.5, 0.4]);
    for (week, columns) in [(46, "w,x,y,z"), (47, "w,x,y,z"), (48, "y,z,w,x")] {
        let file = format!("people-{week}.csv");
        folder.write(&file, format!("{columns}\n{people}"));
        if week == 46 {
            folder.run(&format!("schema infer {file} --scaling none -o schema.json")).ok();
        }
        let new = format!("task new --schema schema.json --epsilon 4 --folds 4 --period 2026-W{week} -o w{week}.json");
        folder.gives(&new, json!({"period": format!("2026-W{week}")}));
        folder.collect(&format!("{file} --insecure-seed {week}"), &format!("w{week}"), &format!("w{week}"));
    }
    folder
}

#[test]
fn each_week_is_a_task_of_its_own_and_is_compared_with_the_one_before() {
    let folder = weeks();
    folder.run("inspect w48.json").says(&["period 2026-W48"]);
    folder.refused("recover w47.ldpa -t w46.json --rank 1", 1, &["w47.ldpa: the aggregate belongs to task"]);
    folder.refused("aggregate w47.ldpr -t w46.json -o x.ldpa", 1, &["the report answers task"]);

    let line = |first: &str, other: &str| {
        let other = format!("--other {other}.ldpa --other-task {other}.json");
        format!("recover {first}.ldpa -t {first}.json --rank 1 --method pca {other}")
    };
    let same = folder.json(&line("w46", "w47"));
    assert_has(&same["other"], json!({"periods": ["2026-W46", "2026-W47"], "records": 3000}), "the week after");
    assert!(number(&same["other"]["p_value"]) > 0.05, "{same}");
    folder.run(&line("w46", "w47")).says(&["One population explains 2026-W46 and 2026-W47 (p = 0."]);
    let changed = folder.json(&line("w47", "w48"));
    assert_has(&changed["other"], json!({"p_value": 1.0 / 201.0}), "the week of the change");
    let own = &changed["other"]["held_out"]["own"];
    assert!(number(&own["lower"]) > 0.0, "{own}");
    let parts = ["2026-W47 and 2026-W48 differ more than one population explains (p = 0.0050)"];
    folder.run(&line("w47", "w48")).says(&parts);
}

#[test]
fn weeks_are_recovered_together() {
    let folder = weeks();
    let line = "recover w46.ldpa w47.ldpa -t w46.json -t w47.json --rank 1 --method pca --details";
    let both = folder.json(line);
    let [first, second] = ["2026-W46", "2026-W47"].map(|period| json!({"period": period, "weight": 0.5}));
    assert_has(&both["family"][0], first, "the first week");
    assert_has(&both["family"][1], second, "the second week");
    assert_eq!(both["records"], 6000);
    let alone = folder.json("recover w46.ldpa -t w46.json --rank 1 --method pca");
    let noise = |result: &serde_json::Value| number(&result["noise_deviation"]);
    assert!((noise(&both) / noise(&alone) * 2f64.sqrt() - 1.0).abs() < 0.05, "{} {}", noise(&both), noise(&alone));
    folder.run(line).says(&["2026-W46 4 3,000", "for those of different people"]);
}
