//! Parquet and Arrow files, written by the crates of Apache Arrow, beside the CSV file of the same records.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampMillisecondArray, UInt16Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::records::{Opening, RecordFile};
use ldp_pca_records::looks_like_names;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use serde_json::{Value, json};

use crate::support::{Folder, gzip};

/// The records as pandas writes them to CSV.
const RECORDS: &str = "\
age,height,plan,score,member,visits,share,code,note,nothing
31,1.8,free,-2.0,True,3,0.50,7,\"a, b\",
45,0.1,paid,0.1,False,,1.25,7,NA,
27,,,1e-06,,0,-0.75,,,
62,1e+16,free,16777216.0,True,-5,12.00,-1,Zürich,
19,NaN,trial,,True,250,,7,\"say \"\"yes\"\"\",
";

fn records() -> RecordBatch {
    let plans: DictionaryArray<Int32Type> =
        [Some("free"), Some("paid"), None, Some("free"), Some("trial")].into_iter().collect();
    let codes = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![Some(0), Some(0), None, Some(1), Some(0)]),
        Arc::new(Int64Array::from(vec![7, -1])),
    );
    let shares = Decimal128Array::from(vec![Some(50), Some(125), Some(-75), Some(1200), None]);
    let notes = vec![Some("a, b"), Some("NA"), Some(""), Some("Zürich"), Some("say \"yes\"")];
    batch(vec![
        ("age", Arc::new(UInt16Array::from(vec![31, 45, 27, 62, 19]))),
        ("height", Arc::new(Float64Array::from(vec![Some(1.8), Some(0.1), None, Some(1e16), Some(f64::NAN)]))),
        ("plan", Arc::new(plans)),
        ("score", Arc::new(Float32Array::from(vec![Some(-2.0), Some(0.1), Some(1e-6), Some(16_777_216.0), None]))),
        ("member", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true), Some(true)]))),
        ("visits", Arc::new(Int32Array::from(vec![Some(3), None, Some(0), Some(-5), Some(250)]))),
        ("share", Arc::new(shares.with_precision_and_scale(10, 2).unwrap())),
        ("code", Arc::new(codes)),
        ("note", Arc::new(StringArray::from(notes))),
        ("nothing", Arc::new(NullArray::new(5))),
    ])
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

/// A Parquet file of row groups of three.
pub(super) fn parquet(
    records: &RecordBatch,
    properties: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
) -> Vec<u8> {
    let properties = properties(WriterProperties::builder().set_max_row_group_row_count(Some(3))).build();
    let mut writer = ArrowWriter::try_new(vec![], records.schema(), Some(properties)).unwrap();
    writer.write(records).unwrap();
    writer.into_inner().unwrap()
}

/// An Arrow file of two batches.
fn feather(records: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(vec![], &records.schema(), options).unwrap();
    for part in halves(records) {
        writer.write(&part).unwrap();
    }
    writer.into_inner().unwrap()
}

/// An Arrow stream of two batches.
fn stream(records: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(vec![], &records.schema()).unwrap();
    for part in halves(records) {
        writer.write(&part).unwrap();
    }
    writer.into_inner().unwrap()
}

fn halves(records: &RecordBatch) -> [RecordBatch; 2] {
    let half = records.num_rows() / 2;
    [records.slice(0, half), records.slice(half, records.num_rows() - half)]
}

/// The records as Parquet, as an Arrow file and as an Arrow stream.
fn formats(records: &RecordBatch) -> [Vec<u8>; 3] {
    [parquet(records, |properties| properties), feather(records, None), stream(records)]
}

/// The records in every format and with every compression, by the name of a file.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let records = records();
    let [plain, file, stream] = formats(&records);
    let packed = |compression| parquet(&records, |properties| properties.set_compression(compression));
    let zstd = Compression::ZSTD(ZstdLevel::default());
    vec![
        ("plain.parquet", plain),
        ("snappy.parquet", packed(Compression::SNAPPY)),
        ("zstd.parquet", packed(zstd)),
        ("lz4.parquet", packed(Compression::LZ4_RAW)),
        ("gzip.parquet", packed(Compression::GZIP(GzipLevel::default()))),
        (
            "second-version.parquet",
            parquet(&records, |properties| {
                let properties = properties.set_writer_version(WriterVersion::PARQUET_2_0).set_compression(zstd);
                properties.set_dictionary_enabled(false)
            }),
        ),
        ("packed.parquet.gz", gzip(&packed(Compression::SNAPPY))),
        ("no-name", packed(Compression::SNAPPY)),
        ("lz4.feather", feather(&records, Some(CompressionType::LZ4_FRAME))),
        ("zstd.arrow", feather(&records, Some(CompressionType::ZSTD))),
        ("packed.arrow.gz", gzip(&file)),
        ("plain.feather", file),
        ("misnamed.csv", stream.clone()),
        ("stream.arrows", stream),
    ]
}

/// A folder with [`RECORDS`] in `records.csv`, their schema in `schema.json` and a task in `task.json`.
fn with_task() -> Folder {
    let folder = Folder::new();
    folder.write("records.csv", RECORDS);
    folder.make_task("records.csv --categorical code --ignore nothing", "--epsilon 2");
    folder
}

/// The reports of a file, from a fixed seed; what is told of it has these members.
fn reports(folder: &Folder, name: &str, members: &Value) -> Vec<u8> {
    folder.randomize(&format!("{name} --insecure-seed 7 --json")).gives(members.clone());
    folder.read("out.ldpr")
}

#[test]
fn the_same_records_give_the_same_schema_and_the_same_reports() {
    let folder = with_task();
    let counts = json!({"records": 5, "missing_values": 10});
    let expected = reports(&folder, "records.csv", &counts);
    for (name, content) in files() {
        folder.write(name, content);
        assert!(reports(&folder, name, &counts) == expected, "{name}");
        folder.run(&format!("schema infer {name} --categorical code --ignore nothing -o inferred.json --force")).ok();
        assert_eq!(folder.read_text("inferred.json"), folder.read_text("schema.json"), "{name}");
    }
}

/// The end of a file says where its batches are: those of the first of two files would be read in place of those of the
/// second.
#[test]
fn files_that_were_joined_are_refused() {
    let folder = with_task();
    let records = records();
    let last = records.slice(3, 2);
    let files: [fn(&RecordBatch) -> Vec<u8>; 4] = [
        |records| parquet(records, |properties| properties),
        |records| parquet(records, |properties| properties.set_dictionary_enabled(false)),
        |records| feather(records, None),
        stream,
    ];
    for (place, file) in files.iter().enumerate() {
        for (first, second) in [(&records, &records), (&records, &last), (&last, &records)] {
            folder.write("joined", [file(first), file(second)].concat());
            let words =
                if place == 3 { "goes on after the end of its stream" } else { "several files, one after the other" };
            folder.refused("schema infer joined --ignore nothing", 1, &["joined", words]);
            folder.randomize("joined").refused(1, &["joined", words]);
            folder.write("joined.gz", gzip(&folder.read("joined")));
            folder.randomize("joined.gz").refused(1, &["joined.gz", words]);
        }
    }
}

#[test]
fn types_of_texts_and_numbers_do_not_matter() {
    let folder = Folder::new();
    folder.write("records.csv", "x,city\n1,Lima\n-2,Paris\n");
    folder.make_task("records.csv", "--epsilon 2");
    let counts = json!({"records": 2});
    let expected = reports(&folder, "records.csv", &counts);
    let numbers: [ArrayRef; 4] = [
        Arc::new(Int8Array::from(vec![1, -2])),
        Arc::new(Int64Array::from(vec![1, -2])),
        Arc::new(Float32Array::from(vec![1.0, -2.0])),
        Arc::new(Decimal128Array::from(vec![1000, -2000]).with_precision_and_scale(9, 3).unwrap()),
    ];
    let texts: [ArrayRef; 4] = [
        Arc::new(StringArray::from(vec!["Lima", "Paris"])),
        Arc::new(LargeStringArray::from(vec!["Lima", "Paris"])),
        Arc::new(StringViewArray::from(vec!["Lima", "Paris"])),
        Arc::new(["Lima", "Paris"].into_iter().collect::<DictionaryArray<Int32Type>>()),
    ];
    for (number, text) in numbers.into_iter().zip(texts) {
        let kinds = format!("{} {}", number.data_type(), text.data_type());
        // The order is another one too.
        let records = batch(vec![("city", text), ("x", number)]);
        for content in formats(&records) {
            folder.write("other", content);
            assert!(reports(&folder, "other", &counts) == expected, "{kinds}");
        }
    }
}

/// Such rows are not made texts.
#[test]
fn rows_of_numbers_alone_give_the_same_reports() {
    let folder = Folder::new();
    folder.write("records.csv", "x,y,z,when\n0.1,-3,0.5,1\n1e-06,,NaN,2\n16777216.0,9007199254740993,2.0,3\n");
    folder.make_task("records.csv --ignore when", "--epsilon 2");
    let counts = json!({"missing_values": 2});
    let expected = reports(&folder, "records.csv", &counts);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("when", Arc::new(Date32Array::from(vec![1, 2, 3]))),
        ("z", Arc::new(Float64Array::from(vec![0.5, f64::NAN, 2.0]))),
        ("y", Arc::new(Int64Array::from(vec![Some(-3), None, Some(9_007_199_254_740_993)]))),
        ("x", Arc::new(Float32Array::from(vec![0.1, 1e-6, 16_777_216.0]))),
    ];
    for records in [batch(columns[1..].to_vec()), batch(columns)] {
        for content in formats(&records) {
            folder.write("other", content);
            assert!(reports(&folder, "other", &counts) == expected);
        }
    }
}

#[test]
fn from_a_pipe_too() {
    let folder = with_task();
    for (name, content) in files().into_iter().filter(|(name, _)| ["zstd.parquet", "lz4.feather"].contains(name)) {
        folder.write(name, content);
        let randomize = "ldp-pca randomize /dev/stdin -t task.json -o out.ldpr --force --json";
        folder.shell(&format!("cat {name} | {randomize}")).gives(json!({"records": 5}));
    }
}

#[test]
fn other_types_are_refused_unless_the_schema_ignores_them() {
    let inside: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let inside = StructArray::from(vec![(Arc::new(Field::new("secret", DataType::Int32, true)), inside)]);
    let others: [(&str, ArrayRef); 4] = [
        ("Timestamp", Arc::new(TimestampMillisecondArray::from(vec![1, 2]))),
        ("Date32", Arc::new(Date32Array::from(vec![1, 2]))),
        ("Binary", Arc::new(BinaryArray::from(vec![&b"a"[..], b"b"]))),
        ("Struct", Arc::new(inside)),
    ];
    let folder = Folder::new();
    for (kind, column) in others {
        let records = batch(vec![("x", Arc::new(Int64Array::from(vec![1, -2]))), ("other", column)]);
        for content in formats(&records) {
            folder.write("records", content);
            let problem = format!("column 'other' is of type {kind}, which is neither a number nor a text");
            folder.refused("schema infer records -o schema.json --force", 1, &["records: ", &problem, "--ignore"]);
            folder.make_task("records --ignore other", "--epsilon 2");
            folder.randomize("records").ok();
            let schema =
                folder.read_text("schema.json").replace("\"ignored\"", "\"numeric\", \"offset\": 0, \"scale\": 1");
            folder.write("other.json", schema);
            folder.run("task new --schema other.json --epsilon 2 -o task.json --force").ok();
            let refused = ["records, row 1: ", &problem, "no value of the column can be read"];
            folder.randomize("records").refused(1, &refused);
            let one = records.slice(0, 1);
            for content in formats(&one) {
                folder.write("one", content);
                let counts = folder.randomize("one --json").json();
                assert_eq!((&counts["records"], &counts["unread"][0]["column"]), (&1.into(), &"other".into()));
            }
        }
    }
}

#[test]
fn messages_name_the_row_and_the_column_and_no_value() {
    let folder = Folder::new();
    folder.write("sample.csv", "x,y\n1,2\n3,4\n");
    folder.make_task("sample.csv", "--epsilon 2");
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let records = batch(vec![("x", numbers.clone()), ("y", Arc::new(StringArray::from(vec!["1", "2", "seven"])))]);
    folder.write("text.parquet", parquet(&records, |properties| properties));
    let parts = ["text.parquet, row 3:", "'y' is numeric but holds a text", "--strict"];
    let run = folder.randomize("text.parquet --strict");
    assert!(!run.stderr.contains("seven"), "{run:?}");
    run.refused(1, &parts);
    let counts = folder.randomize("text.parquet --json").json();
    assert!(counts["unread"][0]["first"].as_str().unwrap().starts_with("row 3: "), "{counts}");

    let records = batch(vec![("x", numbers.clone()), ("y", numbers.clone()), ("answer", numbers)]);
    folder.write("more.feather", feather(&records, None));
    let run = folder.randomize("more.feather");
    assert!(!run.stderr.contains("answer") && !run.stderr.contains("--header"), "{run:?}");
    run.refused(1, &["more.feather, header:"]);
}

#[test]
fn a_file_that_was_cut_is_an_error() {
    let folder = with_task();
    for (name, content) in files() {
        for length in (8..content.len()).step_by(97) {
            folder.write(name, &content[..length]);
            let run = folder.randomize(name);
            assert!(!run.stderr.contains("panicked"), "{name} {length} {run:?}");
            run.refused(1, &[name]);
        }
    }
}

/// Reads the records of a file that may be damaged.
fn read(content: &[u8]) -> Result<()> {
    let (name, content) = (Path::new("damaged"), Cursor::new(content.to_vec()));
    let mut rows = 0;
    // A few bytes of Parquet can hold millions.
    RecordFile::new(name, content, &Opening::default(), looks_like_names)?.for_each(|_, _| {
        rows += 1;
        if rows > 1 << 16 { Err(CliError::failed("enough rows")) } else { Ok(()) }
    })
}

#[test]
fn a_flipped_byte_gives_an_answer_or_an_error() {
    for (name, content) in files().into_iter().filter(|(name, _)| !name.ends_with(".gz")) {
        let mut errors = 0;
        for place in 0..400 {
            let mut damaged = content.clone();
            // Past the magic, without which it is another format; 0x55 is odd, so all bits of some byte are turned.
            let place = 8 + place * 7919 % (content.len() - 8);
            damaged[place] ^= [0xff, 0x80, 0x01, 0x55][place % 4];
            errors += u32::from(read(&damaged).is_err());
        }
        assert!(errors > 0, "{name}");
    }
}

/// Lengths of gigabytes in a few bytes.
#[test]
fn claims_of_gigabytes_take_no_memory() {
    let records = records();
    let packed = feather(&records, Some(CompressionType::LZ4_FRAME));
    let mut claims = 0;
    for place in (8..packed.len() - 8).step_by(8) {
        let length = i64::from_le_bytes(packed[place..place + 8].try_into().unwrap());
        if (1..200).contains(&length) {
            let mut damaged = packed.clone();
            damaged[place..place + 8].copy_from_slice(&(1i64 << 44).to_le_bytes());
            claims += u32::from(read(&damaged).is_err());
        }
    }
    assert!(claims > 10, "{claims}");
}
