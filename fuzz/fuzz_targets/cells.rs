//! Any bytes are kept cells up to the first line that is not a cell; kept cells are written as they were read, and an
//! experiment can state its findings.
#![no_main]

use ldp_pca_literature::experiments::{Scale, Table, Value, all};
use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the experiment, and whether the head is made right.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let experiments = all();
    let experiment = experiments[usize::from(choice & 0x7f) % experiments.len()].as_ref();
    let mut file = bytes.to_vec();
    if choice & 0x80 != 0 {
        file.splice(..0, format!("{}\n", research::head(experiment)).into_bytes());
    }
    let columns = experiment.columns();
    let (head, mut cells, length) = research::cells(&file, columns.len());
    assert!(length as usize <= file.len() && (head || cells.is_empty()));
    assert!(length == 0 || file[length as usize - 1] == b'\n');
    cells.sort_by(|left, right| left.0.cmp(&right.0));
    let mut written = format!("{}\n", research::head(experiment));
    let mut table = Table::new(columns);
    for (cell, rows) in &cells {
        assert!(rows.iter().flatten().all(|value| !matches!(value, Value::Number(number) if number.is_infinite())));
        written += &format!("{}\n", research::line(cell, rows));
        table.extend(rows.clone());
    }
    let (_, mut again, whole) = research::cells(written.as_bytes(), columns.len());
    assert_eq!(whole as usize, written.len());
    again.sort_by(|left, right| left.0.cmp(&right.0));
    // As text: NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{cells:?}"));
    if !table.is_empty() {
        let _ = experiment.findings(Scale::Quick, &table);
    }
});
