//! `recover` with every choice of penalty, its picture, and inputs at the limits of what has an answer.

use nalgebra::{DMatrix, DVector};
use serde_json::{Value, json};

use crate::support::{Folder, npy_matrix, words};

/// Records with a strong component on (w, x), collected by a task of so many folds.
fn collected(rows: usize, folds: u32) -> Folder {
    collected_by(rows, &format!("--folds {folds}"))
}

/// Records with a strong component on (w, x), collected by a task with these options.
fn collected_by(rows: usize, options: &str) -> Folder {
    let folder = Folder::new();
    let records: String = (0..rows)
        .map(|row| {
            let phase = (row * 37 % 101) as f64 / 101.0 - 0.5;
            let (y, z) = ((row * 53 % 89) as f64 / 89.0 - 0.5, (row * 29 % 97) as f64 / 97.0 - 0.5);
            format!("{},{},{},{}\n", 4.0 * phase, 3.0 * phase, 0.5 * y, 0.4 * z)
        })
        .collect();
    folder.write("records.csv", format!("w,x,y,z\n{records}"));
    folder.run("schema infer records.csv --scaling none -o schema.json").ok();
    folder.run(&format!("task new --schema schema.json --epsilon 4 {options} -o task.json")).ok();
    folder.run("randomize records.csv -t task.json -o r.ldpr --insecure-seed 5").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    folder
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Scripts outside this repository read these keys.
#[test]
fn the_keys_of_recover_are_as_documented() {
    let folder = collected(3000, 4);
    let line = "recover a.ldpa -t task.json --rank 2 --sparse --penalty cv --path=5 --reference records.csv";
    let result = folder.run(&format!("{line} --plot picture.svg --json")).json();
    let total = result["total_variance"].as_f64().unwrap();
    let shares = numbers(&result["explained_variance"]);
    // null is noise.
    let variances = result["variances"].as_array().unwrap();
    let of_total = variances.iter().map(|variance| variance.as_f64().unwrap_or(0.0) / total);
    assert!(of_total.zip(&shares).all(|(expected, share)| (expected - share).abs() < 1e-12));
    assert!(numbers(&result["eigenvalues"]).iter().sum::<f64>() >= shares.iter().sum::<f64>() * total);
    assert!(result["total_variance_error"].as_f64().unwrap() > 0.0);
    // Records of norm 1 have a total variance of 1; this is 4 noisy diagonal entries of deviation sqrt 2 × noise.
    let noise = result["noise_deviation"].as_f64().unwrap();
    assert!((total - 1.0).abs() < 4.9 * (2.0 * 4.0f64).sqrt() * noise, "{total}");
    let leverages = numbers(&result["leverages"]);
    assert!(
        (leverages.iter().sum::<f64>() - 2.0).abs() < 1e-9 && leverages.iter().all(|&l| l > -1e-12 && l < 1.0 + 1e-9)
    );

    let hostile = &result["hostile"];
    assert_eq!(
        (&hostile["reports"], &hostile["records"], &hostile["check"]),
        (&1.into(), &3000.into(), &"none".into())
    );
    assert!(hostile["one"]["checked"].as_f64().unwrap() <= hostile["all"]["unchecked"].as_f64().unwrap());

    let sparse = &result["sparse"];
    assert_eq!(sparse["penalty_choice"], "cv");
    let folds = sparse["cross_validation"].as_array().unwrap();
    assert_eq!(folds.iter().filter(|point| point["chosen"] == true).count(), 1);
    let chosen = folds.iter().find(|point| point["chosen"] == true).unwrap();
    assert_eq!(chosen["penalty"], sparse["penalty"]);
    assert_eq!((numbers(&chosen["scores"]).len(), &chosen["standard_error"]), (4, &json!(0.0)));
    let best = chosen["mean_score"].as_f64().unwrap();
    for point in folds {
        assert!(point["mean_score"].as_f64().unwrap() <= best);
        assert!(point["factor"].is_number() && point["mean_support"].is_number());
    }
    for baseline in ["soft_threshold", "pca"] {
        let baseline = &sparse[baseline];
        assert_eq!(numbers(&baseline["eigenvalues"]).len(), 2);
        assert!(baseline["support"].is_array());
        assert!((0.0..=2.0).contains(&baseline["distance"].as_f64().unwrap()));
        assert!((0.0..=2.0).contains(&baseline["sin_theta_squared"].as_f64().unwrap()));
    }
    assert!(sparse["noise_edge"].as_f64().unwrap() <= result["noise_edge"].as_f64().unwrap());
    // 3,000 reports are far from enough for Theorem 5.
    assert_eq!(sparse["conditions"]["no_false_features"], false);
    assert!(sparse["conditions"]["most_penalty"].as_f64().unwrap() < noise);

    let path = result["path"].as_array().unwrap();
    assert_eq!(path.len(), 5);
    assert_eq!(path[0]["support_size"], 2, "the largest penalty leaves as many features as components");
    assert!(path.windows(2).all(|pair| pair[0]["penalty"].as_f64() > pair[1]["penalty"].as_f64()));
    for point in path {
        assert_eq!((point["status"].as_str(), numbers(&point["eigenvalues"]).len()), (Some("optimal"), 2));
        assert!(point["objective"].is_number() && point["iterations"].is_u64());
        assert!(point["relative_gap"].as_f64().unwrap() <= 1e-4);
    }
    assert_eq!(result["plot"], "picture.svg");
    let picture = folder.read_text("picture.svg");
    for part in ["<svg", "role=\"img\"", "<title", "<desc", "Eigenvalues", "noise edge", "Loadings", "Penalty", "\nw\n"]
    {
        assert!(picture.contains(part), "{part}");
    }

    let text = folder.run(line).ok().stdout;
    let checked = "checked on this estimate and its support, not on the population";
    for part in
        [checked, "cross-validated", "chosen", "path", "soft-thresholding", "leverages", "explained", "reference"]
    {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    let dense = folder.run("recover a.ldpa -t task.json --rank 2 --method pca --json").json();
    assert!(dense.get("sparse").is_none() && dense.get("path").is_none());
    assert_eq!(numbers(&dense["leverages"]).len(), 4);
}

#[test]
fn the_rank_is_that_of_the_components_that_stand_out_and_the_answer_is_as_if_it_were_given() {
    let folder = collected(200, 4);
    let recover = |options: &str| folder.run(&format!("recover a.ldpa -t task.json {options}"));
    let result = recover("--rank auto --json").json();
    let test = &result["rank_test"];
    assert_eq!((&test["level"], &test["draws"]), (&json!(0.05), &json!(1999)));
    let tested = test["components"].as_array().unwrap();
    let p_values: Vec<f64> = tested.iter().map(|component| component["p_value"].as_f64().unwrap()).collect();
    assert_eq!(result["rank"], 1, "{test}");
    assert!(tested.len() == 2 && p_values[0] < 0.001 && p_values[1] >= 0.05, "{test}");
    assert_eq!(tested[0]["eigenvalue"], result["eigenvalues"][0]);
    for component in tested {
        let gained = |key: &str| component["gained"][key].as_f64().unwrap();
        assert!(
            gained("lower") < gained("value") && gained("value") < gained("upper") && gained("standard_error") > 0.0
        );
        assert!(component["rest"].is_number() && component["noise_edge"].is_number());
    }
    let given = recover("--rank 1 --json").json();
    for key in ["method", "rank", "eigenvalues", "variances", "components", "held_out", "predicted"] {
        assert_eq!(given[key], result[key], "{key}");
    }
    assert!(given.get("rank_test").is_none());
    let text = recover("--rank auto --method pca").ok().stdout;
    let chosen = format!("rank        1 chosen: component 2 has p = {:.3};", p_values[1]);
    for part in [&chosen, "held out adds (95 %)", "< 0.001", "if the population is isotropic"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
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
    let text = recover("--select").ok().stdout;
    let selected: Vec<&str> = names(0.1).iter().filter_map(|name| name.as_str()).collect();
    let line = format!("selected    {} of {} features: {}\n", selected.len(), p_values.len(), selected.join(", "));
    assert!(text.contains(&line) && !text.contains("uncorrelated"), "{text}");
    let said = words(&text);
    for part in ["of clipped records about the mean", "At most 10 % of the selected", "Where the radius shortens many"]
    {
        assert!(said.contains(part), "'{part}' is not in: {text}");
    }
    let (plain, drawn) = (recover("--method pca").ok().stdout, recover("--sparse --bootstrap 20").ok().stdout);
    assert!(!plain.contains("selected"));
    // Whatever is claimed about the error says what it assumes.
    assert!(plain.contains("assumption  of variances and prediction: the population is isotropic"), "{plain}");
    assert!(
        drawn.contains("assumption  of variances, prediction and interval: the population")
            && drawn.contains("as dense as plain"),
        "{drawn}"
    );
    let bare = recover("--sparse").ok().stdout;
    let said = words(&bare);
    assert!(said.contains(", of plain components from these reports") && said.contains("of variances and prediction"));
    // Draws of the noise know the error of each loading.
    let components = |text: &str| words(text.lines().find(|line| line.starts_with("  1. ")).unwrap());
    let (with, without) = (components(&drawn), components(&bare));
    assert_eq!(with.matches('±').count(), 1 + without.matches('+').count() + without.matches(" -").count(), "{with}");
}

/// About zero, the means alone make second moments other than zero; under unit norm bounding alone makes covariances.
#[test]
fn features_are_not_selected_where_reports_do_not_say_which_covary() {
    for (task, objection) in [
        ("", "does not take the mean off"),
        ("--bounding clip:6", "does not take the mean off"),
        ("--centre", "unit norm makes features covary"),
    ] {
        let folder = collected_by(50, task);
        for options in ["--select", "--select=0.2 --json"] {
            let line = format!("recover a.ldpa -t task.json --rank 1 {options} -o c.csv");
            folder.run(&line).refused(2, &["--select", objection, "task new --centre --bounding clip"]);
        }
        assert!(!folder.path("c.csv").exists());
    }
}

/// Under clip a covariance has the squared units of the features: text has shares of the total, and says so.
#[test]
fn variances_in_text_are_shares_of_the_total() {
    let folder = collected_by(3000, "--folds 2 --bounding clip:5");
    let line = "recover a.ldpa -t task.json --rank 1 --method pca";
    let result = folder.run(&format!("{line} --json")).json();
    let number = |value: &Value| value.as_f64().unwrap();
    let printed = number(&result["total_variance"]);
    // Not less than the components hold.
    let total = printed.max(number(&result["variances"][0]));
    let captured = &result["held_out"]["answers"][0]["captured"];
    let [value, lower, upper] =
        ["value", "lower", "upper"].map(|key| format!("{:.2} %", 100.0 * number(&captured[key]) / total));
    let text = folder.run(line).ok().stdout;
    let said = words(&text);
    let share = format!("{:.2} %", 100.0 * number(&result["explained_variance"][0]));
    let error = 100.0 * number(&result["variance_errors"][0]) / total;
    for part in [
        format!("1. {share} ± {error:.2} %: "),
        format!("explained {share} of the total variance of the bounded records about zero, which is {printed:.4} ±"),
        format!("of about 50 % of the reports capture {value} of the total variance (95 %: {lower} to {upper})"),
        "The components above are of all reports, and on average capture more (more folds".to_owned(),
        format!("noise ± {:.2} % of the total variance", 100.0 * number(&result["noise_deviation"]) / total),
        "% (of the total variance)".to_owned(),
    ] {
        assert!(said.contains(&part), "'{part}' is not in: {text}");
    }
    // Five folds and more leave out so little that nothing is advised.
    let folder = collected_by(3000, "--folds 5 --bounding clip:5");
    let text = words(&folder.run(line).ok().stdout);
    assert!(text.contains("of about 80 % of the reports") && !text.contains("more folds"), "{text}");
    // A total that noise could give is nothing to have shares of.
    let folder = collected_by(12, "--folds 2 --bounding clip:5");
    let text = words(&folder.run(line).ok().stdout);
    assert!(text.contains("variances in squared units of the encoded, bounded features: the total"), "{text}");
    assert!(!text.contains("of the total variance"), "{text}");
}

/// Values around 1e8 with a spread of 1, by the file's own largest as the scale: E[x x'] - m m' has no right digit.
/// The shares and the direction are those of the spread.
#[test]
fn a_reference_far_from_zero_is_compared_by_its_spread() {
    for offset in [1e7, -1e8, 1e9] {
        let folder = Folder::new();
        let rows: String = (0..900)
            .map(|row| {
                let [a, b, c] = [(37, 101), (53, 89), (29, 97)]
                    .map(|(step, period)| f64::from(row * step % period) / f64::from(period) - 0.5);
                format!("{:.4},{:.4},{:.4}\n", offset + 4.0 * a, offset + 2.0 * a + 0.4 * b, offset + c)
            })
            .collect();
        folder.write("records.csv", format!("a,b,c\n{rows}"));
        folder.run("schema infer records.csv --scaling max-abs -o schema.json").ok();
        folder.run("task new --schema schema.json --epsilon 8 --centre --bounding clip:2 -o task.json").ok();
        folder.run("randomize records.csv -t task.json -o r.ldpr --insecure-seed 1").ok();
        folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
        let line = "recover a.ldpa -t task.json --rank 1 --method pca --reference records.csv";
        let result = folder.run(&format!("{line} --json")).json();
        // Of the variances (16 + 4 + 1 + 0.16) / 12, the first has all but some 5 %.
        for compared in [&result, &result["ordinary_pca"]] {
            let reference = &compared["reference"];
            let [share, largest] =
                ["captured_variance", "largest_captured_variance"].map(|key| reference[key].as_f64().unwrap());
            assert!((0.943..0.955).contains(&largest) && (0.0..=largest + 1e-6).contains(&share), "{reference}");
            let spread = numbers(&reference["eigenvalues"])[0] * offset * offset;
            assert!((spread / (20.0 / 12.0) - 1.0).abs() < 0.05, "{spread}");
        }
    }
}

/// Bounding makes long records count no more than others, which turns what PCA of them finds: both are printed.
#[test]
fn a_reference_is_compared_bounded_and_as_it_is() {
    let folder = collected_by(3000, "--folds 1");
    let long: String = (0..40).map(|row| format!("0,0,0,{}\n", if row % 2 == 0 { 90 } else { -90 })).collect();
    let records = folder.read_text("records.csv");
    folder.write("long.csv", records + &long);
    let line = "recover a.ldpa -t task.json --rank 1 --method pca --reference long.csv";
    let result = folder.run(&format!("{line} --json")).json();
    let error = |compared: &Value| compared["sin_theta_squared"].as_f64().unwrap();
    let ordinary = &result["ordinary_pca"];
    assert!(error(&result) < 0.1 && error(ordinary) > 0.9, "{result}");
    assert_eq!((&ordinary["reference"]["records"], &result["reference"]["records"]), (&json!(3040), &json!(3040)));
    // About zero: 40 squares of 90 among 3,040.
    let variance = numbers(&ordinary["reference"]["eigenvalues"])[0];
    assert!((variance / (40.0 * 8100.0 / 3040.0) - 1.0).abs() < 1e-3, "{variance}");
    let text = folder.run(line).ok().stdout;
    let said = words(&text);
    for part in [
        "from PCA without privacy of the bounded records, of which there are 3,040",
        "of the variance of the bounded records, where",
        "from ordinary PCA about zero of the same records, encoded and not bounded captured:",
    ] {
        assert!(said.contains(part), "'{part}' is not in: {text}");
    }
    // Records that are all the same have no variance that could be captured.
    let folder = collected_by(50, "--folds 1 --centre");
    folder.write("same.csv", "w,x,y,z\n1,2,3,4\n1,2,3,4\n");
    let text = words(&folder.run("recover a.ldpa -t task.json --rank 1 --reference same.csv").ok().stdout);
    assert!(text.contains("captured nothing of the variance") && !text.contains("NaN"), "{text}");
}

#[test]
fn where_no_component_stands_out_there_is_no_answer_and_a_remedy() {
    let folder = collected(2, 1);
    let line = "recover a.ldpa -t task.json --rank auto -o c.csv";
    folder.run(line).refused(1, &["no component stands out from the noise: the first has p = ", "`ldp-pca plan`"]);
    assert!(!folder.path("c.csv").exists());
}

#[test]
fn penalties_that_cannot_be_chosen_are_refused_with_the_remedy() {
    let single = collected(40, 1);
    let line = "recover a.ldpa -t task.json --rank 1";
    single.run(&format!("{line} --sparse --penalty cv")).refused(2, &["has 1", "task new --folds 5"]);
    // Forty reports leave some of 64 folds empty.
    collected(40, 64).run(&format!("{line} --sparse --penalty cv")).refused(1, &["of 64", "no reports", "--folds 2"]);
    for (options, part) in [
        ("--sparse --penalty much", "'much' is neither auto, nor cv, nor a number"),
        ("--sparse --penalty -0.5", "penalty -0.5"),
        ("--sparse --penalty inf", "penalty inf"),
        ("--penalty cv", "--sparse"),
        ("--path", "--sparse"),
        ("--sparse --path=1", "2..=1000"),
        ("--sparse --path=x", "x"),
        ("--plot picture.png", "picture.png: the plot can be written as .svg"),
    ] {
        single.run(&format!("{line} {options} -o c.csv")).refused(2, &[part]);
    }
    assert!(!single.path("c.csv").exists() && !single.path("picture.png").exists());
}

#[test]
fn the_ends_of_the_range_of_penalties_have_their_known_answers() {
    let folder = collected(500, 1);
    let recover = |options: &str| folder.run(&format!("recover a.ldpa -t task.json {options} --json")).json();
    // Without penalty, plain components; the picture of either can be drawn.
    for rank in 1..=4 {
        let plain = recover(&format!("--rank {rank} --plot a.svg"));
        let unpenalised = recover(&format!("--rank {rank} --sparse --penalty 0 --plot a.svg"));
        for (left, right) in
            plain["components"].as_array().unwrap().iter().zip(unpenalised["components"].as_array().unwrap())
        {
            let pairs = numbers(left).into_iter().zip(numbers(right));
            // With k = d the solution is all of space, and the basis in it that of the estimate, as always.
            assert!(pairs.into_iter().all(|(left, right)| (left - right).abs() < 1e-9), "{plain} {unpenalised}");
        }
        assert!(unpenalised["sparse"]["pca"]["distance"].as_f64().unwrap() < 1e-12);
        assert_eq!(unpenalised["sparse"]["status"], "optimal");
    }
    // Beyond every entry, X is diagonal: as many features as components.
    let most = recover("--rank 2 --sparse --penalty 1e6");
    assert_eq!((most["sparse"]["support"].as_array().unwrap().len(), &most["sparse"]["iterations"]), (2, &json!(0)));
    let whole = recover("--rank 4 --sparse --path");
    assert_eq!(whole["sparse"]["support"].as_array().unwrap().len(), 4);
}

#[test]
fn one_feature_and_fewer_reports_than_features_have_a_defined_answer() {
    let folder = Folder::new();
    folder.write("one.csv", "x\n1\n-2\n3\n0.5\n");
    folder.run("schema infer one.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 4 --folds 1 -o task.json").ok();
    folder.run("randomize one.csv -t task.json -o r.ldpr --insecure-seed 1").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    for options in ["", "--sparse", "--sparse --path", "--sparse --penalty 3"] {
        let line = format!("recover a.ldpa -t task.json --rank 1 --plot one.svg {options} --json");
        assert_eq!(folder.run(&line).json()["components"], json!([[1.0]]), "{options}");
    }

    let folder = collected(2, 1);
    for options in ["", "--sparse"] {
        let line = format!("recover a.ldpa -t task.json --rank 3 {options} --plot few.svg");
        let text = folder.run(&line).ok().stdout;
        assert!(text.contains("cannot be distinguished from noise"), "{text}");
        let result = folder.run(&format!("{line} --json")).json();
        assert_eq!((&result["records"], result["components"].as_array().unwrap().len()), (&json!(2), 3));
    }
}

#[test]
fn the_zero_matrix_has_a_solution() {
    let folder = Folder::new();
    folder.write("zero.npy", npy_matrix(&[&[0.0; 3], &[0.0; 3], &[0.0; 3]]));
    for penalty in ["0", "0.5"] {
        let result = folder.run(&format!("solve zero.npy --rank 2 --penalty {penalty} --json")).json();
        assert_eq!((&result["status"], &result["support"]), (&json!("optimal"), &json!([0, 1])));
        assert!(result["relative_gap"].as_f64().unwrap() < 1e-14);
    }
}

#[test]
fn simulate_compares_methods_on_the_same_reports() {
    let folder = Folder::new();
    let common = "simulate --epsilon 4 --dimension 20 --sparsity 4 --rank 2 --records 2000 --trials 2 --seed 3";
    let plain = folder.run(&format!("{common} --json")).json();
    assert_eq!(plain["methods"][0]["method"], "pca");
    assert_eq!(plain["methods"][0]["sin_theta_squared"], plain["sin_theta_squared"]);
    assert!(plain.get("penalty_factor").is_none());
    let all = folder.run(&format!("{common} --method pca,soft-threshold,fantope --json")).json();
    assert_eq!(all["sin_theta_squared"], plain["sin_theta_squared"]);
    assert_eq!((all["methods"].as_array().unwrap().len(), &all["penalty_factor"]), (3, &json!(0.5)));
    let mean = |index: usize| all["methods"][index]["sin_theta_squared"]["mean"].as_f64().unwrap();
    assert!(mean(1) < mean(0) && mean(2) < mean(0), "{all}");
    let text = folder.run(&format!("{common} --method pca,soft-threshold,fantope")).ok().stdout;
    assert!(text.contains("soft-threshold") && text.contains("fantope"), "{text}");
    folder.run(&format!("{common} --method magic")).refused(2, &["magic"]);
    folder.run(&format!("{common} --penalty-factor -1")).refused(2, &["--penalty-factor is -1"]);
    folder.run(&format!("{common} --penalty-factor nan")).refused(2, &["--penalty-factor is NaN"]);
}

#[test]
fn the_error_is_predicted_and_bounded_by_drawing_the_noise_again() {
    let folder = collected(3000, 1);
    let plain = folder.run("recover a.ldpa -t task.json --rank 1 --bootstrap 40 --json").json();
    assert_eq!(plain["confidence"]["replicates"], 40);
    let of = |key: &str| plain["confidence"][key].as_f64().unwrap();
    assert!(0.0 <= of("lower") && of("lower") <= of("median") && of("median") <= of("upper") && of("upper") <= 1.0);
    assert_eq!(plain["confidence"]["components"][0]["distinguishable"], true);
    let predicted = plain["predicted"]["sin_theta_squared"].as_f64().unwrap();
    assert!(predicted > 0.2 * of("lower") && predicted < 5.0 * of("upper"), "{plain}");
    // The same seed draws the same noise.
    let again = folder.run("recover a.ldpa -t task.json --rank 1 --bootstrap 40 --json").json();
    assert_eq!(again["confidence"], plain["confidence"]);

    let sparse = folder.run("recover a.ldpa -t task.json --rank 1 --sparse --bootstrap 40 --json").json();
    let stability = numbers(&sparse["confidence"]["support_stability"]);
    assert!(stability.len() == 4 && stability[0] > 0.9 && stability[1] > 0.9, "{stability:?}");
    let text = folder.run("recover a.ldpa -t task.json --rank 1 --sparse --bootstrap 40").ok().stdout;
    assert!(text.contains("interval ") && text.contains("stability   "), "{text}");

    folder.run("recover a.ldpa -t task.json --rank 1 --bootstrap 5").refused(2, &["5 replicates", "at least 20"]);
    folder.run("recover a.ldpa -t task.json --rank 4 --bootstrap 40").refused(2, &["whole space"]);
    folder.run("task new --schema schema.json --epsilon 4 --centre -o centred.json").ok();
    folder.run("randomize records.csv -t centred.json -o c.ldpr --insecure-seed 5").ok();
    folder.run("aggregate c.ldpr -t centred.json -o c.ldpa").ok();
    folder.run("recover c.ldpa -t centred.json --rank 1 --covariance s.csv").refused(2, &["centring", "--denoise psd"]);
    folder.run("recover c.ldpa -t centred.json --rank 1 --covariance s.csv --denoise psd").ok();
    let centred = folder.run("recover c.ldpa -t centred.json --rank 1 --bootstrap 40 --json").json();
    let of = |key: &str| centred["confidence"][key].as_f64().unwrap();
    assert!(0.0 <= of("lower") && of("lower") <= of("median") && of("median") <= of("upper") && of("upper") <= 1.0);
    assert!(centred["predicted"]["sin_theta_squared"].is_number(), "{centred}");
}

#[test]
fn the_covariance_is_written_as_it_is_and_denoised() {
    let folder = collected(3000, 1);
    let matrix = |denoise: &str| {
        let line = format!("recover a.ldpa -t task.json --rank 1 --covariance s.json --denoise {denoise} --json");
        let result = folder.run(&line).json();
        assert_eq!(
            (&result["covariance"]["denoising"], &result["covariance"]["output"]),
            (&json!(denoise), &json!("s.json"))
        );
        let written: Value = serde_json::from_slice(&folder.read("s.json")).unwrap();
        assert_eq!(written["feature_names"], json!(["w", "x", "y", "z"]));
        let columns: Vec<f64> = written["covariance"].as_array().unwrap().iter().flat_map(numbers).collect();
        (result, DMatrix::from_vec(4, 4, columns))
    };
    let (result, raw) = matrix("none");
    // The total comes from what the reports say of the records' lengths.
    let within = 4.9 * result["total_variance_error"].as_f64().unwrap();
    assert!((raw.trace() - result["total_variance"].as_f64().unwrap()).abs() < within);
    let first = DVector::from_vec(numbers(&result["components"][0]));
    assert!((first.dot(&(&raw * &first)) - result["eigenvalues"][0].as_f64().unwrap()).abs() < 1e-12);
    for denoise in ["frobenius", "operator", "psd"] {
        let (result, denoised) = matrix(denoise);
        let values = denoised.symmetric_eigenvalues();
        assert!(values.min() > -1e-12, "{denoise}: {values}");
        if denoise == "psd" {
            continue;
        }
        let shrunk = numbers(&result["covariance"]["eigenvalues"]);
        assert!(
            (values.max() - shrunk[0]).abs() < 1e-12
                && (values.min() - result["covariance"]["bulk"].as_f64().unwrap()).abs() < 1e-12
        );
        // The same eigenvectors.
        assert!((&denoised * &first - values.max() * &first).norm() < 1e-12);
    }
    folder.run("recover a.ldpa -t task.json --rank 1 --covariance s.csv").ok();
    assert!(folder.read_text("s.csv").starts_with("feature,w,x,y,z\nw,"));
    folder.run("recover a.ldpa -t task.json --rank 1 --covariance s.txt").refused(2, &["s.txt", ".csv, .npy or .json"]);
    folder.run("recover a.ldpa -t task.json --rank 1 --denoise psd").refused(2, &["--covariance"]);
}

/// Two collections of one population, and one of records whose strong component is on (y, z) instead.
#[test]
fn another_collection_is_compared_and_the_change_is_found() {
    let folder = collected(3000, 4);
    folder.run("randomize records.csv -t task.json -o s.ldpr --insecure-seed 6").ok();
    folder.run("aggregate s.ldpr -t task.json -o same.ldpa").ok();
    let turned = folder.read_text("records.csv").replacen("w,x,y,z", "y,z,w,x", 1);
    folder.write("turned.csv", turned);
    folder.run("task new --schema schema.json --epsilon 3 --folds 1 -o june.json").ok();
    folder.run("randomize turned.csv -t june.json -o t.ldpr --insecure-seed 7").ok();
    folder.run("aggregate t.ldpr -t june.json -o june.ldpa").ok();

    let line = "recover a.ldpa -t task.json --rank 1 --method pca";
    let same = folder.run(&format!("{line} --other same.ldpa --json")).json();
    let other = &same["other"];
    assert_eq!((&other["aggregate"], &other["records"]), (&json!("same.ldpa"), &json!(3000)));
    assert_eq!((&other["level"], &other["replicates"]), (&json!(0.95), &json!(200)));
    assert!(other["p_value"].as_f64().unwrap() > 0.01, "{other}");
    assert!(other["sin_theta_squared"].as_f64().unwrap() < 0.2 && other["quantile"].as_f64().unwrap() < 0.2);
    assert_eq!((&other["held_out"]["folds"], &other["held_out"]["level"]), (&json!(4), &json!(0.95)));
    for measure in ["captured", "own"] {
        let measure = &other["held_out"][measure];
        let [value, error] = ["value", "standard_error"].map(|key| measure[key].as_f64().unwrap());
        assert!(value.abs() < 4.0 * error, "{measure}");
        assert!(measure["lower"].as_f64().unwrap() < measure["upper"].as_f64().unwrap());
    }
    assert_eq!(folder.run(&format!("{line} --other same.ldpa --json")).json()["other"], *other, "the seed is fixed");

    let june = "--other june.ldpa --other-task june.json";
    let changed = folder.run(&format!("{line} {june} --bootstrap 40 --json")).json();
    assert_eq!((&changed["other"]["p_value"], &changed["other"]["replicates"]), (&json!(1.0 / 41.0), &json!(40)));
    assert!(changed["other"].get("held_out").is_none());

    let said = folder.run(&format!("{line} --other same.ldpa")).ok().stdout;
    let text = words(&said);
    for part in [
        "reports of same.ldpa",
        "isotropic except",
        "One population explains the difference (p = 0.",
        "own components",
        "the last two, of the total variance here, are measured",
    ] {
        assert!(text.contains(part), "'{part}' is not in: {said}");
    }
    let said = folder.run(&format!("{line} {june}")).ok().stdout;
    let text = words(&said);
    for part in ["differ more than one population explains (p = 0.005)", "a model nothing is tested", "no folds"] {
        assert!(text.contains(part), "'{part}' is not in: {said}");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 90), "{said}");

    let late = folder.run(&format!("{line} --other same.ldpa --time-limit 1e-9 --json")).json();
    let last = late["unfinished"].as_array().unwrap().last().unwrap();
    assert_eq!(*last, json!({ "part": "other", "done": 1, "of": 200 }));
    assert!(late["other"].get("p_value").is_none() && late["other"]["held_out"].is_object());
}

#[test]
fn collections_that_cannot_be_compared_are_refused() {
    let folder = collected(200, 1);
    let line = "recover a.ldpa -t task.json --rank 1";
    folder.run(&format!("{line} --other a.ldpa")).refused(1, &["a.ldpa: both are the same sums", "different reports"]);
    folder.run("randomize records.csv -t task.json -o s.ldpr --insecure-seed 6").ok();
    folder.run("aggregate r.ldpr s.ldpr -t task.json -o both.ldpa").ok();
    folder.run(&format!("{line} --other both.ldpa")).refused(1, &["both.ldpa", "200 of ", "different reports"]);
    folder.run("aggregate s.ldpr -t task.json -o s.ldpa").ok();
    folder.run("recover a.ldpa -t task.json --rank 4 --other s.ldpa").refused(2, &["whole space"]);
    folder.run(&format!("{line} --other s.ldpa --bootstrap 5")).refused(2, &["5 replicates"]);
    folder.run(&format!("{line} --other-task task.json")).refused(2, &["--other"]);
    folder.run(&format!("{line} --other missing.ldpa")).refused(1, &["missing.ldpa"]);

    folder.write("three.csv", "w,x,y\n1,2,3\n2,3,4\n");
    folder.run("schema infer three.csv --scaling none -o three-schema.json").ok();
    folder.write("renamed.json", folder.read_text("schema.json").replace("\"z\"", "\"v\""));
    for (schema, options, header, parts) in [
        ("three-schema.json", "", "w,x,y", ["has 4 features", "other 3"]),
        ("renamed.json", "", "w,x,y,v", ["'z'", "'v'"]),
        ("schema.json", "--centre", "w,x,y,z", ["centring", "agree on it"]),
    ] {
        folder.run(&format!("task new --schema {schema} --epsilon 4 {options} -o other.json --force")).ok();
        let row = |value: &str| vec![value; header.split(',').count()].join(",");
        folder.write("other.csv", format!("{header}\n{}\n{}\n", row("1"), row("2")));
        folder.run("randomize other.csv -t other.json -o o.ldpr --insecure-seed 6 --force").ok();
        folder.run("aggregate o.ldpr -t other.json -o o.ldpa").ok();
        let other = format!("{line} --other o.ldpa");
        folder.run(&other).refused(1, &["o.ldpa: the aggregate belongs to task", "--other-task"]);
        folder.run(&format!("{other} --other-task other.json")).refused(1, &["other.json: ", parts[0], parts[1]]);
    }
}

/// Two groups that chose, one epsilon 1 and the other 4. The records of one set of people stand for both.
fn family() -> Folder {
    let folder = collected(3000, 4);
    folder.run("task new --schema schema.json --epsilon 1 --folds 4 -o low.json").ok();
    folder.run("randomize records.csv -t low.json -o low.ldpr --insecure-seed 6").ok();
    folder.run("aggregate low.ldpr -t low.json -o low.ldpa").ok();
    folder
}

#[test]
fn the_tasks_of_a_family_are_recovered_together() {
    let folder = family();
    let line = "recover low.ldpa a.ldpa -t task.json -t low.json";
    let recover = |options: &str| {
        let mut result = folder.run(&format!("{line} {options} --json")).json();
        result.as_object_mut().unwrap().remove("seconds");
        result
    };
    let result = recover("--rank 1 --bootstrap 20");
    let members = result["family"].as_array().unwrap();
    let of = |key: &str| members.iter().map(|member| member[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert_eq!((of("epsilon"), of("delta"), of("records")), (vec![4.0, 1.0], vec![0.0; 2], vec![3000.0; 2]));
    assert!((of("weight").iter().sum::<f64>() - 1.0).abs() < 1e-12 && of("weight")[0] > of("weight")[1]);
    for (member, task) in members.iter().zip(["task.json", "low.json"]) {
        assert_eq!(member["task"], folder.run(&format!("inspect {task} --json")).json()["digest"]);
    }
    assert_eq!(result["records"], 6000);
    for (aggregate, task) in [("a.ldpa", "task.json"), ("low.ldpa", "low.json")] {
        let alone = folder.run(&format!("recover {aggregate} -t {task} --rank 1 --json")).json();
        assert!(alone.get("family").is_none());
        for key in ["noise_deviation", "noise_edge"] {
            assert!(result[key].as_f64().unwrap() < alone[key].as_f64().unwrap(), "{key}");
        }
    }
    assert!(result["predicted"]["sin_theta_squared"].is_number() && result["confidence"]["replicates"] == 20);
    assert_eq!((&result["held_out"]["folds"], &result["hostile"]["records"]), (&json!(4), &json!(6000)));

    // In any order, and with everything that one task has.
    let turned = folder.run("recover a.ldpa low.ldpa -t task.json -t low.json --rank 1 --bootstrap 20 --json").json();
    assert_eq!(turned["components"], result["components"]);
    let first = &recover("--rank auto")["rank_test"]["components"][0];
    assert!(first["p_value"].as_f64().unwrap() < 0.001 && first["gained"]["standard_error"].is_number(), "{first}");
    let sparse =
        recover("--rank 1 --sparse --penalty cv --path=3 --covariance s.csv --plot p.svg --reference records.csv");
    assert_eq!(sparse["sparse"]["cross_validation"][0]["scores"].as_array().unwrap().len(), 4);
    assert!(sparse["sin_theta_squared"].as_f64().unwrap() < 0.1, "{sparse}");

    let text = folder.run(&format!("{line} --rank 1")).ok().stdout;
    let said = words(&text);
    for part in ["from 6,000 reports", "family 2 tasks, weighted", "people of a task with less noise count more"] {
        assert!(said.contains(part), "'{part}' is not in: {text}");
    }
    let single = folder.run("recover a.ldpa -t task.json --rank 1").ok().stdout;
    assert!(!single.contains("family"), "{single}");
}

#[test]
fn collections_that_are_no_family_are_refused_by_name() {
    let folder = family();
    folder.run("task new --schema schema.json --epsilon 2 --folds 5 -o folds.json").ok();
    folder.run("task new --schema schema.json --epsilon 2 --folds 4 --centre -o centred.json").ok();
    folder.run("task new --schema schema.json --epsilon 2 --folds 4 -o third.json").ok();
    for (tasks, aggregates, parts) in [
        ("-t task.json -t folds.json", "a.ldpa low.ldpa", ["folds.json: ", "has 5 folds and the first one 4"]),
        ("-t task.json -t centred.json", "a.ldpa low.ldpa", ["centred.json: ", "another centring"]),
        ("-t task.json -t task.json", "a.ldpa a.ldpa", ["task.json: ", "given twice"]),
        ("-t task.json -t low.json", "a.ldpa", ["low.json: no aggregate of this task was given", "leave the task out"]),
        (
            "-t task.json -t low.json",
            "a.ldpa a.ldpa",
            ["a.ldpa: it is of the same task as a.ldpa", "`ldp-pca aggregate`"],
        ),
        ("-t task.json", "a.ldpa low.ldpa", ["low.ldpa: the aggregate belongs to task", "--task"]),
        ("-t task.json -t third.json", "a.ldpa low.ldpa", ["low.ldpa: the aggregate belongs to task", "was not given"]),
        ("-t task.json -t low.json", "a.ldpa low.ldpr", ["low.ldpr: it holds reports", "`ldp-pca aggregate`"]),
    ] {
        folder.run(&format!("recover {aggregates} {tasks} --rank 1 -o c.csv")).refused(1, &parts);
    }
    let both = "recover a.ldpa low.ldpa -t task.json -t low.json";
    folder.run(&format!("{both} --rank 1 --other a.ldpa")).refused(2, &["--other", "one task each"]);
    folder.run(&format!("{both} --rank 7")).refused(2, &["rank 7"]);
    assert!(!folder.path("c.csv").exists());
}
