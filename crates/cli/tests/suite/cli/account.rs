//! `account`: the guarantees that it states.

use ldp_pca::privacy::composition::Method;

use crate::support::{Folder, number, words};

#[test]
fn the_account_of_a_task_names_every_method_and_keeps_the_local_guarantee_first() {
    let folder = Folder::new();
    let text = r#"{"version": 1, "schema": {"columns": [{"name": "a", "type": "numeric", "offset": 0, "scale": 1}]},
        "bounding": {"type": "unit-norm"}, "folds": 1,
        "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8}}"#;
    folder.write("task.json", text);
    let account = "account --reports 3 --shuffled 100000 --task task.json";
    let text = words(&folder.text(account));
    assert!(text.starts_with("one report (2, 0)-local differential privacy: any two records"), "{text}");
    assert!(text.contains("falsely accuses 1 % of those with another finds at most 7.39 % of those with it"), "{text}");
    assert!(text.contains("in addition to the local guarantee"), "{text}");
    assert!(Method::ALL.iter().all(|method| text.contains(&method.to_string())), "{text}");
    let document = folder.json(account);
    assert_eq!(document["detection"]["false_alarms"], 0.01);
    assert!((number(&document["detection"]["power"]) - 0.01 * 2f64.exp()).abs() < 1e-12, "{document}");
    assert!((number(&document["pure_epsilon"]) - 6.0).abs() < 1e-6, "{document}");
    assert!(text.contains("in each batch of 100,000 honest reports"), "{text}");
    assert_eq!(document["anonymised_batch"]["honest_reports"], 100_000);
    assert!(number(&document["anonymised_batch"]["epsilon"]) < 0.1, "{document}");
    for wrong in ["--delta 2", "--shuffled 0"] {
        folder.refused(&format!("{account} {wrong}"), 2, &[]);
    }
}
