//! Reports in Parquet files, beside the plain file of the same reports.

use std::fs::File;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, NullArray,
    RecordBatch, StringArray,
};
use ldp_pca::report::report_bytes;
use ldp_pca::task::Task;
use ldp_pca_cli::fuzzing;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::support::Folder;

/// A folder with ten reports in `r.ldpr`, and the reports. Their sum is in `a.ldpa`.
fn collected() -> (Folder, Vec<Vec<u8>>) {
    let folder = Folder::with_task();
    folder.run("randomize people.csv -t task.json -o r.ldpr --insecure-seed 1").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    let task = Task::from_json(&folder.read_text("task.json")).unwrap();
    let reports = folder.read("r.ldpr").chunks(report_bytes(&task)).map(<[u8]>::to_vec).collect();
    (folder, reports)
}

/// A Parquet file of row groups of four.
fn parquet(columns: Vec<(&str, ArrayRef)>, properties: impl FnOnce(Builder) -> Builder) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let records = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = properties(WriterProperties::builder().set_max_row_group_row_count(Some(4))).build();
    let mut writer = ArrowWriter::try_new(vec![], records.schema(), Some(properties)).unwrap();
    writer.write(&records).unwrap();
    writer.into_inner().unwrap()
}

type Builder = parquet::file::properties::WriterPropertiesBuilder;

/// Of these reports alone.
fn reports_in(reports: Vec<Option<&[u8]>>) -> Vec<u8> {
    parquet(vec![("report", Arc::new(BinaryArray::from(reports)))], |properties| properties)
}

#[test]
fn their_sums_are_those_of_the_plain_file() {
    let (folder, reports) = collected();
    let slices: Vec<Option<&[u8]>> = reports.iter().map(|report| Some(&report[..])).collect();
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
            let counts = folder.run("aggregate r.parquet -t task.json -o out.ldpa --json").json();
            assert_eq!((&counts["records"], &counts["duplicates"]), (&10.into(), &0.into()), "{kind}");
            assert!(folder.read("out.ldpa") == folder.read("a.ldpa"), "{kind}");
        }
    }
    let mut command = folder.command("aggregate - -t task.json -o piped.ldpa".split(' '));
    let piped = command.stdin(File::open(folder.path("r.parquet")).unwrap()).output().unwrap();
    assert!(piped.status.success() && folder.read("piped.ldpa") == folder.read("a.ldpa"), "{piped:?}");
}

#[test]
fn each_report_counts_once_in_files_of_both_kinds() {
    let (folder, reports) = collected();
    let slices = |part: &[Vec<u8>]| reports_in(part.iter().map(|report| Some(&report[..])).collect::<Vec<_>>());
    folder.write("monday.parquet", slices(&reports[..7]));
    folder.write("tuesday.parquet", slices(&reports[5..]));
    folder.write("none.parquet", slices(&[]));
    let line = "aggregate monday.parquet none.parquet r.ldpr tuesday.parquet -t task.json -o out.ldpa --json";
    let counts = folder.run(line).json();
    assert_eq!((&counts["records"], &counts["duplicates"]), (&10.into(), &12.into()));
    assert!(folder.read("out.ldpa") == folder.read("a.ldpa"));
    folder.run("aggregate a.ldpa monday.parquet -t task.json -o other.ldpa").refused(1, &["monday.parquet"]);
}

#[test]
fn what_is_no_report_is_refused_by_its_row_or_left_out() {
    let (folder, reports) = collected();
    let mut altered = reports[2].clone();
    altered[5] ^= 1;
    let bad: [(Option<&[u8]>, &str); 4] = [
        (None, "null or no bytes instead of a report"),
        (Some(b""), "null or no bytes instead of a report"),
        (Some(&reports[2][1..]), "not a report"),
        (Some(&altered), "the report answers task"),
    ];
    for (row, problem) in bad {
        let mut rows: Vec<Option<&[u8]>> = reports.iter().map(|report| Some(&report[..])).collect();
        rows[2] = row;
        folder.write("bad.parquet", reports_in(rows));
        let run = folder.run("aggregate bad.parquet -t task.json -o out.ldpa --json");
        let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
        assert_eq!((&error["error"]["file"], &error["error"]["row"]), (&"bad.parquet".into(), &3.into()), "{run:?}");
        run.refused(1, &["bad.parquet, row 3: ", problem, "--skip-invalid"]);
        let counts = folder.run("aggregate bad.parquet -t task.json -o some.ldpa --skip-invalid --json").json();
        assert_eq!((&counts["records"], &counts["skipped"]), (&9.into(), &1.into()));
        let first = counts["first_skipped"].as_str().unwrap();
        assert!(first.starts_with("in bad.parquet, row 3: ") && first.contains(problem), "{first}");
    }
    folder.run("task new --schema schema.json --epsilon 3 -o other.json").ok();
    folder.write("r.parquet", reports_in(reports.iter().map(|report| Some(&report[..])).collect()));
    folder.run("aggregate r.parquet -t other.json -o out.ldpa").refused(1, &["r.parquet, row 1: "]);
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn other_tables_are_refused_with_the_remedy() {
    let (folder, reports) = collected();
    let cells: Vec<&[u8]> = reports.iter().map(|report| &report[..]).collect();
    let named: ArrayRef = Arc::new(BinaryArray::from(cells));
    let cases: [(&str, ArrayRef, &str); 3] = [
        ("answers", named, "no column 'report' among its 1: give what an aggregator or `ldp-pca store export` wrote"),
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

#[test]
fn a_file_that_was_cut_or_altered_is_an_error() {
    let (folder, reports) = collected();
    let content = reports_in(reports.iter().map(|report| Some(&report[..])).collect());
    for length in (4..content.len()).step_by(211) {
        folder.write("cut.parquet", &content[..length]);
        let run = folder.run("aggregate cut.parquet -t task.json -o out.ldpa");
        assert!(!run.stderr.contains("panicked"), "{length} {run:?}");
        run.refused(1, &["cut.parquet: the Parquet file cannot be read: it was cut", "not sealed it yet", "export"]);
    }
    assert_eq!(fuzzing::reports(&content).unwrap(), reports);
    let mut errors = 0;
    for place in 0..800 {
        let mut damaged = content.clone();
        let at = 4 + place * 7919 % (content.len() - 4);
        damaged[at] ^= [0xff, 0x80, 0x01, 0x55][place % 4];
        errors += u32::from(fuzzing::reports(&damaged).is_err());
    }
    assert!(errors > 10, "{errors}");
}
