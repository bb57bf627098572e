//! Reports about the lengths of records, over HTTP.

use ldp_pca::internal::lengths::Norms;
use ldp_pca::record::Radius;

use super::harness::*;

fn task() -> Task {
    let mechanism = MechanismSpec::norm_cap(Epsilon::new(2.0).unwrap(), 16);
    let bounding = Bounding::Clip { radius: Radius::new(8.0).unwrap() };
    Task::new(Schema::numeric(4).unwrap(), bounding, mechanism, Folds::new(1).unwrap()).unwrap()
}

/// They are collected like any others, and have no components.
#[test]
fn reports_about_lengths_are_collected_and_have_no_components() {
    let (data, server) = serving(config, &[task()]);
    let body = bytes_of(&reports(&task(), 1, 300));
    assert_eq!(server.send(&task(), &body).json()["accepted"], 300);
    let parts = ["lengths of records", "read them from its sums"];
    server.recovery(&task(), "rank=1").refused(409, "no-components", &parts);
    server.shut_down();
    let folder = Folder::new();
    folder.write("norms.json", task().to_json());
    folder.run(&format!("store export {} -o all.ldpr", data.path().display())).ok();
    folder.run("aggregate all.ldpr --task norms.json -o sums.ldpa").ok();
    let found = folder.json("norms sums.ldpa --task norms.json");
    let expected = Norms::of(&aggregate_of(&task(), &body), &task()).unwrap().quantile(0.5, 0.95);
    assert_eq!((&found["records"], &found["quantiles"][1]), (&json!(300), &json!(expected)));
}
