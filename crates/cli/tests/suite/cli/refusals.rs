//! No record is refused for what it holds.

use crate::support::Folder;

/// The attack: a task declares a free-text question as numeric, and reads who skipped it from who has a report. In a
/// file of one record nothing that it holds decides.
#[test]
fn a_report_leaves_for_every_record_whatever_it_holds() {
    let folder = Folder::new();
    let listed = r#"{"name": "plan", "type": "categorical", "values": ["free", "other"], "unseen": "other"}"#;
    let numeric = r#"{"name": "hiv_since", "type": "numeric", "offset": 0, "scale": 1}"#;
    let long = format!("\"{}\"", "spring ".repeat(1 << 20));
    let answers: [&[u8]; 14] = [
        b"",
        b"2019",
        b"spring 2019",
        b"NA",
        b"\"\"",
        b"\"a\nb\"",
        b"\"never closed",
        b"1,5",
        b"\xff\xfe",
        b" ",
        b"5 %",
        b"1e999",
        b"\0",
        long.as_bytes(),
    ];
    let task = |columns: &str| {
        folder.write("schema.json", format!(r#"{{"columns": [{columns}]}}"#));
        folder.run("task new --schema schema.json --epsilon 1e-6 -o task.json --force").ok();
    };
    for (columns, header, before) in [
        ([numeric, listed].join(","), "hiv_since,plan", &b""[..]),
        ([listed, numeric].join(","), "plan,hiv_since", b"free,"),
        (numeric.to_owned(), "hiv_since", b""),
        (listed.to_owned(), "plan", b""),
    ] {
        task(&columns);
        for answer in answers {
            for end in [&b""[..], b"\n", b",\n", b",free\n", b",free,5\n"] {
                let file = [header.as_bytes(), b"\n", before, answer, end].concat();
                // A header alone has no record.
                if file.len() <= header.len() + 1 {
                    continue;
                }
                folder.write("one.csv", file);
                let counts = folder.json("randomize one.csv -t task.json -o one.ldpr --force");
                let shown = String::from_utf8_lossy(&answer[..answer.len().min(20)]).into_owned();
                assert_eq!(counts["records"], 1, "{header} {shown:?} {end:?}");
                assert_eq!(folder.read("one.ldpr").len() as u64, counts["report_bytes"], "{header} {shown:?} {end:?}");
            }
        }
    }
    task(&[numeric, listed].join(","));
    // Without a header it is the options that say what the file is, and not its first record.
    let texts = ["PAR1,free", "ARROW1,free", "\u{1f}x,free", "{\"columns\":,free", "PK\u{3}\u{4},free", " \n"];
    let bytes = [&b"\x1f\x8b,free"[..], b"\x93NUMPY,free", b"\xff\xff\xff\xff,free", b"\xff\xfe\0,free"];
    for record in texts.into_iter().map(str::as_bytes).chain(bytes) {
        folder.write("bare", record);
        let line = "randomize bare -t task.json -o bare.ldpr --force --header no --separator comma";
        assert_eq!(folder.json(line)["records"], 1, "{record:?}");
    }
    // A column that the file need not have does not make its one column several.
    task(&format!(r#"{numeric}, {{"name": "note", "type": "ignored"}}"#));
    for (answer, records) in [("\n", 1), ("\"\"\n", 1), ("5\n", 1), ("5\n\n", 1), ("often\n\n", 1), ("\n5\n", 2)] {
        folder.write("one.csv", format!("hiv_since\n{answer}"));
        let counts = folder.json("randomize one.csv -t task.json -o one.ldpr --force");
        assert_eq!(counts["records"], records, "{answer:?}");
    }
}

/// No record decides how its file is read: with it the presence of a report, which is an output too, would depend on a
/// value. Each task has names and categories that look like the header, or like another separator.
#[test]
fn no_record_decides_whether_randomize_makes_a_report() {
    let numeric = |name: &str| format!(r#"{{"name": "{name}", "type": "numeric", "offset": 0, "scale": 1}}"#);
    let listed = |name: &str, values: &str| {
        format!(r#"{{"name": "{name}", "type": "categorical", "values": [{values}], "unseen": "zero"}}"#)
    };
    let tasks = [
        (vec![listed("yes", r#""yes", "no""#)], "yes", vec!["yes", "no", "1"]),
        (vec![numeric("1"), numeric("2")], "1,2", vec!["1,2", "2,1", "0.5,3"]),
        (vec![listed("a", r#""yes;", "no""#), numeric("b")], "a,b", vec!["yes;,3", "no,3", "\"x\ty;z\",3"]),
        (vec![listed("a,b", r#""x,y", "z""#), numeric("c")], "a,b;c", vec!["x,y;3", "z;3", "\"p;q,r\";3"]),
        (vec![listed("a", r#""x", "z""#), numeric("c")], "a\tc", vec!["x,y;\t3", "z\t3", "\"p\nq\"\t3"]),
        (vec![listed("a", r#""x", "z""#), numeric("c")], "a;c\r", vec!["x;3", "\"p\nq\";3", "\"p\rq\";3"]),
    ];
    for (columns, header, records) in tasks {
        let folder = Folder::new();
        folder.write("schema.json", format!(r#"{{"columns": [{}]}}"#, columns.join(", ")));
        folder.run("task new --schema schema.json --epsilon 0.001 -o task.json").ok();
        let end = if header.ends_with('\r') { "" } else { "\n" };
        let separator = ["semicolon", "tab", "comma"].into_iter().zip([';', '\t', ',']);
        let (separator, _) = separator.into_iter().find(|(_, byte)| header.contains(*byte)).unwrap_or(("comma", ','));
        for record in &records {
            folder.write("with.csv", format!("{header}{end}{record}"));
            let counts = folder.json("randomize with.csv -t task.json -o with.ldpr --force");
            assert_eq!(counts["records"], 1, "{header:?} {record:?}");
            folder.write("without.csv", record);
            let line = "randomize without.csv -t task.json -o without.ldpr --force --header no";
            folder.refused(line, 2, &["without a header only --separator may say what separates the cells"]);
            let counts = folder.json(&format!("{line} --separator {separator}"));
            assert_eq!(counts["records"], 1, "{header:?} {record:?}");
        }
        // Without any option no record has a report, not even one that is no header.
        for record in &records {
            folder.write("bare.csv", record);
            folder.refused("randomize bare.csv -t task.json -o bare.ldpr", 1, &[]);
        }
        assert!(!folder.path("bare.ldpr").exists());
    }
}
