//! The sentences of the documents that sum up a table of a study, beside that table. The tables are what the programs
//! print; nothing else has their rows.

use std::path::Path;

/// A document, by its path from research/docs.
fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)).unwrap()
}

/// The cells of a document's table, which begins with this, without its head.
fn table<'a>(document: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = document.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The numbers of a cell.
fn numbers(cell: &str) -> Vec<f64> {
    cell.split([' ', ',']).filter_map(|word| word.trim_matches(['*', '(', ')']).parse().ok()).collect()
}

fn number(cell: &str) -> f64 {
    numbers(cell)[0]
}

/// The least and the largest.
fn ends(all: &[f64]) -> [f64; 2] {
    let end = |of: fn(f64, f64) -> f64| all.iter().copied().reduce(of).unwrap();
    [end(f64::min), end(f64::max)]
}

/// Asserts that these are the numbers of a sentence, up to half of their last place.
fn are<const N: usize>(found: [f64; N], stated: [f64; N], place: f64) {
    for (one, other) in found.into_iter().zip(stated) {
        assert!((one - other).abs() < 0.51 * place, "{found:?} {stated:?}");
    }
}

fn says(document: &str, sentence: &str) {
    let text = document.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(sentence), "{sentence}");
}

#[test]
fn cells_of_the_grid_are_counted_once_in_each_group() {
    let text = document("predicted.md");
    let rows = table(&text, "| cells | number | median |");
    let count = |name: &str| {
        let found = rows.iter().filter(|row| row[0].starts_with(name));
        found.map(|row| number(row[1])).sum::<f64>()
    };
    let below = count("predicted below 0.5");
    are([count("double-cap") + count("Gaussian"), count("d = "), count("k = "), count("epsilon = ")], [below; 4], 1.0);
    are([below + count("predicted 0.5 and more")], [count("all")], 1.0);
}

#[test]
fn half_of_the_components_is_found_near_the_predicted_threshold() {
    let text = document("predicted.md");
    let rows = table(&text, "| mechanism | epsilon | k | predicted threshold");
    let column = |index: usize| -> Vec<f64> { rows.iter().map(|row| number(row[index])).collect() };
    let halves = [column(5), column(6)].concat();
    assert_eq!(halves.len(), 24);
    are(ends(&halves), [0.89, 1.04], 0.01);
    let mut crossings = column(4);
    crossings.sort_by(f64::total_cmp);
    are([(crossings[5] + crossings[6]) / 2.0], [0.90], 0.01);
    crossings.retain(|crossing| (*crossing).max(1.0 / *crossing) > 1.3);
    assert_eq!(crossings, [0.67]);
    says(&text, "In all 24 settings half of the components is found within a factor of 0.89 to 1.04");
    says(&text, "The crossings have median 0.90. One of the twelve");
    says(&text, "is further than a factor of 1.3 from 1 (0.67)");
}

#[test]
fn penalties_are_as_good_as_is_said() {
    let text = document("penalties.md");
    let rows = table(&text, "| d | s | k | epsilon | n | method |");
    let (mut few, mut many, mut larger, mut chosen) = (vec![], vec![], vec![], vec![]);
    for setting in rows.chunks(2) {
        let [fantope, soft] = [0, 1].map(|row: usize| [0, 1, 2, 3, 4, 5].map(|at| number(setting[row][6 + at])));
        let (features, plain) = (number(setting[0][0]), number(setting[0][12]));
        let least = ends(&fantope)[0];
        if let [cv] = numbers(setting[0][13])[..] {
            chosen.push(cv);
            assert!((cv / least.min(plain) - 1.0).abs() < 0.04, "{setting:?}");
        }
        if setting[0][0] == setting[0][1] {
            assert!(least.min(ends(&soft)[0]) > plain, "where nothing is sparse every penalty hurts");
            continue;
        }
        assert!(ends(&soft)[0] == soft[2] && soft[2] > least, "{setting:?}");
        assert_eq!(least, fantope[if features > 100.0 { 0 } else { 1 }], "{setting:?}");
        if features > 100.0 {
            many.push(fantope[1] / fantope[0]);
        } else {
            few.push(fantope[0] / fantope[1]);
        }
        larger.push(fantope[2] / fantope[1]);
    }
    are([few, many, larger].map(|ratios| ends(&ratios)[1]), [1.6, 1.5, 2.1], 0.1);
    let standard_error = [0.125, 0.270, 0.330, 0.135, 0.430];
    let more: Vec<f64> = standard_error.iter().zip(&chosen).map(|(one, other)| one / other).collect();
    assert_eq!(chosen.len(), more.len());
    are([ends(&more)[1]], [1.15], 0.01);
    says(&text, "gave 0.125, 0.270, 0.330, 0.135 and 0.430: the same, or up to 15 % more");
    says(&text, "0.25 has up to 1.6 times the error");
    says(&text, "0.5 has up to 1.5 times its error");
    says(&text, "0.75 has up to 2.1 times the error of 0.5");
    says(&text, "was within 4 % of the best column or of plain components");
}

/// Asserts that a ratio is that of two errors, whose few digits give it to three per cent.
fn is_ratio(stated: &str, one: &str, other: &str) {
    let found = number(one) / number(other);
    assert!((number(stated) / found - 1.0).abs() < 0.03, "{stated}: {one} / {other} = {found}");
}

#[test]
fn two_waves_gain_what_is_said() {
    let text = document("two-waves.md");
    let (mut ratios, mut larger) = (vec![], vec![]);
    for row in table(&text, "| records | n | epsilon | first wave | error after it |") {
        is_ratio(row[9], row[5], row[7]);
        if row[8] != "refused" {
            is_ratio(row[8], row[6], row[7]);
            ratios.push(number(row[8]));
            if row[2] == "1" {
                larger.push(number(row[7]) / number(row[6]));
            }
        }
    }
    ratios.sort_by(f64::total_cmp);
    assert_eq!(ratios.len(), 10);
    are([(ratios[4] + ratios[5]) / 2.0], [0.97], 0.01);
    are(ends(&larger), [1.16, 1.24], 0.01);
    says(&text, "The median of the ratios that are not refused is 0.97. At epsilon 1 the error is 16 to 24 % larger");
}

#[test]
fn shrinkage_cuts_and_raises_errors_as_is_said() {
    let text = document("two-waves.md");
    let rows = table(&text, "| loadings | d = 12 |");
    let all = |row: &[&str]| row[1..].iter().flat_map(|cell| numbers(cell)).collect::<Vec<_>>();
    are(ends(&all(&rows[0])), [0.18, 0.47], 0.01);
    are([ends(&[all(&rows[2]), all(&rows[3])].concat())[1]], [1.13], 0.01);
    says(&text, "cut the error to between .18 and .47 of its size");
    says(&text, "raised it by up to 13 % where all are used");
}

#[test]
fn a_third_wave_is_not_worth_its_trouble_from_epsilon_2_on() {
    let text = document("two-waves.md");
    for row in table(&text, "| records | n | epsilon | two waves | shares | three waves |") {
        is_ratio(row[7], row[3], row[5]);
        let (gain, from_2) = (number(row[7]), row[2] != "1");
        if row[0].starts_with("declining") && !from_2 {
            assert!((1.2..=1.3).contains(&gain), "{row:?}");
        }
        assert!(!from_2 || gain < 1.2, "{row:?}");
        assert!(!from_2 || !row[0].starts_with("KDD") || gain < 1.0, "{row:?}");
    }
    says(&text, "From epsilon 2 on the gain is below 1.2");
    says(&text, "At epsilon 1 it is 1.2 to 1.3 where components decline.");
    says(&text, "With real records three waves lose at epsilon 2 and 4");
}

#[test]
fn the_likelihood_gains_little() {
    let text = document("likelihood.md");
    for row in table(&text, "| population (d, k, reports) | epsilon 1 |") {
        for cell in &row[1..] {
            let [sum, likelihood, _] = numbers(cell)[..] else { panic!("{cell}") };
            let ratio = sum / likelihood;
            assert!(!row[0].starts_with("KDD") || (1.05..1.25).contains(&ratio), "{row:?}: {ratio}");
            assert!(!row[0].contains("(12, ") || (ratio - 1.0).abs() < 0.1, "{row:?}: {ratio}");
        }
    }
    says(&text, "on KDD Cup 99 the error from the sum was 1.1 to 1.2 times that from likelihood");
}

#[test]
fn intervals_of_sparse_components_hold_least_often() {
    let text = document("coverage.md");
    let rows =
        table(&text, "| population | epsilon | `--bootstrap`, plain | `--bootstrap`, sparse | captured, plain |");
    let column = |index: usize| -> Vec<f64> { rows.iter().map(|row| number(row[index])).collect() };
    let (sparse, difference) = (column(3), column(5));
    assert_eq!([ends(&sparse)[0], ends(&difference)[0]], [84.0, 83.0]);
    assert_eq!(sparse.iter().filter(|held| **held == 84.0).count(), 2);
    assert!(ends(&[column(2), column(4), column(6)].concat())[0] > 84.0);
    let least = difference.iter().position(|held| *held == 83.0).unwrap();
    assert_eq!(number(rows[least][6]), 94.0);
    says(&text, "(83 of 100, and 94 of them what the components found without a fold capture)");
    says(&text, "`--bootstrap` for sparse components (84 of 100, in two places)");
}

/// PrivUnit beside double-cap: the noise of the one over that of the other, for 10, 40, 116 and 400 features.
#[test]
fn the_stated_shares_are_those_of_the_tables() {
    let [least, optimality, since] =
        ["least-noise.md", "../../docs/privacy/optimality.md", "since-2022.md"].map(document);
    let own = table(&least, "| d | epsilon 0.25 |");
    let other = table(&optimality, "| epsilon | d |");
    let epsilons = ["0.25", "0.5", "1", "2", "4"];
    let ratios = |epsilon: &str| -> Vec<f64> {
        let column = 1 + epsilons.iter().position(|one| *one == epsilon).unwrap();
        let double_cap = |features: &str| other.iter().find(|row| row[..2] == [epsilon, features]).unwrap()[3];
        own.iter().map(|row| number(row[column]) / number(double_cap(row[0]))).collect()
    };
    for (epsilon, stated, place) in
        [("0.25", [0.79, 0.89], 0.02), ("0.5", [0.86, 0.95], 0.02), ("2", [1.4, 1.4], 0.06), ("4", [2.0, 2.4], 0.06)]
    {
        are(ends(&ratios(epsilon)), stated, place);
    }
    // Between 0.5 and 1, by a straight line in logarithms.
    for ((row, low), high) in own.iter().zip(ratios("0.5")).zip(ratios("1")) {
        let crossing = 0.5 * 2f64.powf(low.ln() / (low / high).ln());
        assert!((crossing - number(row[6])).abs() < 0.05, "{row:?}: {crossing}");
    }
    says(&least, "by 5 to 14 % at 0.5, and 11 to 21 % at 0.25. It has 1.4 times as much at 2, and 2 to 2.4 times");
    says(&optimality, "5 to 21 % less noise up to epsilon 0.5, but 1.4 times as much at 2");
    says(&since, "by up to 21 % at 0.25; at 4 it has 2 to 2.4 times as much");
}
