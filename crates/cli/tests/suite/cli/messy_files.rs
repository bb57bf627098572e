//! Whole files as people have them, from the file to components: each ends in an answer, or in one clear line.

use crate::support::{Folder, Run};

/// An attempt at a file: options of every command that reads it, further ones of `schema infer`, and the warnings
/// before an answer, or the line that refuses the file.
type Attempt<'a> = (&'a str, &'a str, Result<&'a [&'a str], &'a str>);

/// A file of sixty records under a header, of each of which the text comes from its number.
fn file(header: &str, record: impl Fn(usize) -> String) -> Vec<u8> {
    let lines = (0..60).map(|row| record(row * 37 % 101) + "\n");
    format!("{header}\n{}", lines.collect::<String>()).into_bytes()
}

/// A file of sixty records under a header, with `line` in the middle.
fn with_line(line: &str) -> Vec<u8> {
    let mut text = String::from_utf8(plain()).unwrap();
    let middle = text.match_indices('\n').nth(29).unwrap().0;
    text.insert_str(middle, &format!("\n{line}"));
    text.into_bytes()
}

fn plain() -> Vec<u8> {
    file("height,weight,plan", |n| format!("1.{},{},{}", 50 + n % 50, 50 + n % 41, ["free", "paid"][n % 2]))
}

/// The lines that begin so, without that.
fn lines<'a>(run: &'a Run, begin: &str) -> Vec<&'a str> {
    run.stderr.lines().filter_map(|line| line.strip_prefix(begin)).collect()
}

/// After an answer come all further steps, from the sample to a component.
fn check(name: &str, content: impl AsRef<[u8]>, attempts: &[Attempt<'_>]) {
    let folder = Folder::new();
    folder.write(name, content);
    for (reading, inferring, said) in attempts {
        let run = folder.run(&format!("schema infer {name} -o schema.json --force {reading} {inferring}"));
        let warnings = lines(&run, "warning: ");
        match said {
            Ok(expected) => {
                assert_eq!((run.code, warnings.len()), (Some(0), expected.len()), "{run:?}");
                assert!(warnings.iter().zip(*expected).all(|(found, part)| found.contains(part)), "{run:?}");
                folder.run("task new --schema schema.json --epsilon 4 -o task.json --force").ok();
                folder.collect(&format!("{name} {reading}"), "task", "sums");
                let result = folder.json("recover sums.ldpa -t task.json --rank 1");
                assert_eq!(result["components"].as_array().map(Vec::len), Some(1), "{name}");
            }
            Err(line) => {
                assert_eq!((run.code, lines(&run, "error: "), warnings.len()), (Some(1), vec![*line], 0), "{run:?}");
            }
        }
    }
}

#[test]
fn years_as_a_header() {
    // The header becomes the scale where it is read as a record.
    const FEW: &str = "has a few numbers more than 8 times as large";
    let warnings: &[&str] = &["the first row holds consecutive whole numbers", FEW, FEW, FEW];
    let content = file("2019,2020,2021", |n| format!("{n},{},{}", n * n % 17, n % 7));
    check("years.csv", content, &[("--header no --separator comma", "", Ok(warnings)), ("--header yes", "", Ok(&[]))]);
}

#[test]
fn a_column_of_unique_texts_an_id_a_constant_and_an_outlier() {
    let content = file("user_id,comment,country,income,age", |n| {
        let income = if n == 37 { 9_000_000 } else { 20_000 + 100 * n };
        format!("{},\"note {n}, of many\",DE,{income},{}", 1000 + n, 20 + n % 60)
    });
    let warnings: &[&str] = &[
        "column 'user_id' is named like an identifier",
        "column 'comment' has more than 32 different texts",
        "column 'country' has the same value in every row",
        "column 'income' has a few numbers more than 8 times as large",
    ];
    check(
        "survey.csv",
        content,
        &[("", "", Ok(warnings)), ("", "--ignore user_id --ignore comment --ignore country --ignore income", Ok(&[]))],
    );
}

#[test]
fn numbers_as_a_spreadsheet_shows_them() {
    let content = file("revenue,share,price,profit,size", |n| {
        let profit = if n % 3 == 0 { format!("({n})") } else { format!("{n}") };
        format!("\"{},{:03}\",{}.5%,${}.50,{profit},{}", 1 + n, n, n % 90, 5 + n, n % 8)
    });
    let warnings: &[&str] = &[
        "(--number-format thousands)",
        "(--number-format percent)",
        "(--number-format currency)",
        "(--number-format parentheses)",
    ];
    check(
        "sheet.csv",
        content,
        &[("", "", Ok(warnings)), ("--number-format thousands,percent,currency,parentheses", "", Ok(&[]))],
    );
}

#[test]
fn missing_marks_among_numbers_and_a_column_of_dates() {
    let content = file("age,score,joined", |n| {
        let age = if n % 5 == 0 { "N/A".to_owned() } else { (20 + n % 50).to_string() };
        format!("{age},{},2024-{:02}-{:02}", n % 11, 1 + n % 12, 1 + n % 28)
    });
    check("people.csv", content, &[("", "", Ok(&["column 'joined' holds dates"]))]);
}

#[test]
fn a_mark_other_than_na_among_numbers() {
    let content = file("age,score", |n| {
        format!("{},{}", if n == 62 { "unknown".to_owned() } else { (20 + n).to_string() }, n % 11)
    });
    let refused = "ages.csv, line 61: column 1 of the sample holds a text among many numbers: give a number, or \
                   nothing where there is none";
    check("ages.csv", content, &[("", "", Err(refused)), ("", "--ignore age", Ok(&[]))]);
}

#[test]
fn a_byte_order_mark_mixed_line_ends_and_empty_lines_at_the_end() {
    let text = String::from_utf8(plain()).unwrap();
    let lines = text.lines().enumerate().map(|(place, line)| line.to_owned() + ["\r\n", "\n"][place % 2]);
    let content = format!("\u{feff}{}\r\n\n\n", lines.collect::<String>());
    check("windows.csv", content, &[("", "", Ok(&[]))]);
}

#[test]
fn rows_of_other_lengths() {
    let short = "ragged.csv, line 31: found 2 fields where the first line has 3: give every row as many, and no title \
                 above the header";
    check("ragged.csv", with_line("1.70,80"), &[("", "", Err(short))]);
    let long = "ragged.csv, line 31: found 4 fields where the first line has 3: give every row as many, and no title \
                above the header";
    check("ragged.csv", with_line("1.70,80,free,"), &[("", "", Err(long))]);
}

#[test]
fn semicolons_with_decimal_commas() {
    let content =
        file("height;weight;plan", |n| format!("1,{};{},5;{}", 50 + n % 50, 50 + n % 41, ["free", "paid"][n % 2]));
    let line = "european.csv, line 2: column 1 has a comma in a number: give --decimal-comma if it is the decimal \
                point, or remove it (--categorical reads the column as texts)";
    check("european.csv", content, &[("", "", Err(line)), ("--decimal-comma", "", Ok(&[]))]);
}
