//! A schema from a public sample: which columns are numeric, how they are scaled, which categories exist.
//!
//! Inference reads its input. What it finds becomes part of the public task, so the sample must be public.

use std::collections::{BTreeMap, BTreeSet};

use super::{Column, ColumnKind, OTHER, Schema, SchemaError, Unseen, stands_for_missing};

/// A scaling of numeric columns to a common size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scaling {
    /// Largest magnitude 1, zero stays zero: offset 0, scale max |value|.
    #[default]
    MaxAbs,
    /// From 0 to 1: offset the minimum, scale the range.
    Range,
    /// Mean 0 and standard deviation 1.
    Standard,
    /// As they are.
    None,
}

/// Rules of the inference.
#[derive(Clone, Debug)]
pub struct InferenceOptions {
    /// The scaling of numeric columns.
    pub scaling: Scaling,
    /// The rule for new categories in later records. With [`Unseen::Other`] the value [`OTHER`] is listed too.
    pub unseen: Unseen,
    /// Columns (by name) to leave out.
    pub ignore: Vec<String>,
    /// Columns (by name) to treat as categorical although their values are numbers.
    pub categorical: Vec<String>,
    /// The largest number of categories of one column.
    pub max_values: usize,
}

impl Default for InferenceOptions {
    fn default() -> Self {
        Self { scaling: Scaling::MaxAbs, unseen: Unseen::Zero, ignore: vec![], categorical: vec![], max_values: 256 }
    }
}

/// Reads a sample row by row, in memory that does not grow with it.
#[derive(Debug)]
pub struct Inference {
    columns: Vec<Observed>,
    options: InferenceOptions,
    rows: u64,
}

/// An inferred schema, and which columns were left out because they are zero or missing in every record of the sample.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Inferred {
    /// The schema.
    pub schema: Schema,
    /// The columns that were zero or missing throughout: they carry no information, and are ignored.
    pub always_zero: Vec<String>,
    /// Each column that has missing values, and how many.
    pub missing: Vec<(String, u64)>,
    /// The number of rows read.
    pub rows: u64,
}

/// The facts about one column so far.
#[derive(Debug)]
struct Observed {
    name: String,
    ignored: bool,
    numeric: bool,
    /// The numbers of present and of missing values.
    present: u64,
    missing: u64,
    minimum: f64,
    maximum: f64,
    // Welford's running mean and sum of squared deviations.
    mean: f64,
    squares: f64,
    values: BTreeSet<String>,
}

impl Inference {
    /// Starts for columns of these names.
    ///
    /// # Errors
    /// [`SchemaError::NotInSample`] when the options name a column that does not exist, and
    /// [`SchemaError::RepeatedInSample`] for a name that occurs twice.
    pub fn new(names: &[String], options: InferenceOptions) -> Result<Self, SchemaError> {
        for name in options.ignore.iter().chain(&options.categorical) {
            if !names.contains(name) {
                return Err(SchemaError::NotInSample { name: name.clone(), columns: names.len() });
            }
        }
        let mut places = BTreeMap::new();
        for (place, name) in (1..).zip(names) {
            if let Some(first) = places.insert(name, place) {
                return Err(SchemaError::RepeatedInSample { first, second: place });
            }
        }
        let columns = names
            .iter()
            .map(|name| Observed {
                name: name.clone(),
                ignored: options.ignore.contains(name),
                numeric: !options.categorical.contains(name),
                present: 0,
                missing: 0,
                minimum: f64::INFINITY,
                maximum: f64::NEG_INFINITY,
                mean: 0.0,
                squares: 0.0,
                values: BTreeSet::new(),
            })
            .collect();
        Ok(Self { columns, options, rows: 0 })
    }

    /// Reads one row of text fields.
    ///
    /// # Errors
    /// [`SchemaError`] for a wrong number of fields, and text columns with too many values.
    pub fn observe(&mut self, fields: &[&str]) -> Result<(), SchemaError> {
        if fields.len() != self.columns.len() {
            return Err(SchemaError::FieldCount { expected: self.columns.len(), found: fields.len() });
        }
        self.rows += 1;
        for (place, (column, field)) in (1..).zip(self.columns.iter_mut().zip(fields)) {
            if !column.ignored {
                column.observe(field.trim(), place, self.options.max_values)?;
            }
        }
        Ok(())
    }

    /// The schema of the rows read.
    ///
    /// # Errors
    /// [`SchemaError::EmptySample`] when nothing was read, and the errors of [`Schema::new`].
    pub fn finish(self) -> Result<Inferred, SchemaError> {
        if self.rows == 0 {
            return Err(SchemaError::EmptySample);
        }
        let mut always_zero = vec![];
        let observed = self.columns.iter().filter(|column| column.missing > 0);
        let missing = observed.map(|column| (column.name.clone(), column.missing)).collect();
        let columns = self
            .columns
            .into_iter()
            .map(|column| {
                let kind = if column.ignored {
                    ColumnKind::Ignored
                } else if column.present > 0 && !column.numeric {
                    let mut values = column.values;
                    if self.options.unseen == Unseen::Other {
                        values.insert(OTHER.to_owned());
                    }
                    ColumnKind::Categorical { values: values.into_iter().collect(), unseen: self.options.unseen }
                } else if column.present == 0 || (column.minimum == 0.0 && column.maximum == 0.0) {
                    always_zero.push(column.name.clone());
                    ColumnKind::Ignored
                } else {
                    let (offset, scale) = match self.options.scaling {
                        Scaling::MaxAbs => (0.0, column.maximum.max(-column.minimum)),
                        Scaling::Range => (column.minimum, column.maximum - column.minimum),
                        Scaling::Standard => (column.mean, (column.squares / column.present as f64).sqrt()),
                        Scaling::None => (0.0, 1.0),
                    };
                    // A constant column has no range: it stays as it is, less its offset.
                    ColumnKind::Numeric { offset, scale: if scale == 0.0 { 1.0 } else { scale } }
                };
                Column::new(column.name, kind)
            })
            .collect::<Vec<_>>();
        let unscalable = |column: &Column| matches!(column.check(), Err(SchemaError::Scaling { .. }));
        if let Some(place) = columns.iter().position(unscalable) {
            return Err(SchemaError::Unscalable(place + 1));
        }
        Ok(Inferred { schema: Schema::new(columns)?, always_zero, missing, rows: self.rows })
    }
}

impl Observed {
    /// Reads the field of one row; `place` is the column's, for errors.
    fn observe(&mut self, field: &str, place: usize, max_values: usize) -> Result<(), SchemaError> {
        let number = field.parse::<f64>();
        if stands_for_missing(field) || number.as_ref().is_ok_and(|number| !number.is_finite()) {
            self.missing += 1;
            return Ok(());
        }
        self.present += 1;
        if self.numeric {
            if let Ok(value) = number {
                self.minimum = self.minimum.min(value);
                self.maximum = self.maximum.max(value);
                let deviation = value - self.mean;
                self.mean += deviation / self.present as f64;
                self.squares += deviation * (value - self.mean);
            } else if self.values.len() > max_values {
                // Too many numbers to be categories: the text is more likely a mistake in a numeric column.
                return Err(SchemaError::TextAmongNumbers(place));
            } else {
                self.numeric = false;
            }
        }
        // Values are also kept while a column may still turn out to be text.
        if self.values.len() <= max_values && !self.values.contains(field) {
            self.values.insert(field.to_owned());
        }
        if !self.numeric && self.values.len() > max_values {
            return Err(SchemaError::TooManyValues { column: place, limit: max_values });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(rows: &[&[&str]], options: InferenceOptions) -> Result<Inferred, SchemaError> {
        let names: Vec<String> = (0..rows[0].len()).map(super::super::positional_name).collect();
        let mut inference = Inference::new(&names, options)?;
        for row in rows {
            inference.observe(row)?;
        }
        inference.finish()
    }

    #[test]
    fn columns_are_told_apart_and_scaled() {
        let rows: [&[&str]; 3] = [&["-4", "b", "0", "1"], &["2", "a", "0", "1"], &["1", "b", "0", "1"]];
        let inferred = infer(&rows, InferenceOptions::default()).unwrap();
        assert_eq!(inferred.always_zero, ["c3"]);
        assert_eq!(inferred.schema.feature_names(), ["c1", "c2=a", "c2=b", "c4"]);
        assert_eq!(inferred.schema.encode_fields(&["-4", "b", "0", "1"]).unwrap(), [-1.0, 0.0, 1.0, 1.0]);
        let standard = InferenceOptions { scaling: Scaling::Standard, ..Default::default() };
        let features = infer(&rows, standard).unwrap().schema.encode_fields(&["2", "a", "0", "1"]).unwrap();
        assert!((features[0] - (2.0 + 1.0 / 3.0) / (62f64 / 9.0).sqrt()).abs() < 1e-12, "{features:?}");
        assert_eq!(features[3], 0.0);
        let range = InferenceOptions { scaling: Scaling::Range, ..Default::default() };
        assert_eq!(infer(&rows, range).unwrap().schema.encode_fields(&["2", "a", "0", "1"]).unwrap()[0], 1.0);
    }

    /// The offset and the scale of the first column.
    fn scaled(numbers: &[&str], scaling: Scaling) -> (f64, f64) {
        let rows: Vec<[&str; 1]> = numbers.iter().map(|number| [*number]).collect();
        let rows: Vec<&[&str]> = rows.iter().map(<[&str; 1]>::as_slice).collect();
        let inferred = infer(&rows, InferenceOptions { scaling, ..Default::default() }).unwrap();
        let ColumnKind::Numeric { offset, scale } = inferred.schema.columns()[0].kind else { panic!("{inferred:?}") };
        (offset, scale)
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
        assert_eq!(infer(&three, options(2)), Err(SchemaError::TooManyValues { column: 1, limit: 2 }));
        // Numbers before a text are categories while there are not too many.
        let late: [&[&str]; 3] = [&["1", "1"], &["1", "2"], &["1", "x"]];
        assert_eq!(infer(&late, options(3)).unwrap().schema.feature_names(), ["c1", "c2=1", "c2=2", "c2=x"]);
        assert_eq!(infer(&late, options(2)), Err(SchemaError::TooManyValues { column: 2, limit: 2 }));
        assert_eq!(infer(&late, options(1)), Err(SchemaError::TextAmongNumbers(2)));
        // Numbers that stay numbers are not counted, and those of a named column are.
        let numbers: [&[&str]; 3] = [&["1"], &["2"], &["3"]];
        assert_eq!(infer(&numbers, options(0)).unwrap().schema.feature_names(), ["c1"]);
        let named = |max_values| InferenceOptions { categorical: vec!["c1".into()], ..options(max_values) };
        assert_eq!(infer(&numbers, named(2)), Err(SchemaError::TooManyValues { column: 1, limit: 2 }));
        assert_eq!(infer(&numbers, named(3)).unwrap().schema.dimension(), 3);
        assert_eq!(InferenceOptions::default().max_values, 256);
    }

    #[test]
    fn the_value_for_all_others_is_listed_once_and_only_where_it_counts() {
        let rows: [&[&str]; 2] = [&["other", "1"], &["a", "2"]];
        for (unseen, categorical) in [(Unseen::Zero, vec![]), (Unseen::Other, vec![])] {
            let inferred = infer(&rows, InferenceOptions { unseen, categorical, ..Default::default() }).unwrap();
            assert_eq!(inferred.schema.feature_names(), ["c1=a", "c1=other", "c2"], "{unseen:?}");
            let ColumnKind::Categorical { unseen: found, .. } = inferred.schema.columns()[0].kind else { panic!() };
            assert_eq!(found, unseen);
        }
        let plain = infer(&[&["a"]], InferenceOptions::default()).unwrap();
        assert_eq!(plain.schema.feature_names(), ["c1=a"]);
    }

    #[test]
    fn what_cannot_be_scaled_is_told_by_its_place_at_the_limit() {
        let scale = |number: &str| infer(&[&["1", number]], InferenceOptions::default());
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
        let inferred =
            infer(&rows, InferenceOptions { ignore: ignore(), max_values: 0, ..Default::default() }).unwrap();
        assert_eq!(inferred.schema.columns()[0].kind, ColumnKind::Ignored);
        assert_eq!((inferred.missing, inferred.always_zero, inferred.rows), (vec![], vec![], 3));
    }

    #[test]
    fn named_columns_are_ignored_or_made_categorical() {
        let options =
            InferenceOptions { ignore: vec!["c2".into()], categorical: vec!["c1".into()], ..Default::default() };
        let inferred = infer(&[&["1", "x"], &["2", "y"]], options).unwrap();
        assert_eq!(inferred.schema.feature_names(), ["c1=1", "c1=2"]);
        let unknown = InferenceOptions { ignore: vec!["label".into()], ..Default::default() };
        let error = SchemaError::NotInSample { name: "label".into(), columns: 1 };
        assert_eq!(infer(&[&["1"]], unknown), Err(error.clone()));
        let unknown = InferenceOptions { categorical: vec!["label".into()], ..Default::default() };
        assert_eq!(infer(&[&["1"]], unknown), Err(error));
    }

    #[test]
    fn missing_values_are_counted_and_left_out() {
        let rows: [&[&str]; 4] = [&["1", "a", ""], &["NA", "", "NaN"], &["3", "b", ""], &["inf", "null", ""]];
        let standard = InferenceOptions { scaling: Scaling::Standard, unseen: Unseen::Other, ..Default::default() };
        let inferred = infer(&rows, standard).unwrap();
        assert_eq!(inferred.schema.feature_names(), ["c1", "c2=a", "c2=b", "c2=other"]);
        assert_eq!(inferred.schema.encode_fields(&["3", "z", ""]).unwrap(), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(inferred.missing, [("c1".into(), 2), ("c2".into(), 2), ("c3".into(), 4)]);
        assert_eq!(inferred.always_zero, ["c3"]);
    }

    #[test]
    fn a_sample_that_cannot_be_described_is_refused() {
        assert_eq!(infer(&[&["1"]], InferenceOptions::default()).unwrap().rows, 1);
        let few = InferenceOptions { max_values: 2, ..Default::default() };
        assert!(matches!(infer(&[&["a"], &["b"], &["c"]], few), Err(SchemaError::TooManyValues { .. })));
        let none = Inference::new(&["a".into()], InferenceOptions::default()).unwrap().finish();
        assert_eq!(none, Err(SchemaError::EmptySample));
        let short = infer(&[&["1", "2"], &["1"]], InferenceOptions::default());
        assert_eq!(short, Err(SchemaError::FieldCount { expected: 2, found: 1 }));
        let twice = Inference::new(&["a", "b", "a"].map(String::from), InferenceOptions::default());
        assert_eq!(twice.unwrap_err(), SchemaError::RepeatedInSample { first: 1, second: 3 });
        let huge: [&[&str]; 2] = [&["1", "7e150"], &["1", "2"]];
        assert_eq!(infer(&huge, InferenceOptions::default()), Err(SchemaError::Unscalable(2)));
        let mixed: [&[&str]; 4] = [&["1"], &["2"], &["3"], &["s3cret"]];
        let few = InferenceOptions { max_values: 2, ..Default::default() };
        assert_eq!(infer(&mixed, few), Err(SchemaError::TextAmongNumbers(1)));
    }
}
