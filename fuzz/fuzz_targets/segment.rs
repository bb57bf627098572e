//! Any bytes are a segment: its reports are reports of the task in these bytes, and no report in the bytes is counted
//! twice.
#![no_main]

use std::sync::LazyLock;

use ldp_pca::report::report_bytes;
use ldp_pca_server::maintenance::read_segment;
use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;

#[path = "../tasks.rs"]
mod tasks;

static TASKS: LazyLock<Vec<Task>> = LazyLock::new(tasks::tasks);

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the task, and whether the reports in the bytes are made right: magic, version, task and
    // checksum.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let task = &TASKS[usize::from(choice) % TASKS.len()];
    let length = report_bytes(task);
    let mut bytes = bytes.to_vec();
    if choice & 0x80 != 0 {
        let mut place = 0;
        while let Some(found) = bytes[place..].windows(4).position(|window| window == b"LDPR") {
            let start = place + found;
            let Some(frame) = bytes.get_mut(start..start + length) else { break };
            frame[4] = 1;
            frame[5..13].copy_from_slice(&task.digest().as_bytes()[..8]);
            tasks::repair(frame);
            place = start + length;
        }
    }
    if let Ok(reports) = read_segment(&bytes, task) {
        assert!(reports.len() * length <= bytes.len());
        for report in reports {
            let report = report.to_bytes();
            assert!(bytes.windows(length).any(|window| window == report));
        }
    }
});
