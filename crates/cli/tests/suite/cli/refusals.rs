//! Bad input: each is refused with the value, the place and the remedy, and leaves nothing behind.

use crate::support::{Folder, PEOPLE, gzip, npy, npy_matrix};

/// A folder with a task, ten reports and their aggregate.
fn collected() -> Folder {
    let folder = Folder::with_task();
    folder.run("randomize people.csv -t task.json -o r.ldpr").ok();
    folder.run("aggregate r.ldpr -t task.json -o a.ldpa").ok();
    folder
}

#[test]
fn what_does_not_fit_is_missing_and_told_with_its_line_and_strict_refuses_it() {
    let folder = Folder::with_task();
    let cases = [
        ("forty,1.7,free,1", "'age' is numeric but holds a text"),
        ("40,1.7,free", "found 3 fields"),
        ("40,1.7,free,1,1", "found 5 fields"),
    ];
    let mut lines: Vec<&str> = PEOPLE.lines().collect();
    for (row, part) in cases {
        lines.insert(4, row);
        folder.write("bad.csv", lines.join("\n"));
        lines.remove(4);
        let run = folder.run("randomize bad.csv -t task.json -o out.ldpr --strict");
        assert!(!run.stderr.contains("forty"), "{run:?}");
        run.refused(1, &["bad.csv, line 5:", part, "without --strict it counts as missing"]);
        assert!(!folder.path("out.ldpr").exists());
        let counts = folder.run("randomize bad.csv -t task.json -o out.ldpr --json").json();
        assert_eq!(counts["records"], 11, "{row}");
        let told = counts["unread"].as_array().unwrap();
        assert!(told[0]["first"].as_str().unwrap().starts_with("line 5: ") && told[0]["count"] == 1, "{counts}");
        assert!(told.len() == 1 && told[0]["first"].as_str().unwrap().contains(part), "{counts}");
        std::fs::remove_file(folder.path("out.ldpr")).unwrap();
    }
    lines.extend(cases.iter().map(|(row, _)| *row));
    folder.write("bad.csv", lines.join("\n"));
    let text = folder.run("randomize bad.csv -t task.json -o out.ldpr").ok().stdout;
    for part in [
        "1 value of column 'age' cannot be read and counts as missing; line 12: column 'age' is",
        "2 rows have too few values or too many; line 13: found 3 fields",
    ] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    folder.run("randomize - -t task.json -o other.ldpr --strict").refused(2, &["standard input", "--strict"]);
}

/// The attack: a task declares a free-text question as numeric, and reads who skipped it from who has a report. In a
/// file of one record nothing that it holds decides; in one of several, nothing of a column is another file.
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
    for (columns, header, before) in [
        ([numeric, listed].join(","), "hiv_since,plan", &b""[..]),
        ([listed, numeric].join(","), "plan,hiv_since", b"free,"),
        (numeric.to_owned(), "hiv_since", b""),
        (listed.to_owned(), "plan", b""),
    ] {
        folder.write("schema.json", format!(r#"{{"columns": [{columns}]}}"#));
        folder.run("task new --schema schema.json --epsilon 1e-6 -o task.json --force").ok();
        for answer in answers {
            for end in [&b""[..], b"\n", b",\n", b",free\n", b",free,5\n"] {
                let file = [header.as_bytes(), b"\n", before, answer, end].concat();
                // A header alone has no record.
                if file.len() <= header.len() + 1 {
                    continue;
                }
                folder.write("one.csv", file);
                let counts = folder.run("randomize one.csv -t task.json -o one.ldpr --force --json").json();
                let shown = String::from_utf8_lossy(&answer[..answer.len().min(20)]).into_owned();
                assert_eq!(counts["records"], 1, "{header} {shown:?} {end:?}");
                assert_eq!(folder.read("one.ldpr").len() as u64, counts["report_bytes"], "{header} {shown:?} {end:?}");
            }
        }
    }
    folder.write("schema.json", format!(r#"{{"columns": [{numeric}, {listed}]}}"#));
    folder.run("task new --schema schema.json --epsilon 1e-6 -o task.json --force").ok();
    // Without a header it is the options that say what the file is, and not its first record.
    for record in ["PAR1,free", "ARROW1,free", "\u{1f}x,free", "{\"columns\":,free", "PK\u{3}\u{4},free", " \n"] {
        folder.write("bare", record);
        let line = "randomize bare -t task.json -o bare.ldpr --force --json --header no --separator comma";
        assert_eq!(folder.run(line).json()["records"], 1, "{record:?}");
    }
    for record in [&b"\x1f\x8b,free"[..], b"\x93NUMPY,free", b"\xff\xff\xff\xff,free", b"\xff\xfe\0,free"] {
        folder.write("bare", record);
        let line = "randomize bare -t task.json -o bare.ldpr --force --json --header no --separator comma";
        assert_eq!(folder.run(line).json()["records"], 1, "{record:?}");
    }
    // A column that the file need not have does not make its one column several.
    folder.write("schema.json", format!(r#"{{"columns": [{numeric}, {{"name": "note", "type": "ignored"}}]}}"#));
    folder.run("task new --schema schema.json --epsilon 1e-6 -o task.json --force").ok();
    for (answer, records) in [("\n", 1), ("\"\"\n", 1), ("5\n", 1), ("5\n\n", 1), ("often\n\n", 1), ("\n5\n", 2)] {
        folder.write("one.csv", format!("hiv_since\n{answer}"));
        let counts = folder.run("randomize one.csv -t task.json -o one.ldpr --force --json").json();
        assert_eq!(counts["records"], records, "{answer:?}");
    }
    folder.write("schema.json", format!(r#"{{"columns": [{numeric}, {listed}]}}"#));
    folder.run("task new --schema schema.json --epsilon 1e-6 -o task.json --force").ok();
    folder.write("several.csv", "hiv_since,plan\nspring 2019,free\n,free\n");
    folder
        .run("randomize several.csv -t task.json -o several.ldpr")
        .refused(1, &["several.csv, line 2: column 'hiv_since'", "no value of the column can be read"]);
    assert!(!folder.path("several.ldpr").exists());
    folder.write("several.csv", "hiv_since,plan\nspring 2019,free\n2019,free\n");
    assert_eq!(folder.run("randomize several.csv -t task.json -o several.ldpr --json").json()["records"], 2);
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
            let counts = folder.run("randomize with.csv -t task.json -o with.ldpr --force --json").json();
            assert_eq!(counts["records"], 1, "{header:?} {record:?}");
            folder.write("without.csv", record);
            let run = folder.run("randomize without.csv -t task.json --header no -o without.ldpr --force");
            run.refused(2, &["without a header only --separator may say what separates the cells"]);
            let line = "randomize without.csv -t task.json -o without.ldpr --force --json --header no --separator";
            let counts = folder.run(&format!("{line} {separator}")).json();
            assert_eq!(counts["records"], 1, "{header:?} {record:?}");
        }
        // Without any option no record has a report, not even one that is no header.
        let refusals = records.iter().map(|record| {
            folder.write("bare.csv", record);
            folder.run("randomize bare.csv -t task.json -o bare.ldpr").code
        });
        assert!(refusals.into_iter().all(|code| code == Some(1)), "{header:?}");
        assert!(!folder.path("bare.ldpr").exists());
    }
}

/// A record is refused for its shape, never for its content: a refusal would reveal it.
#[test]
fn every_row_of_the_right_shape_has_a_report() {
    let folder = Folder::with_task();
    let rows = [
        "NaN,1.7,free,1",
        "40,inf,free,1",
        "40,1.7,free,-Infinity",
        "40,1e999,free,1",
        ",1.7,free,1",
        "40,1.7,gold,1",
        "40,1.7,,1",
        "NA,NA,NA,NA",
        ",,,",
        "0,0,,0",
        "1e308,-1e308,free,5e-324",
    ];
    folder.write("all.csv", format!("{PEOPLE}{}\n", rows.join("\n")));
    let counts = folder.run("randomize all.csv -t task.json -o out.ldpr --json").json();
    assert_eq!((&counts["records"], &counts["unread"]), (&21.into(), &serde_json::json!([])));
    assert_eq!(counts["missing_values"], 15, "for the eyes of the file's owner");
    let text = folder.run("randomize all.csv -t task.json -o out.ldpr --force").ok().stdout;
    assert!(text.contains("15 missing values, which contribute nothing"), "{text}");
}

#[test]
fn a_matrix_may_have_missing_values_and_only_one_record_another_width() {
    let folder = Folder::new();
    folder.write("sample.csv", "1,2\n3,4\n");
    folder.run("schema infer sample.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 2 -o task.json").ok();
    folder.write("holes.npy", npy_matrix(&[&[1.0, 2.0], &[f64::NAN, 1.0], &[0.0, 0.0], &[1.0, f64::INFINITY]]));
    let counts = folder.run("randomize holes.npy -t task.json -o out.ldpr --json").json();
    assert_eq!((counts["records"].as_u64(), counts["missing_values"].as_u64()), (Some(4), Some(2)));
    folder.write("wide.npy", npy_matrix(&[&[1.0, 2.0, 3.0]]));
    let wide = "randomize wide.npy -t task.json -o out.ldpr --force";
    folder.run(&format!("{wide} --strict")).refused(1, &["line 1", "3 fields", "2 columns"]);
    folder.run(wide).ok();
    folder.write("wide.npy", npy_matrix(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]));
    folder.run(wide).refused(1, &["line 1", "3 fields", "2 columns", "every row"]);
}

/// Whether a report arrives would reveal the value.
#[test]
fn tasks_that_could_tell_values_apart_by_refusals_are_refused() {
    let folder = Folder::with_task();
    let task = folder.read_text("task.json");
    let scale = task.split("\"scale\":").nth(1).unwrap().split('}').next().unwrap();
    for (from, to, part) in [
        (format!("\"scale\":{scale}"), "\"scale\":5e-324", "at least 1e-100"),
        ("\"unseen\":\"zero\"".to_owned(), "\"unseen\":\"error\"", "no record may be refused for a value"),
    ] {
        assert!(task.contains(&from), "{task} lacks {from}");
        folder.write("hostile.json", task.replacen(&from, to, 1));
        folder.run("randomize people.csv -t hostile.json -o out.ldpr").refused(1, &["hostile.json", part]);
    }
}

#[test]
fn headers_that_do_not_fit_are_refused_by_name() {
    let folder = Folder::with_task();
    for (header, part) in [
        ("age,height,plan,points", "unknown columns: 1; the schema has age, height, plan, score"),
        ("age,height,plan", "'score' is missing"),
        ("age,height,plan,plan", "'plan' is there twice"),
    ] {
        folder.write("bad.csv", format!("{header}\n31,1.80,free,-2\n"));
        folder.run("randomize bad.csv -t task.json -o out.ldpr").refused(1, &["bad.csv, header:", part, "--header no"]);
    }
    folder.run("schema infer people.csv --ignore salary").refused(2, &["no column 'salary' among its 4"]);
    folder.run("schema infer people.csv --categorical salary").refused(2, &["'salary'"]);
    folder.write("repeated.csv", "a,a\n1,2\n");
    folder.run("schema infer repeated.csv").refused(1, &["columns 1 and 2", "the same name"]);
    folder.write("nameless.csv", "a,\n1,2\n");
    folder.run("schema infer nameless.csv --header yes").refused(1, &["empty name"]);
}

#[test]
fn samples_that_cannot_be_described_are_refused() {
    let folder = Folder::new();
    let names: String = (0..5).map(|i| format!("name{i}\n")).collect();
    folder.write("names.csv", names);
    folder
        .run("schema infer names.csv --header no")
        .refused(1, &["names.csv: ", "0 features", "column 1 has 5 different texts in 5 values"]);
    folder.write("header.csv", "a,b\n");
    folder.run("schema infer header.csv").refused(1, &["header.csv", "no rows"]);
    folder.write("zeros.csv", "0,0\n0,0\n");
    folder.run("schema infer zeros.csv").refused(1, &["zeros.csv", "0 features"]);
}

#[test]
fn parameters_outside_their_range_are_wrong_usage() {
    let folder = Folder::with_task();
    let task = "task new --schema schema.json -o t.json";
    for (value, part) in [
        ("0", "epsilon is 0"),
        ("-1", "epsilon is -1"),
        ("nan", "epsilon is NaN"),
        ("inf", "epsilon is inf"),
        ("1e999", "epsilon is inf"),
        ("two", "'two' is not a number"),
        ("1,5", "'1,5' is not a number"),
    ] {
        folder.run(&format!("{task} --epsilon {value}")).refused(2, &["--epsilon", part]);
        folder.run(&format!("simulate --epsilon {value}")).refused(2, &["--epsilon", part]);
    }
    for (value, part) in [
        ("0", "delta is 0"),
        ("1", "delta is 1"),
        ("-1e-6", "delta is -0.000001"),
        ("2", "delta is 2"),
        ("nan", "delta is NaN"),
    ] {
        for line in [task, "simulate"] {
            folder
                .run(&format!("{line} --epsilon 1 --mechanism gaussian --delta {value}"))
                .refused(2, &["--delta", part]);
        }
    }
    let cases = [
        ("--epsilon 1 --delta 1e-6", "--delta does not go with double-cap"),
        ("", "--epsilon"),
        ("--epsilon 1 --bounding clip:0", "clipping radius is 0"),
        ("--epsilon 1 --bounding clip:-1", "clipping radius is -1"),
        ("--epsilon 1 --bounding clip:nan", "clipping radius is NaN"),
        ("--epsilon 1 --bounding clip:", "not a number"),
        ("--epsilon 1 --bounding clip", "use unit-norm, or clip:R"),
        ("--epsilon 1 --centre 0", "weight is 0: it must be from 0.01"),
        ("--epsilon 1 --centre -0.5", "weight is -0.5"),
        ("--epsilon 1 --centre nan", "weight is NaN"),
        ("--epsilon 1 --centre median", "'median' is not a number"),
        ("--epsilon 1 --bounding ball", "use unit-norm, or clip:R"),
        ("--epsilon 1 --folds 0", "0 folds: use 1 to 64"),
        ("--epsilon 1 --folds 65", "65 folds: use 1 to 64"),
        ("--epsilon 1 --folds -1", "-1"),
        ("--epsilon 1 --candidates 1", "2..=16384"),
        ("--epsilon 1 --candidates 16385", "2..=16384"),
        ("--epsilon 1 --mechanism gaussian --candidates 8", "goes with double-cap only"),
        ("--epsilon 1e-9", "too small for double-cap"),
        ("--epsilon 40", "use epsilon at most 16"),
        ("--epsilon 1 --mechanism laplace", "laplace"),
        ("--epsilon 1.5 --mechanism wang-xu --delta 1e-4", "really gives delta"),
        ("--epsilon 1.5 --mechanism wang-xu --delta 1e-4", "use calibration 'analytic'"),
        ("--epsilon 1e-9 --mechanism gaussian --delta 1e-9", "raise epsilon or delta"),
        ("--epsilon 1 --mechanism gaussian --delta 1e-19", "raise delta"),
        ("--epsilon 100 --mechanism gaussian --delta 1e-6", "at this dimension: lower epsilon to at most"),
    ];
    for (options, part) in cases {
        folder.run(&format!("{task} {options}")).refused(2, &[part]);
    }
    assert!(!folder.path("t.json").exists());
}

#[test]
fn a_simulation_that_makes_no_sense_is_wrong_usage() {
    let folder = Folder::new();
    for (options, part) in [
        ("--rank 0", "rank 0"),
        ("--rank x", "'x' is not a whole number"),
        ("--rank 41", "rank 41 exceeds the dimension 40"),
        ("--dimension 0", "between 1 and"),
        ("--dimension 1000000", "between 1 and"),
        ("--signal -1", "signal is -1"),
        ("--signal nan", "signal is NaN"),
        ("--sparsity 2", "sparsity is 2"),
        ("--sparsity 41", "sparsity is 41"),
        ("--trials 0", "--trials"),
        ("--records 0", "--records"),
        ("--trials 18446744073709551615 --rank 41", "rank 41"),
    ] {
        folder.run(&format!("simulate --epsilon 2 {options}")).refused(2, &[part]);
        folder.run(&format!("simulate --mechanism none {options}")).refused(2, &[part]);
    }
    folder.run("simulate").refused(2, &["--epsilon is missing"]);
    folder.run("simulate --epsilon 2 --delta 1e-6").refused(2, &["--delta does not go with double-cap"]);
    for mechanism in ["gaussian", "wang-xu"] {
        let line = format!("simulate --epsilon 2 --mechanism {mechanism} --candidates 3");
        folder.run(&line).refused(2, &["--candidates goes with double-cap only"]);
    }
}

#[test]
fn ranks_and_outputs_that_do_not_fit_are_wrong_usage() {
    let folder = collected();
    folder.run("recover a.ldpa -t task.json --rank 0").refused(2, &["rank 0"]);
    folder.run("recover a.ldpa -t task.json --rank 7").refused(2, &["rank 7 exceeds the dimension 6"]);
    folder.run("recover a.ldpa -t task.json --rank -1").refused(2, &["-1"]);
    folder.run("recover a.ldpa -t task.json").refused(2, &["--rank"]);
    folder.run("recover a.ldpa -t task.json --rank 1 -o c.txt").refused(2, &["c.txt", ".csv, .npy or .json"]);
    folder.run("recover a.ldpa -t task.json --rank 1 --sparse --penalty -1").refused(2, &["penalty -1"]);
    folder.run("recover a.ldpa -t task.json --rank 1 --sparse --penalty nan").refused(2, &["penalty NaN"]);
}

#[test]
fn reports_that_are_not_the_tasks_are_refused_by_name() {
    let folder = collected();
    let reports = folder.read("r.ldpr");
    folder.run("task new --schema schema.json --epsilon 3 -o other.json").ok();
    folder.run("aggregate r.ldpr -t other.json -o out.ldpa").refused(1, &["r.ldpr, report 1:", "answers task"]);
    folder.run("aggregate r.ldpr -t task.json -o out.ldpa --threads 0").refused(2, &["--threads", "0"]);

    folder.write("cut.ldpr", &reports[..5 * 35 + 20]);
    folder
        .run("aggregate cut.ldpr -t task.json -o out.ldpa")
        .refused(1, &["cut.ldpr, report 6:", "20 bytes", "35", "--skip-invalid"]);
    let counts = folder.run("aggregate cut.ldpr -t task.json -o out.ldpa --skip-invalid --json").json();
    assert_eq!((counts["records"].as_u64(), counts["skipped"].as_u64()), (Some(5), Some(1)));
    assert!(counts["first_skipped"].as_str().unwrap().contains("report 6"), "{counts}");
    std::fs::remove_file(folder.path("out.ldpa")).unwrap();

    for (byte, value, part) in [
        (35 * 2 + 25, 0x55, "checksum"),
        (35 * 2 + 4, 2, "version 2"),
        (35 * 2 + 31, 0xff, "checksum"),
        (35 * 2, b'X', "LDPR"),
    ] {
        let mut altered = reports.clone();
        altered[byte] = if altered[byte] == value { value ^ 1 } else { value };
        folder.write("altered.ldpr", &altered);
        folder.run("aggregate altered.ldpr -t task.json -o out.ldpa").refused(1, &["altered.ldpr, report 3:", part]);
    }
    let text = "this is not a file of reports, whatever its name says\n";
    folder.write("text.ldpr", text);
    folder.run("aggregate text.ldpr -t task.json -o out.ldpa").refused(1, &["text.ldpr, report 1:", "not a report"]);
    folder.run("aggregate task.json -t task.json -o out.ldpa").refused(1, &["not a report"]);
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn aggregates_that_are_not_the_tasks_are_refused_by_name() {
    let folder = collected();
    let aggregate = folder.read("a.ldpa");
    folder.run("task new --schema schema.json --epsilon 3 -o other.json").ok();
    folder.run("recover a.ldpa -t other.json --rank 1").refused(1, &["a.ldpa", "belongs to task"]);
    folder.run("aggregate a.ldpa -t other.json -o out.ldpa").refused(1, &["a.ldpa", "belongs to task"]);
    folder.write("cut.ldpa", &aggregate[..100]);
    let mut version = aggregate.clone();
    version[4] = 2;
    folder.write("version.ldpa", &version);
    let mut altered = aggregate.clone();
    altered[60] ^= 1;
    folder.write("altered.ldpa", &altered);
    // Made up with a right checksum: more than ten reports can sum to.
    let mut forged = aggregate[..aggregate.len() - 4].to_vec();
    forged[45..53].copy_from_slice(&i64::MAX.to_le_bytes());
    forged.extend(crc32fast::hash(&forged).to_le_bytes());
    folder.write("forged.ldpa", &forged);
    for (name, part) in [
        ("cut.ldpa", "100 bytes"),
        ("version.ldpa", "version 2"),
        ("altered.ldpa", "checksum"),
        ("forged.ldpa", "not a sum"),
    ] {
        folder.run(&format!("recover {name} -t task.json --rank 1")).refused(1, &[name, part]);
        folder.run(&format!("aggregate {name} -t task.json -o out.ldpa")).refused(1, &[name, part]);
        folder.run(&format!("inspect {name} -t task.json")).refused(1, &[name, part]);
    }
    folder.run("recover r.ldpr -t task.json --rank 1").refused(1, &["r.ldpr", "not an aggregate"]);
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn reports_that_are_in_an_aggregate_already_are_refused() {
    let folder = collected();
    folder.run("randomize people.csv -t task.json -o more.ldpr").ok();
    folder.run("aggregate r.ldpr more.ldpr -t task.json -o both.ldpa").ok();
    for (inputs, parts) in [
        ("a.ldpa a.ldpa", ["a.ldpa", "10 of 10 ids"]),
        ("a.ldpa both.ldpa", ["both.ldpa", "in the other one already"]),
        ("both.ldpa a.ldpa", ["a.ldpa", "in the other one already"]),
        ("r.ldpr a.ldpa", ["a.ldpa", "10 of 10 ids"]),
        ("a.ldpa r.ldpr", ["r.ldpr", "in the sum already"]),
        ("more.ldpr both.ldpa", ["both.ldpa", "leave it out"]),
    ] {
        folder.run(&format!("aggregate {inputs} -t task.json -o out.ldpa")).refused(1, &parts);
        assert!(!folder.path("out.ldpa").exists(), "{inputs}");
    }
    let counts = folder.run("aggregate a.ldpa more.ldpr more.ldpr -t task.json -o out.ldpa --json").json();
    assert_eq!((counts["records"].as_u64(), counts["duplicates"].as_u64()), (Some(20), Some(10)));
    assert_eq!(folder.read("out.ldpa"), folder.read("both.ldpa"));
}

#[test]
fn tasks_and_schemas_that_make_no_sense_are_refused() {
    let folder = collected();
    let task = folder.read_text("task.json");
    for (from, to, part) in [
        ("\"version\":1", "\"version\":2", "version 2, and this software reads version 1"),
        ("\"epsilon\":2.0", "\"epsilon\":-2.0", "epsilon is -2"),
        ("\"unit-norm\"", "\"unit-norm\",\"radius\":1", "radius"),
        ("\"folds\":1", "\"folds\":1,\"folds\":2", "folds"),
        ("{\"version\"", "[{\"version\"", "not a valid task"),
    ] {
        assert!(task.contains(from), "{task}");
        folder.write("bad.json", task.replace(from, to));
        folder.run("randomize people.csv -t bad.json -o out.ldpr").refused(1, &["bad.json", part]);
        folder.run("aggregate r.ldpr -t bad.json -o out.ldpa").refused(1, &["bad.json", part]);
        folder.run("recover a.ldpa -t bad.json --rank 1").refused(1, &["bad.json", part]);
    }
    folder.run("randomize people.csv -t schema.json -o out.ldpr").refused(1, &["schema.json", "a schema, not a task"]);
    folder.run("task new --schema task.json --epsilon 1 -o t.json").refused(1, &["task.json"]);
    folder.run("task new --schema people.csv --epsilon 1 -o t.json").refused(1, &["people.csv"]);
    for name in ["t.json", "out.ldpr", "out.ldpa"] {
        assert!(!folder.path(name).exists(), "{name}");
    }
}

#[test]
fn missing_empty_and_wrong_files_are_refused_by_name() {
    let folder = collected();
    folder.write("empty", "");
    folder.write("blank", "\n\n");
    folder.write("packed-empty", gzip(b""));
    std::fs::create_dir(folder.path("folder")).unwrap();
    let commands = [
        "schema infer FILE",
        "task new --schema FILE --epsilon 2 -o out",
        "randomize FILE -t task.json -o out",
        "randomize people.csv -t FILE -o out",
        "aggregate FILE -t task.json -o out",
        "aggregate r.ldpr -t FILE -o out",
        "recover FILE -t task.json --rank 1",
        "recover a.ldpa -t FILE --rank 1",
        "recover a.ldpa -t task.json --rank 1 -o out.npy --reference FILE",
        "solve FILE --rank 1 --penalty 0.1",
        "inspect FILE",
        "inspect r.ldpr --task FILE",
    ];
    for command in commands {
        folder.run(&command.replace("FILE", "missing")).refused(1, &["missing: No such file"]);
        folder.run(&command.replace("FILE", "folder")).refused(1, &["folder: Is a directory"]);
        for name in ["empty", "blank", "packed-empty"] {
            folder.run(&command.replace("FILE", name)).refused(1, &[name]);
        }
        assert!(!folder.path("out").exists() && !folder.path("out.npy").exists(), "{command}");
    }
    folder.write("header.csv", "age,height,plan,score\n");
    folder.run("randomize header.csv -t task.json -o out").refused(1, &["header.csv", "no records"]);
    folder.write("hopeless.csv", "age,height,plan,score\n1,2,free,many\n1,2,free,more\n");
    folder
        .run("randomize hopeless.csv -t task.json -o out")
        .refused(1, &["hopeless.csv, line 2: column 'score'", "no value of the column can be read"]);
    let cut = gzip(PEOPLE.repeat(50).as_bytes());
    folder.write("cut.csv.gz", &cut[..cut.len() / 2]);
    folder.run("randomize cut.csv.gz -t task.json -o out").refused(1, &["cut.csv.gz"]);
}

/// An NPY file of a header alone.
fn headed(header: &str) -> Vec<u8> {
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat()
}

#[test]
fn matrices_that_cannot_be_read_are_refused_with_the_remedy() {
    let folder = Folder::new();
    folder.write("sample.csv", "1,2\n3,4\n");
    folder.run("schema infer sample.csv -o schema.json").ok();
    folder.run("task new --schema schema.json --epsilon 2 -o task.json").ok();
    let zeros = [0u8; 64];
    let whole = npy_matrix(&[&[2.0, 1.0], &[1.0, 2.0]]);
    let deep = [&b"\x93NUMPY\x01\x00\x88\x13"[..], &[b'('; 5000]].concat();
    // Brackets inside texts do not count, but they are as deep for a parser that tries again.
    let texts = "(')',".repeat(20);
    let escaped = r"{'descr': '<f8', 'fortran_order': False, 'sha\x70e': (4294967296, 4294967296), }";
    let fields = "{'descr': [('a', '<f8'), ('b', '<u1')], 'fortran_order': False, 'shape': (1, 2), }";
    let ones = format!("(288230376151711744, {}1)", "1+".repeat(63));
    let cases: [(&str, Vec<u8>, &str); 21] = [
        ("strings", npy("<U4", false, "(1, 2)", &zeros[..32]), "save it as numbers"),
        ("complex", npy("<c16", false, "(1, 2)", &zeros[..32]), "save it as numbers"),
        ("objects", npy("|O", false, "(1, 2)", &zeros), ""),
        ("by-columns", npy("<f8", true, "(2, 2)", &zeros[..32]), "C order"),
        ("vector", npy("<f8", false, "(8,)", &zeros), "shape [8]"),
        ("cube", npy("<f8", false, "(2, 2, 2)", &zeros), "shape [2, 2, 2]"),
        ("no-rows", npy("<f8", false, "(0, 2)", &[]), "0 × 2"),
        ("no-columns", npy("<f8", false, "(2, 0)", &[]), "2 × 0"),
        ("cut-in-a-row", whole[..whole.len() - 3].to_vec(), "row 2 of 2: it was cut"),
        ("cut-after-a-row", whole[..whole.len() - 16].to_vec(), "row 2 of 2: it was cut"),
        ("cut-in-the-header", whole[..40].to_vec(), "NPY"),
        ("endless", npy("<f8", false, "(4294967296, 4294967296)", &zeros), "the header is wrong"),
        ("overflowing", npy("<f8", false, &format!("({0}, {0})", i64::MAX), &zeros), "the header is wrong"),
        ("hexadecimal", npy("<f8", false, "(0x7fffffffffffffff, 0x7fffffffffffffff)", &zeros), "the header is wrong"),
        ("claims-gigabytes", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "4294967295 bytes"),
        ("deep", deep, "5000 opening brackets"),
        ("texts", headed(&texts), "20 opening brackets"),
        ("fields", headed(fields), "save it as numbers, without fields"),
        ("escaped", headed(escaped), "a backslash"),
        ("sums", npy("<f8", false, &ones, &zeros), "the header is wrong"),
        ("many-sums", npy("<f8", false, &format!("({})", "1+1,".repeat(64)), &zeros), "the header is wrong"),
    ];
    for (name, content, part) in cases {
        folder.write(&format!("{name}.npy"), content);
        folder.run(&format!("solve {name}.npy --rank 1 --penalty 0.1")).refused(1, &[name, part]);
        folder.run(&format!("randomize {name}.npy -t task.json -o out")).refused(1, &[name, part]);
        folder.run(&format!("schema infer {name}.npy")).refused(1, &[name, part]);
    }
    let square: [(&str, &[&[f64]], &str); 4] = [
        ("wide", &[&[1.0, 2.0]], "1 × 2"),
        ("skew", &[&[1.0, 2.0], &[2.5, 1.0]], "symmetric"),
        ("nan", &[&[1.0, f64::NAN], &[f64::NAN, 1.0]], "finite"),
        ("infinite", &[&[f64::INFINITY, 0.0], &[0.0, 1.0]], "finite"),
    ];
    for (name, rows, part) in square {
        folder.write(&format!("{name}.npy"), npy_matrix(rows));
        folder.run(&format!("solve {name}.npy --rank 1 --penalty 0.1 -o x.npy")).refused(1, &[name, part]);
    }
    folder.write("whole.npy", &whole);
    folder.run("solve whole.npy --rank 3 --penalty 0.1").refused(2, &["rank 3 exceeds the dimension 2"]);
    folder.run("solve whole.npy --rank 0 --penalty 0.1").refused(2, &["rank 0"]);
    folder.run("solve whole.npy --rank 1 --penalty -0.1").refused(2, &["penalty -0.1"]);
    folder.run("solve whole.npy --rank 1 --penalty x").refused(2, &["'x' is not a number"]);
    for tolerance in ["-1", "nan"] {
        folder
            .run(&format!("solve whole.npy --rank 1 --penalty 0.1 --tolerance {tolerance}"))
            .refused(2, &["tolerance"]);
    }
    assert!(!folder.path("x.npy").exists() && !folder.path("out").exists());
}
