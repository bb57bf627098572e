//! Two waves: collected, and refused.

use std::fmt::Write as _;

use serde_json::json;

use crate::support::{Folder, assert_has, number, numbers};

/// People with one strong component, the direction (1, 1, 0, 0, 0, 0).
fn people(offset: u32) -> String {
    let mut text = String::from("a,b,c,d,e,f\n");
    for index in 0..2500u32 {
        let wave = |step: u32| {
            f64::from((index + offset).wrapping_mul(step).wrapping_mul(2_654_435_761) >> 16) / 65536.0 - 0.5
        };
        let strong = if wave(7) > 0.0 { 2.0 + wave(3) } else { -2.0 + wave(3) };
        let (a, b) = (strong + wave(5), strong + wave(11));
        let [c, d, e, f] = [13, 17, 19, 23].map(wave);
        let _ = writeln!(text, "{a:.4},{b:.4},{c:.4},{d:.4},{e:.4},{f:.4}");
    }
    text
}

/// A first wave of people with one strong component, and a second one of as many others.
#[test]
fn a_second_wave_is_collected_and_refines_the_first() {
    let folder = Folder::new();
    folder.write("one.csv", people(0));
    folder.write("two.csv", people(90_000));
    folder.make_task("one.csv", "--epsilon 4");
    folder.collect("one.csv", "task", "one");
    let refine = "task refine --aggregate one.ldpa --task task.json --rank 1 --anyway -o refined.json";
    folder.gives(refine, json!({"rank": 1}));
    folder.collect("two.csv", "refined", "two");
    let recover = "recover one.ldpa --task task.json --rank 1 --refined two.ldpa --refined-task refined.json";
    let result = folder.gives(recover, json!({"records": 5000}));
    let component = numbers(&result["components"][0]);
    assert!(component[0].abs() > 0.6 && component[1].abs() > 0.6, "{component:?}");
    assert!(number(&result["refined"]["waves"]["sin_theta_squared"]) < 0.1, "{result}");
    folder.run(recover).prints(&["not here", "first wave alone"]);
    folder.refused(&recover.replace("--rank 1", "--rank 2"), 1, &["refines 1 component:"]);
    folder.refused(&recover.replace("refined.json", "task.json"), 1, &["not a second wave's"]);
}

/// The sample is of the same population, so that its direction is nearly right: the mean of 2,500 products scatters by
/// some 2 %, and a randomized wave of as many people is off by less than 0.1 at this seed.
#[test]
fn a_public_sample_takes_the_place_of_the_first_wave() {
    let folder = Folder::new();
    folder.write("public.csv", people(0));
    folder.write("two.csv", people(90_000));
    folder.make_task("public.csv", "--epsilon 4");
    let refine = "task refine --sample public.csv --task task.json --rank 1 --records 2500";
    let expected = json!({"parent": folder.json("inspect task.json")["digest"], "rank": 1});
    let made = folder.gives(&format!("{refine} -o refined.json"), expected);
    let (waves, sample) = (&made["waves"], &made["sample"]);
    assert_eq!(waves["records"], json!([2500, 2500]));
    assert_has(sample, json!({"records": 2500, "stated": false, "unread": []}), "the sample");
    assert!(number(&waves["first_wave"]) < 0.01 && number(&waves["gain"]) > 1.2, "{made}");
    let otherwise = sample["otherwise"].as_array().unwrap();
    assert_eq!(otherwise[1]["error"], 0.3, "{made}");
    assert_eq!(otherwise[1]["refused"]["reason"], "sample", "{made}");
    let parts =
        ["2,500 records, which are public", "drawn from the same population", "off by 0.3", "of the sample alone"];
    folder.run(&format!("{refine} -o again.json")).prints(&parts);
    assert_eq!(folder.read("again.json"), folder.read("refined.json"));
    // Stated errors are planned with, and those that a wave cannot mend are refused.
    let stated = format!("{refine} --sample-error 0.3 -o other.json");
    folder.refused(&stated, 1, &["the weakest component of the sample is off by 0.30", "--anyway"]);
    folder.run(&format!("{stated} --anyway")).prints(&["as --sample-error says", "advice     one wave"]);

    // So few find less than the sample has, if it is of the same population.
    let few = format!("{refine} -o few.json").replace("2500", "100");
    folder.refused(&few, 1, &["the sample alone is predicted to be off by", "state how far it is off", "--anyway"]);
    folder.run(&format!("{few} --anyway")).prints(&["advice     no wave: the sample alone"]);

    folder.collect("two.csv --insecure-seed 1", "refined", "two");
    let recover = "recover --task task.json --rank 1 --refined two.ldpa --refined-task refined.json --sample";
    let result = folder.gives(&format!("{recover} public.csv -o components.csv"), json!({"records": 2500}));
    assert_eq!(result["refined"]["sample"]["records"], 2500, "{result}");
    let loading = |index: usize| number(&result["components"][0][index]);
    assert!(loading(0).powi(2) + loading(1).powi(2) > 0.9, "{result}");
    assert!(number(&result["refined"]["sample"]["error"]) < 0.1, "{result}");
    folder.run(&format!("{recover} public.csv")).prints(&[
        "1 component of 6 features from 2,500 reports (pca)",
        "2,500 public records",
        "those of the sample",
    ]);
    // A sample of other people has other directions.
    folder.write("turned.csv", people(0).replacen("a,b,c,d,e,f", "c,b,a,d,e,f", 1));
    let part = "two.ldpa: the directions of the second wave are not those of this aggregate or sample";
    folder.refused(&format!("{recover} turned.csv"), 1, &[part]);
}

/// Nobody has to read sums to know it: here none are there.
#[test]
fn what_the_answer_of_two_waves_does_not_use_is_refused() {
    let folder = Folder::with_task();
    let refined = "--refined two.ldpa --refined-task two.json";
    let recover = format!("recover one.ldpa --task task.json {refined} --rank 1");
    let options = "--hostile 50,--hostile 1,--method auto,--method pca,--sparse,--penalty cv,--path,--tolerance 1e-6,\
                   --time-limit 5,--select,--bootstrap,--other other.ldpa,--other-task other.json,\
                   --reference people.csv,--covariance covariance.csv,--denoise psd,--plot plot.svg,\
                   --report page.html";
    for option in options.split(',') {
        let name = option.split(' ').next().unwrap();
        folder.refused(&format!("{recover} {option}"), 2, &["cannot be used with", "--refined", name]);
    }
}
