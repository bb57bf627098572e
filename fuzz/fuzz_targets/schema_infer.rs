//! Any bytes are a sample or an error. A schema that comes of them can be read again, and has no category that is a
//! document; a device reads the same file, as the schema says, with as many records, or is refused.
#![no_main]

use ldp_pca::internal::schema::in_ascii;
use ldp_pca::schema::{ColumnKind, Schema};
use ldp_pca_cli::fuzzing as cli;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the options.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let Ok(inferred) = cli::inferred(bytes, choice) else { return };
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
        && let Ok(records) = cli::records_of(bytes, &schema)
    {
        assert_eq!((records.rows.len() + records.numbers.len()) as u64, inferred.rows);
    }
});
