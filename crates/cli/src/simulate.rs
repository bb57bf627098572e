//! The `simulate` command: the error to expect, measured.

use std::time::Instant;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use ldp_pca::internal::report::framed_bytes;
use ldp_pca::internal::waves::{PublicSample, TwoWaves, Waves};
use ldp_pca::mechanism::{LocalRandomizer, Mechanism, MechanismFamily};
use ldp_pca::prediction::{Planner, PredictionError, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon, Guarantee};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::{DEFAULT_PENALTY_FACTOR, Rank};
use ldp_pca_simulation::{
    Recovered, RecoveryMethod, Reports, SpikedModel, SpikedSpectrum, Trial, TrialResult, TurnedSample, WavesResult,
    WavesTrial, stream,
};
use serde::Serialize;

use super::choice::{Choice, one_of};
use super::error::{CliError, Result};
use super::output::{Details, Format, bar, first, plural, tenths};
use super::parallel::on_all_cores;
use super::parameters::{self, MechanismParameters, PopulationMean};
use super::task::waves_text;

/// Measure the error to expect, on synthetic records
///
/// Draws unit-norm records of the spiked model (g + sqrt(signal) V f, normalised), randomizes every one, sums the
/// reports, recovers the components and says which share of the structure they find: 100 % is all that k components can
/// capture, 0 % what a random subspace captures on average. With --details also the error ||sin Theta||_F^2, which is 0
/// for the same subspace and k (1 - k/d) for a random one. The model has mean 0; with --mean-share its records are on a
/// smaller sphere about a mean that is orthogonal to the components.
#[derive(Args)]
pub(super) struct Simulate {
    /// How records are randomized
    ///
    /// wang-xu works at any epsilon here, and its true guarantee is printed
    #[arg(long, value_parser = mechanisms(), default_value = parameters::USUAL_MECHANISM, help_heading = "Mechanism")]
    mechanism: String,
    /// Privacy parameter epsilon, per report [not for --mechanism none]
    #[arg(long, value_parser = parameters::epsilon, allow_hyphen_values = true)]
    epsilon: Option<Epsilon>,
    #[command(flatten)]
    parameters: MechanismParameters,
    /// Number of features, d
    #[arg(long, default_value_t = 40, value_parser = parameters::dimension)]
    dimension: usize,
    /// Number of components, k
    #[arg(long, value_parser = parameters::rank, default_value = "3")]
    rank: Rank,
    /// Strength of the components against the records' noise
    #[arg(long, default_value_t = 20.0, allow_hyphen_values = true)]
    signal: f64,
    /// Number of records, n
    #[arg(long, default_value_t = 20_000, value_parser = parameters::count())]
    records: u64,
    /// Number of repetitions
    #[arg(long, default_value_t = 5, value_parser = parameters::count())]
    trials: u64,
    /// Seed of the populations and the (simulated) randomizers
    #[arg(long, default_value_t = 1, help_heading = "Simulation")]
    seed: u64,
    /// Number of features that the components use [default: all]
    #[arg(long, help_heading = "Simulation")]
    sparsity: Option<usize>,
    #[command(flatten)]
    mean: PopulationMean,
    /// How components are recovered
    ///
    /// Several methods, separated by commas, see the same reports
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pca")]
    method: Vec<MethodName>,
    /// How reports are generated
    #[arg(long, value_parser = one_of(&REPORTS), default_value = "randomized", help_heading = "Simulation")]
    reports: Reports,
    /// The number of waves of different people, 1 or 2
    ///
    /// With 2, the second refines what the first found (double-cap; reports are drawn from their law)
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 1, help_heading = "Two waves")]
    waves: u8,
    /// The second wave is asked about the directions of a public sample, which are off by this ||sin Theta||_F^2, and
    /// there is no first wave [with --waves 2]; the sample has a million records
    #[arg(long, value_name = "ERROR", allow_hyphen_values = true, help_heading = "Two waves")]
    sample_error: Option<f64>,
    /// Penalty of soft-threshold and fantope, as the factor c of c × noise × sqrt(ln d)
    #[arg(long, value_name = "C", default_value_t = DEFAULT_PENALTY_FACTOR, help_heading = "Simulation")]
    #[arg(allow_hyphen_values = true)]
    penalty_factor: f64,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

/// The records of a public sample in the first wave's place.
const SAMPLE_RECORDS: u64 = 1_000_000;

/// Trials whose values are printed, in one line. JSON has all.
const SHOWN: usize = 6;

/// Parses the name of a mechanism, or `none`.
fn mechanisms() -> PossibleValuesParser {
    let names = MechanismFamily::ALL.map(parameters::mechanism_value).into_iter();
    PossibleValuesParser::new(names.chain([PossibleValue::new("none").help("No privacy")]))
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Principal components of the estimate
    Pca,
    /// Principal components of the estimate with all entries moved towards 0 by the penalty
    SoftThreshold,
    /// The sparse (Fantope) program
    Fantope,
}

const REPORTS: [Choice<Reports>; 2] = [
    ("randomized", "Every record is randomized, as on a user's device", Reports::Randomized),
    ("drawn", "The sums of reports are drawn from their law: equivalent, and much faster", Reports::Drawn),
];

#[derive(Serialize)]
struct SimulateResult {
    /// By the first method; none without structure.
    share_found: Option<Figures>,
    /// By the first method.
    sin_theta_squared: Figures,
    methods: Vec<MethodFigures>,
    /// The factor of the penalties, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    penalty_factor: Option<f64>,
    /// With two waves, the prediction, and the errors after the first one or of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    waves: Option<TwoWaves>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_wave: Option<Figures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_wave_share_found: Option<Figures>,
    /// The sample in the first wave's place; its own error is `first_wave`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<TurnedSample>,
    non_private: Figures,
    non_private_share_found: Option<Figures>,
    /// Expected value for a random subspace: k (1 - k/d).
    random_subspace: f64,
    report_bytes: Option<usize>,
    guarantee: Option<Guarantee>,
    /// The delta that the paper's scale is computed from, where the mechanism gives another.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_delta: Option<Delta>,
    records: u64,
    dimension: usize,
    rank: usize,
    trials: u64,
    seed: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Figures {
    mean: f64,
    values: Vec<f64>,
}

/// The figures of one method.
#[derive(Serialize)]
struct MethodFigures {
    method: &'static str,
    share_found: Option<Figures>,
    sin_theta_squared: Figures,
}

impl Figures {
    /// The shares found, and the errors.
    fn of(recovered: &[Recovered]) -> (Option<Self>, Self) {
        let of = |values: Vec<f64>| Self { mean: values.iter().sum::<f64>() / values.len() as f64, values };
        let shares: Option<Vec<f64>> = recovered.iter().map(|one| one.share_found).collect();
        (shares.map(of), of(recovered.iter().map(|one| one.sin_theta_squared).collect()))
    }
}

impl Simulate {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let factor = self.penalty_factor;
        if !(factor.is_finite() && factor >= 0.0) {
            let problem = format!("--penalty-factor is {factor}: it must be a finite number of at least 0");
            return Err(CliError::Usage(problem));
        }
        let (mechanism, claimed_delta) = self.mechanism()?;
        let guarantee = mechanism.as_ref().map(LocalRandomizer::guarantee);
        guarantee.iter().for_each(parameters::warn_of);
        let (names, methods): (Vec<_>, Vec<_>) = self.method.iter().map(|method| method.named(factor)).unzip();
        let (k, d) = (self.rank.value() as f64, self.dimension as f64);
        let random_subspace = k * (1.0 - k / d);
        let (waves, first_wave, results) = match self.waves {
            2 => {
                let (waves, results) = self.two_waves(mechanism.as_ref())?;
                let recovered = |error| Recovered::of_equal(self.signal, error, random_subspace);
                let first: Vec<_> = results.iter().map(|result| recovered(result.first_wave)).collect();
                let of = |WavesResult { non_private, refined, .. }| TrialResult {
                    non_private: recovered(non_private),
                    by_mechanism: vec![vec![recovered(refined)]],
                };
                (Some(waves), Some(Figures::of(&first)), results.into_iter().map(of).collect())
            }
            _ if self.sample_error.is_some() => return Err(CliError::usage("--sample-error goes with --waves 2")),
            _ => (None, None, self.trials(mechanism.as_slice(), &methods)?),
        };
        let (first_wave_share_found, first_wave) = first_wave.unzip();
        let figures = |of: &dyn Fn(&TrialResult) -> Recovered| Figures::of(&results.iter().map(of).collect::<Vec<_>>());
        // Without randomization there is no noise, and every method has the error of the records themselves.
        let by_method = |index: usize| {
            figures(&|result| result.by_mechanism.first().map_or(result.non_private, |methods| methods[index]))
        };
        let (share_found, sin_theta_squared) = by_method(0);
        let (non_private_share_found, non_private) = figures(&|result| result.non_private);
        let result = SimulateResult {
            share_found,
            sin_theta_squared,
            methods: (names.into_iter().enumerate())
                .map(|(index, method)| {
                    let (share_found, sin_theta_squared) = by_method(index);
                    MethodFigures { method, share_found, sin_theta_squared }
                })
                .collect(),
            penalty_factor: self.method.iter().any(|method| *method != MethodName::Pca).then_some(factor),
            waves,
            first_wave,
            first_wave_share_found: first_wave_share_found.flatten(),
            sample: self.sample_error.map(|error| TurnedSample { records: SAMPLE_RECORDS, error }),
            non_private,
            non_private_share_found,
            random_subspace,
            report_bytes: mechanism.as_ref().map(|mechanism| framed_bytes(mechanism.payload_bytes())),
            guarantee,
            claimed_delta,
            records: self.records,
            dimension: self.dimension,
            rank: self.rank.value(),
            trials: self.trials,
            seed: self.seed,
            seconds: started.elapsed().as_secs_f64(),
        };
        self.format.print(&result, |result| result.text(self.details.wanted))
    }

    /// The mechanism, and the delta it claims where it gives another.
    fn mechanism(&self) -> Result<(Option<Mechanism>, Option<Delta>)> {
        let Some(usual) = MechanismFamily::named(&self.mechanism) else { return Ok((None, None)) };
        let epsilon = self.epsilon.ok_or_else(|| CliError::usage("--epsilon is missing: 0.5 to 8 are common"))?;
        let family = self.parameters.family(usual)?;
        let coordinates = self.dimension + usize::from(self.mean.centring.centre.is_some());
        let mechanism = family.build(epsilon, coordinates, Bounding::UnitNorm)?;
        Ok((Some(mechanism), parameters::printed_delta(family)))
    }

    /// All trials of two waves.
    fn two_waves(&self, mechanism: Option<&Mechanism>) -> Result<(TwoWaves, Vec<WavesResult>)> {
        let (Some(Mechanism::DoubleCap(mechanism)), None) = (mechanism, self.mean.centring.centre) else {
            return Err(PredictionError::OneWave.into());
        };
        if !matches!(self.method[..], [MethodName::Pca]) || self.mean.share() > 0.0 {
            let problem = "--waves 2 has plain components of records about zero: leave --method and --mean-share out";
            return Err(CliError::Usage(problem.into()));
        }
        if self.records < 2 {
            return Err(CliError::Usage("--waves 2 needs at least 2 --records".into()));
        }
        SpikedModel::check(self.dimension, self.rank, self.signal, self.sparsity).map_err(CliError::usage)?;
        let epsilon = mechanism.guarantee().epsilon;
        let spiked = SpikedSpectrum::new(self.dimension, self.rank, self.signal).map_err(CliError::usage)?;
        let spectrum = Spectrum::new(self.dimension, vec![spiked.signal; self.rank.value()], spiked.bulk)?;
        let family =
            MechanismFamily::DoubleCap { candidates: Some(mechanism.candidates()), cap: Some(mechanism.cap()) };
        let planner = Planner::new(spectrum, self.rank, family, Bounding::UnitNorm)?;
        let sample = self.sample()?;
        let waves = Waves::new(&planner, epsilon, self.records)?;
        let predicted = match &sample {
            None => waves.best()?,
            Some(sample) => {
                let each = sample.error / self.rank.value() as f64;
                waves.about_sample(sample.records, &vec![each; self.rank.value()], each)?
            }
        };
        let trial = WavesTrial { mechanism, signed: &waves.signed, records: predicted.records, rank: self.rank };
        let progress = bar("simulating", self.trials.saturating_mul(self.records));
        let results = on_all_cores(self.trials as usize, |number| {
            let mut rng = stream(self.seed, number as u64);
            let population = SpikedModel::draw(self.dimension, self.rank, self.signal, self.sparsity, &mut rng)?;
            let progress = |count| progress.inc(count);
            match &sample {
                None => trial.run(&population, &mut rng, progress),
                Some(sample) => trial.run_about_sample(&population, sample, &mut rng, progress),
            }
        });
        Ok((predicted, results?))
    }

    /// The public sample in the first wave's place.
    fn sample(&self) -> Result<Option<TurnedSample>> {
        let Some(error) = self.sample_error else { return Ok(None) };
        if self.dimension < 2 * self.rank.value() {
            return Err(CliError::usage("--sample-error needs at least twice as many features as components"));
        }
        PublicSample::check_error(error, self.dimension, self.rank)
            .map_err(|error| CliError::usage(format!("--sample-error: {error}")))?;
        Ok(Some(TurnedSample { records: SAMPLE_RECORDS, error }))
    }

    /// All trials. Each has its own random stream, so the result does not depend on the number of cores.
    fn trials(&self, mechanisms: &[Mechanism], methods: &[RecoveryMethod]) -> Result<Vec<TrialResult>> {
        let progress = bar("simulating", self.trials.saturating_mul(self.records));
        let results = on_all_cores(self.trials as usize, |trial| {
            let mut rng = stream(self.seed, trial as u64);
            let population = SpikedModel::draw(self.dimension, self.rank, self.signal, self.sparsity, &mut rng)?;
            let population = population.with_mean_share(self.mean.share(), &mut rng)?;
            let (records, rank, reports, centring) = (self.records, self.rank, self.reports, self.mean.centring.centre);
            let trial = Trial { population: &population, mechanisms, records, rank, reports, centring };
            trial.run(methods, &mut rng, |count| progress.inc(count))
        });
        Ok(results?)
    }
}

impl MethodName {
    /// Its name, and the method itself with a factor of the penalty.
    fn named(self, factor: f64) -> (&'static str, RecoveryMethod) {
        match self {
            Self::Pca => ("pca", RecoveryMethod::Pca),
            Self::SoftThreshold => ("soft-threshold", RecoveryMethod::SoftThreshold { factor }),
            Self::Fantope => ("fantope", RecoveryMethod::Fantope { factor }),
        }
    }
}

impl SimulateResult {
    /// The shares found, and the guarantee; in `details` also errors.
    fn text(&self, details: bool) -> String {
        let (trials, records) = (plural(self.trials, "trial"), plural(self.records, "record"));
        let over = format!("{trials} of {records}, {} of {} dimensions", self.rank, self.dimension);
        let mut text = match &self.share_found {
            Some(share) => format!("finds {} of the structure: mean of {over}\n", tenths(share.mean)),
            None => format!("there is no structure to find: {over}\n"),
        };
        // One method needs no name.
        let name = |method| if self.methods.len() == 1 { "private" } else { method };
        let shares = self.methods.iter().map(|method| (name(method.method), method.share_found.as_ref()));
        let [start, plain] = [&self.first_wave_share_found, &self.non_private_share_found].map(Option::as_ref);
        text += &self.rows(shares, start, plain, 0.0, tenths);
        if details {
            let uninformed = self.random_subspace;
            text += &format!("||sin Theta||_F^2 (0 is the same subspace, {uninformed:.2} a random one)\n");
            let errors = self.methods.iter().map(|method| (name(method.method), Some(&method.sin_theta_squared)));
            let (start, plain) = (self.first_wave.as_ref(), Some(&self.non_private));
            text += &self.rows(errors, start, plain, uninformed, |error| format!("{error:.4}"));
        }
        text.extend(self.waves.as_ref().map(|waves| waves_text(waves, self.sample.is_some())));
        text.extend(self.guarantee.map(|guarantee| format!("guarantee       {guarantee}\n")));
        text.extend(self.claimed_delta.map(|claimed| {
            format!("                its scale is computed from delta {claimed}, and gives the delta above\n")
        }));
        text
    }

    /// A line for each kind of subspace, with the mean and the values of its trials.
    fn rows<'a>(
        &self,
        methods: impl Iterator<Item = (&'a str, Option<&'a Figures>)>,
        first_wave: Option<&'a Figures>,
        non_private: Option<&Figures>,
        random: f64,
        shown: impl Fn(f64) -> String,
    ) -> String {
        let mut text = String::new();
        let start = if self.sample.is_some() { "the sample" } else { "first wave" };
        for (name, figures) in methods.chain([(start, first_wave)]) {
            let Some(Figures { mean, values }) = figures else { continue };
            let values = first(values.iter().map(|&value| shown(value)), SHOWN);
            text += &format!("  {name:<15}{}   ({values})\n", shown(*mean));
        }
        text.extend(non_private.map(|found| format!("  non-private    {}\n", shown(found.mean))));
        text + &format!("  a random one   {}\n", shown(random))
    }
}
