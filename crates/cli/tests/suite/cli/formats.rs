//! Input files in all their forms: with and without header, gzip, NPY, byte-order marks, line ends, quotes.

use serde_json::json;

use crate::support::{Folder, PEOPLE, gzip, npy, npy_matrix};

const RECORDS: &str = "1.5,-2\n0.25,4\n-3,0.5\n1,1\n";

fn numeric_task() -> Folder {
    let folder = Folder::new();
    folder.write("sample.csv", format!("x,y\n{RECORDS}"));
    folder.make_task("sample.csv", "--epsilon 2");
    folder
}

/// How a file without a header is randomized.
const NO_HEADER: &str = "--header no --separator comma";

/// The reports of a file, from a fixed seed.
fn reports(folder: &Folder, name: &str, options: &str, content: impl AsRef<[u8]>) -> Vec<u8> {
    folder.write(name, content);
    folder.randomize(&format!("{name} --insecure-seed 7 {options}")).ok();
    folder.read("out.ldpr")
}

#[test]
fn the_same_records_in_any_format_give_the_same_reports() {
    let folder = numeric_task();
    let plain = reports(&folder, "plain.csv", NO_HEADER, RECORDS);
    assert_eq!(plain.len(), 4 * 35);
    let header = format!("x,y\n{RECORDS}");
    let doubles: [&[f64]; 4] = [&[1.5, -2.0], &[0.25, 4.0], &[-3.0, 0.5], &[1.0, 1.0]];
    let singles: Vec<u8> = doubles.iter().flat_map(|row| row.iter().flat_map(|x| (*x as f32).to_le_bytes())).collect();
    let swapped: Vec<u8> = doubles.iter().flat_map(|row| row.iter().flat_map(|x| x.to_be_bytes())).collect();
    let column = |place: usize| doubles.iter().flat_map(move |row| row[place].to_le_bytes());
    let by_columns: Vec<u8> = column(0).chain(column(1)).collect();
    let halves: Vec<u8> = [0x3e00, 0xc000, 0x3400, 0x4400, 0xc200, 0x3800, 0x3c00, 0x3c00u16]
        .iter()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    let variants: [(&str, Vec<u8>); 29] = [
        ("header.csv", header.clone().into()),
        ("reordered.csv", b"y,x\n-2,1.5\n4,0.25\n0.5,-3\n1,1\n".to_vec()),
        ("packed.csv.gz", gzip(RECORDS.as_bytes())),
        ("packed-without-saying-so.csv", gzip(header.as_bytes())),
        ("two-members.csv.gz", [gzip(&RECORDS.as_bytes()[..9]), gzip(&RECORDS.as_bytes()[9..])].concat()),
        ("padded.csv.gz", [gzip(header.as_bytes()), vec![0; 512]].concat()),
        ("crlf.csv", header.replace('\n', "\r\n").into()),
        ("carriage-returns.csv", header.replace('\n', "\r").into()),
        ("mixed-line-ends.csv", b"x,y\n1.5,-2\r0.25,4\r\n-3,0.5\r1,1\n\x1a".to_vec()),
        ("mark.csv", format!("\u{feff}{header}").into()),
        ("mark-without-header.csv", format!("\u{feff}{RECORDS}").into()),
        ("quoted.csv", b"\"x\",\"y\"\r\n\"1.5\",\"-2\"\r\n0.25,\"4\"\r\n-3,0.5\r\n1,1\r\n".to_vec()),
        ("unfinished.csv", RECORDS.trim_end().into()),
        ("blank-lines-and-spaces.csv", b"\n x , y \n\n 1.5 , -2\n0.25,4\n\n\n-3,0.5\n1,1\n\n".to_vec()),
        ("header.tsv", header.replace(',', "\t").into()),
        ("plain.tsv", RECORDS.replace(',', "\t").into()),
        ("packed.tab.gz", gzip(header.replace(',', "\t").as_bytes())),
        ("tabs.txt", header.replace(',', "\t").replace('\n', "\r\n").into()),
        ("semicolons.csv", header.replace(',', ";").into()),
        ("semicolons-without-header.csv", RECORDS.replace(',', ";").into()),
        ("quoted-semicolons.csv", b"\"x\";\"y\"\n\"1.5\";-2\n0.25;\"4\"\n-3;0.5\n1;1".to_vec()),
        ("carriage-returns.txt", header.replace(',', ";").replace('\n', "\r").into()),
        ("doubles.npy", npy_matrix(&doubles)),
        ("singles.npy.gz", gzip(&npy("<f4", false, "(4, 2)", &singles))),
        ("swapped.npy", npy(">f8", false, "(4, 2)", &swapped)),
        ("columns.npy", npy("<f8", true, "(4, 2)", &by_columns)),
        ("python-2.npy", npy(">f8", false, "(4L, 2L)", &swapped)),
        ("halves.npy", npy("<f2", false, "(4, 2)", &halves)),
        (
            "big-halves.npy",
            npy(">f2", false, "(4, 2)", &halves.chunks(2).flat_map(|two| [two[1], two[0]]).collect::<Vec<_>>()),
        ),
    ];
    for (name, content) in variants {
        let options = match name {
            "packed.csv.gz" | "two-members.csv.gz" | "mark-without-header.csv" | "unfinished.csv" => NO_HEADER,
            "semicolons-without-header.csv" => "--header no --separator semicolon",
            "plain.tsv" => "--header no",
            _ => "",
        };
        assert!(reports(&folder, name, options, content) == plain, "{name}");
    }
}

#[test]
fn integers_of_every_width_are_numbers() {
    let folder = numeric_task();
    let expected = reports(&folder, "plain.csv", NO_HEADER, "1,2\n3,4\n");
    let cases: [(&str, Vec<u8>); 5] = [
        ("|i1", vec![1, 2, 3, 4]),
        ("|u1", vec![1, 2, 3, 4]),
        ("<i2", vec![1, 0, 2, 0, 3, 0, 4, 0]),
        (">u4", vec![0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]),
        ("<i8", [1u64, 2, 3, 4].iter().flat_map(|value| value.to_le_bytes()).collect()),
    ];
    for (dtype, data) in cases {
        assert_eq!(reports(&folder, "m.npy", "", npy(dtype, false, "(2, 2)", &data)), expected, "{dtype}");
    }
}

/// All 65536 of them, against sums of powers of two; of them are 2048 NaN or infinite, which are missing.
#[test]
fn floats_of_half_precision_are_those_of_the_standard() {
    let folder = Folder::new();
    let bits: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    folder.write("all.npy", npy("<f2", false, "(65536, 1)", &bits));
    let inferred = folder.json("schema infer all.npy --scaling max-abs");
    assert_eq!((&inferred["missing"]["c1"], &inferred["columns"][0]["scale"]), (&json!(2048), &json!(65504.0)));
    folder.write("least.npy", npy("<f2", false, "(2, 1)", &[1, 0, 0, 0x84]));
    let inferred = folder.json("schema infer least.npy --scaling range");
    // The least number above zero is 2^-24, and the least normal one 2^-14.
    let found = (&inferred["columns"][0]["offset"], &inferred["columns"][0]["scale"]);
    assert_eq!(found, (&json!(-(0.5f64.powi(14))), &json!(0.5f64.powi(14) + 0.5f64.powi(24))));
}

/// Whatever way a file ends in: its rows are all of its records, or the command fails.
#[test]
fn no_report_is_missing_where_a_file_goes_on() {
    let folder = numeric_task();
    let rows = npy_matrix(&[&[1.0, 2.0], &[3.0, 4.0]]);
    let text = gzip(b"x,y\n1,2\n3,4\n");
    for (name, content, words) in [
        ("twice.npy", rows.repeat(2), "goes on after its array"),
        ("newline.npy", [&rows[..], b"\n"].concat(), "goes on after its array"),
        ("packed.npy.gz", gzip(&rows.repeat(2)), "goes on after its array"),
        ("members.npy.gz", gzip(&rows).repeat(2), "goes on after its array"),
        ("junk.csv.gz", [&text[..], b"junk"].concat(), "other bytes follow the end of the gzip data"),
        ("line.csv.gz", [&text[..], b"5,6\n"].concat(), "other bytes follow the end of the gzip data"),
        ("cut.csv.gz", text[..text.len() - 9].to_vec(), "it was cut; copy or download the file again"),
        ("twice.csv.gz", gzip(&text), "(gzip within gzip): unpack it once"),
        ("old.feather", b"FEA1\0\0\0\0\0\0\0\0FEA1".to_vec(), "a Feather file of version 1, not records: write it"),
    ] {
        folder.write(name, content);
        folder.refused(&format!("schema infer {name}"), 1, &[name, words]);
        folder.randomize(name).refused(1, &[name, words]);
        assert!(!folder.path("out.ldpr").exists(), "{name}");
    }
}

#[test]
fn quoted_fields_may_hold_commas_quotes_and_line_ends() {
    let folder = Folder::new();
    folder.write("sample.csv", "city,size\n\"Paris, Texas\",2\n\"the \"\"other\"\" one\",3\n\"two\nlines\",1\n");
    folder.make_task("sample.csv", "--epsilon 2");
    let names = ["city=Paris, Texas", "city=the \"other\" one", "city=two\nlines", "size"];
    folder.gives("inspect schema.json", json!({"feature_names": names}));
    folder.randomize("sample.csv").ok();
    folder.write("bad.csv", "city,size\n\"two\nlines\",1\n\n\"Paris, Texas\",x\n");
    folder.randomize("bad.csv --strict").refused(1, &["bad.csv, line 5:", "'size'"]);
}

#[test]
fn line_numbers_are_those_of_an_editor() {
    let folder = numeric_task();
    let cases = [
        ("plain", "1,2\n3,4\n5,oops\n", 3),
        ("last line unfinished", "1,2\n3,4\n5,oops", 3),
        ("first line", "oops,2\n1,2\n", 1),
        ("header", "x,y\n5,oops\n1,2\n", 2),
        ("crlf", "x,y\r\n1,2\r\n3,4\r\n5,oops\r\n", 4),
        ("carriage returns", "1,2\r3,4\r5,oops\r", 3),
        ("blank lines", "\n\nx,y\n\n1,2\n\n\n5,oops\n", 8),
        ("blank crlf lines", "\r\nx,y\r\n\r\n1,2\r\n\r\n5,oops", 6),
        ("mark", "\u{feff}x,y\n1,2\n5,oops\n", 3),
    ];
    for (name, content, line) in cases {
        let options = if content.contains("x,y") { "" } else { NO_HEADER };
        folder.write("bad.csv", content);
        let parts = [&*format!("bad.csv, line {line}:"), "is numeric but holds a text", "--strict"];
        folder.randomize(&format!("bad.csv --strict {options}")).refused(1, &parts);
        let unread = folder.randomize(&format!("bad.csv --json {options}")).json()["unread"][0].take();
        let first = unread["first"].as_str().unwrap();
        assert!(unread["count"] == 1 && first.starts_with(&format!("line {line}:")), "{name} {unread}");
    }
}

#[test]
fn documents_that_an_editor_marked_are_read_like_others() {
    let folder = numeric_task();
    let plain = reports(&folder, "plain.csv", NO_HEADER, RECORDS);
    for name in ["schema.json", "task.json"] {
        folder.write(name, format!("\u{feff}{}", folder.read_text(name)));
        folder.run(&format!("inspect {name}")).ok();
    }
    assert!(reports(&folder, "plain.csv", NO_HEADER, RECORDS) == plain);
    folder.run("task new --schema schema.json --epsilon 2 -o other.json").ok();
    folder.write("twice.json", format!("\u{feff}{}", folder.read_text("task.json")));
    folder.run("inspect twice.json").ok();
}

/// Data frames write their row numbers as a first column without name.
#[test]
fn a_first_column_without_name_is_called_by_its_position() {
    let folder = Folder::new();
    folder.write("frame.csv", ",x,y\n0,1.5,-2\n1,0.25,4\n");
    folder.make_task("frame.csv --ignore c1", "--epsilon 2");
    folder.gives("inspect schema.json", json!({"feature_names": ["x", "y"]}));
    folder.randomize("frame.csv --json").gives(json!({"records": 2}));
}

#[test]
fn a_row_of_another_length_than_the_header_is_told_and_strict_refuses_it() {
    let folder = numeric_task();
    for (row, found) in [("1,2,3", "found 3 fields"), ("1", "found 1 field")] {
        folder.write("headed.csv", format!("x,y\n1,2\n{row}\n3,4\n"));
        folder.randomize("headed.csv --strict").refused(1, &["headed.csv, line 3:", found, "header has 2"]);
        folder.write("bare.csv", format!("1,2\n{row}\n3,4\n"));
        let strict = folder.randomize(&format!("bare.csv --strict {NO_HEADER}"));
        strict.refused(1, &["bare.csv, line 2:", found, "schema has 2"]);
        let told = folder.randomize(&format!("bare.csv --json {NO_HEADER}")).gives(json!({"records": 3}));
        assert_eq!(told["unread"][0]["count"], 1, "{told}");
        folder.write("all.csv", format!("{row}\n{row}\n"));
        folder.randomize(&format!("all.csv {NO_HEADER}")).refused(1, &["all.csv, line 1:", found, "every row"]);
        folder.refused("schema infer bare.csv", 1, &["bare.csv, line 2:", found]);
    }
}

#[test]
fn text_that_is_not_utf8_is_told_of_its_column_with_its_line() {
    let folder = Folder::with_task();
    let latin = [PEOPLE.as_bytes(), b"33,1.7,fr\xe9e,1\n"].concat();
    folder.write("latin.csv", &latin);
    folder.randomize("latin.csv --strict").refused(1, &["latin.csv, line 12:", "'plan'", "UTF-8"]);
    folder.refused("schema infer latin.csv", 1, &["latin.csv, line 12:", "field 3", "UTF-8"]);
    let counts = folder.randomize("latin.csv --json").json();
    assert_eq!((&counts["records"], &counts["unread"][0]["column"]), (&11.into(), &"plan".into()));
}

#[test]
fn a_quote_that_is_never_closed_is_refused_with_its_line() {
    let folder = numeric_task();
    folder.write("open.csv", "x,y\n1,2\n3,\"7315524\n5,6\n");
    folder.write("long.csv.gz", gzip(&[b"x,y\n\n1,2\n3,\"".as_slice(), &vec![b'7'; 9 << 20]].concat()));
    for command in ["randomize FILE -t task.json -o out.ldpr", "schema infer FILE"] {
        for (name, parts) in [
            ("open.csv", ["open.csv, line 3: a quote opens on this line", "never closed"]),
            ("long.csv.gz", ["long.csv.gz, line 4: longer than 8 MiB", "is a quote never closed?"]),
        ] {
            let run = folder.run(&command.replace("FILE", name));
            assert!(!run.stderr.contains("73155") && !run.stderr.contains("7777"), "{run:?}");
            run.refused(1, &parts);
        }
    }
    // A first line is no exception, whatever it is.
    folder.write("first.csv", "\"x,y\n1,2\n");
    folder.refused("schema infer first.csv", 1, &["first.csv, line 1: a quote opens"]);
}

#[test]
fn a_separator_is_named_where_the_file_does_not_show_it() {
    let folder = numeric_task();
    let plain = reports(&folder, "plain.csv", NO_HEADER, RECORDS);
    let named = |options: &str, content: String| {
        assert!(reports(&folder, "named.csv", options, content) == plain, "{options}");
    };
    named("--header no --separator |", RECORDS.replace(',', "|"));
    named("--header no --separator semicolon", RECORDS.replace(',', ";"));
    named("--header no --separator tab", RECORDS.replace(',', "\t"));
    named(NO_HEADER, RECORDS.into());
    let decimal = RECORDS.replace(',', ";").replace('.', ",");
    named("--decimal-comma", format!("x;y\n{decimal}"));
    named("--decimal-comma --header no --separator ;", decimal.clone());
    named("--decimal-comma --header no --separator tab", decimal.replace(';', "\t"));
    named(&format!("--decimal-comma {NO_HEADER}"), "\"1,5\",-2\n\"0,25\",4\n-3,\"0,5\"\n1,1\n".into());
    folder.write("both.csv", "1,5;2,5\n3,0;4,5\n");
    let several = ["both.csv: more than one of comma, semicolon and tab", "--separator"];
    folder.refused("schema infer both.csv", 1, &several);
    // The records of a device do not show it at all.
    folder.randomize("both.csv").refused(1, &["both.csv, header:", "--header no with --separator"]);
    folder.randomize("both.csv --header no").refused(2, &["both.csv: without a header", "--separator"]);
}

#[test]
fn a_decimal_comma_is_refused_with_its_place_or_read() {
    let folder = numeric_task();
    folder.write("comma.csv", "x;y\n1;2\n7315524,5;2\n");
    let parts = ["comma.csv, line 3: column", "--decimal-comma"];
    for command in [
        "randomize comma.csv -t task.json -o out.ldpr --force --strict",
        "schema infer comma.csv",
        "demo --once --records comma.csv",
    ] {
        let run = folder.run(command);
        assert!(!run.stderr.contains("7315524"), "{run:?}");
        run.refused(1, &parts);
    }
    // A point may group digits there: 1.234 would be another number.
    folder.write("points.csv", "x;y\n1,5;2\n1.234;2\n");
    for command in ["randomize points.csv -t task.json -o out.ldpr --force --strict", "schema infer points.csv"] {
        folder.refused(&format!("{command} --decimal-comma"), 1, &["points.csv, line 3: column", "without points"]);
    }
    // A decimal comma in the first line is not a name either, but a column of texts may contain commas.
    folder.write("first.csv", "1,5;2\n3;2\n");
    folder.refused("schema infer first.csv", 1, &["first.csv, line 1: column 1", "--decimal-comma"]);
    folder.gives("schema infer first.csv --decimal-comma", json!({"rows": 2}));
    let schema = folder.json("schema infer first.csv --categorical c1");
    assert_eq!(schema["schema"]["columns"][0]["values"], json!(["1,5", "3"]));
}

#[test]
fn texts_with_semicolons_do_not_make_a_comma_file_another() {
    let folder = Folder::new();
    folder.write("notes.csv", "note;s,size\nlong; red,2\n\"a;b,c;d\",3\nshort,1\n");
    folder.run("schema infer notes.csv -o schema.json").ok();
    let names = ["note;s=a;b,c;d", "note;s=long; red", "note;s=short", "size"];
    folder.gives("inspect schema.json", json!({"feature_names": names}));
}
