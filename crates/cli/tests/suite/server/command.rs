//! The real binary: `serve` with a file of settings, and `task put`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::tempdir;

use super::harness::{ADMIN, REPORTS, Serving, bytes_of, get, path, reports, task, try_post};

/// Such as documents print.
const EXAMPLE: &str = "replace-me-0123456789abcdef0123456789";

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ldp-pca")).args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_server_with_an_empty_folder_gets_its_task_by_the_command_that_it_names() {
    let data = tempdir().unwrap();
    let folder = data.path().join("new/data");
    let server = Serving::start(&["--data", text(&folder)]);
    let (file, settings) = (data.path().join("task.json"), data.path().join("settings.json"));
    fs::write(&file, task().to_json()).unwrap();
    fs::write(&settings, "{\"minimum_batch\": 7}").unwrap();
    let url = format!("http://{}", server.address);
    let token = folder.join("admin.token");
    let arguments = ["task", "put", text(&file), "--url", &url, "--token-file", text(&token)];
    let put = run(&arguments);
    let told = String::from_utf8(put.stdout).unwrap();
    assert!(
        put.status.success() && told.contains("collects for it") && told.contains(&task().digest().to_string()),
        "{told}"
    );
    let again = run(&[&arguments[..], &["--settings", text(&settings), "--json"]].concat());
    let told: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&told["created"], &told["task"]), (&false.into(), &task().digest().to_string().into()));
    assert_eq!(get(server.address, &path(&task(), "/status")).json()["minimum_batch"], 7);
    let components = get(server.address, &path(&task(), "/recovery?rank=1"));
    components.assert_problem(401, "token-missing", &[]);
    // What would change, without changing it.
    fs::write(&settings, "{\"minimum_batch\": 8, \"expires\": \"2096-10-02T07:06:40Z\"}").unwrap();
    let dry = run(&[&arguments[..], &["--settings", text(&settings), "--dry-run"]].concat());
    let told = String::from_utf8(dry.stdout).unwrap();
    for said in ["minimum_batch: 7, then 8", "expires: not set, then 4000000000", "nothing was changed"] {
        assert!(told.contains(said), "{told}");
    }
    assert_eq!(get(server.address, &path(&task(), "/status")).json()["minimum_batch"], 7);
    fs::write(&settings, "{\"minimum\": 7}").unwrap();
    let refused = run(&[&arguments[..], &["--settings", text(&settings)]].concat());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("settings.json") && said.contains("`minimum`"), "{said}");
    let collector = folder.join("collector.token");
    let refused = run(&["task", "put", text(&file), "--url", &url, "--token-file", text(&collector)]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("403") && said.contains("an admin's token"), "{said}");
    let log = server.log();
    assert!(log.contains("no task yet: ldp-pca task put") && log.contains("admin.token"), "{log}");
}

#[test]
fn a_file_of_named_tokens_serves_the_server_and_the_command_that_it_names() {
    let data = tempdir().unwrap();
    let [file, settings, admins] = ["task.json", "server.toml", "admins"].map(|name| data.path().join(name));
    fs::write(&file, task().to_json()).unwrap();
    fs::write(&admins, format!("alice {ADMIN}\nbob other-0123456789abcdef0123456789abcdef\n")).unwrap();
    fs::write(&settings, format!("data = {:?}\n[tokens]\nadmin_file = {admins:?}\n", data.path().join("data")))
        .unwrap();
    let server = Serving::start(&["--config", text(&settings)]);
    let url = format!("http://{}", server.address);
    let put = run(&["task", "put", text(&file), "--url", &url, "--token-file", text(&admins)]);
    assert!(put.status.success(), "{put:?}");
    let log = server.log();
    assert!(log.contains(&format!("--url {url} --token-file {}", admins.display())), "{log}");
}

#[test]
fn the_command_line_wins_over_the_file() {
    let data = tempdir().unwrap();
    let (file, folder) = (data.path().join("server.toml"), data.path().join("data"));
    let settings = format!(
        "data = {folder:?}\nminimum_batch = 5\nlisten = \"127.0.0.1:1\"\n[tokens]\nadmin = {ADMIN:?}\n[log]\nlevel = \
            \"error\"\n"
    );
    fs::write(&file, settings).unwrap();
    let task_file = data.path().join("task.json");
    fs::write(&task_file, task().to_json()).unwrap();
    // The helper gives an address of its own.
    let arguments = ["--config", text(&file), "--task", text(&task_file), "--open-recovery"];
    let server = Serving::start(&arguments);
    let status = get(server.address, &path(&task(), "/status")).json();
    assert_eq!((&status["minimum_batch"], &status["open_recovery"]), (&5.into(), &true.into()));
    assert!(
        folder.join("collector.token").exists() && !folder.join("admin.token").exists(),
        "only what is missing is made"
    );
    drop(server.log());
    let server = Serving::start(&arguments[..4]);
    assert_eq!(get(server.address, &path(&task(), "/status")).json()["open_recovery"], false);
    drop(server.log());
}

#[test]
fn settings_that_make_no_sense_are_named_with_their_place() {
    let data = tempdir().unwrap();
    let file = data.path().join("server.toml");
    let folder = data.path().join("data");
    for (settings, said) in [
        ("minimum_bach = 5", "server.toml, line 1, column 1: unknown field `minimum_bach`"),
        ("\n[log]\nlevel = 3", "server.toml, line 3, column 9"),
        ("rate_limit = { per_second = 0, burst = 5 }", "per_second of rate_limit is 0: give a positive number"),
        ("seeds_rate_limit = { per_second = 1, burst = 0 }", "burst of seeds_rate_limit is 0"),
        ("max_connections = 0", "max_connections is 0: nobody would be served"),
    ] {
        fs::write(&file, settings).unwrap();
        let refused = run(&["serve", "--data", text(&folder), "--config", text(&file)]);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && told.contains(said), "{told}");
    }
    fs::write(&file, "").unwrap();
    let refused = run(&["serve", "--config", text(&file)]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("use --data"), "{told}");
    let refused = run(&["serve", "--data", text(&folder), "--log-level", "loud"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && told.contains("'loud'"), "{told}");
    assert!(!folder.exists(), "nothing was begun");
}

#[cfg(unix)]
#[test]
fn a_hangup_does_not_end_the_server_and_its_files_belong_to_its_user_only() {
    use std::os::unix::fs::PermissionsExt;

    let data = tempdir().unwrap();
    let folder = data.path().join("data");
    let file = data.path().join("task.json");
    fs::write(&file, task().to_json()).unwrap();
    let server = Serving::start(&["--data", text(&folder), "--task", text(&file)]);
    let sent = try_post(server.address, &path(&task(), "/reports"), REPORTS, &bytes_of(&reports(&task(), 1, 3)));
    assert_eq!(sent.unwrap().status, 200);
    for _ in 0..3 {
        server.signal("HUP");
        assert_eq!(get(server.address, "/readyz").status, 200);
    }
    let mut folders = vec![folder];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{folder:?}");
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
                files += 1;
            }
        }
    }
    assert!(files > 5, "{files}");
    server.log_until("there is no certificate to read again");
}

#[test]
fn settings_are_checked_without_a_server() {
    let data = tempdir().unwrap();
    let (file, folder, tokens) =
        (data.path().join("server.toml"), data.path().join("data"), data.path().join("tokens"));
    let check = |settings: &str| {
        fs::write(&file, format!("data = {folder:?}\n{settings}")).unwrap();
        let told = run(&["serve", "--check", "--config", text(&file)]);
        (told.status.code(), String::from_utf8(told.stdout).unwrap() + &String::from_utf8(told.stderr).unwrap())
    };
    assert_eq!(check(""), (Some(0), "the settings are good\n".into()));
    assert!(!folder.exists(), "nothing is made");
    fs::write(&tokens, "short\n").unwrap();
    for (settings, code, said) in [
        ("max_connections = 0\n".to_owned(), 2, "max_connections is 0"),
        ("max_conections = 1\n".into(), 2, "max_conections"),
        ("www = \"/nowhere/at/all\"\n".into(), 1, "/nowhere/at/all"),
        (format!("[tokens]\nadmin_file = {tokens:?}\n"), 1, "5 characters"),
        ("[tokens]\nadmin_file = \"/nowhere/at/all\"\n".into(), 1, "/nowhere/at/all"),
        (format!("[tokens]\nadmin = {EXAMPLE:?}\n"), 1, "the token of an example, which everybody knows"),
    ] {
        let (found, told) = check(&settings);
        assert!(found == Some(code) && told.contains(said), "{settings}: {found:?} {told}");
    }
    let (found, told) = check("issued_ids = false\nminimum_batch = 5\n");
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(
        (found, told.len(), told[0]),
        (Some(0), 3, "the settings are valid; less safe than their defaults are:")
    );
    assert!(told[1].starts_with("  minimum_batch = 5: ") && told[2].starts_with("  issued_ids = false: "), "{told:?}");
    let example =
        run(&["serve", "--check", "--config", concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/aggregator.toml")]);
    assert_eq!(String::from_utf8(example.stdout).unwrap(), "the settings are good\n");
}

#[test]
fn a_server_names_less_safe_settings_and_does_not_start_with_the_token_of_an_example() {
    let data = tempdir().unwrap();
    let (file, folder) = (data.path().join("server.toml"), data.path().join("data"));
    // The helper takes reports with ids of their own.
    let log = Serving::start(&["--data", text(&folder), "--open-recovery"]).log();
    for named in
        ["less safe than the default: open_recovery = true: ", "less safe than the default: issued_ids = false: "]
    {
        assert!(log.contains(named), "{log}");
    }
    let log = Serving::start(&["--data", text(&folder)]).log();
    assert_eq!(log.matches("less safe").count(), 1, "{log}");
    for role in ["admin", "collector"] {
        fs::write(&file, format!("[tokens]\n{role} = [{ADMIN:?}, {EXAMPLE:?}]\n")).unwrap();
        let refused = run(&["serve", "--data", text(&folder), "--config", text(&file)]);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(1) && told.contains("the token of an example"), "{told}");
        assert!(told.contains("openssl rand -hex 32") && !told.contains(EXAMPLE), "{told}");
    }
}

#[test]
fn ready_says_whether_reports_can_be_stored() {
    let data = tempdir().unwrap();
    let server = Serving::start(&["--data", text(&data.path().join("data"))]);
    let url = format!("http://{}", server.address);
    let ready = run(&["ready", "--url", &url]);
    assert!(ready.status.success() && ready.stdout == b"ready\n", "{ready:?}");
    let no_aggregator = run(&["ready", "--url", &format!("{url}/tasks")]);
    let told = String::from_utf8(no_aggregator.stderr).unwrap();
    assert!(no_aggregator.status.code() == Some(1) && told.contains("/tasks/readyz answers 404"), "{told}");
    server.log();
    let gone = run(&["ready", "--url", &url]);
    assert_eq!(gone.status.code(), Some(1), "{gone:?}");
}
