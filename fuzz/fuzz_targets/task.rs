//! Any text is a task or an error; a task's text is JSON to others too, and its canonical JSON is the same task.
#![no_main]

use ldp_pca::task::Task;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(task) = Task::from_json(text) {
        serde_json::from_str::<serde_json::Value>(text).expect("a task is JSON");
        let canonical = task.to_json();
        let again = Task::from_json(&canonical).expect("the canonical form of a task is a task");
        assert_eq!(again.digest(), task.digest());
        assert_eq!(again.to_json(), canonical);
    }
});
