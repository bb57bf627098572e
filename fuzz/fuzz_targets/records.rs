//! Any bytes are records in CSV or NPY, gzip or not, or an error: rows in their order, and what a schema takes of them
//! is finite.
#![no_main]

use std::sync::LazyLock;

use ldp_pca::schema::Schema;
use ldp_pca_cli::error::Result;
use ldp_pca_records::{is_header_of, looks_like_names};
use libfuzzer_sys::fuzz_target;

#[path = "../readers.rs"]
mod readers;

use readers::{Records, opened, opening, read};

const SCHEMA: &str = r#"{"columns":[{"name":"x","type":"numeric","offset":0,"scale":1},
    {"name":"y","type":"categorical","values":["a","b","other"],"unseen":"other"},{"name":"z","type":"ignored"}]}"#;

static SCHEMAS: LazyLock<[Option<Schema>; 2]> =
    LazyLock::new(|| [None, Some(Schema::from_json(SCHEMA).expect("a schema"))]);

/// Reads records; the choice is that of the options.
fn records(bytes: &[u8], choice: u8, schema: Option<&Schema>) -> Result<Records> {
    let is_header = |fields: &[&str]| match schema {
        Some(schema) => is_header_of(schema, fields),
        None => looks_like_names(fields),
    };
    read(opened(bytes, &opening(choice), is_header)?)
}

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options and the schema.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let schema = SCHEMAS[usize::from(choice) / 24 % 2].as_ref();
    let Ok(records) = records(bytes, choice, schema) else { return };
    assert!(records.rows.is_empty() || records.numbers.is_empty());
    if records.columnar {
        return;
    }
    let header = usize::from(records.names.is_some());
    assert!(records.names.iter().all(|names| !names.is_empty()));
    assert!(choice % 3 != 2 || header == 0);
    // Rows start on lines one below the other.
    assert!(records.rows.is_sorted_by(|left, right| left.0 < right.0), "{:?}", records.rows);
    assert!(records.rows.first().is_none_or(|first| first.0 > header as u64));
    for fields in records.rows.iter().filter_map(|(_, row)| row.as_ref().ok()) {
        assert!(!fields.is_empty());
        if let Some(schema) = schema {
            let features = schema.encode_fields(&fields.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(features.len() == schema.dimension() && features.iter().all(|feature| feature.is_finite()));
        }
    }
    // A row goes on over the ends of lines in its cells. (Those of a large file may not be what ends its lines.)
    for (row, next) in records.rows.iter().zip(records.rows.iter().skip(1)) {
        let Ok(fields) = &row.1 else { continue };
        let inside = fields.iter().flat_map(|field| field.bytes()).filter(|&byte| byte == b'\n').count() as u64;
        assert!(next.0 > row.0 + inside || bytes.starts_with(b"\x1f\x8b"), "{:?}", records.rows);
    }
    let width = records.numbers.first().map_or(0, Vec::len);
    assert!(records.numbers.iter().all(|row| row.len() == width && width > 0));
});
