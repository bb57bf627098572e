//! `plan` of samples and of what was collected.

use std::path::Path;

use serde_json::Value;

use super::recover::collected_by;
use crate::support::{Folder, number, words};

/// The people, rounded up to three digits, and how many times as many they are about an estimated mean.
#[test]
fn the_tables_of_people_in_the_documents_are_what_a_plan_says() {
    let folder = Folder::new();
    let read = |document: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document)).unwrap()
    };
    let mut times = vec![];
    let mut table =
        String::from("| features | epsilon 1 | epsilon 2 | epsilon 4 | epsilon 8 |\n|---|---|---|---|---|\n");
    for dimension in [5, 10, 20, 40] {
        table += &format!("| {dimension} |");
        for epsilon in [1, 2, 4, 8] {
            let asked = format!("plan --dimension {dimension} --rank 2 --spectrum 0.25,0.25 --epsilon {epsilon}");
            let [plan, centred] = ["", " --centre"].map(|more| folder.json(&format!("{asked} --share 0.9{more}")));
            times.push(number(&centred["records_for_share"]) / number(&plan["records_for_share"]));
            let people = plan["records_for_share"].as_u64().unwrap();
            let unit = 10_u64.pow(people.ilog10().saturating_sub(2));
            let people = people.div_ceil(unit) * unit;
            let (thousands, rest) = (people / 1000, people % 1000);
            table += &if thousands > 0 { format!(" {thousands},{rest:03} |") } else { format!(" {rest} |") };
        }
        table.push('\n');
    }
    for document in ["README.md", "docs/guides/how-many-people.md"] {
        assert!(read(document).contains(&table), "{document} lacks\n{table}");
    }
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = times.iter().copied().fold(0.0, f64::max);
    let centred = format!("takes {least:.1} to {most:.1} times as many");
    assert!(words(&read("README.md")).contains(&centred), "the README lacks '{centred}'");
    let plan = folder.text("plan --dimension 10 --rank 2 --spectrum 0.25,0.25 --epsilon 2 --share 0.9");
    let people = plan.split(' ').nth(1).unwrap();
    assert!(read("docs/start/faq.md").contains(&format!("It answers {people},")), "{plan}");
}

/// Answers 1 to 6 of which the mean has nearly all: the sample says so, and that robust columns take fewer people.
#[test]
fn a_public_sample_says_what_a_task_costs() {
    let folder = Folder::new();
    let rows: String = (0..2000)
        .map(|row| {
            let [a, b, c, d] =
                [(37, 101), (53, 89), (29, 97), (71, 83)].map(|(step, period)| row * step % period * 6 / period);
            let middle = |first: i32, second: i32| 1 + (2 * first + second) / 3;
            format!("{},{},{},{},{}\n", middle(a, b), middle(a, c), middle(a, d), 1 + b, 1 + c)
        })
        .collect();
    folder.write("sample.csv", format!("a,b,c,d,e\n{rows}"));
    folder.make_task("sample.csv --scaling max-abs", "--epsilon 4");
    let line = "plan --sample sample.csv --task task.json --rank 2 --records 50000 --target 0.05";
    let plan = folder.json(line);
    let settings = plan["sample"]["settings"].as_array().unwrap();
    let (own, best) = (&settings[0], &settings[plan["sample"]["best"].as_u64().unwrap() as usize]);
    let number = |setting: &Value, key: &str| number(&setting[key]);
    assert!(own["schema"] == "task" && own["centred"] == false && best["schema"] == "robust", "{plan}");
    assert!(number(own, "mean_share") > 0.8 && number(best, "mean_share") < 0.05, "{plan}");
    let together = |setting: &Value| number(setting, "noise_error") + number(setting, "bounding_error");
    assert!(together(best) < 0.3 * together(own), "{plan}");
    assert!(number(best, "records_for_target") < number(own, "records_for_target"), "{plan}");
    assert_eq!(plan["predicted"]["sin_theta_squared"], own["noise_error"]);
    assert_eq!(plan["predicted"]["share_found"], own["noise_share_found"]);
    assert!(number(own, "bounding_share_found") < 1.0 && plan.get("notes").is_none(), "{plan}");
    assert!(folder.text(&format!("{line} --details")).lines().count() > folder.text(line).lines().count());
    let advice = "advice `schema infer` of the sample, then `task new";
    folder.run(line).says(&[advice, "2,000 public records", "bounding keeps"]);
    // With robust columns there is nothing to gain from these.
    folder.make_task("sample.csv", "--epsilon 4");
    let plan = folder.json(line);
    assert!(plan["sample"]["settings"].as_array().unwrap().iter().all(|setting| setting["schema"] == "task"), "{plan}");
}

/// Two columns move together, but for 8 of 1,000 records: their two others are far away, and ordinary PCA finds these.
#[test]
fn a_sample_of_which_a_few_records_hold_most_has_a_note() {
    let folder = Folder::new();
    let rows: String = (0..1000)
        .map(|row| {
            let far = if row % 125 == 0 { 5000 - row / 125 % 2 * 10_000 } else { 0 };
            let (a, c, d) = (row * 37 % 101 - 50, row * 29 % 97 - 48 + far, row * 71 % 83 - 41 + far);
            format!("{a},{},{c},{d}\n", a + row * 53 % 7 - 3)
        })
        .collect();
    folder.write("sample.csv", format!("a,b,c,d\n{rows}"));
    folder.make_task("sample.csv", "--epsilon 4");
    let line = "plan --sample sample.csv --task task.json --rank 1 --records 50000";
    let plan = folder.json(line);
    for setting in plan["sample"]["settings"].as_array().unwrap() {
        let [longest, kept] = ["longest_share", "bounding_share_found"].map(|key| number(&setting[key]));
        assert!(longest > 0.9 && kept < 0.0, "{plan}");
    }
    let doubt = "note bounding keeps -33.0 % of the structure";
    folder.run(line).says(&[doubt]);
    folder.run(&format!("{line} --details")).says(&[doubt, "1 % of the records have 99.3 % of all"]);
}

/// `simulate` draws what `plan` is about: 12 trials of 2 components in 20 features have a mean to some 7 %.
#[test]
fn a_plan_about_a_mean_is_what_a_simulation_measures() {
    let folder = Folder::new();
    let common = "--dimension 20 --rank 2 --epsilon 4 --centre --mean-share 0.5 --records 40000";
    let plan = folder.json(&format!("plan {common} --spectrum 0.294,0.294"));
    let simulated = folder.json(&format!("simulate {common} --trials 12 --reports drawn"));
    let ratio = number(&plan["predicted"]["sin_theta_squared"]) / number(&simulated["sin_theta_squared"]["mean"]);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn another_collection_is_planned_from_what_was_collected() {
    let folder = collected_by(3000, "");
    let line = "plan --aggregate a.ldpa --task task.json --rank 1";
    let plan = folder.json(&format!("{line} --records 3000 --target 0.001"));
    let recovered = folder.json("recover a.ldpa --task task.json --rank 1");
    assert_eq!(plan["predicted"]["sin_theta_squared"], recovered["predicted"]["sin_theta_squared"]);
    assert!(number(&plan["signals"][0]) > 0.5 && plan["records_for_target"].is_u64(), "{plan}");
}
