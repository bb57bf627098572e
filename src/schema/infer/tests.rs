use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::MAX_DIMENSION;
use super::*;

fn infer(rows: &[&[&str]], options: InferenceOptions) -> Result<Inferred, SchemaError> {
    let names: Vec<String> = (0..rows[0].len()).map(positional_name).collect();
    let mut inference = Inference::new(&names, options)?;
    for row in rows {
        inference.observe(row)?;
    }
    inference.finish()
}

/// The warnings of a sample, as texts.
fn told(inferred: &Inferred) -> Vec<String> {
    inferred.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn columns_are_told_apart_and_scaled() {
    let rows: [&[&str]; 3] = [&["-4", "b", "0", "1"], &["2", "a", "0", "1"], &["1", "b", "0", "1"]];
    let largest = InferenceOptions { scaling: Scaling::MaxAbs, ..Default::default() };
    let inferred = infer(&rows, largest).unwrap();
    assert_eq!(inferred.always_zero, ["c3"]);
    assert_eq!(inferred.schema.feature_names(), ["c1", "c2=a", "c2=b", "c4"]);
    assert_eq!(inferred.schema.encode_fields(&["-4", "b", "0", "1"]), [-1.0, 0.0, 1.0, 1.0]);
}

/// The offset and the scale of the first column.
fn scaled(numbers: &[&str], scaling: Scaling) -> (f64, f64) {
    let rows: Vec<[&str; 1]> = numbers.iter().map(|number| [*number]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 1]>::as_slice).collect();
    let inferred = infer(&rows, InferenceOptions { scaling, ..Default::default() }).unwrap();
    let ColumnKind::Numeric { offset, scale } = inferred.schema.columns()[0].kind else { panic!("{inferred:?}") };
    (offset, scale)
}

/// A few wrong numbers change neither offset nor scale by much; columns of two values, rare ones and those that are
/// mostly zero have the mean and the deviation of all.
#[test]
fn robust_offsets_and_scales_are_those_of_most_numbers() {
    let of = |numbers: Vec<f64>| {
        let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        (scaled(&texts, Scaling::Robust), scaled(&texts, Scaling::Standard))
    };
    let ordinal = |index: u32| f64::from(1 + index * 7 % 6);
    for numbers in [
        (0..60).map(ordinal).collect(),
        (0..1000).map(|index| f64::from(u8::from(index % 10 == 3))).collect(),
        (0..9000).map(|index| f64::from(u8::from(index % 200 == 3))).collect(),
        (0..1000).map(|index| f64::from(index % 5 / 4 * (index % 7))).collect::<Vec<f64>>(),
        vec![4.0, 4.0],
    ] {
        let (robust, standard) = of(numbers);
        assert_eq!(robust, standard);
    }
    for count in [1_000, 20_000] {
        let clean: Vec<f64> = (0..count).map(ordinal).collect();
        let (_, (mean, deviation)) = of(clean.clone());
        let wrong = clean.iter().enumerate().map(|(at, &number)| if at % 97 == 5 { 1e6 } else { number }).collect();
        let ((offset, scale), (far, large)) = of(wrong);
        assert!((offset - mean).abs() < 0.1 * deviation && (scale / deviation - 1.0).abs() < 0.2, "{offset} {scale}");
        assert!(far > 1e3 && large > 1e4, "{far} {large}");
    }
}

/// Of -3, 1, 5 and a missing one: mean 1, mean square about it 32/3.
#[test]
fn offsets_and_scales_are_those_of_the_numbers_that_are_there() {
    let numbers = ["-3", "NA", "5", "1"];
    assert_eq!(scaled(&numbers, Scaling::MaxAbs), (0.0, 5.0));
    assert_eq!(scaled(&["-7", "5"], Scaling::MaxAbs), (0.0, 7.0));
    assert_eq!(scaled(&["-7", "-5"], Scaling::MaxAbs), (0.0, 7.0));
    assert_eq!(scaled(&numbers, Scaling::Range), (-3.0, 8.0));
    assert_eq!(scaled(&["-7", "-5"], Scaling::Range), (-7.0, 2.0));
    assert_eq!(scaled(&numbers, Scaling::None), (0.0, 1.0));
    let (offset, scale) = scaled(&numbers, Scaling::Standard);
    assert!((offset - 1.0).abs() < 1e-15 && (scale - (32.0f64 / 3.0).sqrt()).abs() < 1e-15, "{offset} {scale}");
    // No range is no scale.
    assert_eq!(scaled(&["4", "4"], Scaling::Range), (4.0, 1.0));
    assert_eq!(scaled(&["4", "4"], Scaling::Standard), (4.0, 1.0));
    assert_eq!(scaled(&["4", "4"], Scaling::MaxAbs), (0.0, 4.0));
    // Zero in one record is not zero in all.
    assert_eq!(scaled(&["0", "2"], Scaling::Range), (0.0, 2.0));
    assert_eq!(scaled(&["0", "-2"], Scaling::Range), (-2.0, 2.0));
}

#[test]
fn a_column_has_as_many_values_as_it_may_and_not_one_more() {
    let options = |max_values| InferenceOptions { max_values, ..Default::default() };
    let three: [&[&str]; 4] = [&["a"], &["b"], &["a"], &["c"]];
    assert_eq!(infer(&three, options(3)).unwrap().schema.feature_names(), ["c1=a", "c1=b", "c1=c"]);
    let left_out = |column: usize, most| {
        Err(SchemaError::NothingLeft {
            column,
            kind: "many-texts",
            reason: format!("has more than {most} different texts"),
        })
    };
    assert_eq!(infer(&three, options(2)), left_out(1, 2));
    // Numbers before a text are categories while there are not too many.
    let late: [&[&str]; 3] = [&["1", "1"], &["1", "2"], &["1", "x"]];
    assert_eq!(infer(&late, options(3)).unwrap().schema.feature_names(), ["c1", "c2=1", "c2=2", "c2=x"]);
    let inferred = infer(&late, options(2)).unwrap();
    assert_eq!(inferred.schema.feature_names(), ["c1"]);
    assert_eq!(
        told(&inferred)[1],
        "column 'c2' holds 1 text among 2 numbers and is left out: empty the cells \
        whose texts stand for missing values"
    );
    assert_eq!(infer(&late, options(1)), Err(SchemaError::TextAmongNumbers(2)));
    // Numbers that stay numbers are not counted, and those of a named column are.
    let numbers: [&[&str]; 3] = [&["1"], &["2"], &["3"]];
    assert_eq!(infer(&numbers, options(0)).unwrap().schema.feature_names(), ["c1"]);
    let named = |max_values| InferenceOptions { categorical: vec!["c1".into()], ..options(max_values) };
    assert_eq!(infer(&numbers, named(0)).unwrap().schema.dimension(), 3);
    assert_eq!(InferenceOptions::default().max_values, 32);
    let mut inference = Inference::new(&["c1".into()], named(0)).unwrap();
    let texts: Vec<String> = (0..=MAX_DIMENSION).map(|number| number.to_string()).collect();
    let (last, others) = texts.split_last().unwrap();
    others.iter().for_each(|text| inference.observe(&[text]).unwrap());
    let limit = SchemaError::TooManyValues { column: 1, limit: MAX_DIMENSION };
    assert_eq!(inference.observe(&[last]), Err(limit));
}

#[test]
fn the_value_for_all_others_is_listed_once_and_only_where_it_counts() {
    let rows: [&[&str]; 2] = [&["other", "1"], &["a", "2"]];
    for unseen in [Unseen::Zero, Unseen::Other] {
        let inferred = infer(&rows, InferenceOptions { unseen, ..Default::default() }).unwrap();
        assert_eq!(inferred.schema.feature_names(), ["c1=a", "c1=other", "c2"], "{unseen:?}");
        let ColumnKind::Categorical { unseen: found, .. } = inferred.schema.columns()[0].kind else { panic!() };
        assert_eq!(found, unseen);
    }
    let plain = infer(&[&["a"]], InferenceOptions::default()).unwrap();
    assert_eq!(plain.schema.feature_names(), ["c1=a"]);
}

#[test]
fn what_cannot_be_scaled_is_told_by_its_place_at_the_limit() {
    let scale =
        |number: &str| infer(&[&["1", number]], InferenceOptions { scaling: Scaling::MaxAbs, ..Default::default() });
    for good in ["1e100", "-1e100", "1e-100"] {
        assert_eq!(scale(good).unwrap().schema.dimension(), 2, "{good}");
    }
    for bad in ["1.0000001e100", "-1.0000001e100", "9e-101", "5e-324"] {
        assert_eq!(scale(bad), Err(SchemaError::Unscalable(2)), "{bad}");
    }
}

#[test]
fn ignored_columns_are_not_read_at_all() {
    let ignore = || vec!["c1".to_owned()];
    let rows: [&[&str]; 3] = [&["a", "1"], &["b", "2"], &["", "3"]];
    let inferred = infer(&rows, InferenceOptions { ignore: ignore(), max_values: 0, ..Default::default() }).unwrap();
    assert_eq!(inferred.schema.columns()[0].kind, ColumnKind::Ignored);
    assert_eq!((inferred.missing, inferred.always_zero, inferred.rows), (vec![], vec![], 3));
}

#[test]
fn named_columns_are_ignored_or_made_categorical() {
    let options = InferenceOptions { ignore: vec!["c2".into()], categorical: vec!["c1".into()], ..Default::default() };
    let inferred = infer(&[&["1", "x"], &["2", "y"]], options).unwrap();
    assert_eq!(inferred.schema.feature_names(), ["c1=1", "c1=2"]);
}

#[test]
fn missing_values_are_counted_and_left_out() {
    let rows: [&[&str]; 4] = [&["1", "a", ""], &["NA", "", "NaN"], &["3", "b", ""], &["inf", "null", ""]];
    let standard = InferenceOptions { scaling: Scaling::Standard, unseen: Unseen::Other, ..Default::default() };
    let inferred = infer(&rows, standard).unwrap();
    assert_eq!(inferred.schema.feature_names(), ["c1", "c2=a", "c2=b", "c2=other"]);
    assert_eq!(inferred.schema.encode_fields(&["3", "z", ""]), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(inferred.missing, [("c1".into(), 2), ("c2".into(), 2), ("c3".into(), 4)]);
    assert_eq!(inferred.always_zero, ["c3"]);
}

/// A sample of one column of these texts, beside one of numbers.
fn column(name: &str, texts: &[&str], options: InferenceOptions) -> Inferred {
    let names = [name, "beside"].map(String::from);
    let mut inference = Inference::new(&names, options).unwrap();
    for (row, text) in texts.iter().enumerate() {
        inference.observe(&[text, &(row * row % 7 + 1).to_string()]).unwrap();
    }
    inference.finish().unwrap()
}

/// The kind of this column and what is odd about it.
fn found(name: &str, texts: &[&str]) -> (&'static str, Vec<String>) {
    let inferred = column(name, texts, InferenceOptions::default());
    let oddities = inferred.warnings.iter().map(|warning| warning.oddity.to_string()).collect();
    (inferred.schema.columns()[0].kind.name(), oddities)
}

#[test]
fn texts_that_may_identify_somebody_need_their_column_to_be_named() {
    let cases: [(&str, &[&str], &str); 6] = [
        ("who", &["a", "b", "c", "d"], "has 4 different texts in 4 values"),
        ("who", &["a", "b", "c", "d", "a", "b", "c", "d", "a", "", "b"], "has 4 different texts in 10 values"),
        ("surname", &["Smith", "Jones"], "is named like an identifier"),
        ("country name", &["a", "b", "a", "b", "a", "b"], "is named like an identifier"),
        ("contact", &["a@b.org", "a@b.org", "none", "none", "none"], "holds e-mail addresses or UUIDs"),
        ("opened", &["2024-01-02", "2024-01-02", "2024-01-02", "none"], "holds dates"),
    ];
    for (name, texts, reason) in cases {
        assert_eq!(found(name, texts), ("ignored", vec![reason.to_owned()]), "{texts:?}");
        let options = InferenceOptions { categorical: vec![name.into()], ..Default::default() };
        let named = column(name, texts, options);
        assert_eq!((named.schema.columns()[0].kind.name(), &named.warnings), ("categorical", &vec![]));
    }
    for texts in [&["a", "b", "c"][..], &["a", "b", "c", "d", "a", "b", "c", "d", "a", "b", "c", "d"]] {
        assert_eq!(found("plan", texts), ("categorical", vec![]), "{texts:?}");
    }
    let named = vec!["is named like an identifier".to_owned()];
    assert_eq!(found("user_id", &["5", "6", "7"]), ("numeric", named));
}

#[test]
fn listed_categories_are_those_of_the_column() {
    let options = |unseen, values: &[&str]| InferenceOptions {
        categories: vec![("plan".into(), values.iter().map(|value| (*value).to_owned()).collect())],
        unseen,
        ..Default::default()
    };
    let texts = ["s3cret", "b", "NA", "", "7"];
    let inferred = column("plan", &texts, options(Unseen::Zero, &["b", "a"]));
    assert_eq!(inferred.schema.feature_names(), ["plan=b", "plan=a", "beside"]);
    assert_eq!((inferred.missing, inferred.warnings), (vec![("plan".into(), 2)], vec![]));
    let inferred = column("plan", &texts, options(Unseen::Other, &["NA"]));
    assert_eq!(inferred.schema.feature_names(), ["plan=NA", "plan=other", "beside"]);
    assert_eq!(inferred.missing, [("plan".into(), 1)], "what is listed is not missing");
    let inferred = column("plan", &["", ""], options(Unseen::Other, &["other", "x"]));
    assert_eq!(inferred.schema.feature_names(), ["plan=other", "plan=x", "beside"]);
    assert_eq!(inferred.always_zero, [""; 0]);
}

#[test]
fn numbers_that_need_a_format_are_no_categories() {
    let numbers = |forms: &str| ("ignored", vec![format!("holds numbers with {forms}")]);
    assert_eq!(found("x", &["1,234", "999", "999"]), numbers("thousands separators"));
    assert_eq!(found("x", &["10%", "20 %", "low"]), numbers("per cent signs"));
    assert_eq!(found("x", &["$5", "-$1,000", "NA"]), numbers("thousands separators and currency signs"));
    assert_eq!(found("x", &["(5)", "5", "7"]), numbers("parentheses for a minus"));
    assert_eq!(found("x", &["1,5", "2,5", "2,5"]), numbers("decimal commas"));
    // Late ones are no mistakes among many numbers.
    let many: Vec<String> = (0..99).map(|number| number.to_string()).chain(["1,000".into()]).collect();
    assert_eq!(found("x", &many.iter().map(String::as_str).collect::<Vec<_>>()), numbers("thousands separators"));
    assert_eq!(found("x", &["10%", "low", "high", "low", "high"]), ("categorical", vec![]));
}

fn grouped(number: i64, separator: char, before_the_last: usize) -> String {
    let digits: Vec<char> = number.to_string().chars().rev().collect();
    let (last, rest) = digits.split_at(digits.len().min(3));
    let groups: Vec<String> = [last].into_iter().chain(rest.chunks(before_the_last)).map(String::from_iter).collect();
    groups.join(&separator.to_string()).chars().rev().collect()
}

fn in_digits_from(number: i64, zero: char) -> String {
    let digit = |digit: char| char::from_u32(u32::from(zero) + digit.to_digit(10).unwrap()).unwrap();
    number.to_string().chars().map(digit).collect()
}

/// Ways in which programs and people write numbers.
const WAYS: [fn(i64) -> String; 23] = [
    |number| format!("\u{2212}{number}"),
    |number| format!("+{number}"),
    |number| format!("- {number}"),
    |number| format!("{number}.5-"),
    |number| format!("'{number}"),
    |number| format!("=\"{number}\""),
    |number| format!("\"{number}\""),
    |number| format!("{number:#x}"),
    |number| format!("{number}.5D+01"),
    |number| format!("{number}.25×10^3"),
    |number| format!("{number} %"),
    |number| format!("({number})"),
    |number| format!("€ {number},5"),
    |number| format!("{number} kr"),
    |number| in_digits_from(number, '０'),
    |number| in_digits_from(number, '\u{660}'),
    |number| in_digits_from(number, '\u{966}'),
    |number| grouped(number, '\u{202f}', 3),
    |number| grouped(number, '\u{a0}', 3),
    |number| grouped(number, '_', 3),
    |number| grouped(number, '.', 3),
    |number| grouped(number, ',', 2),
    |number| format!("{},50", grouped(number, '.', 3)),
];

proptest! {
    /// However numbers are written: they are read, or their column is left out with a warning that says why.
    #[test]
    fn numbers_never_become_categories(numbers in vec(1..2_000_000_i64, 1..60), way in select(WAYS.to_vec())) {
        let texts: Vec<String> = numbers.into_iter().map(way).collect();
        let inferred = column("x", &texts.iter().map(String::as_str).collect::<Vec<_>>(), InferenceOptions::default());
        let told = inferred.warnings.iter().any(|warning| {
            matches!(warning.oddity, Oddity::FormattedNumbers(_) | Oddity::UnreadNumbers) && warning.left_out
        });
        let expected = if told { "ignored" } else { "numeric" };
        prop_assert_eq!(inferred.schema.columns()[0].kind.name(), expected, "{:?}", texts);
    }
}

#[test]
fn numbers_with_zeros_before_them_are_codes_unless_their_column_is_named() {
    let padded = || vec!["holds numbers that begin with 0 as codes do".to_owned()];
    assert_eq!(found("zip", &["02134", "10001", "02134"]), ("categorical", padded()));
    assert_eq!(found("zip", &["007", "NA", "unknown", "008", "007"]), ("categorical", padded()));
    let many: Vec<String> = (0..200).map(|code| format!("{:05}", 997 * (code % 40))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(found("zip", &many), ("ignored", padded()));
    assert_eq!(found("person id", &["01", "02", "01"]), ("ignored", padded()));
    assert_eq!(found("x", &["0", "0.5", "-0.25", "10"]), ("numeric", vec![]));
    let named = InferenceOptions { numeric: vec!["zip".into()], ..Default::default() };
    let inferred = column("zip", &["02134", "x", "10001", "00000"], named);
    assert_eq!((inferred.schema.columns()[0].kind.name(), &inferred.warnings), ("numeric", &vec![]));
    assert_eq!(inferred.missing, [("zip".into(), 1)]);
}

#[test]
fn a_sample_without_a_value_says_so() {
    let reason = |rows: &[&[&str]]| match infer(rows, InferenceOptions::default()) {
        Err(SchemaError::NothingLeft { column, kind, .. }) => (column, kind),
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(&[&["NA", "0"], &["", "0"]]), (1, "always-missing"));
    assert_eq!(reason(&[&["0", "NA"], &["", "NA"]]), (1, "always-zero"));
}

#[test]
fn dates_are_neither_numbers_nor_categories() {
    let dates = ("ignored", vec!["holds dates".to_owned()]);
    for texts in [["20240101", "20240102", "20240102"], ["2024-01-01", "NA", "1.2.2024"]] {
        assert_eq!(found("opened", &texts), dates, "{texts:?}");
    }
    assert_eq!(found("opened", &["20240101", "20240102", "5"]).0, "numeric");
}

#[test]
fn texts_among_numbers_constants_and_outliers_are_told() {
    let told = |texts: &[&str]| found("x", texts);
    let among = "holds 1 text among 3 numbers".to_owned();
    assert_eq!(told(&["1", "2", "1", "-"]), ("categorical", vec![among]));
    assert_eq!(told(&["1", "a", "2", "b", "1", "a"]), ("ignored", vec!["has 4 different texts in 6 values".into()]));
    let constant = vec!["has the same value in every row".to_owned()];
    assert_eq!(told(&["a", "NA", "a"]), ("categorical", constant.clone()));
    assert_eq!(told(&["7", "7"]), ("numeric", constant));
    assert_eq!(told(&["7"]), ("numeric", vec![]));

    let outlier = |last: &str| {
        let mut texts = vec!["100"; 9];
        texts.push(last);
        told(&texts).1.len()
    };
    // 100 is less than 128 = 1024 / 8.
    assert_eq!([outlier("1024"), outlier("-1e9"), outlier("1023"), outlier("0.001"), outlier("0")], [1, 1, 0, 0, 0]);
    let few = column("x", &["100", "100", "100", "99999"], InferenceOptions::default());
    assert_eq!(few.warnings, []);
    let mut texts = vec!["1"; 18];
    texts.extend(["1e3", "1e6"]);
    assert_eq!(told(&texts).1.len(), 1, "both are two in twenty");
    texts.push("1e2");
    assert_eq!(told(&texts).1.len(), 1, "1e2 is not near");
    texts.extend(["9e5", "8e5"]);
    assert_eq!(told(&texts).1, [""; 0], "three of 23");
    let unscaled = InferenceOptions { scaling: Scaling::None, ..Default::default() };
    assert_eq!(column("x", &["1", "1", "1", "1", "1", "1", "1", "1", "1", "99"], unscaled).warnings, []);
}

#[test]
fn a_first_row_that_alone_counts_up_may_be_a_header() {
    let odd = |rows: &[&[&str]]| infer(rows, InferenceOptions::default()).unwrap().warnings;
    let header = Warning { column: None, left_out: false, oddity: Oddity::NumbersAsHeader };
    assert_eq!(odd(&[&["2019", "2020"], &["5", "7"], &["2", "9"]]), [header]);
    assert_eq!(odd(&[&["2019", "2020"], &["2020", "2021"]]), []);
    assert_eq!(odd(&[&["5", "7"], &["2019", "2020"]]), []);
    assert_eq!(odd(&[&["2019", "2020"]]), []);
    let names = ["a", "b"].map(String::from);
    let mut named = Inference::new(&names, InferenceOptions::default()).unwrap();
    named.observe(&["2019", "2020"]).unwrap();
    named.observe(&["5", "7"]).unwrap();
    assert_eq!(named.finish().unwrap().warnings, []);
}

#[test]
fn warnings_say_what_is_done_and_what_to_do() {
    let rows: [&[&str]; 2] = [&["a@b.org", "1"], &["c@d.org", "1"]];
    let words = told(&infer(&rows, InferenceOptions::default()).unwrap());
    assert_eq!(
        words,
        [
            "column 'c1' holds e-mail addresses or UUIDs and is left out: name it as categorical if its texts may \
             become public",
            "column 'c2' has the same value in every row: ignore it, as it tells no two records apart",
        ]
    );
    let alone = infer(&[&["0", "a@b.org"]], InferenceOptions::default()).unwrap_err();
    assert_eq!(
        alone.to_string(),
        "the sample gives 0 features, as every column is ignored or left out: column 2 holds e-mail addresses or \
         UUIDs"
    );
}

fn cells() -> impl Strategy<Value = String> {
    let odd = [
        "", "NA", "1", "-2.5", "1,234", "5%", "$3", "(4)", "1,5", "2024-1-1", "20240101", "a", "b", "other", "a@b.org",
        "inf", "1e99", "?", " 7 ", "é",
    ];
    let number = any::<f64>().prop_map(|number| number.to_string());
    prop_oneof![8 => select(odd.to_vec()).prop_map(String::from), 1 => "\\PC{0,6}", 1 => number]
}

proptest! {
    #[test]
    fn a_schema_encodes_every_row_of_its_sample(
        rows in vec(vec(cells(), 3), 1..50), most in 0..9_usize, named in vec(select(vec!["id", "b", "c"]), 0..3),
        scaling in select(vec![Scaling::Robust, Scaling::MaxAbs, Scaling::Range, Scaling::Standard, Scaling::None]),
    ) {
        let names = ["id", "b", "c"].map(String::from);
        let categorical = named.into_iter().map(String::from).collect();
        let options = InferenceOptions { scaling, categorical, max_values: most, ..Default::default() };
        let mut inference = Inference::new(&names, options).unwrap();
        let mut seen = vec![];
        for row in &rows {
            let row: Vec<&str> = row.iter().map(String::as_str).collect();
            // A row that is refused ends the inference.
            if inference.observe(&row).is_err() {
                return Ok(());
            }
            seen.push(row);
        }
        if let Ok(inferred) = inference.finish() {
            for row in seen {
                let features = inferred.schema.encode_fields(&row);
                prop_assert_eq!(features.len(), inferred.schema.dimension());
                prop_assert_eq!(inferred.schema.check_fields(&row), []);
            }
            for warning in &inferred.warnings {
                let named = |column: &Column| Some(&column.name) == warning.column.as_ref();
                let column = inferred.schema.columns().iter().find(|column| named(column)).unwrap();
                prop_assert_eq!(warning.left_out, column.kind == ColumnKind::Ignored);
            }
        }
    }
}

#[test]
fn a_sample_that_cannot_be_described_is_refused() {
    assert_eq!(infer(&[&["1"]], InferenceOptions::default()).unwrap().rows, 1);
    let none = Inference::new(&["a".into()], InferenceOptions::default()).unwrap().finish();
    assert_eq!(none, Err(SchemaError::EmptySample));
    let short = infer(&[&["1", "2"], &["1"]], InferenceOptions::default());
    assert_eq!(short, Err(SchemaError::FieldCount { expected: 2, found: 1 }));
    let twice = Inference::new(&["a", "b", "a"].map(String::from), InferenceOptions::default());
    assert_eq!(twice.unwrap_err(), SchemaError::RepeatedInSample { first: 1, second: 3 });
    let label = || vec!["label".to_owned()];
    for unknown in [
        InferenceOptions { ignore: label(), ..Default::default() },
        InferenceOptions { numeric: label(), ..Default::default() },
        InferenceOptions { categorical: label(), ..Default::default() },
        InferenceOptions { categories: vec![("label".into(), label())], ..Default::default() },
    ] {
        assert_eq!(infer(&[&["1"]], unknown), Err(SchemaError::NotInSample { name: "label".into(), columns: 1 }));
    }
}
