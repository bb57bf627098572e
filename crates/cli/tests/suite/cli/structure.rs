//! Files that may be read in several ways: `schema infer` asks before it publishes anything of them, and `randomize`
//! reads a file as its schema says.

use serde_json::json;

use crate::support::Folder;

/// Forty records under a header, in cells with this between them.
fn table(header: &str, separator: &str) -> String {
    let row = |row: usize| format!("{}.5,{},{}\n", row * 3 % 7, row * 5 % 11, ["a", "b", "c"][row % 3]);
    (0..40).fold(header.to_owned(), |table, place| table + &row(place)).replace(',', separator)
}

#[test]
fn a_file_with_another_separator_is_refused_with_the_one_that_reads_it() {
    let folder = Folder::new();
    for (separator, name) in [("|", "'|'"), (":", "':'"), ("^", "'^'"), ("~", "'~'")] {
        for header in ["x,y,g\n", "", "x,,g\n"] {
            folder.write("sample.csv", table(header, separator));
            let remedy = format!("--separator {name}");
            folder.refused("schema infer sample.csv", 1, &["sample.csv: column 1 looks like rows", &remedy]);
            folder.make_task(&format!("sample.csv --separator {separator}"), "--epsilon 2");
            // The schema says the separator, and whether there is a header.
            folder.randomize("sample.csv --json").gives(json!({"records": 40, "missing_values": 0}));
        }
    }
    for separator in [" ", "  ", "\u{1f}", "\u{1}"] {
        folder.write("sample.csv", table("x,y,g\n", separator));
        folder.refused("schema infer sample.csv", 1, &["sample.csv: ", "--separator "]);
    }
}

#[test]
fn a_file_is_randomized_as_its_schema_says() {
    let folder = Folder::new();
    for (name, content, options) in [
        ("bare.csv", table("", ","), ""),
        ("bare-semicolons.csv", table("", ";"), ""),
        ("bare.tsv", table("", "\t"), ""),
        ("commas.csv", table("x,y,g\n", ";").replace('.', ","), "--decimal-comma"),
        ("bare-commas.csv", table("", "\t").replace('.', ","), "--decimal-comma --separator tab"),
    ] {
        folder.write(name, &content);
        folder.make_task(&format!("{name} {options}"), "--epsilon 2");
        folder.randomize(&format!("{name} --strict --json")).gives(json!({"records": 40, "missing_values": 0}));
        assert_eq!(folder.read("out.ldpr").len() % 40, 0);
        // An option is stronger.
        folder.randomize(&format!("{name} --header yes --separator |")).refused(1, &["header: unknown columns"]);
    }
    folder.write("points.csv", table("", ","));
    folder.randomize("points.csv --decimal-comma=false --separator comma --strict").ok();
    // A matrix is none of these texts.
    folder.write("text.npy", "1,2\n3,5\n");
    folder.refused("schema infer text.npy", 1, &["text.npy: it holds text under the name of another format"]);
    folder.write("bare.csv", "1,2\n3,5\n");
    folder.make_task("bare.csv", "--epsilon 2");
    folder.write("m.npy", crate::support::npy_matrix(&[&[1.0, 2.0], &[3.0, 4.0]]));
    folder.randomize("m.npy --json").gives(json!({"records": 2}));
    folder.run("task types task.json").prints(&["\"dialect\":{\"header\":false,\"separator\":\",\""]);
    // One column shows no separator.
    folder.write("one.csv", "x\n1,25\n2,5\n3,75\n");
    for options in ["--decimal-comma", "--decimal-comma --separator semicolon"] {
        folder.make_task(&format!("one.csv {options}"), "--epsilon 2");
        folder.randomize("one.csv --strict --json").gives(json!({"records": 3, "missing_values": 0}));
    }
}

#[test]
fn what_is_no_table_is_refused_by_name() {
    let folder = Folder::new();
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| table("x,y,g\n", ",").encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    for (content, part) in [
        (b"<!DOCTYPE html>\n<html><title>Sign in</title>\n".to_vec(), "an HTML or XML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_vec(), "git lfs pull"),
        (b"1 1:0.5 3:2\n-1 2:1\n".to_vec(), "LIBSVM"),
        (utf_16(u16::to_be_bytes), "text in UTF-16"),
        (utf_16(u16::to_le_bytes), "text in UTF-16"),
        (b"%PDF-1.7\n%\xe2\xe3\n".to_vec(), "a PDF document"),
        (b"x,y\n1,\0\n2,3\n4,5\n".to_vec(), "NUL bytes"),
    ] {
        folder.write("sample.csv", content);
        folder.refused("schema infer sample.csv -o schema.json", 1, &["sample.csv: it holds", part, ", not records: "]);
    }
    assert!(!folder.path("schema.json").exists());
}

#[test]
fn a_header_may_lack_names_and_what_may_be_one_is_asked_for() {
    let folder = Folder::new();
    folder.write(
        "sample.csv",
        table("x,y,g,\n", ",").replace("a\n", "a,\n").replace("b\n", "b,\n").replace("c\n", "c,\n"),
    );
    let inferred = folder.gives("schema infer sample.csv", json!({"rows": 40, "always_zero": ["c4"]}));
    let message =
        "column 'c4' has no name in the header: it is called by its position; name it, or ignore it (--ignore c4)";
    assert_eq!(inferred["warnings"][0]["message"], message);
    folder.make_task("sample.csv", "--epsilon 2");
    folder.randomize("sample.csv --json").gives(json!({"records": 40, "missing_values": 0}));
    for header in ["x,2019,g\n", "a,b,c\n", ",,\n"] {
        let content = if header.starts_with('a') { "a,b,c\na,b,c\nb,c,a\n".to_owned() } else { table(header, ",") };
        folder.write("sample.csv", content);
        folder.refused("schema infer sample.csv", 1, &["sample.csv: its first line", "--header yes or --header no"]);
        folder.run("schema infer sample.csv --header yes").ok();
        folder.run("schema infer sample.csv --header no").ok();
    }
}

#[test]
fn categories_with_commas_are_listed_in_quotes() {
    let folder = Folder::new();
    folder.write("sample.csv", "product\n".to_owned() + &"\"Pen,blue\"\n\"Pen,red\"\n".repeat(20));
    folder.refused("schema infer sample.csv", 1, &["looks like rows", "list its categories with --categories"]);
    let command = "schema infer sample.csv --categories product=\"Pen,blue\",\"Pen,red\" -o schema.json";
    folder.run(command).ok();
    let names = ["product=Pen,blue", "product=Pen,red"];
    folder.gives("inspect schema.json", json!({"feature_names": names}));
    folder.refused("schema infer sample.csv --categories product=a,,b", 2, &["a value is empty"]);
}

#[test]
fn a_title_above_the_header_is_to_be_removed() {
    let folder = Folder::new();
    for (title, separator) in [("# made today", ","), ("sep=;", ";"), ("Report,,,", ",")] {
        folder.write("sample.csv", format!("{title}\n{}", table("x,y,g\n", separator)));
        folder.refused("schema infer sample.csv", 1, &["sample.csv, line 2: found 3 fields", "remove the first line"]);
    }
}

#[test]
fn what_becomes_public_is_said_before_it_is_written() {
    let folder = Folder::new();
    folder.write("sample.csv", table("x,y,g\n", ","));
    let public = json!({"names": ["x", "y", "g"], "scaled": ["x", "y"], "categories": {"g": ["a", "b", "c"]}});
    folder.gives("schema infer sample.csv", json!({"public": public}));
    let said = folder.run("schema infer sample.csv -o schema.json").ok().stderr;
    for line in ["3 names: x, y, g", "offset and scale of x, y", "3 categories of 'g': a, b, c"] {
        assert!(said.contains(&format!("note: public: {line}\n")), "{said}");
    }
    folder.write("sample.csv", table("", ","));
    let public = json!({"names": [], "scaled": [], "categories": {"c3": ["a", "b", "c"]}});
    folder.gives("schema infer sample.csv --scaling none", json!({"public": public}));
}
