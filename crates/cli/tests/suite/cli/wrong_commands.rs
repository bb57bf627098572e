//! Wrong commands, and what each says: `wrong-commands.txt` is the table.

use serde_json::Value;

use crate::support::{Folder, PEOPLE, gzip, issued_ids, npy, npy_matrix};

/// A command line, below it the exit code with the message, and after `>` a command that does what the message says.
const TABLE: &str = include_str!("wrong-commands.txt");

/// What no message may hold: a value of a record.
const SECRET: &str = "s3cret";

/// Two lines of a terminal, and the digests of two tasks.
const MOST: usize = 180 + 128;

/// The text with a word in place of every digest, which changes with what tasks have.
fn masked(text: &str) -> String {
    let is_hex = |letter: char| letter.is_ascii_hexdigit() && !letter.is_ascii_uppercase();
    let words = text.split_inclusive(|letter| !is_hex(letter)).map(|word| {
        let digest = word.trim_end_matches(|letter| !is_hex(letter));
        if digest.len() < 16 { word.to_owned() } else { word.replacen(digest, "DIGEST", 1) }
    });
    words.collect()
}

/// The rows of the table, and the commands that follow their messages.
fn rows() -> Vec<(&'static str, i32, &'static str, Option<&'static str>)> {
    let text = TABLE.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>();
    let row = |lines: &[&'static str]| {
        let [command, said, rest @ ..] = lines else { panic!("not two or three lines: {lines:?}") };
        let (code, message) = said.split_once(' ').unwrap();
        let remedied = rest.first().map(|line| line.strip_prefix("> ldp-pca ").unwrap());
        assert!(rest.len() <= 1, "{lines:?}");
        (command.strip_prefix("$ ldp-pca ").unwrap(), code.parse().unwrap(), message, remedied)
    };
    text.split(|line| line.is_empty()).filter(|lines| !lines.is_empty()).map(row).collect()
}

/// A folder with files of every kind, right ones and wrong ones.
fn folder() -> Folder {
    let folder = Folder::with_task();
    folder.run("randomize people.csv -t task.json -o reports.ldpr --insecure-seed 1").ok();
    folder.run("aggregate reports.ldpr -t task.json -o sums.ldpa").ok();
    folder.run("recover sums.ldpa -t task.json --rank 1 -o components.json").ok();
    folder.run("task refine --aggregate sums.ldpa -t task.json --rank 1 --anyway -o second.json").ok();
    for (name, command) in [
        ("other-task", "task new --epsilon 3"),
        ("one-fold", "task new --epsilon 2 --folds 1"),
        ("centred", "task new --epsilon 2 --centre"),
        ("gaussian", "task new --epsilon 2 --mechanism gaussian"),
        ("norms", "task norms --epsilon 2 --radius 8"),
    ] {
        folder.run(&format!("{command} --schema schema.json -o {name}.json")).ok();
        folder.collect("people.csv --insecure-seed 1", name, name);
    }
    for name in ["task.json", "components.json"] {
        folder.write(&format!("new-{name}"), folder.read_text(name).replace("\"version\":1", "\"version\":2"));
    }
    for (name, place) in [("reports.ldpr", 2 * 35 + 31), ("sums.ldpa", 60)] {
        let mut altered = folder.read(name);
        altered[place] ^= 1;
        folder.write(&format!("altered-{name}"), altered);
    }
    let records = PEOPLE.split_once('\n').unwrap().1;
    folder.write("no-header.csv", records);
    folder.write("other-columns.csv", format!("age,height,plan,points\n{records}"));
    folder.write("semicolons.csv", format!("age,height,plan,points\n{records}").replace(',', ";"));
    folder.write("decimal-commas.csv", PEOPLE.replace(',', ";").replace('.', ","));
    folder.write("text.csv", format!("{PEOPLE}{SECRET},1.7,free,1\n"));
    folder.write("ragged.csv", format!("{PEOPLE}40,1.7,{SECRET}\n"));
    folder.write("quote.csv", format!("{PEOPLE}40,1.7,\"{SECRET}\n"));
    folder.write("latin-1.csv", [PEOPLE.as_bytes(), b"40,1.7,fr\xe9e,1\n"].concat());
    let utf_16: Vec<u8> = "\u{feff}".encode_utf16().chain(PEOPLE.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    folder.write("utf-16.csv", utf_16);
    folder.write("numbers.csv", (0..40).map(|number| format!("{number}\n")).collect::<String>() + SECRET);
    folder.write("texts.csv", (0..40).map(|number| format!("{SECRET}{number}\n")).collect::<String>());
    folder.write("twice.csv", format!("age,height,plan,age\n{records}"));
    folder.write("header.csv", "age,height,plan,score\n");
    folder.write("records.json", format!("[\n  {{\"age\": 31, \"plan\": \"{SECRET}\"}}\n]\n"));
    folder.write("text.json", format!("\"{SECRET}\""));
    folder.write("text-member.json", format!("{{\"minimum_batch\": \"{SECRET}\"}}"));
    folder.write("empty", "");
    folder.write("blank", "\n\n");
    folder.write("packed-empty", gzip(b""));
    folder.write("cut.json", &folder.read("task.json")[..100]);
    folder.write("cut.ldpr", &folder.read("reports.ldpr")[..50]);
    folder.write("sheet.xlsx", "PK\u{3}\u{4} and more");
    folder.write("arrays.npz", "PK\u{3}\u{4}----------------------\u{5}\0\0\0a.npy");
    folder.write("old.feather", "FEA1\0\0\0\0");
    folder.write("2-by-2.npy", npy_matrix(&[&[2.0, 1.0], &[1.0, 2.0]]));
    folder.write("1-by-2.npy", npy_matrix(&[&[2.0, 1.0]]));
    folder.write("vector.npy", npy("<f8", false, "(4,)", &[0; 32]));
    folder.write("cube.npy", npy("<f8", false, "(2, 2, 2)", &[0; 64]));
    folder.write("texts.npy", npy("<U4", false, "(1, 2)", &[0; 32]));
    folder.write("complex.npy", npy("<c16", false, "(1, 2)", &[0; 32]));
    folder.write("ids.json", issued_ids(10));
    folder.write("few-ids.json", issued_ids(9));
    folder.write("same-ids.json", issued_ids(10).replace('1', "0"));
    folder.write("appended.npy", npy_matrix(&[&[2.0, 1.0], &[1.0, 2.0]]).repeat(2));
    let packed = gzip(PEOPLE.as_bytes());
    folder.write("cut.csv.gz", &packed[..packed.len() - 9]);
    folder.write("junk.csv.gz", [&packed[..], b"\n"].concat());
    folder.write("packed-twice.csv.gz", gzip(&packed));
    folder.write("hexadecimal.csv", "x\n0x10\n0x11\n");
    for name in ["folder", "data/tasks", "data/deleted"] {
        std::fs::create_dir_all(folder.path(name)).unwrap();
    }
    folder
}

#[test]
fn every_wrong_command_says_where_and_what_to_do() {
    let (folder, rows) = (folder(), rows());
    assert!(rows.len() >= 350, "{}", rows.len());
    let before = folder.names();
    for (command, code, message, _) in &rows {
        let run = folder.run(command);
        let lines: Vec<&str> = run.stderr.lines().collect();
        let (last, others) = lines.split_last().unwrap();
        assert_eq!((run.code, masked(last)), (Some(*code), format!("error: {message}")), "{command}");
        assert!(others.iter().all(|line| line.starts_with("note: ")), "{run:?}");
        assert!(run.stdout.is_empty() && !run.stderr.contains(SECRET) && last.chars().count() <= MOST, "{run:?}");
    }
    assert_eq!(folder.names(), before);
}

/// What somebody does who follows a message succeeds.
#[test]
fn what_a_message_advises_works() {
    let (folder, rows) = (folder(), rows());
    let before = folder.names();
    let remedied: Vec<&str> = rows.iter().filter_map(|(.., remedied)| *remedied).collect();
    assert!(remedied.len() >= 80, "{}", remedied.len());
    for command in remedied {
        folder.run(command).ok();
        for name in folder.names().into_iter().filter(|name| !before.contains(name)) {
            let path = folder.path(&name);
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
        }
    }
}

/// Each error of the table is one document with `--json`, for the commands that have it.
#[test]
fn every_error_is_one_document_with_json() {
    let folder = folder();
    for (command, code, message, _) in rows() {
        if ["serve", "relay", "ready", "demo", "task types"].iter().any(|name| command.starts_with(name)) {
            continue;
        }
        let run = folder.run(&format!("{command} --json"));
        let document: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
        let error = &document["error"];
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{command}");
        assert_eq!(error["exit_code"], code, "{command}");
        assert_eq!(masked(error["message"].as_str().unwrap()), message, "{command}");
        let (file, _) = message.split_once([':', ',']).unwrap_or_default();
        if error["file"].is_string() {
            assert_eq!(error["file"], file, "{command}");
        }
        for part in ["line", "report"] {
            let place = error[part].as_u64().map(|number| format!("{file}, {part} {number}: "));
            assert_eq!(place.is_some(), message.starts_with(&format!("{file}, {part} ")), "{command}");
            assert!(place.is_none_or(|place| message.starts_with(&place)), "{command}");
        }
    }
}
