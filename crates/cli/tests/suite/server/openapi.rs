//! The OpenAPI document, compared with the real server.

use super::harness::*;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

#[test]
fn every_path_has_the_methods_that_the_document_says_and_no_other() {
    let (_data, server) = serving(config, &[]);
    let document = server.get("/openapi.json").json();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", &"0".repeat(64));
        for method in METHODS {
            let stated = operations.get(method.to_lowercase()).is_some();
            // Some methods must have a body.
            let body: &[u8] = if ["GET", "DELETE"].contains(&method) { b"" } else { b"x" };
            let answer = server.request(method, &path, &[], body);
            assert_eq!(answer.status != 405, stated, "{method} {path}: {}", answer.status);
            if !stated {
                answer.refused(405, "method-not-allowed", &[]);
                for allowed in answer.header("allow").split(',').filter(|method| *method != "HEAD") {
                    assert!(operations.get(allowed.to_lowercase()).is_some(), "{allowed} {path}");
                }
            }
        }
    }
}

#[test]
fn the_example_of_the_document_works() {
    let (_data, server) = serving(config, &[]);
    let document = server.get("/openapi.json").json();
    let example = &document["paths"]["/tasks/{id}"]["put"]["requestBody"]["content"]["application/json"]["example"];
    let id = document["components"]["parameters"]["Id"]["example"].as_str().unwrap();
    let put = server.administer("PUT", &format!("/tasks/{id}"), example.to_string().as_bytes());
    assert_eq!(put.status, 201);
    let seeds =
        &document["paths"]["/tasks/{id}/seeds"]["post"]["requestBody"]["content"]["application/json"]["example"];
    let issued = server.post(&format!("/tasks/{id}/seeds"), "application/json", seeds.to_string().as_bytes());
    assert_eq!(issued.status, 200);
}

/// An answer has exactly the members that the document states.
#[test]
fn answers_have_the_members_of_the_document() {
    let (_data, server) = serving(config, &[]);
    let document = server.get("/openapi.json").json();
    let task: Task = task();
    let settings = TaskSettings { minimum_batch: Some(1), ..TaskSettings::default() };
    let status = server.administer("PUT", &format!("/tasks/{}", task.digest()), &put_body(&task, &settings)).json();
    server.send(&task, &bytes_of(&reports(&task, 1, 20)));
    let recovery = |query: &str| server.recovery(&task, &format!("rank=1{query}")).json();
    let sparse = "&penalty=auto&path=3&baselines=true";
    assert_members(&document, "About", &server.get("/").json());
    assert_members(&document, "Status", &status);
    for query in ["", sparse, "&method=auto"] {
        assert_members(&document, "Recovery", &recovery(query));
    }
    // Settings are reported in the accepted form.
    let stated = document["components"]["schemas"]["Settings"]["properties"].as_object().unwrap();
    let all = TaskSettings {
        minimum_batch: Some(1),
        max_records: Some(1),
        starts: Some(1),
        expires: Some(2),
        retention: Some(1),
        origins: Some(vec![]),
        issued_ids: Some(true),
        range_check: Some(true),
        open_recovery: Some(true),
        publish: Some(true),
        refine_after: Some(1),
        refine_rank: Some(1),
        closed: Some(true),
        refined_by: Some(task.digest()),
    };
    let all = serde_json::to_value(all).unwrap();
    assert!(all.as_object().unwrap().keys().eq(stated.keys()), "{all}");
}
