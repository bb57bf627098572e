//! A first line of JSON is a schema or an error; any line after it has finite features.
#![no_main]

use ldp_pca::schema::Schema;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (json, rows) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(schema) = Schema::from_json(json) else { return };
    let written = schema.to_json();
    assert_eq!(Schema::from_json(&written).expect("what was written is read again"), schema);
    assert_eq!(serde_json::to_string(&schema).expect("a schema can be written"), written);
    assert_eq!(schema.feature_names().len(), schema.dimension());
    for row in rows.lines() {
        let fields: Vec<&str> = row.split(',').collect();
        let features = schema.encode_fields(&fields);
        assert_eq!(features.len(), schema.dimension());
        assert!(features.iter().all(|feature| feature.is_finite()));
        assert!(schema.check_fields(&fields).len() <= 1 + schema.columns().len());
        let _ = schema.match_header(&fields);
    }
});
