//! Samples as people have them: each gives a schema with a warning, or one clear line.

use serde_json::{Value, json};

use crate::support::{Folder, PEOPLE, assert_has, npy_matrix};

/// A file of these lines, in which every row also has a number that nobody minds.
fn sample(folder: &Folder, header: &str, cells: &[&str]) {
    let rows = cells.iter().enumerate().map(|(row, cell)| format!("{},{cell}\n", row * row % 7 + 1));
    folder.write("sample.csv", format!("beside,{header}\n{}", rows.collect::<String>()));
}

/// What `schema infer` says of such a file: the second column and its warnings.
fn inferred(header: &str, cells: &[&str], options: &str) -> (Value, Vec<(String, String)>) {
    let folder = Folder::new();
    sample(&folder, header, cells);
    let result = folder.run(&format!("schema infer sample.csv --json {options}")).json();
    let text = |warning: &Value, key: &str| warning[key].as_str().unwrap_or_default().to_owned();
    let warnings = result["warnings"].as_array().unwrap().iter();
    let warnings: Vec<_> = warnings.map(|warning| (text(warning, "kind"), text(warning, "message"))).collect();
    // People see the same, and in no more columns than a terminal has.
    let people = folder.run(&format!("schema infer sample.csv -o schema.json {options}")).ok();
    for (_, message) in &warnings {
        assert!(people.stderr.contains(&format!("warning: {message}\n")), "{people:?}");
    }
    (result["columns"][1].clone(), warnings)
}

/// That a column is left out for this reason, with this option as the remedy.
fn left_out(header: &str, cells: &[&str], reason: &str, remedy: &str) {
    let (column, warnings) = inferred(header, cells, "");
    assert_has(&column, json!({"kind": "ignored", "features": 0, "reason": reason}), header);
    let [(_, message)] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(message.contains(reason) && message.contains("is left out") && message.contains(remedy), "{message}");
    for cell in cells.iter().filter(|cell| cell.len() > 2) {
        assert!(!message.contains(cell.trim_matches('"')), "{message}");
    }
}

#[test]
fn e_mail_addresses_never_become_categories_unless_their_column_is_named() {
    let addresses: Vec<String> = (0..200).map(|person| format!("person{person}@example.org")).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    left_out("contact", &addresses, "holds e-mail addresses or UUIDs", "(--categorical contact)");
    let (column, warnings) = inferred("contact", &addresses, "--categorical contact");
    assert_eq!((&column["kind"], &column["categories"], warnings), (&json!("categorical"), &json!(200), vec![]));
    let (column, warnings) = inferred("contact", &addresses, "--categories contact=press@example.org,none");
    assert_eq!((&column["features"], warnings), (&json!(2), vec![]));
}

#[test]
fn names_and_codes_that_hardly_repeat_are_left_out() {
    let names = ["Abel", "Bach", "Cole", "Dorn", "Ende", "Falk", "Abel"];
    left_out("who", &names, "has 6 different texts in 7 values", "(--categorical who)");
    left_out("surname", &["Abel", "Abel", "Abel"], "is named like an identifier", "(--categorical surname)");
    let codes: Vec<String> = (0..2000).map(|code| format!("code{}", code % 33)).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    left_out("code", &codes, "has more than 32 different texts", "(--categorical code)");
    let few: Vec<&str> = codes[..1000].iter().map(|code| &code[..5]).collect();
    assert_eq!(inferred("code", &few, "").0["categories"], 10);
}

#[test]
fn a_numeric_id_is_told() {
    let (column, warnings) = inferred("user_id", &["1001", "1002", "1003"], "");
    assert_eq!(column["kind"], "numeric");
    let message = "column 'user_id' is named like an identifier: ignore it if it identifies people (--ignore user_id)";
    assert_eq!(warnings, [("named-like-identifier".into(), message.into())]);
}

#[test]
fn years_in_a_first_line_are_told() {
    let folder = Folder::new();
    folder.write("years.csv", "2019,2020,2021\n5.5,7,9\n4,3,8\n");
    let said = folder.run("schema infer years.csv -o schema.json").ok().stderr;
    assert!(said.contains("warning: the first row holds consecutive whole numbers"), "{said}");
    assert!(said.contains("(--header yes)"), "{said}");
    let result = folder.gives("schema infer years.csv --header yes", json!({"rows": 2, "warnings": []}));
    assert_eq!(result["columns"][2]["name"], "2021");
}

/// Numbers in one form: left out with the remedy, which `schema infer` and `randomize` both follow.
fn in_a_form(cells: &[&str], forms: &str, words: &str, scale: f64) {
    left_out("x", cells, &format!("holds numbers with {words}"), &format!("(--number-format {forms})"));
    let folder = Folder::new();
    sample(&folder, "x", cells);
    let option = format!("--number-format {forms}");
    let result = folder.json(&format!("schema infer sample.csv {option} --scaling max-abs"));
    assert_eq!((&result["columns"][1]["scale"], &result["warnings"]), (&json!(scale), &json!([])), "{forms}");
    folder.make_task(&format!("sample.csv {option}"), "--epsilon 2");
    let refused = ["sample.csv, line 2: column 'x' has a number with", &option, "reads it"];
    folder.randomize("sample.csv --strict").refused(1, &refused);
    folder.randomize(&format!("sample.csv {option} --json")).gives(json!({"records": cells.len()}));
}

#[test]
fn numbers_in_other_forms_are_read_where_that_is_asked_for() {
    in_a_form(&["\"1,234\"", "999", "\"12,000.5\"", "NA"], "thousands", "thousands separators", 12000.5);
    in_a_form(&["\"1,00,000\"", "999", "\"12,34,567\""], "thousands", "thousands separators", 1_234_567.0);
    in_a_form(&["1_000", "25", "1\u{202f}500"], "thousands", "thousands separators", 1500.0);
    in_a_form(&["12.5%", "7 %", "0.01"], "percent", "per cent signs", 0.125);
    in_a_form(&["$5", "-$7.50", "0.5"], "currency", "currency signs", 7.5);
    in_a_form(&["\"€ 1,500\"", "20 €"], "thousands,currency", "thousands separators and currency signs", 1500.0);
    in_a_form(&["(15)", "7", "2.5"], "parentheses", "parentheses for a minus", 15.0);
    // A point that separates thousands is no decimal point.
    let points = ["1.234.567", "2.000.000", "3.000.000"];
    let words = "holds numbers with thousands separators and decimal commas";
    left_out("x", &points, words, "(--decimal-comma --number-format thousands)");
    let (column, _) = inferred("x", &points, "--decimal-comma --number-format thousands --scaling max-abs");
    assert_eq!(column["scale"], 3e6);
}

#[test]
fn numbers_in_a_form_that_is_not_read_are_told_with_a_remedy_that_works() {
    let plain = ["1", "-250", "1"];
    let folder = Folder::new();
    sample(&folder, "x", &plain);
    folder.make_task("sample.csv", "--epsilon 2");
    for cells in [
        ["'1", "'-250", "1"],
        ["=\"1\"", "=\"-250\"", "1"],
        ["0x1", "-0xfa", "1"],
        ["0.1D+01", "-2.5D+02", "1"],
        ["0.1×10^1", "-2.5×10^2", "1"],
        ["1", "- 250", "1"],
    ] {
        left_out("x", &cells, "holds numbers in a form that is not read", "write them with digits, a sign and");
        let (_, warnings) = inferred("x", &cells, "");
        assert!(!warnings[0].1.contains("--"), "no option reads them: {warnings:?}");
        sample(&folder, "x", &cells);
        let place = if cells[0] == "1" { 3 } else { 2 };
        let told = format!("sample.csv, line {place}: column 'x' has a number in a form that is not read: write it");
        folder.randomize("sample.csv --strict").refused(1, &[&told]);
        folder.write("alone.csv", format!("x\n{}\n", cells[1]));
        folder.refused("schema infer alone.csv", 1, &["column 1 holds numbers in a form", "; write them with digits"]);
    }
    sample(&folder, "x", &plain);
    folder.randomize("sample.csv --strict").ok();
}

#[test]
fn digits_and_signs_of_any_script_are_read() {
    for cells in [
        ["\u{2212}1", "\u{2212}2.5", "3"],
        ["－１", "－２.５", "３"],
        ["-\u{661}", "-\u{662}\u{66b}\u{665}", "\u{663}"],
    ] {
        let (column, warnings) = inferred("x", &cells, "--scaling range");
        assert_eq!((&column["offset"], &column["scale"], warnings), (&json!(-2.5), &json!(5.5), vec![]), "{cells:?}");
        // A first line of them is a record, as one of other numbers is.
        let folder = Folder::new();
        folder.write("bare.csv", cells.join("\n"));
        folder.gives("schema infer bare.csv", json!({"rows": 3}));
        folder.make_task("bare.csv", "--epsilon 2");
        folder.randomize("bare.csv --header no --separator comma --strict --json").gives(json!({"records": 3}));
    }
    let folder = Folder::new();
    folder.write("comma.csv", "k;x\n1;\u{2212}0,5\n2;1,5\n3;2\n");
    folder.refused("schema infer comma.csv", 1, &["comma.csv, line 2: column 2 has a comma", "--decimal-comma"]);
    let read = folder.json("schema infer comma.csv --decimal-comma --scaling range");
    assert_eq!(read["columns"][1]["offset"], -0.5);
}

#[test]
fn numbers_with_zeros_before_them_are_codes_unless_their_column_is_named() {
    let few = ["02134", "10001", "02134", "90210"];
    let (column, warnings) = inferred("zip", &few, "--categories zip=02134,10001");
    assert_eq!((&column["categories"], warnings), (&json!(2), vec![]));
    let (column, warnings) = inferred("zip", &few[..3], "");
    assert_eq!((&column["kind"], &column["categories"]), (&json!("categorical"), &json!(2)));
    let message = "column 'zip' holds numbers that begin with 0 as codes do: its values are categories; write them \
                   without the zeros if they are no codes (--numeric zip)";
    assert_eq!(warnings, [("padded-numbers".into(), message.into())]);
    let (column, warnings) = inferred("zip", &few, "--numeric zip --scaling max-abs");
    assert_eq!((&column["scale"], warnings), (&json!(90210.0), vec![]));
    let many: Vec<String> = (0..60).map(|code| format!("{:05}", 1234 * code)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    left_out("zip", &many, "holds numbers that begin with 0 as codes do", "(--categorical zip or --numeric zip)");
    assert_eq!(inferred("zip", &many, "--categorical zip").0["categories"], 60);
    // A report for every record, and the code finds its category.
    let folder = Folder::new();
    sample(&folder, "zip", &few[..3]);
    folder.make_task("sample.csv", "--epsilon 2");
    let values = folder.json("inspect schema.json")["feature_names"].take();
    assert_eq!(values, json!(["beside", "zip=02134", "zip=10001"]));
    folder.randomize("sample.csv --strict --json").gives(json!({"records": 3, "missing_values": 0}));
}

#[test]
fn a_sample_without_a_value_says_so() {
    let folder = Folder::new();
    folder.write("missing.npy", npy_matrix(&[&[f64::NAN, f64::NAN], &[f64::INFINITY, f64::NAN]]));
    folder.write("missing.csv", "x\nNA\n\"\"\n");
    folder.write("zero.csv", "x,y\n0,NA\n0,NA\n");
    for (name, reason) in [
        ("missing.npy", "is missing in every row"),
        ("missing.csv", "is missing in every row"),
        ("zero.csv", "is zero or missing in every row"),
    ] {
        let line = format!(
            "{name}: the sample gives 0 features, as every column is ignored or left out: column 1 {reason}; give a"
        );
        folder.refused(&format!("schema infer {name}"), 1, &[&line]);
    }
}

#[test]
fn marks_among_numbers_are_told_and_na_is_missing() {
    let (column, warnings) = inferred("age", &["31", "N/A", "45", "n/a", "31"], "");
    assert_eq!((&column["kind"], &column["missing"], warnings), (&json!("numeric"), &json!(2), vec![]));
    let few = ["1", "2", "1", "2", "?"];
    let (column, warnings) = inferred("score", &few, "");
    assert_eq!(column["kind"], "categorical");
    let message = "column 'score' holds 1 text among 4 numbers: its values are categories; empty the cells whose texts \
                   stand for missing values";
    assert_eq!(warnings, [("texts-among-numbers".into(), message.into())]);
    left_out("age", &["31", "45", "62", "-", "27"], "holds 1 text among 4 numbers", "empty the cells");
    let folder = Folder::new();
    let many: Vec<String> = (0..40).map(|age| age.to_string()).chain(["s3cret".into()]).collect();
    sample(&folder, "age", &many.iter().map(String::as_str).collect::<Vec<_>>());
    let run = folder.run("schema infer sample.csv");
    assert!(!run.stderr.contains("s3cret"), "{run:?}");
    run.refused(1, &["sample.csv, line 42: column 2 of the sample holds a text among many numbers"]);
}

#[test]
fn dates_are_refused_with_the_remedy() {
    for dates in [["2024-01-31", "2024-02-29", "NA"], ["31/01/2024", "29/02/2024", ""], ["20240131", "20240229", ""]] {
        left_out("opened", &dates, "holds dates", "write the days since a fixed date instead");
    }
}

#[test]
fn a_constant_column_is_told() {
    for cells in [["7", "7", "NA"], ["yes", "yes", "NA"]] {
        let (column, warnings) = inferred("x", &cells, "");
        assert_eq!((&column["missing"], &column["features"]), (&json!(1), &json!(1)));
        let message = "column 'x' has the same value in every row: ignore it, as it tells no two records apart \
                       (--ignore x)";
        assert_eq!(warnings, [("constant".into(), message.into())]);
    }
}

#[test]
fn an_outlier_is_told_and_sets_no_robust_scale() {
    let mut ages: Vec<String> = (0..30).map(|age| (20 + age).to_string()).collect();
    ages[17] = "99999".into();
    let ages: Vec<&str> = ages.iter().map(String::as_str).collect();
    assert!(inferred("age", &ages, "").0["scale"].as_f64().unwrap() < 15.0);
    let (column, warnings) = inferred("age", &ages, "--scaling max-abs");
    assert_eq!(column["scale"], 99999.0);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].1.contains("a few numbers more than 8 times as large"), "{warnings:?}");
    assert_eq!(inferred("age", &ages, "--scaling none").1, []);
}

#[test]
fn a_table_has_a_line_for_each_column() {
    let folder = Folder::new();
    let row = |row: usize| format!("{},{},free,x{row}@y.org,5\n", row as f64 * 123.456789, -(row as f64));
    let rows: String = (0..40).map(row).collect();
    folder.write("wide.csv", format!("a name that is longer than others,b,plan,contact,skip\n{rows}"));
    let command = "schema infer wide.csv --scaling range --ignore skip";
    let run = folder.run(&format!("{command} -o schema.json")).ok();
    let expected = "40 rows of 5 columns give 3 features\n\n\
        column                kind         missing  features\n\
        a name that is long…  numeric            0         1  scale 4814.8 (range)\n\
        b                     numeric            0         1  scale 39 from -39 (range)\n\
        plan                  categorical        0         1  1 category\n\
        contact               ignored            0         0  holds e-mail addresses or UUIDs\n\
        skip                  ignored            0         0  is ignored as asked\n\n\
        wrote schema.json\n";
    assert_eq!(run.stdout, expected);
    // The schema alone is on standard output, where no file is named.
    let alone = folder.run(command).ok();
    assert_eq!(alone.stdout, folder.read_text("schema.json"));
    assert!(alone.stderr.contains("a name that is long…"), "{alone:?}");
}

/// The bytes are those from before there were warnings.
#[test]
fn a_sample_without_oddities_has_its_schema_and_no_warning() {
    let folder = Folder::new();
    folder.write("people.csv", PEOPLE);
    let run = folder.run("schema infer people.csv --scaling standard --unseen other -o schema.json").ok();
    assert!(run.stderr.lines().all(|line| line.starts_with("note: ")), "{run:?}");
    let expected = r#"{
  "columns": [
    {
      "type": "numeric",
      "name": "age",
      "offset": 41.0,
      "scale": 15.874507866387544
    },
    {
      "type": "numeric",
      "name": "height",
      "offset": 1.7289999999999999,
      "scale": 0.10024470060806205
    },
    {
      "type": "categorical",
      "name": "plan",
      "values": [
        "free",
        "other",
        "paid",
        "trial"
      ],
      "unseen": "other"
    },
    {
      "type": "numeric",
      "name": "score",
      "offset": 0.525,
      "scale": 2.276098635824028
    }
  ]
}
"#;
    assert_eq!(folder.read_text("schema.json"), expected);
}
