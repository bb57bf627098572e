//! Two waves: planned, simulated, collected, and refused.

use std::fmt::Write as _;

use crate::support::Folder;

const PLAN: &str = "plan --dimension 40 --rank 3 --spectrum 0.48,0.215,0.13,0.067 --waves 2";

#[test]
fn a_plan_of_two_waves_says_whether_they_pay() {
    let folder = Folder::new();
    let plan = folder.run(&format!("{PLAN} --epsilon 2 --records 100000 --json")).json();
    let waves = &plan["waves"];
    let number = |key: &str| waves[key].as_f64().unwrap();
    assert!(number("gain") > 2.0 && number("sin_theta_squared") < 0.5 * number("one_wave"), "{waves}");
    assert!((number("one_wave") - plan["predicted"]["sin_theta_squared"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(waves.get("refused"), None);
    let few = folder.run(&format!("{PLAN} --epsilon 1 --records 5000 --json")).json();
    assert_eq!(few["waves"]["refused"]["reason"], "first-wave", "{few}");
    let text = folder.run(&format!("{PLAN} --epsilon 1 --records 5000")).ok().stdout;
    assert!(text.contains("advice     one wave: the first wave leaves an error of"), "{text}");
    folder.run(&format!("{PLAN} --epsilon 1")).refused(2, &["--waves 2 needs --records"]);
    folder.run(&format!("{PLAN} --epsilon 1 --records 5000 --mechanism gaussian")).refused(2, &["double-cap"]);
}

/// The mean of four trials scatters by some 10 %.
#[test]
fn two_waves_are_simulated() {
    let folder = Folder::new();
    let line = "simulate --dimension 20 --rank 2 --signal 40 --epsilon 2 --records 10000 --trials 4 --waves 2";
    let result = folder.run(&format!("{line} --json")).json();
    let mean = |value: &serde_json::Value| value["mean"].as_f64().unwrap();
    let (refined, first) = (mean(&result["sin_theta_squared"]), mean(&result["first_wave"]));
    assert!(refined < 0.7 * first, "{result}");
    let predicted = result["waves"]["sin_theta_squared"].as_f64().unwrap();
    assert!((predicted / refined - 1.0).abs() < 0.4, "{result}");
}

/// A sample that is off by less than one wave's error: the mean of four trials scatters by some 10 %.
#[test]
fn a_wave_about_a_public_sample_is_simulated() {
    let folder = Folder::new();
    let line = "simulate --dimension 20 --rank 2 --signal 40 --epsilon 2 --records 10000 --trials 4";
    let about = format!("{line} --waves 2 --sample-error 0.1");
    let result = folder.run(&format!("{about} --json")).json();
    assert_eq!((&result["sample"]["records"], &result["sample"]["error"]), (&1_000_000.into(), &0.1.into()));
    assert_eq!(result["waves"]["records"], serde_json::json!([1_000_000, 10_000]));
    let mean = |value: &serde_json::Value| value["mean"].as_f64().unwrap();
    let (refined, sample) = (mean(&result["sin_theta_squared"]), mean(&result["first_wave"]));
    assert!((sample - 0.1).abs() < 1e-9 && refined < 0.5 * sample, "{result}");
    let predicted = result["waves"]["sin_theta_squared"].as_f64().unwrap();
    assert!((predicted / refined - 1.0).abs() < 0.4, "{result}");
    let text = folder.run(&about).ok().stdout;
    assert!(text.contains("the sample     0.1000") && text.contains("of the sample alone"), "{text}");
    for (line, part) in [
        (format!("{line} --sample-error 0.1"), "--sample-error goes with --waves 2"),
        (format!("{line} --waves 2 --sample-error 1.9"), "--sample-error"),
        (format!("{line} --waves 2 --sample-error nan"), "--sample-error"),
        ("simulate --dimension 3 --rank 2 --epsilon 2 --waves 2 --sample-error 0.1".into(), "twice as many features"),
    ] {
        folder.run(&line).refused(2, &[part]);
    }
}

/// People with one strong component, the direction (1, 1, 0, 0, 0, 0).
fn people(offset: u32) -> String {
    let mut text = String::from("a,b,c,d,e,f\n");
    for index in 0..2500u32 {
        let wave = |step: u32| {
            f64::from((index + offset).wrapping_mul(step).wrapping_mul(2_654_435_761) >> 16) / 65536.0 - 0.5
        };
        let strong = if wave(7) > 0.0 { 2.0 + wave(3) } else { -2.0 + wave(3) };
        let _ = writeln!(
            text,
            "{:.4},{:.4},{:.4},{:.4},{:.4},{:.4}",
            strong + wave(5),
            strong + wave(11),
            wave(13),
            wave(17),
            wave(19),
            wave(23)
        );
    }
    text
}

/// A first wave of people with one strong component, and a second one of as many others.
#[test]
fn a_second_wave_is_collected_and_refines_the_first() {
    let folder = Folder::new();
    folder.write("one.csv", people(0));
    folder.write("two.csv", people(90_000));
    folder.run("schema infer one.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json").ok();
    folder.run("randomize one.csv --task task.json -o one.ldpr").ok();
    folder.run("aggregate one.ldpr --task task.json -o one.ldpa").ok();
    let refine = "task refine --aggregate one.ldpa --task task.json --rank 1 --anyway";
    let made = folder.run(&format!("{refine} -o refined.json --json")).json();
    assert_eq!(made["rank"], 1, "{made}");
    folder.run("randomize two.csv --task refined.json -o two.ldpr").ok();
    folder.run("aggregate two.ldpr --task refined.json -o two.ldpa").ok();
    let recover = "recover one.ldpa --task task.json --rank 1 --refined two.ldpa --refined-task refined.json";
    let result = folder.run(&format!("{recover} --json")).json();
    assert_eq!(result["records"], 5000, "{result}");
    let component: Vec<f64> =
        result["components"][0].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert!(component[0].abs() > 0.6 && component[1].abs() > 0.6, "{component:?}");
    assert!(result["refined"]["waves"]["sin_theta_squared"].as_f64().unwrap() < 0.1, "{result}");
    let text = folder.run(recover).ok().stdout;
    assert!(text.contains("not here") && text.contains("first wave alone"), "{text}");
    folder
        .run("recover one.ldpa --task task.json --rank 2 --refined two.ldpa --refined-task refined.json")
        .refused(1, &["refines 1 components"]);
    folder
        .run("recover one.ldpa --task task.json --rank 1 --refined two.ldpa --refined-task task.json")
        .refused(1, &["not a second wave's"]);
}

/// The sample is of the same population, so that its direction is nearly right: the mean of 2,500 products scatters by
/// some 2 %, and a randomized wave of as many people is off by less than 0.1 at this seed.
#[test]
fn a_public_sample_takes_the_place_of_the_first_wave() {
    let folder = Folder::new();
    folder.write("public.csv", people(0));
    folder.write("two.csv", people(90_000));
    folder.run("schema infer public.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json").ok();
    let refine = "task refine --sample public.csv --task task.json --rank 1 --records 2500";
    let made = folder.run(&format!("{refine} -o refined.json --json")).json();
    let task = folder.run("inspect task.json --json").json();
    assert_eq!((&made["parent"], &made["rank"]), (&task["digest"], &1.into()), "{made}");
    let (waves, sample) = (&made["waves"], &made["sample"]);
    assert_eq!(waves["records"], serde_json::json!([2500, 2500]));
    assert_eq!((&sample["records"], &sample["stated"]), (&2500.into(), &false.into()));
    assert_eq!(sample["unread"], serde_json::json!([]));
    assert!(waves["first_wave"].as_f64().unwrap() < 0.01 && waves["gain"].as_f64().unwrap() > 1.2, "{made}");
    let otherwise = sample["otherwise"].as_array().unwrap();
    assert_eq!(otherwise[1]["error"], 0.3, "{made}");
    assert_eq!(otherwise[1]["refused"]["reason"], "sample", "{made}");
    let text = folder.run(&format!("{refine} -o again.json")).ok().stdout;
    assert_eq!(folder.read("again.json"), folder.read("refined.json"));
    for part in
        ["2,500 records, which are public", "drawn from the same population", "off by 0.3", "of the sample alone"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Stated errors are planned with, and those that a wave cannot mend are refused.
    folder
        .run(&format!("{refine} --sample-error 0.3 -o other.json"))
        .refused(1, &["the weakest component of the sample is off by 0.30", "--anyway"]);
    let stated = folder.run(&format!("{refine} --sample-error 0.3 --anyway -o other.json")).ok().stdout;
    assert!(stated.contains("as --sample-error says") && stated.contains("advice     one wave"), "{stated}");

    // So few find less than the sample has, if it is of the same population.
    let few = format!("{refine} -o few.json").replace("2500", "100");
    folder.run(&few).refused(1, &["the sample alone is predicted to be off by", "state how far it is off", "--anyway"]);
    let few = folder.run(&format!("{few} --anyway")).ok().stdout;
    assert!(few.contains("advice     no wave: the sample alone"), "{few}");

    folder.run("randomize two.csv --task refined.json -o two.ldpr --insecure-seed 1").ok();
    folder.run("aggregate two.ldpr --task refined.json -o two.ldpa").ok();
    let recover = "recover --task task.json --rank 1 --refined two.ldpa --refined-task refined.json --sample";
    let result = folder.run(&format!("{recover} public.csv --json -o components.csv")).json();
    assert_eq!((&result["records"], &result["refined"]["sample"]["records"]), (&2500.into(), &2500.into()), "{result}");
    let loading = |index: usize| result["components"][0][index].as_f64().unwrap();
    assert!(loading(0).powi(2) + loading(1).powi(2) > 0.9, "{result}");
    assert!(result["refined"]["sample"]["error"].as_f64().unwrap() < 0.1, "{result}");
    let text = folder.run(&format!("{recover} public.csv")).ok().stdout;
    for part in ["1 component of 6 features from 2,500 reports (pca)", "2,500 public records", "those of the sample"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A sample of other people has other directions.
    folder.write("turned.csv", people(0).replacen("a,b,c,d,e,f", "c,b,a,d,e,f", 1));
    folder
        .run(&format!("{recover} turned.csv"))
        .refused(1, &["two.ldpa: the directions of the second wave are not those of this aggregate or sample"]);
}

#[test]
fn a_sample_that_is_not_of_the_tasks_records_is_refused() {
    let folder = Folder::new();
    folder.write("public.csv", people(0));
    folder.run("schema infer public.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 -o task.json").ok();
    let refine = |rest: &str| folder.run(&format!("task refine --task task.json --rank 1 -o out.json {rest}"));
    refine("").refused(2, &["--aggregate"]);
    refine("--sample public.csv").refused(2, &["--records"]);
    refine("--sample public.csv --records 0").refused(2, &["--records", "it must be at least 1"]);
    refine("--sample public.csv --aggregate a.ldpa --records 9").refused(2, &["cannot be used with"]);
    refine("--aggregate a.ldpa --sample-error 0.1").refused(2, &["--sample"]);
    for error in ["0", "-1", "0.8334", "NaN"] {
        refine(&format!("--sample public.csv --records 9 --sample-error {error}"))
            .refused(2, &["--sample-error: the error of the sample is", "above 0 and below 0.8333"]);
    }
    let table = |name: &str, text: &str| folder.write(name, text);
    table("narrow.csv", "a,b,c,d,e\n1,2,3,4,5\n");
    refine("--sample narrow.csv --records 9").refused(1, &["narrow.csv", "'f'"]);
    table("text.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n1,2,secret,4,5,6\n");
    let run = refine("--sample text.csv --records 9 --strict");
    assert!(!run.stderr.contains("secret"), "{run:?}");
    run.refused(1, &["text.csv, line 3", "'c'", "--strict"]);
    table("empty.csv", "a,b,c,d,e,f\n");
    refine("--sample empty.csv --records 9").refused(1, &["empty.csv: there are no records in it"]);
    refine("--sample task.json --records 9").refused(1, &["task.json"]);
    refine("--sample none.csv --records 9").refused(1, &["none.csv"]);
    assert!(!folder.path("out.json").exists());
    let made = refine("--sample text.csv --records 9 --anyway --json").json();
    assert_eq!(
        (&made["sample"]["records"], &made["sample"]["unread"][0]["column"]),
        (&2.into(), &"c".into()),
        "{made}"
    );
    // What `recover` asks for.
    let recover = |rest: &str| folder.run(&format!("recover --task task.json --rank 1 {rest}"));
    recover("--sample public.csv").refused(2, &["--refined"]);
    let refined = "--refined two.ldpa --refined-task out.json --sample public.csv";
    recover(&format!("one.ldpa {refined}")).refused(2, &["cannot be used with"]);
    recover(refined).refused(1, &["two.ldpa"]);
    for (task, options) in [("gaussian.json", "--mechanism gaussian"), ("centred.json", "--centre")] {
        folder.run(&format!("task new --schema schema.json --epsilon 2 {options} -o {task}")).ok();
        folder
            .run(&format!("task refine --task {task} --rank 1 --sample public.csv --records 9 -o no.json"))
            .refused(1, &[task]);
    }
}

/// Nobody has to read sums to know it: here none are there.
#[test]
fn what_the_answer_of_two_waves_does_not_use_is_refused() {
    let folder = Folder::with_task();
    let refined = "--refined two.ldpa --refined-task two.json";
    let recover = format!("recover one.ldpa --task task.json {refined} --rank");
    for option in [
        "--hostile 50",
        "--hostile 1",
        "--method auto",
        "--method pca",
        "--sparse",
        "--penalty cv",
        "--path",
        "--tolerance 1e-6",
        "--time-limit 5",
        "--select",
        "--bootstrap",
        "--other other.ldpa",
        "--other-task other.json",
        "--reference people.csv",
        "--covariance covariance.csv",
        "--denoise psd",
        "--plot plot.svg",
    ] {
        let name = option.split(' ').next().unwrap();
        folder.run(&format!("{recover} 1 {option}")).refused(2, &["cannot be used with", "--refined", name]);
    }
    folder.run("task new --schema schema.json --epsilon 4 -o high.json").ok();
    let one = "--refined goes with one task, and one aggregate or --sample, and a --rank";
    folder.run(&format!("{recover} auto")).refused(2, &[one]);
    folder.run(&format!("{recover} 1 --task high.json")).refused(2, &[one]);
    folder.run(&format!("{recover} 1 more.ldpa")).refused(2, &[one]);
    let alone = recover.replace("--refined-task two.json", "");
    folder.run(&format!("{alone} 1")).refused(2, &["--refined-task"]);
    let first = recover.replace("two.json", "task.json");
    folder.run(&format!("{first} 1")).refused(1, &["task.json: the task is not a second wave's"]);
}

#[test]
fn a_task_without_a_second_wave_is_a_file_that_does_not_fit() {
    let folder = Folder::with_task();
    folder.run("randomize people.csv --task task.json -o one.ldpr").ok();
    folder.run("aggregate one.ldpr --task task.json -o one.ldpa").ok();
    let refine = |task: &str, rest: &str| folder.run(&format!("task refine --task {task} -o out.json {rest}"));
    refine("task.json", "--aggregate one.ldpa --rank 1 --anyway").ok();
    std::fs::rename(folder.path("out.json"), folder.path("second.json")).unwrap();
    for (task, options) in [("gaussian.json", "--mechanism gaussian"), ("centred.json", "--centre")] {
        folder.run(&format!("task new --schema schema.json --epsilon 2 {options} -o {task}")).ok();
    }
    // Before any sums are read: none are there.
    let sums = "--aggregate none.ldpa --rank 1 --anyway";
    refine("gaussian.json", sums).refused(1, &["gaussian.json: the mechanism of the task is gaussian", "double-cap"]);
    refine("centred.json", sums).refused(1, &["centred.json: a refinement does not go with 'centring'"]);
    refine("second.json", sums).refused(1, &["second.json: the task is a refinement itself"]);
    // The rank is an option.
    refine("task.json", "--aggregate none.ldpa --rank 6").refused(2, &["--rank is 6: a second wave refines"]);
    refine("task.json", "--aggregate none.ldpa --rank 7").refused(2, &["rank"]);
}
