//! Every example of the library runs to its end.

#[path = "../../examples/collect.rs"]
mod collect;
#[path = "../../examples/plan.rs"]
mod plan;
#[path = "../../examples/sparse.rs"]
mod sparse;
#[path = "../../examples/threads.rs"]
mod threads;

#[test]
fn a_collection_from_its_task_to_its_components() {
    collect::main().unwrap();
}

#[test]
fn how_many_people_to_ask() {
    plan::main().unwrap();
}

#[test]
fn components_on_few_features() {
    sparse::main().unwrap();
}

#[test]
fn files_summed_on_threads() {
    threads::main().unwrap();
}
