//! A clipping radius: asked about, found, and planned with.

use std::fmt::Write as _;

use crate::support::{Folder, number};

const SCHEMA: &str = r#"{"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1},
    {"name": "b", "type": "numeric", "offset": 0, "scale": 1}]}"#;

/// People whose records are from 2 to 6 long, 4 in the middle, in all directions, and reports about their lengths.
fn collected() -> Folder {
    let folder = Folder::new();
    folder.write("schema.json", SCHEMA);
    let mut people = String::from("a,b\n");
    for index in 0..40_000 {
        let (length, angle) = (2.0 + 4.0 * f64::from(index) / 40_000.0, f64::from(index) * 2.4);
        let _ = writeln!(people, "{:.5},{:.5}", length * angle.cos(), length * angle.sin());
    }
    folder.write("people.csv", people);
    folder.run("task norms --schema schema.json --radius 50 --epsilon 8 -o norms.json").ok();
    folder.collect("people.csv", "norms", "lengths");
    folder
}

#[test]
fn a_plan_says_how_many_more_people_a_radius_takes() {
    let folder = collected();
    let plan = "plan --dimension 12 --spectrum 0.3,0.2 --rank 2 --epsilon 2 --target 0.05";
    let norms = "--norms lengths.ldpa --norms-task norms.json";
    let unit = folder.json(plan);
    let wide = folder.json(&format!("{plan} --radius 8 {norms}"));
    let factor = number(&wide["clipping"]["people"]);
    assert!((10.0..18.0).contains(&factor), "{wide}");
    // One more coordinate has its own noise.
    let found = number(&wide["records_for_target"]) / number(&unit["records_for_target"]);
    assert!((0.7..1.3).contains(&(found / factor)), "{found} for {factor}");
    folder.run(&format!("{plan} --radius 8 {norms}")).prints(&["times the people that unit norm takes: choose"]);
    assert!(unit.get("clipping").is_none(), "{unit}");
    // A clipped collection has the same in its estimate.
    folder.run("task new --schema schema.json --bounding clip:8 --epsilon 8 -o task.json").ok();
    folder.collect("people.csv", "task", "people");
    let of_sums = folder.json("plan --aggregate people.ldpa --task task.json --rank 1");
    let again = number(&of_sums["clipping"]["people"]);
    assert!((0.7..1.4).contains(&(again / factor)), "{again} for {factor}");
}
