//! Bad input: each is refused with the value, the place and the remedy, and leaves nothing behind.

use serde_json::json;

use crate::support::{Folder, PEOPLE, gzip, npy, npy_matrix};

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
        let counts = folder.gives("randomize bad.csv -t task.json -o out.ldpr", json!({"records": 11}));
        let told = counts["unread"].as_array().unwrap();
        assert!(told[0]["first"].as_str().unwrap().starts_with("line 5: ") && told[0]["count"] == 1, "{counts}");
        assert!(told.len() == 1 && told[0]["first"].as_str().unwrap().contains(part), "{counts}");
        std::fs::remove_file(folder.path("out.ldpr")).unwrap();
    }
    lines.extend(cases.iter().map(|(row, _)| *row));
    folder.write("bad.csv", lines.join("\n"));
    folder.run("randomize bad.csv -t task.json -o out.ldpr").prints(&[
        "1 value of column 'age' cannot be read and counts as missing; line 12: column 'age' is",
        "2 rows have too few values or too many; line 13: found 3 fields",
    ]);
    folder.refused("randomize - -t task.json -o other.ldpr --strict", 2, &["standard input", "--strict"]);
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
    task(&[numeric, listed].join(","));
    let several = "randomize several.csv -t task.json -o several.ldpr";
    folder.write("several.csv", "hiv_since,plan\nspring 2019,free\n,free\n");
    let parts = ["several.csv, line 2: column 'hiv_since'", "no value of the column can be read"];
    folder.refused(several, 1, &parts);
    assert!(!folder.path("several.ldpr").exists());
    folder.write("several.csv", "hiv_since,plan\nspring 2019,free\n2019,free\n");
    folder.gives(several, json!({"records": 2}));
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
    // The missing values are for the eyes of the file's owner.
    let expected = json!({"records": 21, "unread": [], "missing_values": 15});
    folder.gives("randomize all.csv -t task.json -o out.ldpr", expected);
    let text = folder.run("randomize all.csv -t task.json -o out.ldpr --force");
    text.prints(&["15 missing values, which contribute nothing"]);
}

#[test]
fn a_matrix_may_have_missing_values_and_only_one_record_another_width() {
    let folder = Folder::new();
    folder.write("sample.csv", "1,2\n3,4\n");
    folder.make_task("sample.csv", "--epsilon 2");
    folder.write("holes.npy", npy_matrix(&[&[1.0, 2.0], &[f64::NAN, 1.0], &[0.0, 0.0], &[1.0, f64::INFINITY]]));
    folder.gives("randomize holes.npy -t task.json -o out.ldpr", json!({"records": 4, "missing_values": 2}));
    folder.write("wide.npy", npy_matrix(&[&[1.0, 2.0, 3.0]]));
    let wide = "randomize wide.npy -t task.json -o out.ldpr --force";
    folder.refused(&format!("{wide} --strict"), 1, &["line 1", "3 fields", "2 columns"]);
    folder.run(wide).ok();
    folder.write("wide.npy", npy_matrix(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]));
    folder.refused(wide, 1, &["line 1", "3 fields", "2 columns", "every row"]);
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
        folder.refused("randomize people.csv -t hostile.json -o out.ldpr", 1, &["hostile.json", part]);
    }
}

#[test]
fn headers_that_do_not_fit_are_refused_by_name() {
    let folder = Folder::with_task();
    for (header, part) in [("age,height,plan", "'score' is missing"), ("age,height,plan,plan", "'plan' is there twice")]
    {
        folder.write("bad.csv", format!("{header}\n31,1.80,free,-2\n"));
        folder.refused("randomize bad.csv -t task.json -o out.ldpr", 1, &["bad.csv, header:", part]);
    }
    for (line, remedy) in [
        ("age|height|plan|score", "(--separator '|' reads its names)"),
        ("age,height,plan,score,", "(remove the separators at the end of every line)"),
    ] {
        folder.write("bad.csv", format!("{line}\n31,1.80,free,-2\n"));
        folder.refused("randomize bad.csv -t task.json -o out.ldpr", 1, &["bad.csv, header:", remedy]);
    }
}

#[test]
fn samples_that_cannot_be_described_are_refused() {
    let folder = Folder::new();
    folder.write("names.csv", "name0\nname1\nname2\nname3\nname4\n");
    let parts = ["names.csv: ", "0 features", "column 1 has 5 different texts in 5 values"];
    folder.refused("schema infer names.csv --header no", 1, &parts);
    folder.write("zeros.csv", "0,0\n0,0\n");
    folder.refused("schema infer zeros.csv", 1, &["zeros.csv", "0 features"]);
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
        folder.refused(&format!("{task} --epsilon {value}"), 2, &["--epsilon", part]);
        folder.refused(&format!("simulate --epsilon {value}"), 2, &["--epsilon", part]);
    }
    for (value, part) in [
        ("0", "delta is 0"),
        ("1", "delta is 1"),
        ("-1e-6", "delta is -0.000001"),
        ("2", "delta is 2"),
        ("nan", "delta is NaN"),
    ] {
        for line in [task, "simulate"] {
            folder.refused(&format!("{line} --epsilon 1 --mechanism gaussian --delta {value}"), 2, &["--delta", part]);
        }
    }
    for (options, part) in [
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
        ("--epsilon 1e-9", "too small for candidates"),
        ("--epsilon 1.5 --mechanism wang-xu --delta 1e-4", "really gives delta"),
        ("--epsilon 1.5 --mechanism wang-xu --delta 1e-4", "use calibration 'analytic'"),
        ("--epsilon 1e-9 --mechanism gaussian --delta 1e-9", "raise epsilon or delta"),
        ("--epsilon 1 --mechanism gaussian --delta 1e-19", "raise delta"),
        ("--epsilon 100 --mechanism gaussian --delta 1e-6", "at this dimension: lower epsilon to at most"),
    ] {
        folder.refused(&format!("{task} {options}"), 2, &[part]);
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
        folder.refused(&format!("simulate --epsilon 2 {options}"), 2, &[part]);
        folder.refused(&format!("simulate --mechanism none {options}"), 2, &[part]);
    }
    folder.refused("simulate --epsilon 2 --delta 1e-6", 2, &["--delta does not go with double-cap"]);
    for mechanism in ["gaussian", "wang-xu"] {
        let line = format!("simulate --epsilon 2 --mechanism {mechanism} --candidates 3");
        folder.refused(&line, 2, &["--candidates goes with double-cap only"]);
    }
}

#[test]
fn reports_that_are_not_the_tasks_are_refused_by_name() {
    let folder = Folder::with_sums();
    let reports = folder.read("a.ldpr");
    let cut = "aggregate cut.ldpr -t task.json -o out.ldpa";
    folder.write("cut.ldpr", &reports[..5 * 35 + 20]);
    folder.refused(cut, 1, &["cut.ldpr, report 6:", "20 bytes", "35", "--skip-invalid"]);
    let counts = folder.gives(&format!("{cut} --skip-invalid"), json!({"records": 5, "skipped": 1}));
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
        folder.refused("aggregate altered.ldpr -t task.json -o out.ldpa", 1, &["altered.ldpr, report 3:", part]);
    }
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn aggregates_that_are_not_the_tasks_are_refused_by_name() {
    let folder = Folder::with_sums();
    let aggregate = folder.read("a.ldpa");
    let (mut version, mut altered) = (aggregate.clone(), aggregate.clone());
    version[4] = 2;
    altered[60] ^= 1;
    // Made up with a right checksum: more than ten reports can sum to.
    let mut forged = aggregate[..aggregate.len() - 4].to_vec();
    forged[45..53].copy_from_slice(&i64::MAX.to_le_bytes());
    forged.extend(crc32fast::hash(&forged).to_le_bytes());
    for (content, part) in
        [(&aggregate[..100], "100 bytes"), (&version, "version 2"), (&altered, "checksum"), (&forged, "not a sum")]
    {
        folder.write("bad.ldpa", content);
        for line in ["recover bad.ldpa --rank 1", "aggregate bad.ldpa -o out.ldpa", "inspect bad.ldpa"] {
            folder.refused(&format!("{line} -t task.json"), 1, &["bad.ldpa", part]);
        }
    }
    assert!(!folder.path("out.ldpa").exists());
}

#[test]
fn reports_that_are_in_an_aggregate_already_are_refused() {
    let folder = Folder::with_sums();
    folder.run("randomize people.csv -t task.json -o more.ldpr").ok();
    folder.run("aggregate a.ldpr more.ldpr -t task.json -o both.ldpa").ok();
    for (inputs, parts) in [
        ("a.ldpa a.ldpa", ["a.ldpa", "10 of 10 ids"]),
        ("a.ldpa both.ldpa", ["both.ldpa", "in the other one already"]),
        ("both.ldpa a.ldpa", ["a.ldpa", "in the other one already"]),
        ("a.ldpr a.ldpa", ["a.ldpa", "10 of 10 ids"]),
        ("a.ldpa a.ldpr", ["a.ldpr", "in the sum already"]),
        ("more.ldpr both.ldpa", ["both.ldpa", "leave it out"]),
    ] {
        folder.refused(&format!("aggregate {inputs} -t task.json -o out.ldpa"), 1, &parts);
        assert!(!folder.path("out.ldpa").exists(), "{inputs}");
    }
    let counts = json!({"records": 20, "duplicates": 10});
    folder.gives("aggregate a.ldpa more.ldpr more.ldpr -t task.json -o out.ldpa", counts);
    assert_eq!(folder.read("out.ldpa"), folder.read("both.ldpa"));
}

#[test]
fn tasks_and_schemas_that_make_no_sense_are_refused() {
    let folder = Folder::with_sums();
    let task = folder.read_text("task.json");
    for (from, to, part) in [
        ("\"version\":1", "\"version\":2", "version 2, and this software reads version 1"),
        ("\"epsilon\":2.0", "\"epsilon\":-2.0", "epsilon is -2"),
        ("\"unit-norm\"", "\"unit-norm\",\"radius\":1", "radius"),
        ("\"folds\":1", "\"folds\":1,\"folds\":2", "folds"),
        ("{\"version\"", "[{\"version\"", "holds JSON, not a task"),
        ("{\"version\"", "{{\"version\"", "not a valid task"),
    ] {
        assert!(task.contains(from), "{task}");
        folder.write("bad.json", task.replace(from, to));
        for line in ["randomize people.csv -o out", "aggregate a.ldpr -o out", "recover a.ldpa --rank 1"] {
            folder.refused(&format!("{line} -t bad.json"), 1, &["bad.json", part]);
        }
    }
    assert!(!folder.path("out").exists());
}

#[test]
fn missing_empty_and_wrong_files_are_refused_by_name() {
    let folder = Folder::with_sums();
    folder.write("empty", "");
    folder.write("blank", "\n\n");
    folder.write("packed-empty", gzip(b""));
    std::fs::create_dir(folder.path("folder")).unwrap();
    for command in [
        "schema infer FILE",
        "task new --schema FILE --epsilon 2 -o out",
        "randomize FILE -t task.json -o out",
        "randomize people.csv -t FILE -o out",
        "aggregate FILE -t task.json -o out",
        "aggregate a.ldpr -t FILE -o out",
        "recover FILE -t task.json --rank 1",
        "recover a.ldpa -t FILE --rank 1",
        "recover a.ldpa -t task.json --rank 1 -o out.npy --reference FILE",
        "solve FILE --rank 1 --penalty 0.1",
        "inspect FILE",
        "inspect a.ldpr --task FILE",
    ] {
        folder.refused(&command.replace("FILE", "missing"), 1, &["missing: No such file"]);
        folder.refused(&command.replace("FILE", "folder"), 1, &["folder: Is a directory"]);
        for name in ["empty", "blank", "packed-empty"] {
            folder.refused(&command.replace("FILE", name), 1, &[name]);
        }
        assert!(!folder.path("out").exists() && !folder.path("out.npy").exists(), "{command}");
    }
    let cut = gzip(PEOPLE.repeat(50).as_bytes());
    folder.write("cut.csv.gz", &cut[..cut.len() / 2]);
    folder.refused("randomize cut.csv.gz -t task.json -o out", 1, &["cut.csv.gz"]);
}

/// An NPY file of a header alone.
fn headed(header: &str) -> Vec<u8> {
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat()
}

#[test]
fn matrices_that_cannot_be_read_are_refused_with_the_remedy() {
    let folder = Folder::new();
    folder.write("sample.csv", "1,2\n3,4\n");
    folder.make_task("sample.csv", "--epsilon 2");
    let zeros = [0u8; 64];
    let whole = npy_matrix(&[&[2.0, 1.0], &[1.0, 2.0]]);
    let deep = [&b"\x93NUMPY\x01\x00\x88\x13"[..], &[b'('; 5000]].concat();
    // Brackets inside texts do not count, but they are as deep for a parser that tries again.
    let texts = "(')',".repeat(20);
    let escaped = r"{'descr': '<f8', 'fortran_order': False, 'sha\x70e': (4294967296, 4294967296), }";
    let fields = "{'descr': [('a', '<f8'), ('b', '<u1')], 'fortran_order': False, 'shape': (1, 2), }";
    let ones = format!("(288230376151711744, {}1)", "1+".repeat(63));
    for (name, content, part) in [
        ("strings", npy("<U4", false, "(1, 2)", &zeros[..32]), "save it as numbers"),
        ("complex", npy("<c16", false, "(1, 2)", &zeros[..32]), "save it as numbers"),
        ("objects", npy("|O", false, "(1, 2)", &zeros), "Python objects (|O): save it as numbers"),
        ("no-byte-order", npy("f8", false, "(1, 2)", &zeros[..16]), "save the matrix with numpy.save"),
        ("long-double", npy("<f16", false, "(1, 2)", &zeros[..32]), "floats of more than 64 bits (<f16): save it as"),
        ("vector", npy("<f8", false, "(8,)", &zeros), "shape [8]: give a matrix, one record per row (reshape"),
        ("cube", npy("<f8", false, "(2, 2, 2)", &zeros), "shape [2, 2, 2]"),
        ("no-rows", npy("<f8", false, "(0, 2)", &[]), "0 × 2"),
        ("no-columns", npy("<f8", false, "(2, 0)", &[]), "2 × 0"),
        ("cut-in-a-row", whole[..whole.len() - 3].to_vec(), "row 2 of 2: it was cut"),
        ("cut-after-a-row", whole[..whole.len() - 16].to_vec(), "row 2 of 2: it was cut"),
        ("cut-column", npy("<f8", true, "(2, 2)", &zeros[..31]), "it was cut"),
        ("by-columns", npy("<f8", true, "(32768, 32768)", &zeros), "save it by rows (numpy.ascontiguousarray)"),
        ("appended", whole.repeat(2), "goes on after its array: give a file of one array"),
        ("appended-columns", [npy("<f8", true, "(2, 2)", &zeros[..32]), vec![0]].concat(), "goes on after its array"),
        ("packed-twice", gzip(&gzip(&whole)), "(gzip within gzip): unpack it once, with gunzip"),
        (
            "archive",
            [&b"PK\x03\x04-\0"[..], &[0; 20], b"\x05\0\0\0A.npy", &whole].concat(),
            "an archive of arrays (NPZ)",
        ),
        ("cut-in-the-header", whole[..40].to_vec(), "NPY"),
        ("endless", npy("<f8", false, "(4294967296, 4294967296)", &zeros), "the header is wrong"),
        ("overflowing", npy("<f8", false, &format!("({0}, {0})", i64::MAX), &zeros), "the header is wrong"),
        ("hexadecimal", npy("<f8", false, "(0x7fffffffffffffff, 0x7fffffffffffffff)", &zeros), "the header is wrong"),
        ("claims-gigabytes", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), "4294967295 bytes"),
        ("deep", deep, "5000 opening brackets"),
        ("texts", headed(&texts), "20 opening brackets"),
        ("fields", headed(fields), "its rows are records of fields: save it as numbers, without fields"),
        ("escaped", headed(escaped), "a backslash"),
        ("sums", npy("<f8", false, &ones, &zeros), "the header is wrong"),
        ("many-sums", npy("<f8", false, &format!("({})", "1+1,".repeat(64)), &zeros), "the header is wrong"),
    ] {
        folder.write(&format!("{name}.npy"), content);
        for line in ["solve FILE --rank 1 --penalty 0.1", "randomize FILE -t task.json -o out", "schema infer FILE"] {
            folder.refused(&line.replace("FILE", &format!("{name}.npy")), 1, &[name, part]);
        }
    }
    let square: [(&str, &[&[f64]], &str); 3] = [
        ("skew", &[&[1.0, 2.0], &[2.5, 1.0]], "symmetric"),
        ("nan", &[&[1.0, f64::NAN], &[f64::NAN, 1.0]], "finite"),
        ("infinite", &[&[f64::INFINITY, 0.0], &[0.0, 1.0]], "finite"),
    ];
    for (name, rows, part) in square {
        folder.write(&format!("{name}.npy"), npy_matrix(rows));
        folder.refused(&format!("solve {name}.npy --rank 1 --penalty 0.1 -o x.npy"), 1, &[name, part]);
    }
    folder.write("whole.npy", &whole);
    for (options, part) in [
        ("--rank 0 --penalty 0.1", "rank 0"),
        ("--rank 1 --penalty -0.1", "penalty -0.1"),
        ("--rank 1 --penalty x", "'x' is not a number"),
        ("--rank 1 --penalty 0.1 --tolerance -1", "tolerance"),
        ("--rank 1 --penalty 0.1 --tolerance nan", "tolerance"),
    ] {
        folder.refused(&format!("solve whole.npy {options}"), 2, &[part]);
    }
    assert!(!folder.path("x.npy").exists() && !folder.path("out").exists());
}
