//! Arguments that are checked while they are parsed, so that a bad one is reported by name as wrong usage.

use std::str::FromStr;

use clap::Args;
use clap::builder::{
    PossibleValue, PossibleValuesParser, RangedI64ValueParser, RangedU64ValueParser, TypedValueParser,
};
use ldp_pca::centring::Centring;
use ldp_pca::internal::mechanism::cap::MAX_CANDIDATES;
use ldp_pca::mechanism::{MechanismFamily, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon, Guarantee};
use ldp_pca::record::{Bounding, Radius};
use ldp_pca::recovery::{Penalty, Rank};
use ldp_pca::schema::MAX_DIMENSION;

use super::error::{CliError, Result};
use super::output::{Decimal, note};
use super::usage::{no_number, no_whole_number};

fn number(text: &str) -> Result<f64, String> {
    f64::from_str(text).map_err(|_| no_number(text))
}

/// Parses epsilon.
pub fn epsilon(text: &str) -> Result<Epsilon, String> {
    Epsilon::new(number(text)?).map_err(|error| error.to_string())
}

/// Parses delta.
pub fn delta(text: &str) -> Result<Delta, String> {
    Delta::new(number(text)?).map_err(|error| error.to_string())
}

/// An epsilon beyond which a report says nearly all.
const MUCH: f64 = 20.0;
/// A delta beyond which many a record may be revealed whole.
const OFTEN: f64 = 1e-3;

/// Warns of a guarantee that promises next to nothing.
pub(super) fn warn_of(guarantee: &Guarantee) {
    if guarantee.epsilon.value() > MUCH {
        note(format_args!(
            "warning: epsilon {} promises next to nothing: one report may tell two records apart. 0.5 to 8 are common",
            guarantee.epsilon
        ));
    }
    warn_of_delta(guarantee.delta);
}

/// Warns of a delta that is too large to be a rare failure.
pub(super) fn warn_of_delta(delta: Option<Delta>) {
    if let Some(delta) = delta.filter(|delta| delta.value() > OFTEN) {
        note(format_args!(
            "warning: delta {delta} is the share of reports that may reveal their record whole: take less than one in \
             the number of people, such as {}",
            Delta::USUAL
        ));
    }
}

/// Parses the number of components.
pub fn rank(text: &str) -> Result<Rank, String> {
    let rank = usize::from_str(text).map_err(|_| no_whole_number(text))?;
    Rank::new(rank).map_err(|error| error.to_string())
}

/// Parses a penalty.
pub(super) fn penalty(text: &str) -> Result<Penalty, String> {
    Penalty::new(number(text)?).map_err(|error| error.to_string())
}

/// Parses a positive number of seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 { Ok(value) } else { Err(format!("{} is not a positive number of seconds", Decimal(value))) }
}

/// Parses a rate between 0 and 1.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err(format!("{} is not a rate between 0 and 1, such as 0.1", Decimal(value)))
    }
}

/// Numbers of one argument.
#[derive(Clone, Debug)]
pub(super) struct Eigenvalues(pub(super) Vec<f64>);

/// Parses numbers separated by commas.
pub(super) fn eigenvalues(text: &str) -> Result<Eigenvalues, String> {
    let entry = |(index, part): (usize, &str)| match number(part.trim()) {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(value) => {
            let shown = Decimal(value);
            Err(format!("entry {} is {shown}: an eigenvalue is a finite number of at least 0", index + 1))
        }
        Err(problem) => Err(format!("entry {}: {problem}; give numbers separated by commas, as 0.6,0.2", index + 1)),
    };
    text.split(',').enumerate().map(entry).collect::<Result<_, _>>().map(Eigenvalues)
}

/// Parses a number of at least 1.
pub(super) fn count() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

/// Parses a number of features.
pub(super) fn dimension(text: &str) -> Result<usize, String> {
    let value = usize::from_str(text).map_err(|_| no_whole_number(text))?;
    match value {
        1..=MAX_DIMENSION => Ok(value),
        _ => Err(format!("it must be between 1 and {MAX_DIMENSION}")),
    }
}

/// Parses a number of candidates. (Finding the best cap for billions of them would take long, only to be refused.)
pub(super) fn candidates() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(2..=i64::from(MAX_CANDIDATES))
}

/// Parses `unit-norm` or `clip:R`.
pub fn bounding(text: &str) -> Result<Bounding, String> {
    match text.split_once(':') {
        None if text == "unit-norm" => Ok(Bounding::UnitNorm),
        Some(("clip", radius)) => Ok(Bounding::Clip { radius: self::radius(radius)? }),
        _ => Err(format!("'{text}' is not a bounding: use unit-norm, or clip:R with a radius R")),
    }
}

/// Parses a clipping radius.
pub(super) fn radius(text: &str) -> Result<Radius, String> {
    Radius::new(number(text)?).map_err(|error| error.to_string())
}

/// Parses the weight of centring.
fn centring(text: &str) -> Result<Centring, String> {
    Centring::new(number(text)?).map_err(|error| error.to_string())
}

/// Whether a task has centring.
#[derive(Args, Clone, Copy)]
pub(super) struct CentringArgument {
    /// Estimate the mean too, and the covariance about it
    ///
    /// The mean has this weight [default weight: 0.25]
    #[arg(long, value_name = "WEIGHT", value_parser = centring, num_args = 0..=1)]
    #[arg(default_missing_value = "0.25", allow_negative_numbers = true)]
    pub(super) centre: Option<Centring>,
}

/// Whether a planned task has centring, and the mean of the records it is planned for.
#[derive(Args, Clone, Copy)]
pub(super) struct PopulationMean {
    #[command(flatten)]
    pub(super) centring: CentringArgument,
    /// The mean's share of the records' second moments, 0 to 1: their mean is orthogonal to the components [default: 0]
    #[arg(long, value_name = "SHARE", requires = "centre", allow_negative_numbers = true, help_heading = "Population")]
    mean_share: Option<f64>,
}

impl PopulationMean {
    pub(super) fn share(&self) -> f64 {
        self.mean_share.unwrap_or(0.0)
    }
}

/// The name of the mechanism where none is given.
pub(super) const USUAL_MECHANISM: &str = MechanismFamily::ALL[0].name();

/// A mechanism's name for clap, with its description.
pub(super) fn mechanism_value(mechanism: MechanismFamily) -> PossibleValue {
    PossibleValue::new(mechanism.name()).help(mechanism.description())
}

/// Parses the name of one of these mechanisms: it with its usual parameters.
pub(super) fn mechanism(all: &'static [MechanismFamily]) -> impl TypedValueParser<Value = MechanismFamily> {
    PossibleValuesParser::new(all.iter().copied().map(mechanism_value))
        .try_map(move |name| all.iter().copied().find(|family| family.name() == name).ok_or("not a mechanism"))
}

/// The delta that the scale printed by Wang & Xu is computed from, where the mechanism has another.
pub(super) fn printed_delta(mechanism: MechanismFamily) -> Option<Delta> {
    if let MechanismFamily::WangXu { delta } = mechanism { Some(delta) } else { None }
}

/// A mechanism and its privacy parameters.
#[derive(Args, Clone)]
pub(super) struct MechanismArguments {
    /// How records are randomized
    #[arg(long, value_parser = mechanism(&MechanismFamily::OF_TASKS), default_value = USUAL_MECHANISM)]
    mechanism: MechanismFamily,
    /// Privacy parameter epsilon, per report
    #[arg(long, value_parser = epsilon, allow_hyphen_values = true)]
    pub(super) epsilon: Epsilon,
    #[command(flatten)]
    parameters: MechanismParameters,
}

impl MechanismArguments {
    /// The mechanism without its epsilon.
    pub(super) fn family(&self) -> Result<MechanismFamily> {
        self.parameters.family(self.mechanism)
    }

    /// The mechanism as a task states it.
    pub(super) fn spec(&self) -> Result<MechanismSpec> {
        Ok(self.family()?.spec(self.epsilon))
    }
}

/// A mechanism's parameters besides epsilon, for the commands that name mechanisms in other ways.
#[derive(Args, Clone)]
pub(super) struct MechanismParameters {
    /// Privacy parameter delta, for the Gaussian mechanisms [default: 1e-6]
    #[arg(long, value_parser = delta, allow_hyphen_values = true, help_heading = "Mechanism")]
    delta: Option<Delta>,
    /// Number of candidate directions J, for double-cap [default: chosen for epsilon]
    #[arg(long, value_name = "J", value_parser = candidates(), help_heading = "Mechanism")]
    candidates: Option<u32>,
}

impl MechanismParameters {
    /// The mechanism with these parameters, without its epsilon. Parameters that it does not have are wrong usage.
    pub(super) fn family(&self, usual: MechanismFamily) -> Result<MechanismFamily> {
        // The error begins with the name of a parameter, which is that of the option.
        usual.with(self.candidates, None, self.delta).map_err(|error| CliError::Usage(format!("--{error}")))
    }
}
