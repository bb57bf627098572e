//! What `recover` says of its answer: which looks like the mean, what matters first, and on which scale errors are.

use nalgebra::DMatrix;

use super::recover::collected_by;
use crate::support::{Folder, number, numbers, read_npy, words};

/// Characters of a line that every terminal has room for.
const WIDTH: usize = 90;

/// Records of 24 features with long names, three of which vary together, about a mean away from zero; a column with
/// ids when `ids` says so. They are collected by a task with these options.
fn collected(ids: bool, options: &str) -> Folder {
    let folder = Folder::new();
    let mut text: Vec<String> = (1..=24).map(|index| format!("answer_to_question_{index}_of_the_survey")).collect();
    if ids {
        text.insert(0, "customer_id".into());
    }
    let mut records = text.join(",") + "\n";
    for row in 0..2000 {
        let shared = (row * 37 % 101) as f64 / 101.0 - 0.5;
        let mut values: Vec<String> = (0..24)
            .map(|column| {
                let own = (row * (29 + 2 * column) % (83 + column)) as f64 / 83.0 - 0.5;
                (if column < 3 { 4.0 * shared } else { 0.2 * own }).to_string()
            })
            .collect();
        if ids {
            values.insert(0, (500_000 + row).to_string());
        }
        records += &(values.join(",") + "\n");
    }
    folder.write("records.csv", records);
    folder.make_task("records.csv --scaling none", &format!("--epsilon 8 {options}"));
    folder.collect("records.csv --insecure-seed 5", "task", "a");
    folder
}

fn assert_fits(text: &str) {
    for line in text.lines().filter(|line| !line.starts_with("wrote ")) {
        assert!(line.chars().count() <= WIDTH, "{} characters: {line}", line.chars().count());
    }
}

#[test]
fn a_first_component_that_looks_like_the_mean_is_noticed() {
    let line = "recover a.ldpa -t task.json --rank 1 --details";
    let notice = ["notice the first component is 'customer_id' alone and holds", "an id is no feature"];
    collected(true, "").run(line).says(&notice);
    let folder = collected(true, "--centre");
    let text = folder.run(line).says(&["of the second moments about zero are the mean's"]).stdout;
    assert!(!text.contains("notice"), "{text}");
    let share = number(&folder.json(line)["mean"]["share"]);
    assert!(share > 0.8, "{share}");
    // Three features with loadings of either sign, beside noise.
    let text = collected(false, "").text(line);
    assert!(!text.contains("one sign") && !text.contains("' alone"), "{text}");
}

#[test]
fn exported_sparse_components_are_zero_off_the_support_and_orthonormal_on_it() {
    let folder = collected(false, "");
    for options in ["--penalty auto", "--penalty 0.02", "--tolerance 1e-2"] {
        let result = folder.json(&format!("recover a.ldpa -t task.json --rank 2 --sparse {options} -o c.npy"));
        let names = result["feature_names"].as_array().unwrap();
        let support = result["sparse"]["support"].as_array().unwrap();
        let (shape, loadings) = read_npy(&folder.read("c.npy"));
        let exported = DMatrix::from_row_slice(shape[0] as usize, shape[1] as usize, &loadings);
        assert_eq!(exported.shape(), (24, 2));
        for (row, name) in exported.row_iter().zip(names) {
            assert!(support.contains(name) || row.iter().all(|loading| *loading == 0.0), "{options} {name} {row}");
        }
        assert!((exported.tr_mul(&exported) - DMatrix::identity(2, 2)).norm() < 1e-12, "{options}");
        for (index, component) in result["components"].as_array().unwrap().iter().enumerate() {
            assert_eq!(numbers(component), exported.column(index).as_slice());
        }
    }
}

/// The answer, how good it is and what may not be concluded; everything else when it is asked for.
#[test]
fn ten_lines_say_what_matters_and_the_rest_is_in_the_details() {
    let folder = collected(false, "");
    let line = "recover a.ldpa -t task.json --rank 3 --method pca --reference records.csv";
    let (short, long) = (folder.text(line), folder.text(&format!("{line} --details")));
    assert!(short.lines().count() + 10 <= long.lines().count(), "{short}\n{long}");
    assert!(words(&short).contains("cannot be distinguished from noise: collect more reports"), "{short}");
    assert!(words(&short).contains("that stands out from the noise, as predicted; what the other"), "{short}");
    let reference = &folder.json(line)["reference"];
    let share = number(&reference["share_found"]);
    let [captured, largest] = ["captured_variance", "largest_captured_variance"].map(|key| number(&reference[key]));
    assert!((share - (captured - 0.125) / (largest - 0.125)).abs() < 1e-9, "{reference}");
    let said = format!("is possible: {:.0} % of the structure", 100.0 * share);
    for text in [&short, &long] {
        assert!(words(text).contains(&said), "{said}: {text}");
    }
    for detail in ["sin Theta", "held out", "noise       ±", "hostile", "standard error"] {
        assert!(!short.contains(detail) && long.contains(detail), "{detail}: {short}\n{long}");
    }
    let suspected = folder.text(&format!("{line} --hostile 30"));
    assert!(suspected.contains("hostile  ") && !suspected.contains("held out"), "{suspected}");
    let few = collected_by(3000, "").text("recover a.ldpa -t task.json --rank 1");
    assert!(few.lines().count() <= 12, "{few}");
}

#[test]
fn errors_are_on_one_scale_and_lines_fit_a_terminal() {
    let folder = collected(false, "--folds 3");
    let whole = "recover a.ldpa -t task.json --rank 4 --reference records.csv --hostile 30 --details";
    let text = folder.text(whole);
    // k (1 - k/d) of 4 components of 24 features.
    assert_eq!(words(&text).matches("(0 is the same subspace, 3.33 a random one)").count(), 3, "{text}");
    assert_fits(&text);
    for line in [
        &format!("{whole} --sparse --penalty cv --path=5 --bootstrap 20"),
        "inspect task.json",
        "inspect schema.json",
        "inspect a.ldpa -t task.json",
        "task new --schema schema.json --epsilon 2 -o t.json --force",
        "task new --schema schema.json --epsilon 2 --centre -o t.json --force",
        &whole.replace(" --details", ""),
    ] {
        assert_fits(&folder.text(line));
    }
}
