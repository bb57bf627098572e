//! Any bytes are a sample or an error. A schema that comes of them can be read again, and has no category that is a
//! document; a device reads the same file, as the schema says, with as many records, or is refused.
#![no_main]

use std::path::Path;

use ldp_pca::internal::schema::in_ascii;
use ldp_pca::schema::infer::{InferenceOptions, Inferred};
use ldp_pca::schema::{ColumnKind, Schema};
use ldp_pca_cli::error::Result;
use ldp_pca_cli::records::Opening;
use ldp_pca_cli::schema::infer_from;
use ldp_pca_records::{has_names_of, looks_like_names};
use libfuzzer_sys::fuzz_target;

#[path = "../readers.rs"]
mod readers;

use readers::{NAME, Records, opened, opening, read};

/// Infers the schema of a public sample; the choice is that of the options.
fn inferred(bytes: &[u8], choice: u8) -> Result<Inferred> {
    let opening = Opening { by_header: false, ..opening(choice) };
    let file = opened(bytes, &opening, looks_like_names)?;
    infer_from(Path::new(NAME), file, &opening, &InferenceOptions::default(), true)
}

/// Reads the records of a device, as the schema says.
fn records_of(bytes: &[u8], schema: &Schema) -> Result<Records> {
    let opening = Opening { by_header: true, ..Opening::default() }.under(schema, Path::new(NAME));
    read(opened(bytes, &opening, |fields: &[&str]| has_names_of(schema, fields))?)
}

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let Ok(inferred) = inferred(bytes, choice) else { return };
    let schema = inferred.schema;
    assert_eq!(Schema::from_json(&schema.to_json()).expect("what was written is read again"), schema);
    for column in schema.columns() {
        let ColumnKind::Categorical { values, .. } = &column.kind else { continue };
        for value in values {
            // A code with many digits is no document.
            let is_short = value.chars().count() <= 64 || in_ascii(value).parse::<f64>().is_ok();
            assert!(is_short && !value.contains('\0') && !value.starts_with("<!"), "{value:?}");
        }
    }
    // Of one column an empty line is a record, too. What the schema calls text is not unpacked without a name.
    if schema.columns().len() > 1
        && !bytes.starts_with(b"\x1f\x8b")
        && let Ok(records) = records_of(bytes, &schema)
    {
        assert_eq!((records.rows.len() + records.numbers.len()) as u64, inferred.rows);
    }
});
