//! Small tasks of both mechanisms under both boundings, and the same with centring.

use ldp_pca::centring::Centring;
use ldp_pca::task::Task;

pub(crate) fn tasks() -> Vec<Task> {
    const MECHANISMS: [&str; 2] = [
        r#"{"type":"double-cap","epsilon":2,"candidates":16,"cap":2}"#,
        r#"{"type":"gaussian","epsilon":2,"delta":1e-6,"calibration":"analytic"}"#,
    ];
    const BOUNDINGS: [&str; 2] = [r#"{"type":"unit-norm"}"#, r#"{"type":"clip","radius":2}"#];
    const SCHEMA: &str = r#"{"columns":[
        {"name":"x","type":"numeric","offset":0,"scale":1},
        {"name":"y","type":"numeric","offset":0,"scale":1}
    ]}"#;
    let task = |mechanism, bounding| {
        let json =
            format!(r#"{{"version":1,"schema":{SCHEMA},"bounding":{bounding},"mechanism":{mechanism},"folds":2}}"#);
        Task::from_json(&json).expect("a valid task")
    };
    let pairs = MECHANISMS.iter().flat_map(|mechanism| BOUNDINGS.iter().map(move |bounding| (mechanism, bounding)));
    let plain: Vec<Task> = pairs.map(|(mechanism, bounding)| task(mechanism, bounding)).collect();
    let centred = plain.iter().map(|task| task.with_centring(Centring::default()).expect("room for a coordinate"));
    plain.iter().cloned().chain(centred).collect()
}

/// Writes the right checksum into the last four bytes.
pub(crate) fn repair(bytes: &mut [u8]) {
    let content = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..content]).to_le_bytes();
    bytes[content..].copy_from_slice(&checksum);
}
