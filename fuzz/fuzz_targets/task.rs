//! Any text is a task or an error; a task's canonical JSON is the same task.
#![no_main]

use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(task) = Task::from_json(text) {
        let canonical = task.to_json();
        let again = Task::from_json(&canonical).expect("the canonical form of a task is a task");
        assert_eq!(again.digest(), task.digest());
        assert_eq!(again.to_json(), canonical);
    }
});
