//! The `schema infer` command: a schema from a public sample.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use ldp_pca::internal::schema::{NumberForms, Oddity, Warning};
use ldp_pca::schema::infer::{InferenceOptions, Inferred, Scaling};
use ldp_pca::schema::{Column, ColumnKind, Schema, SchemaError, Unseen};
use ldp_pca_records::{Header, Row as TextRow, Sample, SampleError};
use serde::Serialize;

use super::choice::{Choice, one_of};
use super::error::{CliError, Result};
use super::files;
use super::output::{Details, Format, first, fitted, grouped, note, plural, wrote};
use super::records::{self, Opening, RecordFile, Row, looks_like_names};
use super::table::Align::{Left, Right};
use super::table::Table;
use super::writing::{self, Kind, Target};

#[derive(Subcommand)]
pub(super) enum SchemaCommand {
    /// Write a schema from a public sample of records
    ///
    /// This command reads its input: which columns are numeric, how large they get, which categories exist. All of it
    /// becomes part of the public task. So the sample must be public: never infer a schema from the records to be
    /// protected.
    ///
    /// It says what of the sample becomes public, and warns of each column that looks odd. Of more than seven columns
    /// it lists six, and all with --details. A column is left out if it has more than 32 different texts, if its texts
    /// hardly repeat or are longer than 64 characters, or if it holds e-mail addresses, dates or numbers in another
    /// format: --categorical or --categories puts its values into the schema. Numbers that begin with 0, such as postal
    /// codes, are texts unless --numeric names their column. A file that may have been read in another way than it was
    /// written is refused.
    Infer(Infer),
}

#[derive(Args)]
pub(super) struct Infer {
    #[arg(help = records::SAMPLE)]
    sample: PathBuf,
    /// Where to write the schema [default: standard output]
    #[arg(short, long, value_parser = Target::parser(Kind::Schema))]
    output: Option<Target>,
    #[command(flatten)]
    opening: Opening,
    /// A column to leave out; may be repeated
    ///
    /// By name (c1, c2, … in a file without header)
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// A column whose values are categories; may be repeated
    ///
    /// They become public: numbers, many different texts, names
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,
    /// A column of numbers that may begin with 0; may be repeated
    ///
    /// Other columns of such numbers hold codes, as postal codes. What is no number is missing
    #[arg(long, value_name = "COLUMN")]
    numeric: Vec<String>,
    /// A column and its public categories; may be repeated
    ///
    /// They come from public knowledge. A value with a comma is quoted, as in CSV
    #[arg(long, value_name = "COLUMN=VALUE,VALUE", value_parser = listed)]
    categories: Vec<(String, Vec<String>)>,
    /// How numeric columns are scaled
    #[arg(long, value_parser = one_of(&SCALINGS), default_value = "robust")]
    scaling: Scaling,
    /// What a categorical value that is not in the sample does to a record
    #[arg(long, value_parser = one_of(&UNSEEN), default_value = "zero", help_heading = "Categories")]
    unseen: Unseen,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

const SCALINGS: [Choice<Scaling>; 5] = [
    ("robust", "Mean 0, standard deviation 1, whatever a few numbers far from the others are", Scaling::Robust),
    ("max-abs", "Largest magnitude 1", Scaling::MaxAbs),
    ("range", "From 0 to 1", Scaling::Range),
    ("standard", "Mean 0, standard deviation 1", Scaling::Standard),
    ("none", "As they are", Scaling::None),
];
const UNSEEN: [Choice<Unseen>; 2] = [
    ("zero", "All features of the column are 0", Unseen::Zero),
    ("other", "It counts as the value 'other', which is listed too", Unseen::Other),
];

/// Reads the value of `--categories`.
fn listed(text: &str) -> Result<(String, Vec<String>), &'static str> {
    let (column, values) = text.split_once('=').ok_or("give a column and its values, as plan=free,paid")?;
    let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(values.as_bytes());
    let records: Vec<_> = reader.into_records().flatten().collect();
    let values: Vec<String> = records.iter().flatten().map(|value| value.trim().to_owned()).collect();
    if values.is_empty() || values.iter().any(String::is_empty) {
        Err("a value is empty: leave it out")
    } else {
        Ok((column.into(), values))
    }
}

#[derive(Serialize)]
struct InferResult {
    rows: u64,
    features: usize,
    always_zero: Vec<String>,
    missing: BTreeMap<String, u64>,
    public: Public,
    scaling: &'static str,
    columns: Vec<ColumnResult>,
    warnings: Vec<WarningResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<serde_json::Value>,
}

/// What of the sample the schema makes public.
#[derive(Serialize)]
struct Public {
    /// The columns whose names are those of the sample.
    names: Vec<String>,
    /// The columns whose offset and scale follow from their numbers.
    scaled: Vec<String>,
    categories: BTreeMap<String, Vec<String>>,
}

#[derive(Serialize)]
struct ColumnResult {
    name: String,
    kind: String,
    missing: u64,
    features: usize,
    #[serde(flatten)]
    found: Found,
}

/// What was found of a column, or why it is ignored.
#[derive(Serialize)]
#[serde(untagged)]
enum Found {
    Numeric { offset: f64, scale: f64 },
    Categorical { categories: usize },
    Ignored { reason: String },
}

#[derive(Serialize)]
struct WarningResult {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    left_out: bool,
    message: String,
}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<()> {
        run!(self, Infer)
    }
}

impl Infer {
    fn run(self) -> Result<()> {
        note("note: the schema is public and describes what this sample holds, so the sample must be public");
        let options = InferenceOptions {
            scaling: self.scaling,
            unseen: self.unseen,
            ignore: self.ignore,
            categorical: self.categorical,
            numeric: self.numeric,
            categories: self.categories,
            ..InferenceOptions::default()
        };
        let inferred = infer(&self.sample, &self.opening, &options, true)?;
        let json = serde_json::to_string_pretty(&inferred.schema).map_err(CliError::failed)?;
        let public = Public::new(&inferred.schema, self.scaling);
        let details = self.details.wanted;
        public.note(details);
        if let Some(output) = &self.output {
            writing::write(output, format!("{json}\n").as_bytes())?;
        }
        let result = InferResult {
            rows: inferred.rows,
            features: inferred.schema.dimension(),
            scaling: SCALINGS.iter().find(|(.., value)| *value == self.scaling).map_or("", |(name, ..)| name),
            columns: inferred.schema.columns().iter().map(|column| ColumnResult::new(column, &inferred)).collect(),
            always_zero: inferred.always_zero,
            missing: inferred.missing.into_iter().collect(),
            public,
            warnings: inferred.warnings.iter().map(WarningResult::new).collect(),
            schema: if self.output.is_none() { serde_json::to_value(&inferred.schema).ok() } else { None },
            output: self.output,
        };
        for warning in &result.warnings {
            note(format_args!("warning: {}", warning.message));
        }
        self.format.print_laid_out(&result, |result| {
            let text = result.text(details);
            if result.output.is_some() {
                return fitted(&text);
            }
            // Standard output has the schema alone, whose lines are not broken.
            note(text.trim_end());
            json
        })
    }
}

/// The longest name of a column in the table.
const NAME_LENGTH: usize = 20;

/// The most columns that all have a line, and the most that are listed without details.
const FEW: usize = 7;

impl InferResult {
    /// A line for each column; more than a few only in `details`.
    fn text(&self, details: bool) -> String {
        let [columns, features] = [(self.columns.len(), "column"), (self.features, "feature")]
            .map(|(count, what)| plural(count as u64, what));
        let mut text = format!("{} of {columns} give {features}\n\n", plural(self.rows, "row"));
        let mut table = Table::new(vec![("column", Left), ("kind", Left), ("missing", Right), ("features", Right)]);
        let count = self.columns.len();
        let most = if details || count <= FEW { count } else { FEW - 1 };
        for column in &self.columns[..most] {
            let cells = vec![
                shown(&column.name, NAME_LENGTH),
                column.kind.clone(),
                grouped(column.missing),
                column.features.to_string(),
            ];
            table.remark(cells, column.remark(self.scaling));
        }
        text += &table.text(0);
        if most < count {
            // Warnings have told of the other columns that are left out.
            let zero = first(self.always_zero.iter().map(|name| shown(name, NAME_LENGTH)), SHOWN);
            let zero = if zero.is_empty() { zero } else { format!("; always zero: {zero}") };
            text += &format!("and {} more (--details){zero}\n", count - most);
        }
        text + "\n" + &wrote(self.output.as_ref())
    }
}

/// The most characters of a category that are shown.
const VALUE_LENGTH: usize = 64;
/// The most names or categories that are shown: as many as a column has that nobody names.
const SHOWN: usize = 32;

impl Public {
    fn new(schema: &Schema, scaling: Scaling) -> Self {
        let columns = schema.columns();
        let is_scaled =
            |column: &&Column| scaling != Scaling::None && matches!(column.kind, ColumnKind::Numeric { .. });
        let name = |column: &Column| column.name.clone();
        let categories = columns.iter().filter_map(|column| match &column.kind {
            ColumnKind::Categorical { values, .. } => Some((name(column), values.clone())),
            _ => None,
        });
        Self {
            names: if schema.dialect().header { columns.iter().map(name).collect() } else { vec![] },
            scaled: columns.iter().filter(is_scaled).map(name).collect(),
            categories: categories.collect(),
        }
    }

    /// More than a few lists of categories are listed in `details`, and otherwise named.
    fn note(&self, details: bool) {
        let most = if details { usize::MAX } else { SHOWN };
        let listed = |texts: &[String]| first(texts.iter().map(|text| shown(text, VALUE_LENGTH)), most);
        if !self.names.is_empty() {
            note(format_args!("note: public: {}: {}", plural(self.names.len() as u64, "name"), listed(&self.names)));
        }
        if !self.scaled.is_empty() {
            note(format_args!("note: public: offset and scale of {}", listed(&self.scaled)));
        }
        if self.categories.len() > FEW && !details {
            let (names, values) = (self.categories.keys().cloned().collect::<Vec<_>>(), self.categories.values());
            let all = categories(values.map(Vec::len).sum());
            return note(format_args!("note: public: {all} of {} (--details lists them)", listed(&names)));
        }
        for (name, values) in &self.categories {
            let name = shown(name, NAME_LENGTH);
            note(format_args!("note: public: {} of '{name}': {}", categories(values.len()), listed(values)));
        }
    }
}

/// How many categories there are.
fn categories(count: usize) -> String {
    if count == 1 { "1 category".into() } else { format!("{} categories", grouped(count as u64)) }
}

/// A text in one line, and not too long.
fn shown(text: &str, most: usize) -> String {
    let mut letters = text.chars().map(|letter| if letter.is_control() { '�' } else { letter });
    let mut start: String = letters.by_ref().take(most).collect();
    if letters.next().is_some() {
        start.pop();
        start.push('…');
    }
    start
}

impl ColumnResult {
    fn new(column: &Column, inferred: &Inferred) -> Self {
        let name = &column.name;
        let missing = inferred.missing.iter().find(|(missing, _)| missing == name).map_or(0, |(_, count)| *count);
        let (features, found) = match &column.kind {
            &ColumnKind::Numeric { offset, scale } => (1, Found::Numeric { offset, scale }),
            ColumnKind::Categorical { values, .. } => (values.len(), Found::Categorical { categories: values.len() }),
            ColumnKind::Ignored => {
                let mut warnings = inferred.warnings.iter().filter(|warning| warning.left_out);
                let reason = match warnings.find(|warning| warning.column.as_ref() == Some(name)) {
                    Some(warning) => warning.oddity.to_string(),
                    None if inferred.always_zero.contains(name) => Oddity::AlwaysZero.to_string(),
                    None => "is ignored as asked".into(),
                };
                (0, Found::Ignored { reason })
            }
        };
        Self { name: name.clone(), kind: column.kind.to_string(), missing, features, found }
    }

    fn remark(&self, scaling: &str) -> String {
        match &self.found {
            Found::Numeric { offset: 0.0, scale } => format!("scale {} ({scaling})", short(*scale)),
            Found::Numeric { offset, scale } => format!("scale {} from {} ({scaling})", short(*scale), short(*offset)),
            Found::Categorical { categories: count } => categories(*count),
            Found::Ignored { reason } => reason.clone(),
        }
    }
}

/// A number with at most five digits.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.4e}").parse().unwrap_or(number);
    if (1e-4..1e7).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

impl WarningResult {
    fn new(warning: &Warning) -> Self {
        let column = warning.column.as_deref().unwrap_or_default();
        let option = match &warning.oddity {
            Oddity::FormattedNumbers(forms) => Some(options_of(*forms)),
            Oddity::NumbersAsHeader => Some("--header yes".into()),
            Oddity::Constant | Oddity::NamedLikeIdentifier | Oddity::Unnamed if !warning.left_out => {
                Some(format!("--ignore {column}"))
            }
            Oddity::ManyTexts { .. }
            | Oddity::NearlyUnique { .. }
            | Oddity::Identifiers
            | Oddity::FreeTexts
            | Oddity::NamedLikeIdentifier => {
                Some(format!("--categorical {column} or --categories {column}=VALUE,VALUE"))
            }
            Oddity::PaddedNumbers if warning.left_out => Some(format!("--categorical {column} or --numeric {column}")),
            Oddity::PaddedNumbers => Some(format!("--numeric {column}")),
            _ => None,
        };
        let option = option.map_or(String::new(), |option| format!(" ({option})"));
        Self {
            kind: warning.oddity.name(),
            column: warning.column.clone(),
            left_out: warning.left_out,
            message: format!("{warning}{option}"),
        }
    }
}

/// The options that read numbers in these forms.
fn options_of(forms: NumberForms) -> String {
    let names = forms.names();
    let (commas, others): (Vec<&str>, Vec<&str>) = names.split(',').partition(|name| *name == "decimal-comma");
    let commas = commas.first().map(|_| "--decimal-comma".to_owned());
    let others = (!others.is_empty()).then(|| format!("--number-format {}", others.join(",")));
    commas.into_iter().chain(others).collect::<Vec<_>>().join(" ")
}

/// The schema of records that a command was given without one, with a remark where columns are left out.
pub fn inferred(path: &Path, opening: &Opening, ignore: &[String]) -> Result<Schema> {
    files::can_be_read_twice(path, "the schema is inferred first")?;
    let options = InferenceOptions { ignore: ignore.to_vec(), ..InferenceOptions::default() };
    let inferred = infer(path, opening, &options, true)?;
    let left_out = inferred.warnings.iter().filter(|warning| warning.left_out).count();
    if left_out > 0 {
        let many = if left_out == 1 { "one column is" } else { &format!("{left_out} columns are") };
        note(format_args!(
            "warning: {many} left out of the schema: `ldp-pca schema infer {}` says why",
            path.display()
        ));
    }
    Ok(inferred.schema)
}

/// Reads a sample and infers its schema. For a public one it is an error where the file may say something
/// else than what was read.
pub(super) fn infer(path: &Path, opening: &Opening, options: &InferenceOptions, is_public: bool) -> Result<Inferred> {
    infer_from(path, RecordFile::open(path, opening, looks_like_names)?, opening, options, is_public)
}

/// Infers the schema of a file that is open.
pub fn infer_from(
    path: &Path,
    mut file: RecordFile,
    opening: &Opening,
    options: &InferenceOptions,
    is_public: bool,
) -> Result<Inferred> {
    file.only(|name| !options.ignore.iter().any(|ignored| ignored == name), false);
    let part = file.part();
    let columns = file.columns();
    let is_guess = opening.header == Header::Auto && file.names().is_some() && part == "line";
    let sample = match is_public {
        true => file.sample(options.clone()),
        false => Sample::new(&columns, options.clone(), file.notation()),
    };
    let mut sample = sample.map_err(|error| match error {
        SchemaError::NotInSample { .. } => {
            CliError::Usage(format!("{}: {error}: correct the option that names it", path.display()))
        }
        SchemaError::RepeatedInSample { .. } if is_guess => {
            CliError::file(path, format!("{error} (--header no reads the first line as a record)"))
        }
        error => CliError::file(path, error),
    })?;
    // Where the next row differs, the first line may be neither a header nor a record.
    let (mut rows, first_lines) = (0, 1 + u64::from(file.names().is_none()));
    file.for_each(|line, row| {
        let texts: Vec<String>;
        let fields: Vec<&str> = match row {
            Row::Text(TextRow { problem: Some(problem), .. }) => return Err(CliError::at(path, part, line, problem)),
            Row::Text(TextRow { cells, .. }) => cells.iter().collect(),
            Row::Numbers(numbers) => {
                texts = numbers.iter().map(ToString::to_string).collect();
                texts.iter().map(String::as_str).collect()
            }
        };
        if fields.len() != columns.len() {
            let other = if columns.len() == 1 { ", or name what separates its cells with --separator" } else { "" };
            let remedy = match rows < first_lines {
                true => "remove the first line if it is a title or a comment, or give every row as many",
                false => "give every row as many, and no title above the header",
            };
            let (found, known) = (plural(fields.len() as u64, "field"), columns.len());
            let problem = format!("found {found} where the first line has {known}: {remedy}{other}");
            return Err(CliError::at(path, part, line, problem));
        }
        rows += 1;
        sample.observe(&fields).map_err(|problem| CliError::at(path, part, line, problem))
    })?;
    sample.finish().map_err(|error| match error {
        SampleError::Schema(SchemaError::NothingLeft { kind, .. }) => {
            let remedy = match kind {
                "always-zero" | "always-missing" => "give a sample that has values",
                "unread-numbers" => "write them with digits, a sign and a decimal point alone",
                "formatted-numbers" => "say how they look with --number-format or --decimal-comma",
                // Lines alone may be rows, whose texts nobody should publish.
                _ if columns.len() == 1 => "keep columns with --categories",
                _ => "keep columns with --categorical, --categories or --numeric",
            };
            CliError::file(path, format!("{error}; {remedy}"))
        }
        // The separator of a text is not that of this file.
        SampleError::Doubt(_) if part == "row" => {
            let problem = "a column of texts looks like lines that were read with the wrong separator: write the \
                           file again from its text, or, if each text is one value, list its categories with \
                           --categories or leave it out with --ignore";
            CliError::file(path, problem)
        }
        error => CliError::file(path, error),
    })
}
