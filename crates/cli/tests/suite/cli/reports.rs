//! Reports in Parquet files, beside the plain file of the same reports.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, NullArray,
    StringArray,
};
use ldp_pca::report::report_bytes;
use ldp_pca::task::Task;
use ldp_pca_cli::columnar::{Content, for_each_report_batch};
use ldp_pca_cli::error::{CliError, Result};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterPropertiesBuilder as Builder, WriterVersion};
use serde_json::{Value, json};

use super::columnar;
use crate::support::Folder;

/// A folder with ten reports in `a.ldpr`, and the reports. Their sum is in `a.ldpa`.
fn collected() -> (Folder, Vec<Vec<u8>>) {
    let folder = Folder::with_task();
    folder.collect("people.csv --insecure-seed 1", "task", "a");
    let task = Task::from_json(&folder.read_text("task.json")).unwrap();
    let reports = folder.read("a.ldpr").chunks(report_bytes(&task)).map(<[u8]>::to_vec).collect();
    (folder, reports)
}

/// A Parquet file of these columns.
fn parquet(columns: Vec<(&str, ArrayRef)>, properties: impl FnOnce(Builder) -> Builder) -> Vec<u8> {
    columnar::parquet(&columnar::batch(columns), properties)
}

/// Of these cells alone.
fn reports_in(cells: Vec<Option<&[u8]>>) -> Vec<u8> {
    parquet(vec![("report", Arc::new(BinaryArray::from(cells)))], |properties| properties)
}

fn cells(reports: &[Vec<u8>]) -> Vec<Option<&[u8]>> {
    reports.iter().map(|report| Some(&report[..])).collect()
}

#[test]
fn their_sums_are_those_of_the_plain_file() {
    let (folder, reports) = collected();
    let slices = cells(&reports);
    let width = i32::try_from(reports[0].len()).unwrap();
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(slices.iter().copied(), width).unwrap();
    let columns: [ArrayRef; 4] = [
        Arc::new(fixed),
        Arc::new(BinaryArray::from(slices.clone())),
        Arc::new(LargeBinaryArray::from(slices.clone())),
        Arc::new(slices.iter().copied().collect::<BinaryViewArray>()),
    ];
    let zstd = Compression::ZSTD(ZstdLevel::default());
    for column in columns {
        let kind = column.data_type().to_string();
        let hour: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        for content in [
            parquet(vec![("report", column.clone())], |properties| properties),
            parquet(vec![("hour", hour), ("report", column.clone())], |properties| properties.set_compression(zstd)),
            parquet(vec![("report", column)], |properties| {
                properties.set_writer_version(WriterVersion::PARQUET_2_0).set_dictionary_enabled(false)
            }),
        ] {
            folder.write("r.parquet", content);
            let expected = json!({"records": 10, "duplicates": 0});
            folder.gives("aggregate r.parquet -t task.json -o out.ldpa", expected);
            assert!(folder.read("out.ldpa") == folder.read("a.ldpa"), "{kind}");
        }
    }
    folder.redirected("aggregate - -t task.json -o piped.ldpa", "r.parquet").ok();
    assert!(folder.read("piped.ldpa") == folder.read("a.ldpa"));
}

#[test]
fn each_report_counts_once_in_files_of_both_kinds() {
    let (folder, reports) = collected();
    for (name, part) in [("monday", &reports[..7]), ("tuesday", &reports[5..]), ("none", &[])] {
        folder.write(&format!("{name}.parquet"), reports_in(cells(part)));
    }
    let line = "aggregate monday.parquet none.parquet a.ldpr tuesday.parquet -t task.json -o out.ldpa";
    folder.gives(line, json!({"records": 10, "duplicates": 12}));
    assert!(folder.read("out.ldpa") == folder.read("a.ldpa"));
    folder.refused("aggregate a.ldpa monday.parquet -t task.json -o other.ldpa", 1, &["monday.parquet"]);
}

#[test]
fn what_is_no_report_is_refused_by_its_row_or_left_out() {
    let (folder, reports) = collected();
    let mut altered = reports[2].clone();
    altered[5] ^= 1;
    let empty = "null or no bytes instead of a report";
    let bad: [(Option<&[u8]>, &str); 4] = [
        (None, empty),
        (Some(b""), empty),
        (Some(&reports[2][1..]), "not a report"),
        (Some(&altered), "the report answers task"),
    ];
    for (row, problem) in bad {
        let mut rows = cells(&reports);
        rows[2] = row;
        folder.write("bad.parquet", reports_in(rows));
        let run = folder.run("aggregate bad.parquet -t task.json -o out.ldpa --json");
        let error: Value = serde_json::from_str(&run.stderr).unwrap();
        assert_eq!((&error["error"]["file"], &error["error"]["row"]), (&"bad.parquet".into(), &3.into()), "{run:?}");
        run.refused(1, &["bad.parquet, row 3: ", problem, "--skip-invalid"]);
        let expected = json!({"records": 9, "skipped": 1});
        let counts = folder.gives("aggregate bad.parquet -t task.json -o some.ldpa --skip-invalid", expected);
        let first = counts["first_skipped"].as_str().unwrap();
        assert!(first.starts_with("in bad.parquet, row 3: ") && first.contains(problem), "{first}");
    }
    folder.run("task new --schema schema.json --epsilon 3 -o other.json").ok();
    folder.write("r.parquet", reports_in(cells(&reports)));
    folder.refused("aggregate r.parquet -t other.json -o out.ldpa", 1, &["r.parquet, row 1: "]);
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn other_tables_are_refused_with_the_remedy() {
    let (folder, reports) = collected();
    let cells: Vec<&[u8]> = reports.iter().map(|report| &report[..]).collect();
    let named: ArrayRef = Arc::new(BinaryArray::from(cells));
    let cases: [(&str, ArrayRef, &str); 3] = [
        ("answers", named, "no column 'report' among its 1: give what `ldp-pca store export` wrote"),
        ("report", Arc::new(StringArray::from(vec!["a", "b"])), "column 'report' is of type Utf8"),
        ("report", Arc::new(NullArray::new(2)), "column 'report' is of type"),
    ];
    for (name, column, problem) in cases {
        folder.write("other.parquet", parquet(vec![(name, column)], |properties| properties));
        let run = folder.run("aggregate other.parquet -t task.json -o out.ldpa");
        assert!(!run.stderr.contains("answers"), "{run:?}");
        run.refused(1, &["other.parquet: ", problem]);
    }
}

/// The reports of a file that may be damaged.
fn read(content: &[u8]) -> Result<Vec<Vec<u8>>> {
    const MOST: usize = 1 << 16;
    let (content, mut found) = (Content::Stream(Box::new(Cursor::new(content.to_vec()))), vec![]);
    for_each_report_batch(Path::new("damaged.parquet"), content, (1, MOST, MOST), |rows| {
        found.extend(rows.iter().map(|row| row.to_vec()));
        if found.len() > MOST { Err(CliError::failed("enough rows")) } else { Ok(()) }
    })?;
    Ok(found)
}

#[test]
fn a_file_that_was_cut_or_altered_is_an_error() {
    let (folder, reports) = collected();
    let content = reports_in(cells(&reports));
    for length in (4..content.len()).step_by(211) {
        folder.write("cut.parquet", &content[..length]);
        let run = folder.run("aggregate cut.parquet -t task.json -o out.ldpa");
        assert!(!run.stderr.contains("panicked"), "{length} {run:?}");
        run.refused(1, &["cut.parquet: the Parquet file cannot be read: it was cut", "write it again"]);
    }
    assert_eq!(read(&content).unwrap(), reports);
    let mut errors = 0;
    for place in 0..800 {
        let mut damaged = content.clone();
        let at = 4 + place * 7919 % (content.len() - 4);
        damaged[at] ^= [0xff, 0x80, 0x01, 0x55][place % 4];
        errors += u32::from(read(&damaged).is_err());
    }
    assert!(errors > 10, "{errors}");
}
