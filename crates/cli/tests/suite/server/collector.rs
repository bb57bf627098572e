//! What a collector downloads and publishes, and sees in a browser.

use super::harness::*;

#[test]
fn the_command_line_recovers_the_same_from_a_running_aggregator_as_from_a_file() {
    let folder = task_folder();
    let server = Running::start(ServerConfig { minimum_batch: 20, ..config(&folder.path("data")) }, &[task()]);
    let body = body_of(1, 300);
    folder.write("sums.ldpa", aggregate_of(&task(), &body).to_bytes());
    folder.write("token", COLLECTOR);
    let asked = format!("--url {} --token-file token", server.url(""));
    server.send(&task(), &body[..19 * 35]);
    let few = format!("recover {asked} --task task.json --rank 2");
    folder.refused(&few, 1, &["answers 409", "19 reports, and components need at least 20"]);
    server.send(&task(), &body);
    let [here, there] = ["sums.ldpa", &asked].map(|from| {
        let mut result = folder.json(&format!("recover {from} --task task.json --rank 2 --bootstrap 20"));
        assert!(result.as_object_mut().unwrap().remove("seconds").is_some());
        result
    });
    assert_eq!(here, there);
    // It shows whether a known id is in it: it is for everybody nowhere.
    let sums = path(&task(), "/aggregate");
    server.get(&sums).refused(401, "token-missing", &["a collector's token"]);
    server.ask(Some(ADMIN), "GET", &sums, b"").refused(403, "token-role", &[]);
    let without = format!("recover --url {} --task task.json --rank 2", server.url(""));
    folder.refused(&without, 2, &["--token-file", "LDP_PCA_TOKEN"]);
}
