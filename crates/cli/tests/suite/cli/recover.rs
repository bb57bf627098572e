//! The selected features of an answer, its shares and its references.

use serde_json::Value;

use crate::support::{Folder, number, numbers, words};

/// Records of w, x, y and z without their header: w and x vary together, the others by themselves, each by its factor.
pub(super) fn records(rows: usize, [w, x, y, z]: [f64; 4]) -> String {
    (0..rows)
        .map(|row| {
            let wave = |step: usize, period: usize| (row * step % period) as f64 / period as f64 - 0.5;
            let (together, second, third) = (wave(37, 101), wave(53, 89), wave(29, 97));
            format!("{},{},{},{}\n", w * together, x * together, y * second, z * third)
        })
        .collect()
}

/// Records with a strong component on (w, x), collected by a task with these options.
pub(super) fn collected_by(rows: usize, options: &str) -> Folder {
    let folder = Folder::new();
    folder.write("records.csv", format!("w,x,y,z\n{}", records(rows, [4.0, 3.0, 0.5, 0.4])));
    folder.make_task("records.csv --scaling none", &format!("--epsilon 4 {options}"));
    folder.collect("records.csv --insecure-seed 5", "task", "a");
    folder
}

#[test]
fn features_are_selected_at_a_rate_and_claims_come_with_their_assumption() {
    let folder = collected_by(4_000, "--folds 1 --centre --bounding clip:6");
    let recover = |options: &str| folder.run(&format!("recover a.ldpa -t task.json --rank 1 {options}"));
    let result = recover("--select --json").json();
    let selection = &result["selection"];
    assert_eq!(selection["rate"], 0.1);
    let (p_values, adjusted) = (numbers(&selection["p_values"]), numbers(&selection["adjusted"]));
    let names = |rate: f64| -> Vec<&Value> {
        let names = result["feature_names"].as_array().unwrap();
        names.iter().zip(&adjusted).filter(|(_, adjusted)| **adjusted <= rate).map(|(name, _)| name).collect()
    };
    assert!(
        p_values.len() == adjusted.len() && p_values.iter().zip(&adjusted).all(|(p, adjusted)| *p <= adjusted + 1e-12)
    );
    assert_eq!(selection["features"].as_array().unwrap().iter().collect::<Vec<_>>(), names(0.1));
    assert!(!names(0.1).is_empty());
    let strict = recover("--select=0.001 --json").json();
    let strict: Vec<&Value> = strict["selection"]["features"].as_array().unwrap().iter().collect();
    assert_eq!(strict, names(0.001));
    let selected: Vec<&str> = names(0.1).iter().filter_map(|name| name.as_str()).collect();
    let line = format!("selected    {} of {} features: {}\n", selected.len(), p_values.len(), selected.join(", "));
    let parts = ["of clipped records about the mean", "At most 10 % of the selected", "Where the radius shortens many"];
    let text = recover("--select").prints(&[&line]).says(&parts).stdout;
    assert!(!text.contains("uncorrelated"), "{text}");
    // Whatever is claimed about the error says what it assumes.
    let plain = ["assumption  the population is isotropic"];
    assert!(!recover("--method pca").prints(&plain).stdout.contains("selected"));
    let drawn = ["assumption  the population", "as dense as plain"];
    let drawn = recover("--sparse --bootstrap 20").prints(&drawn).stdout;
    let bare = ["a share of the structure that is not predicted of sparse components", "that stand well out"];
    let bare = recover("--sparse").says(&bare).stdout;
    recover("--sparse --details").says(&[", of plain components from these reports"]);
    // Draws of the noise know the error of each loading.
    let components = |text: &str| words(text.lines().find(|line| line.starts_with("  1. ")).unwrap());
    let (with, without) = (components(&drawn), components(&bare));
    assert_eq!(with.matches('±').count(), 1 + without.matches('+').count() + without.matches(" -").count(), "{with}");
}

/// Under clip a covariance has the squared units of the features: text has shares of the total, and says so.
#[test]
fn variances_in_text_are_shares_of_the_total() {
    let folder = collected_by(3000, "--folds 2 --bounding clip:5");
    let line = "recover a.ldpa -t task.json --rank 1 --method pca --details";
    let result = folder.json(line);
    let printed = number(&result["total_variance"]);
    // Not less than the components hold.
    let total = printed.max(number(&result["variances"][0]));
    let captured = &result["held_out"]["answers"][0]["captured"];
    let [value, lower, upper] =
        ["value", "lower", "upper"].map(|key| format!("{:.2} %", 100.0 * number(&captured[key]) / total));
    let share = format!("{:.2} %", 100.0 * number(&result["explained_variance"][0]));
    let error = 100.0 * number(&result["variance_errors"][0]) / total;
    folder.run(line).says(&[
        &format!("1. {share} ± {error:.2} %: "),
        &format!("explained {share} of the total variance of the bounded records about zero, which is {printed:.4} ±"),
        &format!("of about 50 % of the reports capture {value} of the total variance (95 %: {lower} to {upper})"),
        "The components above are of all reports, and on average capture more (more folds",
        &format!("noise ± {:.2} % of the total variance", 100.0 * number(&result["noise_deviation"]) / total),
        "% (of the total variance)",
    ]);
    // Five folds and more leave out so little that nothing is advised.
    let folder = collected_by(3000, "--folds 5 --bounding clip:5");
    let text = words(&folder.text(line));
    assert!(text.contains("of about 80 % of the reports") && !text.contains("more folds"), "{text}");
    // A total that noise could give is nothing to have shares of.
    let folder = collected_by(12, "--folds 2 --bounding clip:5");
    let text = words(&folder.text(line));
    assert!(text.contains("variances in squared units of the encoded, bounded features: the total"), "{text}");
    assert!(!text.contains("of the total variance"), "{text}");
}

/// Bounding makes long records count no more than others, which turns what PCA of them finds: both are printed.
#[test]
fn a_reference_is_compared_bounded_and_as_it_is() {
    let folder = collected_by(3000, "--folds 1");
    let long: String = (0..40).map(|row| format!("0,0,0,{}\n", if row % 2 == 0 { 90 } else { -90 })).collect();
    let records = folder.read_text("records.csv");
    folder.write("long.csv", records + &long);
    let line = "recover a.ldpa -t task.json --rank 1 --method pca --reference long.csv --details";
    let result = folder.json(line);
    let error = |compared: &Value| number(&compared["sin_theta_squared"]);
    let ordinary = &result["ordinary_pca"];
    assert!(error(&result) < 0.1 && error(ordinary) > 0.9, "{result}");
    for compared in [ordinary, &result] {
        assert_eq!(compared["reference"]["records"], 3040);
    }
    // About zero: 40 squares of 90 among 3,040.
    let variance = numbers(&ordinary["reference"]["eigenvalues"])[0];
    assert!((variance / (40.0 * 8100.0 / 3040.0) - 1.0).abs() < 1e-3, "{variance}");
    folder.run(line).says(&[
        "from PCA without privacy of the bounded records, of which there are 3,040",
        "of the variance of the bounded records, where",
        "from ordinary PCA about zero of the same records, encoded and not bounded captured:",
    ]);
    // Records that are all the same have no variance that could be captured.
    let folder = collected_by(50, "--folds 1 --centre");
    folder.write("same.csv", "w,x,y,z\n1,2,3,4\n1,2,3,4\n");
    let text = words(&folder.text("recover a.ldpa -t task.json --rank 1 --reference same.csv"));
    assert!(text.contains("captured nothing of the variance") && !text.contains("NaN"), "{text}");
}

/// The variance of what is written along the first component is the eigenvalue that the answer has of it.
#[test]
fn the_covariance_is_written_as_it_is_and_denoised() {
    let folder = collected_by(3000, "--folds 1");
    for (denoise, values) in [("none", "/eigenvalues/0"), ("frobenius", "/covariance/eigenvalues/0")] {
        let line = format!("recover a.ldpa -t task.json --rank 1 --covariance s.json --denoise {denoise}");
        let result = folder.json(&line);
        let written: Value = serde_json::from_slice(&folder.read("s.json")).unwrap();
        let first = numbers(&result["components"][0]);
        let along = |row: &Value| numbers(row).iter().zip(&first).map(|(entry, own)| entry * own).sum::<f64>();
        let rows = written["covariance"].as_array().unwrap();
        let variance: f64 = rows.iter().zip(&first).map(|(row, own)| own * along(row)).sum();
        assert!((variance - number(result.pointer(values).unwrap())).abs() < 1e-11, "{denoise}: {variance} {result}");
    }
}
