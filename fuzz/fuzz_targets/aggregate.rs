//! Any bytes are a state of the task or an error; a state is read only from the bytes it writes, and can be merged and
//! debiased.
#![no_main]

use std::sync::LazyLock;

use ldp_pca::aggregate::Aggregate;
use ldp_pca::covariance::Covariance;
use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;

#[path = "../tasks.rs"]
mod tasks;

static TASKS: LazyLock<Vec<Task>> = LazyLock::new(tasks::tasks);

fuzz_target!(|input: &[u8]| {
    // The first byte chooses the task, and whether the frame (magic, version, task, checksum) and the order of the tags
    // are made right.
    let Some((&choice, bytes)) = input.split_first() else { return };
    let task = &TASKS[usize::from(choice) % TASKS.len()];
    let mut bytes = bytes.to_vec();
    if choice & 0x80 != 0 && bytes.len() >= 41 {
        bytes[..5].copy_from_slice(b"LDPA\x01");
        bytes[5..37].copy_from_slice(task.digest().as_bytes());
        let (start, end) = (Aggregate::empty(task).to_bytes().len() - 4, bytes.len() - 4);
        if let Some(tags) = bytes.get_mut(start..end) {
            tags.as_chunks_mut::<20>().0.sort_unstable();
        }
        tasks::repair(&mut bytes);
    }
    if let Ok(aggregate) = Aggregate::from_bytes(&bytes, task) {
        assert_eq!(aggregate.to_bytes(), bytes);
        let mut twice = aggregate.clone();
        if twice.merge(&aggregate).is_ok() {
            assert_eq!(twice.records(), 0);
        } else {
            assert_eq!(twice, aggregate);
        }
        if let Ok(covariance) = Covariance::estimate(&twice, task) {
            assert!(covariance.matrix().iter().all(|entry| entry.is_finite()));
            assert!(covariance.noise_deviation() > 0.0 && covariance.noise_edge().is_finite());
            if let Some(mean) = covariance.mean() {
                assert!(mean.values().iter().all(|entry| entry.is_finite()));
            }
        }
    }
});
