//! `account`: the guarantees that it states.

use ldp_pca::privacy::composition::Method;

use crate::support::words;

#[test]
fn the_account_of_a_task_names_every_method_and_keeps_the_local_guarantee_first() {
    let folder = tempfile::tempdir().unwrap();
    let task = folder.path().join("task.json");
    let text = r#"{"version": 1, "schema": {"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1}]},
        "bounding": {"type": "unit-norm"}, "folds": 1,
        "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8}}"#;
    std::fs::write(&task, text).unwrap();
    let run = |extra: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ldp-pca"));
        command.args(["account", "--reports", "3", "--shuffled", "100000", "--task"]).arg(&task).args(extra);
        let output = command.output().unwrap();
        (output.status.code(), words(&String::from_utf8(output.stdout).unwrap()))
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(0));
    assert!(text.starts_with("one report (2, 0)-local differential privacy: any two records"), "{text}");
    assert!(text.contains("falsely accuses 1 % of those with another finds at most 7.39 % of those with it"), "{text}");
    assert!(text.contains("in addition to the local guarantee"), "{text}");
    assert!(Method::ALL.iter().all(|method| text.contains(&method.to_string())), "{text}");
    let document: serde_json::Value = serde_json::from_str(&run(&["--json"]).1).unwrap();
    assert_eq!(document["detection"]["false_alarms"], 0.01);
    assert!((document["detection"]["power"].as_f64().unwrap() - 0.01 * 2f64.exp()).abs() < 1e-12, "{document}");
    assert!((document["pure_epsilon"].as_f64().unwrap() - 6.0).abs() < 1e-6, "{document}");
    assert!(text.contains("in each batch of 100000 honest reports"), "{text}");
    assert_eq!(document["anonymised_batch"]["honest_reports"], 100_000);
    assert!(document["anonymised_batch"]["epsilon"].as_f64().unwrap() < 0.1, "{document}");
    assert_eq!(run(&["--delta", "2"]).0, Some(2));
    assert_eq!(run(&["--shuffled", "0"]).0, Some(2));
}
