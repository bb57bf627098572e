//! The examples of the library.

#[path = "../../examples/collect.rs"]
mod collect;
#[path = "../../examples/plan.rs"]
mod plan;
#[path = "../../examples/sparse.rs"]
mod sparse;

#[test]
fn every_example_runs_to_its_end() {
    collect::main().unwrap();
    plan::main().unwrap();
    sparse::main().unwrap();
}
