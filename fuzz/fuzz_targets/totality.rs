//! Any accepted task and any record make a report: its existence reveals nothing.
//!
//! The input is a task's text, a zero byte, and values: for each column a byte that says what follows, nothing
//! (missing), the eight bytes of a number, or a length and a text, whatever the type of the column is.
#![no_main]

use chacha20::ChaCha8Rng;
use ldp_pca::mechanism::LocalRandomizer;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::schema::Value;
use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;
use rand::SeedableRng;

fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|&byte| byte == 0) else { return };
    let (text, mut rest) = (&input[..end], &input[end + 1..]);
    let Ok(task) = core::str::from_utf8(text).map_err(drop).and_then(|text| Task::from_json(text).map_err(drop)) else {
        return;
    };
    // Larger inputs only run the same code for longer.
    if task.mechanism().draws() > 1 << 18 {
        return;
    }
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count.min(rest.len()));
        rest = left;
        taken
    };
    let texts: Vec<(u8, String, f64)> = task
        .schema()
        .columns()
        .iter()
        .map(|_| {
            let kind = take(1).first().copied().unwrap_or(0);
            let mut number = [0; 8];
            let bytes = take(8);
            number[..bytes.len()].copy_from_slice(bytes);
            let text = String::from_utf8_lossy(take(usize::from(kind) / 4)).into_owned();
            (kind, text, f64::from_bits(u64::from_le_bytes(number)))
        })
        .collect();
    let values: Vec<Value<'_>> = texts
        .iter()
        .map(|(kind, text, number)| match kind % 4 {
            0 => Value::Missing,
            1 => Value::Number(*number),
            _ => Value::Text(text),
        })
        .collect();
    let features = task.schema().encode_values(&values);
    assert!(features.iter().all(|feature| feature.is_finite()));
    let record = task.bound(features).expect("every vector of the task's length has a bounded record");
    let report = task.randomize_with_rng(&record, None, &mut ChaCha8Rng::seed_from_u64(1)).expect(
        "every record has a \
        report",
    );
    let bytes = report.to_bytes();
    assert_eq!(bytes.len(), report_bytes(&task));
    Report::from_bytes(&bytes, &task).expect("a report is one of its task");
});
