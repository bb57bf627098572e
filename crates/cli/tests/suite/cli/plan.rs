//! `plan`: what it answers, what it draws, and what it refuses.

use serde_json::{Value, json};

use super::recover::collected_by;
use crate::support::{Folder, assert_has, number, numbers, words};

const SURVEY: &str = "plan --dimension 116 --rank 3 --spectrum 0.646,0.176,0.088,0.039 --epsilon 2";

/// Scripts outside this repository read these keys.
#[test]
fn the_number_of_records_for_a_target_reaches_it_and_one_fewer_does_not() {
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
}

#[test]
fn a_plan_says_how_many_reports_make_each_component_recoverable() {
    let folder = Folder::new();
    let buried = "1 of 3 components cannot be distinguished from noise";
    folder.run(&format!("{SURVEY} --target 0.05 --records 5000")).prints(&[
        "component 2",
        "recoverable from 2,017 reports",
        buried,
    ]);
    folder
        .run("plan --dimension 20 --rank 1 --spectrum 0.3,0.3 --epsilon 2 --target 0.1")
        .prints(&["no number of reports reaches it"]);
}

#[test]
fn a_share_of_the_structure_is_a_goal_and_every_answer_says_the_share() {
    let folder = Folder::new();
    let plan = folder.json(&format!("{SURVEY} --share 0.9"));
    let records = plan["records_for_share"].as_u64().unwrap();
    let share =
        |records: u64| number(&folder.json(&format!("{SURVEY} --records {records}"))["predicted"]["share_found"]);
    assert!(share(records) >= 0.9 && share(records - 1) < 0.9, "{plan}");
    let said = folder.run(&format!("{SURVEY} --records {records} --target 0.05 --share 0.99")).ok().stdout;
    assert!(words(&said).contains("people you will find 90 % of the structure"), "{said}");
    assert!(words(&said).contains("people you will find 99.0 % of the structure"), "{said}");
    assert!(words(&said).contains("reports, which find 9"), "{said}");
    // Either of two tied components is as good as the other.
    let tied = folder.text("plan --dimension 20 --rank 1 --spectrum 0.3,0.3 --epsilon 2 --target 0.1 --share 0.9");
    assert!(tied.contains("no number of reports reaches it") && tied.contains("you will find 90 %"), "{tied}");
    for value in ["0", "1", "-0.5", "NaN"] {
        folder.refused(&format!("{SURVEY} --share {value}"), 2, &["share of the structure is", "below 1"]);
    }
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
    folder.write("none.csv", "a,b,c,d,e\n");
    for (options, code, part) in [
        ("--sample sample.csv --rank 2", 2, "--task"),
        ("--task task.json --rank 2", 2, "--dimension"),
        ("--sample sample.csv --task task.json --spectrum 0.5", 2, "--spectrum"),
        ("--sample none.csv --task task.json --rank 2", 1, "none.csv"),
    ] {
        folder.refused(&format!("plan {options}"), code, &[part]);
    }
}

/// What a stated spectrum leaves open is told, and a sum that rounding left above 1 is no reason to refuse it.
#[test]
fn a_stated_spectrum_is_commented() {
    let folder = Folder::new();
    let base = "plan --dimension 12 --rank 3 --epsilon 2 --spectrum";
    let text = |spectrum: &str| words(&folder.text(&format!("{base} {spectrum}")));
    let (exact, more) = (text("0.3,0.2,0.1"), text("0.3,0.2,0.1,0.09"));
    assert!(exact.contains("no eigenvalue beyond the 3") && exact.contains("State one more"), "{exact}");
    assert!(!more.contains("State one more"), "{more}");
    for said in [&exact, &more] {
        assert_eq!(said.matches("those of bounded records").count(), 1, "{said}");
    }
    let rounded = format!("{base} 0.4,0.3,0.2,0.101");
    folder.run(&rounded).says(&["sum to 1.001, which is above 1 by rounding", "component 1 eigenvalue 0.3996"]);
    let plan = folder.json(&rounded);
    assert_eq!(plan["notes"].as_array().map(Vec::len), Some(2), "{plan}");
    folder.refused(&format!("{base} 0.4,0.3,0.2,0.12"), 2, &["the eigenvalues sum to 1.02"]);
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
    let share = |which: &str| number(&plan["optimum"][which]);
    assert!((0.95..0.98).contains(&share("conjectured_share")), "{plan}");
    assert!((0.62..0.65).contains(&share("proved_share")), "{plan}");
    let percent = |which| (100.0 * share(which)).floor();
    let proved = format!("proved: no unbiased reports of this promise need fewer than {} %", percent("proved_share"));
    let conjectured = format!("if no direction is special; conjectured: {} %", percent("conjectured_share"));
    folder.run(&format!("{line} --details")).says(&[&proved, &conjectured]);
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
    folder.run(&format!("{line} --mechanism gaussian --details")).says(&[
        "one hostile report of n moves an eigenvalue of the covariance estimate by at most 720/n, one that passes \
         the range check by 114/n",
    ]);
    folder
        .run(&format!("{line} --records 20000 --hostile 300"))
        .says(&["one report of 20,000 moves an eigenvalue of the covariance estimate by at most", "300 of them by"]);
    folder.refused(&format!("{line} --hostile 0"), 2, &["--hostile"]);
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
    let line = "plan --dimension 20 --rank 1 --epsilon 4 --spectrum 0.5 --target 0.1";
    for (options, said) in [("--centre", "taken to be zero"), ("--centre 0.2 --mean-share 0.5", "is orthogonal to")] {
        folder.run(&format!("{line} {options}")).says(&[said]);
    }
    folder.refused(&format!("{line} --mean-share 0.5"), 2, &["--centre"]);
    folder.refused(&format!("{line} --centre --mean-share 1"), 2, &["share", "is 1", "below 1"]);
    let line = "simulate --epsilon 4 --dimension 3 --rank 3 --records 9 --centre --mean-share 0.5";
    folder.refused(line, 2, &["leave no direction for a mean"]);
}

/// The synthetic setting of Wang & Xu: a random subspace is all that 100,000 reports give.
#[test]
fn the_published_setting_is_far_below_the_threshold() {
    let folder = Folder::new();
    let line = "plan --dimension 40 --rank 3 --spectrum 0.005,0.005,0.005 --bulk 0.0025 --mechanism wang-xu";
    let plan = folder.json(&format!("{line} --delta 1e-4 --epsilon 0.5 --records 100000"));
    let (error, guess) = (number(&plan["predicted"]["sin_theta_squared"]), number(&plan["uninformed"]));
    assert!(error > 0.98 * guess, "{plan}");
    assert!((guess - 3.0 * (1.0 - 3.0 / 40.0)).abs() < 1e-12);
    assert!(plan["threshold_records"].as_u64().unwrap() > 100_000_000, "{plan}");
}

#[test]
fn shuffled_reports_are_fewer_and_say_more_each() {
    let folder = Folder::new();
    let setting = "--dimension 40 --rank 1 --spectrum 0.3 --epsilon 1 --target 0.1 --records 20000";
    let line = &format!("plan {setting} --shuffled 1e-8 --batch 5000");
    let plan = folder.json(line);
    let shuffled = &plan["shuffled"];
    assert!(shuffled["records_for_target"].as_u64() < plan["records_for_target"].as_u64(), "{plan}");
    assert!(number(&shuffled["local_epsilon"]) > 1.0 && number(&shuffled["epsilon_for_target"]) < 1.0);
    let promise = "shuffled: (1, 0.00000001) for any two records of one person in each batch of 5,000 honest reports,";
    let said = words(&folder.run(line).says(&[promise]).stdout);
    // With every number of reports, shuffled or not.
    assert_eq!((said.matches("you will find").count(), said.matches("reports, which find").count()), (2, 2), "{said}");
    assert_eq!(shuffled["honest_reports"], 5000);
    let with_share = &format!("{line} --share 0.9");
    let plan = folder.json(with_share);
    let [all, mixed] = [&plan, &plan["shuffled"]].map(|plan| plan["records_for_share"].as_u64().unwrap());
    assert!(mixed < all && mixed.is_multiple_of(5000), "{plan}");
    assert_eq!(words(&folder.text(with_share)).matches("you will find 90 % of").count(), 2);
    // Batches are released one by one, so the size of the collection hides nobody.
    let million = line.replace("20000", "1000000");
    assert_eq!(folder.json(&million)["shuffled"]["local_epsilon"], shuffled["local_epsilon"]);
    for (right, wrong, part) in [
        (" --batch 5000", "", "--batch <N>"),
        ("--shuffled 1e-8", "", "--shuffled"),
        ("20000", "4999", "4999 reports fill no batch of 5000 honest reports"),
    ] {
        folder.refused(&line.replace(right, wrong), 2, &[part]);
    }
    folder.refused(&line.replace("--batch 5000", "--batch 0"), 2, &["--batch", "at least 1"]);
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
    folder.refused(&format!("{line} --epsilon 2"), 2, &["--epsilon"]);
    folder.refused(&format!("{line} --spectrum 0.5"), 2, &["--spectrum"]);
    folder.refused("plan --aggregate a.ldpa --rank 1", 2, &["--task"]);
    folder.refused("plan --aggregate records.csv --task task.json --rank 1", 1, &["records.csv"]);
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
    folder.refused(&format!("{SURVEY} --plot plan.png"), 2, &["plan.png", ".svg"]);
    assert_eq!(folder.names(), ["plan.svg"]);
}

#[test]
fn invalid_arguments_are_wrong_usage_with_the_value_and_the_remedy() {
    let folder = Folder::new();
    let base = "plan --rank 2 --epsilon 2 --target 0.1";
    for (arguments, parts) in [
        ("--dimension 10 --spectrum 0.9,0.3", &["sum to 1.2", "shares"][..]),
        ("--dimension 10 --spectrum=-0.5,0.3", &["entry 1 is -0.5", "at least 0"]),
        ("--dimension 10 --spectrum 0.5,NaN", &["entry 2 is NaN"]),
        ("--dimension 10 --spectrum 0.5,inf", &["entry 2 is inf"]),
        ("--dimension 10 --spectrum 0.5;0.3", &["'0.5;0.3' is not a number", "commas"]),
        ("--dimension 10 --spectrum 0.5,,0.3", &["entry 2"]),
        ("--dimension 2 --spectrum 0.5", &["rank 2", "dimension 2"]),
        ("--dimension 3 --spectrum 0.3,0.3,0.4", &["fewer signals than features"]),
        ("--dimension 10 --spectrum 0.05", &["0.05", "bulk"]),
        ("--dimension 10 --spectrum 0.5 --bulk -1", &["-1", "bulk"]),
        ("--dimension 0 --spectrum 0.5", &["--dimension", "between 1 and"]),
        ("--dimension 10 --spectrum 0.5 --records 0", &["--records", "at least 1"]),
        ("--dimension 10 --spectrum 0.5 --delta 1e-6", &["--delta does not go with double-cap"]),
        ("--dimension 10 --spectrum 0.5 --mechanism gaussian --candidates 8", &["double-cap only"]),
        ("--dimension 10 --spectrum 0.5 --shuffled 2 --batch 9", &["delta is 2"]),
        ("--dimension 10 --epsilon 2", &["--spectrum"]),
        ("--spectrum 0.5", &["--dimension"]),
    ] {
        let base = if arguments.contains("--epsilon") { "plan --rank 2" } else { base };
        folder.refused(&format!("{base} {arguments}"), 2, parts);
    }
    for target in ["0", "-1", "1.6", "NaN"] {
        let line = format!("plan --rank 2 --epsilon 2 --dimension 10 --spectrum 0.5 --target {target}");
        folder.refused(&line, 2, &["target error is", "below 1.6"]);
    }
    folder.refused("plan --dimension 10 --spectrum 0.5 --rank 0 --epsilon 1", 2, &["rank"]);
    folder.refused("plan --dimension 10 --spectrum 0.5 --rank 1 --epsilon 0", 2, &["epsilon is 0"]);
}
