//! What the values of one column show, and what the column becomes.

use std::collections::BTreeSet;

use super::super::table::stands_for_missing;
use super::super::{Column, ColumnKind, MAX_DIMENSION, OTHER, SchemaError, Unseen};
use super::looks::{self, Looks};
use super::numbers::{NumberForms, is_padded, plain_number};
use super::{InferenceOptions, Oddity, Scaling, Warning};

/// The facts about one column so far.
#[derive(Debug, Default)]
pub(super) struct Observed {
    pub(super) name: String,
    asked: Asked,
    /// Whether all values are numbers so far, in a column that nobody named.
    numeric: bool,
    most: usize,
    pub(super) missing: u64,
    /// The values that are present, by what they are.
    numbers: u64,
    /// Numbers with zeros before them, in a column that nobody named.
    padded: u64,
    compact_dates: u64,
    /// Numbers in other forms, those that are not read among them.
    formatted: u64,
    unread_numbers: u64,
    dates: u64,
    identifiers: u64,
    free_texts: u64,
    texts: u64,
    forms: NumberForms,
    minimum: f64,
    maximum: f64,
    // Welford's running mean and sum of squared deviations.
    mean: f64,
    squares: f64,
    magnitudes: Magnitudes,
    kept: Kept,
    values: BTreeSet<String>,
}

/// What the options say of a column.
#[derive(Debug, Default, PartialEq)]
enum Asked {
    #[default]
    Nothing,
    Ignore,
    Categorical,
    Numeric,
    Listed(Vec<String>),
}

/// A column with at most this many different texts is too short to tell identifiers from categories.
const FEW: usize = 3;
/// How often a text of a longer column must be there, on average, to be rather a category.
const REPEATS: u64 = 3;

impl Observed {
    pub(super) fn new(name: &str, options: &InferenceOptions) -> Self {
        let named = |names: &[String]| names.iter().any(|named| named == name);
        let asked = if named(&options.ignore) {
            Asked::Ignore
        } else if let Some((_, values)) = options.categories.iter().find(|(listed, _)| listed == name) {
            Asked::Listed(values.clone())
        } else if named(&options.categorical) {
            Asked::Categorical
        } else if named(&options.numeric) {
            Asked::Numeric
        } else {
            Asked::Nothing
        };
        Self {
            name: name.to_owned(),
            numeric: matches!(asked, Asked::Nothing | Asked::Numeric),
            most: if asked == Asked::Nothing { options.max_values } else { MAX_DIMENSION },
            asked,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            ..Self::default()
        }
    }

    /// Whether there is nothing but zeros and missing values, in a column that may be numeric.
    pub(super) fn is_zero(&self) -> bool {
        let zeros = self.numeric && self.minimum == 0.0 && self.maximum == 0.0;
        !matches!(self.asked, Asked::Ignore | Asked::Listed(_)) && (self.present() == 0 || zeros)
    }

    fn present(&self) -> u64 {
        self.numbers + self.formatted + self.dates + self.identifiers + self.free_texts + self.texts
    }

    /// Reads the field of one row; `place` is the column's, for errors.
    pub(super) fn observe(&mut self, field: &str, place: usize) -> Result<(), SchemaError> {
        let listed = match &self.asked {
            Asked::Ignore => return Ok(()),
            Asked::Listed(values) => values.iter().any(|value| value == field),
            _ => false,
        };
        let number = plain_number(field);
        let infinite = number.is_some_and(|number| !number.is_finite());
        let no_number = number.is_none() && self.asked == Asked::Numeric;
        if !listed && (stands_for_missing(field) || infinite || no_number) {
            self.missing += 1;
            return Ok(());
        }
        if let Some(value) = number {
            self.numbers += 1;
            if self.asked == Asked::Nothing && is_padded(field) {
                self.padded += 1;
                self.numeric = false;
            }
            if self.numeric {
                self.measure(value);
            }
        } else if self.asked != Asked::Nothing {
            self.texts += 1;
        } else {
            let looks = Looks::of(field);
            match looks {
                Looks::Number(forms) => {
                    self.formatted += 1;
                    self.forms = self.forms.with(forms);
                }
                Looks::UnreadNumber => {
                    self.formatted += 1;
                    self.unread_numbers += 1;
                }
                Looks::Date => self.dates += 1,
                Looks::Identifier => self.identifiers += 1,
                Looks::FreeText => self.free_texts += 1,
                Looks::Text => self.texts += 1,
            }
            let a_word = matches!(looks, Looks::Text | Looks::FreeText | Looks::Identifier);
            if a_word && self.numeric && self.values.len() > self.most {
                // Too many numbers to be categories: the text is more likely a mistake in a numeric column.
                return Err(SchemaError::TextAmongNumbers(place));
            }
            self.numeric = false;
        }
        // Values are also kept while a column may still turn out to be text.
        let categories = !matches!(self.asked, Asked::Listed(_) | Asked::Numeric);
        if categories && self.values.len() <= self.most && !self.values.contains(field) {
            self.values.insert(field.to_owned());
        }
        if self.asked == Asked::Categorical && self.values.len() > self.most {
            return Err(SchemaError::TooManyValues { column: place, limit: self.most });
        }
        Ok(())
    }

    /// Reads a number of a column that is numeric so far.
    fn measure(&mut self, value: f64) {
        self.compact_dates += u64::from(looks::is_compact_date(value));
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
        let deviation = value - self.mean;
        self.mean += deviation / self.numbers as f64;
        self.squares += deviation * (value - self.mean);
        self.magnitudes.add(value);
        self.kept.add(self.numbers - 1, value);
    }

    /// The mean and the standard deviation of the numbers.
    fn moments(&self) -> (f64, f64) {
        (self.mean, (self.squares / self.numbers as f64).sqrt())
    }

    /// The mean and the standard deviation of the numbers that were kept, each shortened to the fences.
    fn robust_moments(&self) -> (f64, f64) {
        let [low, high] = self.kept.fences();
        if low <= self.minimum && self.maximum <= high {
            return self.moments();
        }
        let (mean, deviation) = self.kept.moments_between(low, high);
        // What is too rare to be among those kept may be all that there is beside one number.
        if deviation > 0.0 { (mean, deviation) } else { self.moments() }
    }

    /// The column of the schema, and warnings where it is odd.
    pub(super) fn conclude(mut self, options: &InferenceOptions, warnings: &mut Vec<Warning>) -> Column {
        let why_left_out = self.why_left_out();
        let left_out = why_left_out.is_some();
        let oddities = why_left_out.map_or_else(|| self.oddities(options.scaling), |oddity| vec![oddity]);
        let warning = |oddity| Warning { column: Some(self.name.clone()), left_out, oddity };
        warnings.extend(oddities.into_iter().map(warning));
        let kind = if left_out || self.asked == Asked::Ignore || self.is_zero() {
            ColumnKind::Ignored
        } else if self.numeric {
            let (offset, scale) = match options.scaling {
                Scaling::Robust => self.robust_moments(),
                Scaling::MaxAbs => (0.0, self.maximum.max(-self.minimum)),
                Scaling::Range => (self.minimum, self.maximum - self.minimum),
                Scaling::Standard => self.moments(),
                Scaling::None => (0.0, 1.0),
            };
            // A constant column has no range: it stays as it is, less its offset.
            ColumnKind::Numeric { offset, scale: if scale == 0.0 { 1.0 } else { scale } }
        } else {
            let other = || OTHER.to_owned();
            let adds_other = options.unseen == Unseen::Other;
            let values = if let Asked::Listed(mut values) = self.asked {
                if adds_other && !values.contains(&other()) {
                    values.push(other());
                }
                values
            } else {
                self.values.extend(adds_other.then(other));
                self.values.into_iter().collect()
            };
            ColumnKind::Categorical { values, unseen: options.unseen }
        };
        Column::new(self.name, kind)
    }

    /// Why the column must not get into the schema unless somebody names it.
    fn why_left_out(&self) -> Option<Oddity> {
        if self.asked != Asked::Nothing || self.is_zero() {
            return None;
        }
        let present = self.present();
        let most = |count: u64| 2 * count > present;
        if self.numeric {
            return (self.compact_dates == self.numbers).then_some(Oddity::Dates);
        }
        if most(self.dates) {
            return Some(Oddity::Dates);
        }
        if self.identifiers > 0 {
            return Some(Oddity::Identifiers);
        }
        if self.free_texts > 0 {
            return Some(Oddity::FreeTexts);
        }
        if self.formatted > 0 && most(self.formatted + self.numbers) {
            let unread = self.unread_numbers > 0;
            return Some(if unread { Oddity::UnreadNumbers } else { Oddity::FormattedNumbers(self.forms) });
        }
        let different = self.values.len();
        let many = different > self.most;
        let unique = different > FEW && REPEATS * different as u64 > present;
        let identifies = looks::names_identifiers(&self.name);
        if self.holds_codes() && (identifies || many || unique) {
            return Some(Oddity::PaddedNumbers);
        }
        if identifies {
            return Some(Oddity::NamedLikeIdentifier);
        }
        if !(many || unique) {
            return None;
        }
        Some(self.texts_among_numbers().unwrap_or(if many {
            Oddity::ManyTexts { most: self.most }
        } else {
            Oddity::NearlyUnique { different, values: present }
        }))
    }

    /// What is odd about a column that stays.
    fn oddities(&self, scaling: Scaling) -> Vec<Oddity> {
        let mut oddities = vec![];
        if self.asked != Asked::Nothing || self.is_zero() {
            return oddities;
        }
        if looks::names_identifiers(&self.name) {
            oddities.push(Oddity::NamedLikeIdentifier);
        }
        if self.holds_codes() {
            oddities.push(Oddity::PaddedNumbers);
        }
        oddities.extend(self.texts_among_numbers());
        let constant = if self.numeric { self.minimum == self.maximum } else { self.values.len() == 1 };
        if constant && self.present() > 1 {
            oddities.push(Oddity::Constant);
        }
        if self.numeric && scaling != Scaling::None && self.magnitudes.have_outliers() {
            oddities.push(Oddity::Outlier);
        }
        oddities
    }

    /// Whether the column is mostly numbers, and some of them have zeros before them: `007` is a code, not 7.
    fn holds_codes(&self) -> bool {
        self.padded > 0 && 2 * self.numbers > self.present()
    }

    /// In a column that is mostly numbers.
    fn texts_among_numbers(&self) -> Option<Oddity> {
        let texts = self.present() - self.numbers;
        let among = !self.numeric && !self.holds_codes() && self.numbers > texts;
        among.then_some(Oddity::TextsAmongNumbers { texts, numbers: self.numbers })
    }
}

/// The most numbers of a column that are kept.
const KEPT: usize = 4096;

/// How far fences are from the quartiles, in distances between these (Tukey 1977).
const FENCES: f64 = 3.0;

/// Numbers of a column, in memory that does not grow with it: those whose places, spread over the integers, are below a
/// limit. Even steps would miss what comes at even steps.
#[derive(Debug)]
struct Kept {
    /// With the spread places.
    numbers: Vec<(u64, f64)>,
    limit: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self { numbers: vec![], limit: u64::MAX }
    }
}

impl Kept {
    fn add(&mut self, place: u64, number: f64) {
        // Multiples of the golden ratio (Knuth 1973, 6.4).
        let place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if place <= self.limit {
            self.numbers.push((place, number));
        }
        if self.numbers.len() > KEPT {
            self.limit /= 2;
            self.numbers.retain(|&(place, _)| place <= self.limit);
        }
    }

    /// The limits of what is usual. Where more than half of the numbers are one, the others have quartiles of their
    /// own.
    fn fences(&self) -> [f64; 2] {
        let mut sorted: Vec<f64> = self.numbers.iter().map(|&(_, number)| number).collect();
        sorted.sort_by(f64::total_cmp);
        let [low, median, high] = quartiles(&sorted);
        if low < high {
            return beyond(low, high);
        }
        sorted.retain(|&number| number != median);
        let [low, _, high] = if sorted.is_empty() { [median; 3] } else { quartiles(&sorted) };
        let [low, high] = beyond(low, high);
        [low.min(median), high.max(median)]
    }

    /// The mean and the standard deviation of the numbers, each shortened to these limits.
    fn moments_between(&self, low: f64, high: f64) -> (f64, f64) {
        let count = self.numbers.len() as f64;
        let shortened = || self.numbers.iter().map(|(_, number)| number.clamp(low, high));
        let mean = shortened().sum::<f64>() / count;
        (mean, (shortened().map(|number| (number - mean).powi(2)).sum::<f64>() / count).sqrt())
    }
}

/// Of sorted numbers, of which there are some.
fn quartiles(sorted: &[f64]) -> [f64; 3] {
    [1, 2, 3].map(|quarter| sorted[(sorted.len() - 1) * quarter / 4])
}

fn beyond(low: f64, high: f64) -> [f64; 2] {
    [low - FENCES * (high - low), high + FENCES * (high - low)]
}

/// How many of the numbers are how large, without zeros: the powers of two of the largest ones, and the rest.
#[derive(Debug, Default)]
struct Magnitudes {
    /// The largest exponent.
    top: u64,
    /// The counts of the largest exponents, from the top downwards.
    near: [u64; 4],
    below: u64,
}

impl Magnitudes {
    fn add(&mut self, number: f64) {
        if number == 0.0 {
            return;
        }
        let exponent = number.abs().to_bits() >> 52;
        while exponent > self.top && self.near != [0; 4] {
            self.below += self.near[3];
            self.near.rotate_right(1);
            self.near[0] = 0;
            self.top += 1;
        }
        self.top = self.top.max(exponent);
        match self.near.get_mut((self.top - exponent) as usize) {
            Some(count) => *count += 1,
            None => self.below += 1,
        }
    }

    /// Whether the largest number is more than 8 times as large as nine in ten of the others: their exponents are
    /// smaller by four at least.
    fn have_outliers(&self) -> bool {
        let near: u64 = self.near.iter().sum();
        near > 0 && near <= (near + self.below) / 10
    }
}
