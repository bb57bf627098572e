//! Any bytes are a report of the task or an error; a report is read only from the bytes it writes, and can be summed.
#![no_main]

use std::sync::LazyLock;

use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::Report;
use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;

#[path = "../tasks.rs"]
mod tasks;

static TASKS: LazyLock<Vec<Task>> = LazyLock::new(tasks::tasks);

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the task and whether the frame (magic, version, task, checksum) is made right.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let task = &TASKS[usize::from(choice) % TASKS.len()];
    let mut bytes = bytes.to_vec();
    if choice & 0x80 != 0 && bytes.len() >= 33 {
        bytes[..5].copy_from_slice(b"LDPR\x01");
        bytes[5..13].copy_from_slice(&task.digest().as_bytes()[..8]);
        tasks::repair(&mut bytes);
    }
    if let Ok(report) = Report::from_bytes(&bytes, task) {
        assert_eq!(report.to_bytes(), bytes);
        let mut aggregate = Aggregate::empty(task);
        aggregate.accumulate(task, &[report]).expect("a report of the task");
        let state = aggregate.to_bytes();
        assert_eq!(Aggregate::from_bytes(&state, task).as_ref(), Ok(&aggregate));
    }
});
