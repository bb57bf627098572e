//! Numbers in texts: the digits that count, and figures as they were written.

use serde_json::json;

use crate::support::{Folder, Run, npy_matrix, number};

/// A folder with a symmetric matrix of trace 6 in `s.npy`, times this factor.
fn matrix(factor: f64) -> Folder {
    let folder = Folder::new();
    let rows: [[f64; 3]; 3] = [[3.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 1.0]];
    let rows = rows.map(|row| row.map(|entry| entry * factor));
    folder.write("s.npy", npy_matrix(&[&rows[0], &rows[1], &rows[2]]));
    folder
}

/// No text has more zeros in a row than a number of people has.
fn has_no_long_figure(run: Run) -> Run {
    let long = |text: &str| text.contains(&"0".repeat(16));
    assert!(!long(&run.stdout) && !long(&run.stderr), "{run:?}");
    run
}

#[test]
fn all_components_of_a_matrix_have_its_trace_and_no_gap() {
    let folder = matrix(1.0);
    for penalty in [0.0, 1e-300, 0.5] {
        let line = format!("solve s.npy --rank 3 --penalty {penalty}");
        let result = folder.gives(&line, json!({"status": "optimal", "relative_gap": 0.0}));
        assert!((number(&result["objective"]) - (6.0 - 3.0 * penalty)).abs() < 1e-12, "{result}");
        has_no_long_figure(folder.run(&line)).says(&["relative gap 0.0e0"]);
    }
}

#[test]
fn entries_of_any_unit_are_solved_and_shown() {
    for (factor, objective) in [(1.0, "6.000000000"), (1e-12, "6.00000000e-12"), (1e-300, "e-300"), (1e150, "e150")] {
        let folder = matrix(factor);
        for rank in 1..=3 {
            let line = format!("solve s.npy --rank {rank} --penalty {}", 1e-3 * factor);
            let result = folder.gives(&line, json!({"status": "optimal"}));
            assert!(number(&result["relative_gap"]) <= 1e-6, "{result}");
            has_no_long_figure(folder.run(&line)).ok();
        }
        let line = "solve s.npy --rank 3 --penalty 0";
        has_no_long_figure(folder.run(line)).says(&[objective]);
    }
    // The smallest numbers have few digits, and what is left of them counts.
    let folder = matrix(1e-320);
    let result = folder.gives("solve s.npy --rank 2 --penalty 1e-321", json!({"status": "optimal"}));
    assert!(number(&result["relative_gap"]) <= 1e-6, "{result}");
    folder.run("solve s.npy --rank 2 --penalty 1e-321").says(&["e-320"]);
}

#[test]
fn figures_in_messages_are_as_they_were_written() {
    let folder = Folder::with_task();
    let task = "task new --schema schema.json -o t.json";
    for (line, code, said) in [
        (format!("{task} --epsilon 1e-300"), 2, "epsilon 1e-300 is too small"),
        (format!("{task} --epsilon 1e300"), 2, "epsilon 1e300"),
        (format!("{task} --epsilon -1e200"), 2, "epsilon is -1e200"),
        (format!("{task} --epsilon 2 --bounding clip:1e200"), 2, "the clipping radius is 1e200"),
        (format!("{task} --mechanism gaussian --epsilon 1 --delta 1e-300"), 2, "delta 1e-300 is below"),
        (format!("{task} --mechanism wang-xu --epsilon 1e200"), 2, "with epsilon 1e200"),
        (format!("{task} --epsilon 1 --centre 1e-200"), 2, "weight is 1e-200"),
        ("plan --dimension 9 --spectrum 1e-300 --epsilon 1".to_owned(), 2, "the spectrum has 1e-300"),
        ("plan --dimension 9 --spectrum 1e300 --epsilon 1".to_owned(), 2, "sum to 1e300"),
        ("plan --dimension 9 --spectrum 0.5 --epsilon 1 --target 1e200".to_owned(), 2, "the target error is 1e200"),
        ("simulate --epsilon 1 --signal -1e200".to_owned(), 2, "signal is -1e200"),
        ("recover a.ldpa -t task.json --time-limit -1e200".to_owned(), 2, "-1e200 is not a positive"),
    ] {
        let run = has_no_long_figure(folder.run(&line));
        run.refused(code, &[said]);
    }
    for (line, said) in [
        ("account --task task.json --delta 1e-300", "delta 1e-300:"),
        ("plan --dimension 9 --rank 1 --spectrum 0.5 --epsilon 1 --records 9 --target 1e-300", "error 1e-300 "),
        (
            "task new --schema schema.json -o small.json --epsilon 1e-20 --mechanism gaussian --delta 0.1",
            "(1e-20, 0.1)-",
        ),
        ("inspect small.json", "(1e-20, 0.1)-"),
    ] {
        has_no_long_figure(folder.run(line)).says(&[said]);
    }
}

/// What the message says is done, and accepted.
#[test]
fn the_remedies_for_a_delta_that_is_too_small_are_accepted() {
    let folder = Folder::with_task();
    let new = |epsilon: &str, delta: &str| {
        let options = format!("--mechanism gaussian --epsilon {epsilon} --delta {delta} -o t.json --force");
        folder.run(&format!("task new --schema schema.json {options}"))
    };
    let both = ("100", "1e-300");
    let one = [("100", "1e-6"), ("1e300", "0.5"), ("30", "1e-9"), ("1", "1e-300"), ("38", "0.9"), ("1e-17", "1e-300")];
    for (epsilon, delta) in one.into_iter().chain([both]) {
        let refusal = new(epsilon, delta);
        let message = refusal.stderr.clone();
        refusal.refused(2, &["is below twice the sampler's own error"]);
        let after =
            |words: &str| message.split_once(words).map(|(_, rest)| rest.split([',', ' ', '\n']).next().unwrap());
        let (raised, lowered) = (after("raise delta to at least "), after("lower epsilon to at most "));
        assert!(raised.is_some() || lowered.is_some(), "{message}");
        if (epsilon, delta) == both {
            new(lowered.unwrap(), raised.unwrap()).ok();
            continue;
        }
        if let Some(delta) = raised {
            new(epsilon, delta).ok();
        }
        if let Some(epsilon) = lowered {
            new(epsilon, delta).ok();
        }
    }
}
