//! Numbers in texts: the digits that count.

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
        has_no_long_figure(folder.run(line)).says(&["optimal", objective]);
    }
    // The smallest numbers have few digits, and what is left of them counts.
    let folder = matrix(1e-320);
    let result = folder.gives("solve s.npy --rank 2 --penalty 1e-321", json!({"status": "optimal"}));
    assert!(number(&result["relative_gap"]) <= 1e-6, "{result}");
    folder.run("solve s.npy --rank 2 --penalty 1e-321").says(&["e-320"]);
}
