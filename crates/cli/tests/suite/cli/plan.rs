//! `plan`: what it answers to programs, and what it draws.

use serde_json::{Value, json};

use super::recover::collected_by;
use crate::support::{Folder, assert_has, number, numbers};

const SURVEY: &str = "plan --dimension 116 --rank 3 --spectrum 0.646,0.176,0.088,0.039 --epsilon 2";

/// Scripts outside this repository read these keys.
#[test]
fn the_number_of_records_for_a_goal_reaches_it_and_one_fewer_does_not() {
    let folder = Folder::new();
    let plan = folder.json(&format!("{SURVEY} --target 0.05"));
    let records = plan["records_for_target"].as_u64().unwrap();
    assert!((230_000..270_000).contains(&records), "{records}");
    let thresholds = numbers(&plan["threshold_records_per_component"]);
    assert_eq!(number(&plan["threshold_records"]), thresholds[0]);
    assert!(thresholds.is_sorted() && thresholds.len() == 3);
    assert!((number(&plan["bulk"]) - 0.051 / 112.0).abs() < 1e-12);
    for key in ["records", "predicted", "epsilon_for_target", "shuffled", "plot"] {
        assert_eq!(plan.get(key), None, "{key}");
    }

    let at = |records: u64| folder.json(&format!("{SURVEY} --records {records}"));
    let error = |records| number(&at(records)["predicted"]["sin_theta_squared"]);
    assert!(error(records) <= 0.05 && error(records - 1) > 0.05);
    let predicted = &at(5000)["predicted"];
    let parts = numbers(&predicted["per_component"]);
    assert!((parts.iter().sum::<f64>() - number(&predicted["sin_theta_squared"])).abs() < 1e-12);
    assert_eq!(predicted["recoverable"], json!([true, true, false]));

    let back = folder.json(&format!("{SURVEY} --records {records} --target 0.05"));
    assert!((number(&back["epsilon_for_target"]) - 2.0).abs() < 1e-3, "{back}");

    let records = folder.json(&format!("{SURVEY} --share 0.9"))["records_for_share"].as_u64().unwrap();
    let share = |records| number(&at(records)["predicted"]["share_found"]);
    assert!(share(records) >= 0.9 && share(records - 1) < 0.9, "{records}");
}

/// The people, rounded up to three digits.
#[test]
fn the_tables_of_people_in_the_documents_are_what_a_plan_says() {
    let folder = Folder::new();
    let mut table =
        String::from("| features | epsilon 1 | epsilon 2 | epsilon 4 | epsilon 8 |\n|---|---|---|---|---|\n");
    for dimension in [5, 10, 20, 40] {
        table += &format!("| {dimension} |");
        for epsilon in [1, 2, 4, 8] {
            let asked = format!("plan --dimension {dimension} --rank 2 --spectrum 0.25,0.25 --epsilon {epsilon}");
            let plan = folder.json(&format!("{asked} --share 0.9"));
            let people = plan["records_for_share"].as_u64().unwrap();
            let unit = 10_u64.pow(people.ilog10().saturating_sub(2));
            let people = people.div_ceil(unit) * unit;
            let (thousands, rest) = (people / 1000, people % 1000);
            table += &if thousands > 0 { format!(" {thousands},{rest:03} |") } else { format!(" {rest} |") };
        }
        table.push('\n');
    }
    for document in ["README.md", "docs/prediction.md"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&table), "{document} lacks\n{table}");
    }
}

/// Nothing is left of 1 beside the share of a mean of 10^10 times the spread.
#[test]
fn a_sample_far_from_zero_is_planned_for() {
    let folder = Folder::new();
    let rows: String = (0..500)
        .map(|row| format!("{},{}\n", 10_000_000_000_i64 + row * 37 % 5, 9_999_999_999 + row * 53 % 7))
        .collect();
    folder.write("far.csv", format!("a,b\n{rows}"));
    folder.make_task("far.csv --scaling max-abs", "--epsilon 4 --centre --bounding clip:2");
    let plan = folder.json("plan --sample far.csv --task task.json --rank 1 --records 1000");
    let own = &plan["sample"]["settings"][0];
    assert!((0.999..1.0).contains(&number(&own["mean_share"])), "{plan}");
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
    assert!(number(own, "bounding_share_found") < 1.0, "{plan}");
    assert!(folder.text(&format!("{line} --details")).lines().count() > folder.text(line).lines().count());
    folder.run(line).says(&["2,000 public records", "advice *: `schema infer` of the sample, then `task new"]);
    // With robust columns there is nothing to gain from these.
    folder.make_task("sample.csv", "--epsilon 4");
    let plan = folder.json(line);
    assert!(plan["sample"]["settings"].as_array().unwrap().iter().all(|setting| setting["schema"] == "task"), "{plan}");
}

/// What hostile reports can do: per report, for the number that is planned with, and for as many as are suspected.
#[test]
fn the_pull_of_hostile_reports_is_told() {
    let folder = Folder::new();
    let line = "plan --dimension 40 --rank 1 --spectrum 0.3 --epsilon 2";
    let plan = folder.json(line);
    assert_eq!((&plan["pull"]["check"], plan.get("hostile")), (&json!("none"), None));
    let pull = |which: &str| number(&plan["pull"][which]);
    assert!(pull("checked") > 10.0 && pull("checked") == pull("unchecked"), "{plan}");
    let many = folder.json(&format!("{line} --records 20000 --hostile 300"));
    let hostile = &many["hostile"];
    assert_has(hostile, json!({"reports": 300, "records": 20_000}), "hostile");
    for which in ["unchecked", "checked"] {
        let (one, all) = (number(&hostile["one"][which]), number(&hostile["all"][which]));
        assert!(one >= pull(which) / 20_000.0 && one < 1.000_001 * pull(which) / 20_000.0, "{hostile}");
        assert!((all / one - 300.0).abs() < 1e-6, "{hostile}");
    }
    // Of the number that a target takes, where none is given.
    let target = folder.json(&format!("{line} --target 0.1"));
    assert_eq!(target["hostile"]["records"], target["records_for_target"]);
}

/// `simulate` draws what `plan` is about: 12 trials of 2 components in 20 features have a mean to some 7 %.
#[test]
fn a_plan_about_a_mean_is_what_a_simulation_measures() {
    let folder = Folder::new();
    for (share, records) in [("0", 8000), ("0.5", 40_000)] {
        let common = format!("--dimension 20 --rank 2 --epsilon 4 --centre --mean-share {share} --records {records}");
        let plan = folder.json(&format!("plan {common} --spectrum 0.294,0.294"));
        let simulated = folder.json(&format!("simulate {common} --trials 12 --reports drawn"));
        let simulated = number(&simulated["sin_theta_squared"]["mean"]);
        let predicted = number(&plan["predicted"]["sin_theta_squared"]);
        assert!((0.8..1.25).contains(&(predicted / simulated)), "{share}: {predicted} {simulated}");
        // The keys are those of a plan about zero.
        let zero = folder.json("plan --dimension 20 --rank 2 --epsilon 4 --spectrum 0.3 --records 9");
        let keys = |plan: &Value| plan.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let of_second_moments = ["optimum", "pull"];
        let others: Vec<String> =
            keys(&zero).into_iter().filter(|key| !of_second_moments.contains(&key.as_str())).collect();
        assert_eq!(keys(&plan), others);
    }
}

#[test]
fn shuffled_reports_are_fewer_and_say_more_each() {
    let folder = Folder::new();
    let setting = "--dimension 40 --rank 1 --spectrum 0.3 --epsilon 1 --target 0.1 --share 0.9";
    let line = format!("plan {setting} --records 20000 --shuffled 1e-8 --batch 5000");
    let plan = folder.json(&line);
    let shuffled = &plan["shuffled"];
    assert!(shuffled["records_for_target"].as_u64() < plan["records_for_target"].as_u64(), "{plan}");
    assert!(number(&shuffled["local_epsilon"]) > 1.0 && number(&shuffled["epsilon_for_target"]) < 1.0);
    assert_eq!(shuffled["honest_reports"], 5000);
    let [all, mixed] = [&plan, shuffled].map(|plan| plan["records_for_share"].as_u64().unwrap());
    assert!(mixed < all && mixed.is_multiple_of(5000), "{plan}");
    // Batches are released one by one, so the size of the collection hides nobody.
    let million = line.replace("20000", "1000000");
    assert_eq!(folder.json(&million)["shuffled"]["local_epsilon"], shuffled["local_epsilon"]);
    // The usual delta where none is named.
    let usual = "plan --dimension 40 --rank 1 --spectrum 0.3 --epsilon 1 --records 2000 --shuffled --batch 500";
    assert_eq!(number(&folder.json(usual)["shuffled"]["delta"]), 1e-6);
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

#[test]
fn the_picture_has_the_curve_the_thresholds_and_the_target() {
    let folder = Folder::new();
    folder.run(&format!("{SURVEY} --target 0.05 --records 100000 --plot plan.svg")).ok();
    let picture = folder.read_text("plan.svg");
    for part in ["component 3 from 8,109", "target 0.05", "a random subspace", "100,000 reports", "<desc"] {
        assert!(picture.contains(part), "{part}");
    }
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
}
