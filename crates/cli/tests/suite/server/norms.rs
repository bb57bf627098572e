//! Reports about the lengths of records, over HTTP.

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
    let (_data, server) = serving(config, &[task()]);
    let body = bytes_of(&reports(&task(), 1, 300));
    assert_eq!(server.send(&task(), &body).json()["accepted"], 300);
    let parts = ["lengths of records", "read them from its sums"];
    server.recovery(&task(), "rank=1").refused(409, "no-components", &parts);
}
