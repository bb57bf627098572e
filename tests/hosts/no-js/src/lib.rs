//! Randomizes one record with random bytes of the host. The host is a runtime of wasm, such as an edge worker's or a
//! plug-in's, and need not have JavaScript.

use ldp_pca::Task;

const TASK: &str = r#"{
    "version": 1,
    "schema": {"columns": [
        {"type": "numeric", "name": "height", "offset": 170, "scale": 30},
        {"type": "numeric", "name": "weight", "offset": 70, "scale": 40}
    ]},
    "bounding": {"type": "clip", "radius": 1.5},
    "mechanism": {"type": "double-cap", "epsilon": 4, "candidates": 64, "cap": 3},
    "folds": 1
}"#;

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Fills `length` bytes from `bytes` on with random ones; 0 if it did.
    fn random(bytes: *mut u8, length: usize) -> u32;
}

/// The function that getrandom calls: see its documentation of custom backends.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(bytes: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller gives `length` bytes to write to.
    if unsafe { random(bytes, length) } == 0 { Ok(()) } else { Err(getrandom::Error::UNSUPPORTED) }
}

/// Where a report is, or null where the host gave no random bytes. The first four bytes are its length.
#[unsafe(no_mangle)]
pub extern "C" fn report() -> *const u8 {
    let made = || -> Result<Vec<u8>, ldp_pca::Error> {
        let task = Task::from_json(TASK)?;
        let record = task.bound(task.schema().encode_fields(&["182", "91"]))?;
        Ok(task.randomize(&record, None)?.to_bytes())
    };
    let Ok(report) = made() else { return core::ptr::null() };
    let mut bytes = u32::try_from(report.len()).unwrap_or(0).to_le_bytes().to_vec();
    bytes.extend(report);
    bytes.leak().as_ptr()
}
