//! Wrong requests, and the problem that each is answered with: `wrong-requests.txt` is the table.

use super::harness::*;

/// A request, its fields, and its body after `<`; below it the status and the kind of the problem, and after bars what
/// it says.
const TABLE: &str = include_str!("wrong-requests.txt");

#[test]
fn every_wrong_request_is_a_problem_that_names_what_is_wrong_and_changes_nothing() {
    let (_data, server) = serving(|data| ServerConfig { open_recovery: false, ..config(data) }, &[task()]);
    server.send(&task(), &body_of(10, 5));
    let (digest, json) = (task().digest().to_string(), task().to_json());
    let settings = || server.status(&task())["settings"].clone();
    let before = settings();
    let names = [
        ("DIGEST", digest.clone()),
        ("UPPERCASE", digest.to_uppercase()),
        ("UNKNOWN", other_task().digest().to_string()),
        ("JSON_OF_TASK", json.clone()),
        ("WITHOUT_FOLDS", json.replace("\"folds\":3", "\"folds\":0")),
        ("OF_VERSION_7", json.replace("\"version\":1", "\"version\":7")),
        ("Bearer ADMIN", format!("Bearer {ADMIN}")),
        ("Bearer COLLECTOR", format!("Bearer {COLLECTOR}")),
        ("CUT_ADMIN", ADMIN[1..].to_owned()),
        ("LONG_ADMIN", format!("{ADMIN}x")),
        ("UPPER_ADMIN", ADMIN.to_uppercase()),
    ];
    let text = names.iter().fold(TABLE.to_owned(), |text, (name, value)| text.replace(*name, value));
    let rows: Vec<&str> = text.trim_end().split("\n\n").filter(|row| !row.starts_with('#')).collect();
    assert!(rows.len() >= 100, "{}", rows.len());
    for row in rows {
        let [request, rest @ .., said] = &row.lines().collect::<Vec<_>>()[..] else { panic!("{row}") };
        let (method, path) = request.split_once(' ').unwrap();
        let body = rest.iter().find_map(|line| line.strip_prefix('<')).unwrap_or_default().trim_start();
        let fields = rest.iter().filter(|line| !line.starts_with('<')).map(|line| line.split_once(':').unwrap());
        let fields: Vec<(&str, &str)> = fields.map(|(name, value)| (name, value.trim_start())).collect();
        let (problem, parts) = said.split_once(" | ").unwrap_or((*said, ""));
        let (status, kind) = problem.split_once(' ').unwrap();
        println!("{row}");
        let answer = server.request(method, path, &fields, body.as_bytes());
        answer.refused(status.parse().unwrap(), kind, &parts.split(" | ").collect::<Vec<_>>());
        for token in fields.iter().filter_map(|(_, value)| value.strip_prefix("Bearer ")) {
            assert!(token.len() < 2 || !answer.text().contains(token), "an answer repeats no token");
        }
    }
    assert_eq!(server.get("/tasks").json()["tasks"], json!([digest]));
    assert_eq!((server.records(&task()), settings()), (5, before));
}
