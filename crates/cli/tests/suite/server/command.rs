//! The real binary: `serve` with a file of settings, and `task put`.

use super::harness::*;

#[test]
fn a_start_says_how_to_give_it_a_task_and_what_is_less_safe() {
    let folder = Folder::new();
    let log = Serving::start(&folder, "--data new/data").log();
    assert!(log.contains("no task yet: ldp-pca task put") && log.contains("admin.token"), "{log}");
    // The helper takes reports with ids of their own.
    assert!(log.contains("less safe than the default: issued_ids = false: "), "{log}");
    assert_eq!(log.matches("less safe").count(), 1, "{log}");
}

/// Also where an editor put a mark before the first character of each file.
#[test]
fn a_file_of_named_tokens_serves_the_server_and_the_command_that_it_names() {
    let folder = task_folder();
    folder.write("admins", format!("alice {ADMIN}\nbob other-0123456789abcdef0123456789abcdef\n"));
    folder.write("server.toml", "data = \"data\"\n[tokens]\nadmin_file = \"admins\"\n");
    folder.write("settings.json", "{\"minimum_batch\": 7}");
    for name in ["admins", "server.toml", "settings.json", "task.json"] {
        folder.write(name, format!("\u{feff}{}", folder.read_text(name)));
    }
    let server = Serving::start(&folder, "--config server.toml");
    let named = format!("--url {} --token-file admins", server.url(""));
    folder.run(&format!("task put task.json --settings settings.json {named}")).ok();
    assert_has(&server.status(&task()), json!({"minimum_batch": 7}), "the status");
    let log = server.log();
    assert!(log.contains(&named), "{log}");
}

#[test]
fn the_command_line_wins_over_the_file() {
    let folder = task_folder();
    let settings = "data = \"data\"\nminimum_batch = 5\nlisten = \"127.0.0.1:1\"\n";
    let settings = format!("{settings}[tokens]\nadmin = {ADMIN:?}\n[log]\nlevel = \"error\"\n");
    folder.write("server.toml", settings);
    // The helper gives an address of its own.
    let server = Serving::start(&folder, "--config server.toml --task task.json --open-recovery");
    assert_has(&server.status(&task()), json!({"minimum_batch": 5, "open_recovery": true}), "the status");
    let made = ["collector.token", "admin.token"].map(|name| folder.path("data").join(name).exists());
    assert_eq!(made, [true, false], "only what is missing is made");
    drop(server.log());
    let server = Serving::start(&folder, "--config server.toml --task task.json");
    assert_eq!(server.status(&task())["open_recovery"], false);
    drop(server.log());
}

#[cfg(unix)]
#[test]
fn a_hangup_does_not_end_the_server_and_its_files_belong_to_its_user_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = task_folder();
    let server = Serving::start(&folder, "--data data --task task.json");
    assert_eq!(server.send(&task(), &body_of(1, 3)).status, 200);
    for _ in 0..3 {
        server.signal("HUP");
        assert_eq!(server.get("/readyz").status, 200);
    }
    let mut folders = vec![folder.path("data")];
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

#[cfg(unix)]
#[test]
fn a_service_manager_hears_that_the_server_is_ready_and_that_it_stops() {
    use std::os::unix::net::UnixDatagram;

    let folder = Folder::new();
    let socket = folder.path("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    let mut command = folder.command(["serve", "--data", "data", "--listen", "127.0.0.1:0"]);
    let server = Serving::of(command.env("NOTIFY_SOCKET", &socket).stderr(Stdio::null()));
    assert_eq!(heard(), "READY=1");
    assert_eq!(server.get("/readyz").status, 200);
    server.signal("TERM");
    assert_eq!(heard(), "STOPPING=1");
    assert!(server.ended());
}

#[test]
fn the_example_of_settings_is_good() {
    let example = concat!("serve --check --config ", env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/aggregator.toml");
    assert_eq!(Folder::new().run(example).stdout, "the settings are good\n");
}

#[test]
fn a_task_is_deleted_by_a_command_and_brought_back_by_the_one_that_it_names() {
    let folder = task_folder();
    let server = Serving::start(&folder, "--data data --task task.json");
    assert_eq!(server.counts(&task(), &body_of(1, 30)), (30, 0));
    let digest = task().digest().to_string();
    let delete =
        |server: &Serving, rest: &str| folder.run(&format!("task delete {digest} --url {} {rest}", server.url("")));
    let by_admin = "--token-file data/admin.token";
    delete(&server, "--token-file data/collector.token").refused(1, &["403", "an admin's token"]);
    let said = delete(&server, by_admin).ok().stdout;
    assert!(said.starts_with(&format!("task {digest}\nis deleted; its reports are erased after 20")), "{said}");
    let (_, restore) = said.split_once("Z\nuntil then, with the server stopped: ldp-pca ").unwrap();
    delete(&server, by_admin).refused(1, &["404", &digest]);
    server.log();
    folder.run(&restore.lines().next().unwrap().replace("FOLDER", "data")).prints(&["30 reports are back"]);
    let server = Serving::start(&folder, "--data data");
    assert_eq!(server.records(&task()), 30);
    let now = format!("{by_admin} --now");
    delete(&server, &format!("{now} --json")).gives(json!({"task": digest, "restorable_until": null}));
    folder.run(&format!("task put task.json --url {} {by_admin}", server.url(""))).ok();
    delete(&server, &now).prints(&["is deleted, and its reports are erased"]);
    server.log();
    folder.refused(&format!("store restore data {digest}"), 1, &["no deleted task"]);
}

#[test]
fn ready_says_whether_reports_can_be_stored() {
    let folder = Folder::new();
    let server = Serving::start(&folder, "--data data");
    let ready = format!("ready --url {}", server.url(""));
    assert_eq!(folder.text(&ready), format!("ready: {}\n", server.url("")));
    folder.refused(&format!("{ready}/tasks"), 1, &["/tasks/readyz answers 404"]);
    // Where it tries to write there is a folder.
    fs::create_dir(folder.path("data/probe.tmp")).unwrap();
    wait_until("a disk that takes nothing", || server.get("/readyz").status == 503);
    server.get("/readyz").refused(503, "not-ready", &["cannot be stored now", "look at the server's disk"]);
    assert_eq!((folder.run(&ready).code, server.get("/healthz").status), (Some(1), 200));
    fs::remove_dir(folder.path("data/probe.tmp")).unwrap();
    wait_until("a disk that takes something again", || server.get("/readyz").status == 200);
    server.log();
    assert_eq!(folder.run(&ready).code, Some(1));
}
