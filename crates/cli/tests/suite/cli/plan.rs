//! `plan`: what it answers, what it draws, and what it refuses.

use serde_json::Value;

use crate::support::{Folder, words};

const SURVEY: &str = "plan --dimension 116 --rank 3 --spectrum 0.646,0.176,0.088,0.039 --epsilon 2";

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Scripts outside this repository read these keys.
#[test]
fn the_number_of_records_for_a_target_reaches_it_and_one_fewer_does_not() {
    let folder = Folder::new();
    let plan = folder.run(&format!("{SURVEY} --target 0.05 --json")).json();
    let records = plan["records_for_target"].as_u64().unwrap();
    assert!((230_000..270_000).contains(&records), "{records}");
    let thresholds = numbers(&plan["threshold_records_per_component"]);
    assert_eq!(plan["threshold_records"].as_f64().unwrap(), thresholds[0]);
    assert!(thresholds.is_sorted() && thresholds.len() == 3);
    assert!((plan["bulk"].as_f64().unwrap() - 0.051 / 112.0).abs() < 1e-12);
    for key in ["records", "predicted", "epsilon_for_target", "shuffled", "plot"] {
        assert_eq!(plan.get(key), None, "{key}");
    }

    let at = |records: u64| folder.run(&format!("{SURVEY} --records {records} --json")).json();
    let error = |records| at(records)["predicted"]["sin_theta_squared"].as_f64().unwrap();
    assert!(error(records) <= 0.05 && error(records - 1) > 0.05);
    let predicted = &at(5000)["predicted"];
    let parts = numbers(&predicted["per_component"]);
    assert!((parts.iter().sum::<f64>() - predicted["sin_theta_squared"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(predicted["recoverable"], serde_json::json!([true, true, false]));

    let back = folder.run(&format!("{SURVEY} --records {records} --target 0.05 --json")).json();
    assert!((back["epsilon_for_target"].as_f64().unwrap() - 2.0).abs() < 1e-3, "{back}");
}

#[test]
fn a_plan_says_how_many_reports_make_each_component_recoverable() {
    let folder = Folder::new();
    let text = folder.run(&format!("{SURVEY} --target 0.05 --records 5000")).ok().stdout;
    let buried = "1 of 3 components cannot be distinguished from noise";
    for part in ["component 2", "recoverable from 2,017 reports", buried] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    let tied = folder.run("plan --dimension 20 --rank 1 --spectrum 0.3,0.3 --epsilon 2 --target 0.1").ok().stdout;
    assert!(tied.contains("no number of reports reaches it"), "{tied}");
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
    folder.run("schema infer sample.csv --scaling max-abs -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json").ok();
    let line = "plan --sample sample.csv --task task.json --rank 2 --records 50000 --target 0.05";
    let plan = folder.run(&format!("{line} --json")).json();
    let settings = plan["sample"]["settings"].as_array().unwrap();
    let (own, best) = (&settings[0], &settings[plan["sample"]["best"].as_u64().unwrap() as usize]);
    let number = |setting: &Value, key: &str| setting[key].as_f64().unwrap();
    assert_eq!((&own["schema"], &own["centred"], &best["schema"]), (&"task".into(), &false.into(), &"robust".into()));
    assert!(number(own, "mean_share") > 0.8 && number(best, "mean_share") < 0.05, "{plan}");
    let together = |setting: &Value| number(setting, "noise_error") + number(setting, "bounding_error");
    assert!(together(best) < 0.3 * together(own), "{plan}");
    assert!(number(best, "records_for_target") < number(own, "records_for_target"), "{plan}");
    assert_eq!(plan["predicted"]["sin_theta_squared"], own["noise_error"]);
    let text = words(&folder.run(line).ok().stdout);
    for part in ["2,000 public records", "advice *: `schema infer` of the sample, then `task new"] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
    // With robust columns there is nothing to gain from these.
    folder.run("schema infer sample.csv -o schema.json --force").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json --force").ok();
    let plan = folder.run(&format!("{line} --json")).json();
    assert!(plan["sample"]["settings"].as_array().unwrap().iter().all(|setting| setting["schema"] == "task"), "{plan}");
    folder.run("plan --sample sample.csv --rank 2").refused(2, &["--task"]);
    folder.run("plan --task task.json --rank 2").refused(2, &["--dimension"]);
    folder.run("plan --sample sample.csv --task task.json --spectrum 0.5").refused(2, &["--spectrum"]);
    folder.write("none.csv", "a,b,c,d,e\n");
    folder.run("plan --sample none.csv --task task.json --rank 2").refused(1, &["none.csv"]);
}

/// What a stated spectrum leaves open is told, and a sum that rounding left above 1 is no reason to refuse it.
#[test]
fn a_stated_spectrum_is_commented() {
    let folder = Folder::new();
    let text = |spectrum: &str| {
        let run = folder.run(&format!("plan --dimension 12 --rank 3 --epsilon 2 --spectrum {spectrum}"));
        words(&run.ok().stdout)
    };
    let (exact, more) = (text("0.3,0.2,0.1"), text("0.3,0.2,0.1,0.09"));
    assert!(exact.contains("no eigenvalue beyond the 3") && exact.contains("State one more"), "{exact}");
    assert!(!more.contains("State one more"), "{more}");
    for said in [&exact, &more] {
        assert_eq!(said.matches("those of bounded records").count(), 1, "{said}");
    }
    let rounded = text("0.4,0.3,0.2,0.101");
    assert!(rounded.contains("sum to 1.001, which is above 1 by rounding"), "{rounded}");
    assert!(rounded.contains("component 1 eigenvalue 0.3996"), "{rounded}");
    let base = "plan --dimension 12 --rank 3 --epsilon 2 --spectrum";
    let notes = folder.run(&format!("{base} 0.4,0.3,0.2,0.101 --json")).json()["notes"].clone();
    assert_eq!(notes.as_array().map(Vec::len), Some(2), "{notes}");
    folder.run(&format!("{base} 0.4,0.3,0.2,0.12")).refused(2, &["the eigenvalues sum to 1.02"]);
}

/// What hostile reports can do: per report, for the number that is planned with, and for as many as are suspected.
#[test]
fn the_pull_of_hostile_reports_is_told() {
    let folder = Folder::new();
    let line = "plan --dimension 40 --rank 1 --spectrum 0.3 --epsilon 2";
    let plan = folder.run(&format!("{line} --json")).json();
    assert_eq!((&plan["pull"]["check"], plan.get("hostile")), (&serde_json::json!("none"), None));
    let pull = |which: &str| plan["pull"][which].as_f64().unwrap();
    assert!(pull("checked") > 10.0 && pull("checked") == pull("unchecked"), "{plan}");
    let share = |which: &str| plan["optimum"][which].as_f64().unwrap();
    assert!((0.95..0.98).contains(&share("conjectured_share")), "{plan}");
    assert!((0.62..0.65).contains(&share("proved_share")), "{plan}");
    let text = words(&folder.run(line).ok().stdout);
    let percent = |which| (100.0 * share(which)).floor();
    let proved = format!("proved: no unbiased reports of this promise need fewer than {} %", percent("proved_share"));
    let conjectured = format!("if no direction is special; conjectured: {} %", percent("conjectured_share"));
    assert!(text.contains(&proved) && text.contains(&conjectured), "{text}");
    let many = folder.run(&format!("{line} --records 20000 --hostile 300 --json")).json();
    let hostile = &many["hostile"];
    assert_eq!((&hostile["reports"], &hostile["records"]), (&300.into(), &20_000.into()));
    for which in ["unchecked", "checked"] {
        let (one, all) = (hostile["one"][which].as_f64().unwrap(), hostile["all"][which].as_f64().unwrap());
        assert!(one >= pull(which) / 20_000.0 && one < 1.000_001 * pull(which) / 20_000.0, "{hostile}");
        assert!((all / one - 300.0).abs() < 1e-6, "{hostile}");
    }
    // Of the number that a target takes, where none is given.
    let target = folder.run(&format!("{line} --target 0.1 --json")).json();
    assert_eq!(target["hostile"]["records"], target["records_for_target"]);
    let text = words(&folder.run(&format!("{line} --mechanism gaussian")).ok().stdout);
    assert!(
        text.contains(
            "one hostile report of n moves an eigenvalue of the covariance estimate by at most 720/n, one that passes \
                the range check by 114/n"
        ),
        "{text}"
    );
    let text = words(&folder.run(&format!("{line} --records 20000 --hostile 300")).ok().stdout);
    assert!(
        text.contains("one report of 20,000 moves an eigenvalue of the covariance estimate by at most")
            && text.contains("300 of them by"),
        "{text}"
    );
    folder.run(&format!("{line} --hostile 0")).refused(2, &["--hostile"]);
}

/// `simulate` draws what `plan` is about: 12 trials of 2 components in 20 features have a mean to some 7 %.
#[test]
fn a_plan_about_a_mean_is_what_a_simulation_measures() {
    let folder = Folder::new();
    for (share, records) in [("0", 8000), ("0.5", 40_000)] {
        let common = format!("--dimension 20 --rank 2 --epsilon 4 --centre --mean-share {share} --records {records}");
        let plan = folder.run(&format!("plan {common} --spectrum 0.294,0.294 --json")).json();
        let simulated = format!("simulate {common} --trials 12 --reports drawn --json");
        let simulated = folder.run(&simulated).json()["sin_theta_squared"]["mean"].as_f64().unwrap();
        let predicted = plan["predicted"]["sin_theta_squared"].as_f64().unwrap();
        assert!((0.8..1.25).contains(&(predicted / simulated)), "{share}: {predicted} {simulated}");
        // The keys are those of a plan about zero.
        let zero = folder.run("plan --dimension 20 --rank 2 --epsilon 4 --spectrum 0.3 --records 9 --json").json();
        let keys = |plan: &Value| plan.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let of_second_moments = ["optimum", "pull"];
        let others: Vec<String> =
            keys(&zero).into_iter().filter(|key| !of_second_moments.contains(&key.as_str())).collect();
        assert_eq!(keys(&plan), others);
    }
    let line = "plan --dimension 20 --rank 1 --epsilon 4 --spectrum 0.5 --target 0.1";
    for (options, said) in [("--centre", "taken to be zero"), ("--centre 0.2 --mean-share 0.5", "is orthogonal to")] {
        let text = words(&folder.run(&format!("{line} {options}")).ok().stdout);
        assert!(text.contains(said), "{text}");
    }
    folder.run(&format!("{line} --mean-share 0.5")).refused(2, &["--centre"]);
    folder.run(&format!("{line} --centre --mean-share 1")).refused(2, &["share", "is 1", "below 1"]);
    folder
        .run("simulate --epsilon 4 --dimension 3 --rank 3 --records 9 --centre --mean-share 0.5")
        .refused(2, &["leave no direction for a mean"]);
}

/// The synthetic setting of Wang & Xu: a random subspace is all that 100,000 reports give.
#[test]
fn the_published_setting_is_far_below_the_threshold() {
    let folder = Folder::new();
    let line = "plan --dimension 40 --rank 3 --spectrum 0.005,0.005,0.005 --bulk 0.0025 --mechanism wang-xu";
    let plan = folder.run(&format!("{line} --delta 1e-4 --epsilon 0.5 --records 100000 --json")).json();
    let (error, guess) = (&plan["predicted"]["sin_theta_squared"], &plan["uninformed"]);
    assert!(error.as_f64().unwrap() > 0.98 * guess.as_f64().unwrap(), "{plan}");
    assert!((guess.as_f64().unwrap() - 3.0 * (1.0 - 3.0 / 40.0)).abs() < 1e-12);
    assert!(plan["threshold_records"].as_u64().unwrap() > 100_000_000, "{plan}");
}

#[test]
fn shuffled_reports_are_fewer_and_say_more_each() {
    let folder = Folder::new();
    let setting = "--dimension 40 --rank 1 --spectrum 0.3 --epsilon 1 --target 0.1 --records 20000";
    let line = &format!("plan {setting} --shuffled 1e-8 --batch 5000");
    let plan = folder.run(&format!("{line} --json")).json();
    let shuffled = &plan["shuffled"];
    assert!(shuffled["records_for_target"].as_u64() < plan["records_for_target"].as_u64(), "{plan}");
    assert!(
        shuffled["local_epsilon"].as_f64().unwrap() > 1.0 && shuffled["epsilon_for_target"].as_f64().unwrap() < 1.0
    );
    let text = folder.run(line).ok().stdout;
    let promise = "shuffled: (1, 0.00000001) for any two records of one person in each batch of 5,000 honest reports,";
    assert!(words(&text).contains(promise), "{text}");
    assert_eq!(shuffled["honest_reports"], 5000);
    // Batches are released one by one, so the size of the collection hides nobody.
    let million = line.replace("20000", "1000000");
    let local = |line: &str| folder.run(&format!("{line} --json")).json()["shuffled"]["local_epsilon"].clone();
    assert_eq!(local(&million), shuffled["local_epsilon"]);
    folder.run(&line.replace(" --batch 5000", "")).refused(2, &["--batch <N>"]);
    folder.run(&line.replace("--shuffled 1e-8", "")).refused(2, &["--shuffled"]);
    folder.run(&line.replace("20000", "4999")).refused(2, &["4999 reports fill no batch of 5000 honest reports"]);
    folder.run(&line.replace("--batch 5000", "--batch 0")).refused(2, &["--batch", "at least 1"]);
    // The usual delta where none is named.
    let usual = folder.run(
        "plan --dimension 40 --rank 1 --spectrum 0.3 --epsilon 1 --records 2000 --shuffled \
        --batch 500 --json",
    );
    assert_eq!(usual.json()["shuffled"]["delta"].as_f64(), Some(1e-6));
}

#[test]
fn another_collection_is_planned_from_what_was_collected() {
    let folder = Folder::new();
    let records: String = (0..3000)
        .map(|row| {
            let phase = f64::from(row * 37 % 101) / 101.0 - 0.5;
            let (y, z) = (f64::from(row * 53 % 89) / 89.0 - 0.5, f64::from(row * 29 % 97) / 97.0 - 0.5);
            format!("{},{},{},{}\n", 4.0 * phase, 3.0 * phase, 0.5 * y, 0.4 * z)
        })
        .collect();
    folder.write("records.csv", format!("w,x,y,z\n{records}"));
    folder.run("schema infer records.csv --scaling none -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json").ok();
    folder.run("randomize records.csv -t task.json -o r.ldpr --insecure-seed 5").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    let line = "plan --aggregate a.ldpa --task task.json --rank 1";
    let plan = folder.run(&format!("{line} --records 3000 --target 0.001 --json")).json();
    let recovered = folder.run("recover a.ldpa --task task.json --rank 1 --json").json();
    assert_eq!(plan["predicted"]["sin_theta_squared"], recovered["predicted"]["sin_theta_squared"]);
    assert!(plan["signals"][0].as_f64().unwrap() > 0.5 && plan["records_for_target"].is_u64(), "{plan}");
    folder.run(&format!("{line} --epsilon 2")).refused(2, &["--epsilon"]);
    folder.run(&format!("{line} --spectrum 0.5")).refused(2, &["--spectrum"]);
    folder.run("plan --aggregate a.ldpa --rank 1").refused(2, &["--task"]);
    folder.run("plan --aggregate records.csv --task task.json --rank 1").refused(1, &["records.csv"]);
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
    folder.run(&format!("{SURVEY} --plot plan.png")).refused(2, &["plan.png", ".svg"]);
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
        folder.run(&format!("{base} {arguments}")).refused(2, parts);
    }
    for target in ["0", "-1", "1.6", "NaN"] {
        let line = format!("plan --rank 2 --epsilon 2 --dimension 10 --spectrum 0.5 --target {target}");
        folder.run(&line).refused(2, &["target error is", "below 1.6"]);
    }
    folder.run("plan --dimension 10 --spectrum 0.5 --rank 0 --epsilon 1").refused(2, &["rank"]);
    folder.run("plan --dimension 10 --spectrum 0.5 --rank 1 --epsilon 0").refused(2, &["epsilon is 0"]);
}
