//! Methods of the literature on the same records: all of them with the feature `methods`, and in the lab the few that
//! it has room for.
//!
//! | code | what was wrong |
//! |---|---|
//! | `method` | records or parameters that no comparison can start with |
//! | `simulation` | a population that does not exist |
//! | `recovery` | a rank that makes no sense |
//! | `argument` | numbers that are not records, parameters that give no guarantee, a method that is not here |

use chacha20::ChaCha12Rng;
use js_sys::Date;
use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::crossing::{failure, matrix, object, thrown};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::{Subspace, share_of_structure};
use ldp_pca_literature::baselines::catalogue::{self, key};
use ldp_pca_literature::baselines::comparison::{MethodComparison, Row, Trial};
use ldp_pca_literature::baselines::{EpsilonDelta, MethodGuarantee, Sample, SubspaceEstimator};
use ldp_pca_simulation::{Recovered, Reports, SpikedModel, stream};

/// The options. (As plain arguments: a structure read from JSON would take a tenth of the comparison's code.)
struct Asked {
    dimension: usize,
    rank: Rank,
    seed: u64,
    first_trial: u64,
    /// The count of the given second moments, or of a population; 0 for records.
    count: u64,
    largest_norm: f64,
    /// The strength of the population's components, where no records are given.
    signal: Option<f64>,
    sparsity: Option<usize>,
    /// Whether its records are drawn, and not only their second moments.
    whole: bool,
}

/// The most numbers of records that are drawn: a quarter of a gigabyte.
const MOST_DRAWN: u64 = 1 << 25;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComparedMethods {
    methods: Vec<MethodFacts>,
    non_private: f64,
    captured: f64,
    random_subspace: f64,
}

#[derive(Serialize)]
struct MethodFacts {
    name: &'static str,
    key: String,
    trusted: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<GuaranteeFacts>,
    trials: Vec<TrialFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
}

#[derive(Serialize)]
struct GuaranteeFacts {
    claimed: BudgetFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    proved: Option<BudgetFacts>,
    about: String,
    argument: &'static str,
}

#[derive(Serialize)]
struct BudgetFacts {
    epsilon: f64,
    delta: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialFacts {
    share_found: Option<f64>,
    sin_theta_squared: f64,
    captured: f64,
    seconds: f64,
}

/// Compares `methods` (their keys, separated by commas; all of them if there are none) on `numbers`: records one after
/// the other, or d × d second moments where their count is not 0; or on a simulated population, which has a signal and
/// no numbers, and of which methods get second moments, or all records if it is `whole`.
#[wasm_bindgen(js_name = compareMethods)]
#[allow(clippy::too_many_arguments, reason = "see Asked")]
pub fn compare_methods(
    dimension: usize,
    rank: usize,
    epsilon: f64,
    delta: f64,
    methods: &str,
    seed: u32,
    first_trial: u32,
    trials: u32,
    count: f64,
    largest_norm: f64,
    signal: Option<f64>,
    sparsity: Option<usize>,
    whole: bool,
    numbers: &[f64],
) -> Result<JsValue, JsValue> {
    let (seed, first_trial) = (seed.into(), first_trial.into());
    let rank = Rank::new(rank).map_err(thrown)?;
    let asked =
        Asked { dimension, rank, seed, first_trial, count: count as u64, largest_norm, signal, sparsity, whole };
    let (epsilon, delta) = (Epsilon::new(epsilon).map_err(thrown)?, Delta::new(delta).map_err(thrown)?);
    let all = here(epsilon, delta);
    let wanted = || methods.split(',').filter(|key| !key.is_empty());
    if let Some(unknown) = wanted().find(|name| all.iter().all(|method| key(method.name()) != **name)) {
        return Err(failure("argument", &format!("there is no method '{unknown}'{ELSEWHERE}")));
    }
    let (sample, truth) = asked.sample(numbers)?;
    let mut comparison = MethodComparison::new(&sample, asked.rank, asked.seed).map_err(thrown)?;
    if let Some(truth) = truth {
        comparison = comparison.against(truth).map_err(thrown)?;
    }
    let mut compared = ComparedMethods {
        methods: vec![],
        non_private: comparison.without_privacy().map_err(thrown)?,
        captured: comparison.most_captured(),
        random_subspace: comparison.uninformed(),
    };
    let random = rank.value() as f64 / dimension as f64 * sample.second_moment().trace();
    let (most, uninformed) = (compared.captured, compared.random_subspace);
    let share_found = |trial: &Trial| match signal {
        // A population's components have one variance.
        Some(signal) => Recovered::of_equal(signal, trial.sin_theta_squared, uninformed).share_found,
        None => share_of_structure(trial.captured, most, random),
    };
    for method in &all {
        if methods.is_empty() || wanted().any(|name| name == key(method.name())) {
            let streams = asked.first_trial..asked.first_trial + u64::from(trials);
            let row = comparison.row(method.as_ref(), streams, &mut || Date::now() / 1000.0);
            compared.methods.push(MethodFacts::of(row, share_found));
        }
    }
    object(&compared)
}

/// The methods of this build.
fn here(epsilon: Epsilon, delta: Delta) -> Vec<Box<dyn SubspaceEstimator>> {
    if cfg!(feature = "methods") {
        catalogue::methods(epsilon, delta)
    } else {
        catalogue::for_pages(epsilon, delta).into()
    }
}

/// The place of the other methods.
const ELSEWHERE: &str = if cfg!(feature = "methods") {
    ""
} else {
    " in the lab's own module: all of them are there after `await loadMethods()`"
};

impl Asked {
    /// The records, and the components of the population where they are simulated.
    fn sample(&self, numbers: &[f64]) -> Result<(Sample, Option<Subspace>), JsValue> {
        if let Some(signal) = self.signal {
            return self.simulated(signal);
        }
        let sample = if self.count > 0 {
            let moments = matrix(numbers, self.dimension, self.dimension)?;
            let symmetric = (&moments + moments.transpose()) * 0.5;
            Sample::from_second_moment(symmetric, self.count, self.largest_norm)
        } else {
            Sample::new(self.dimension, numbers.to_vec())
        };
        Ok((sample.map_err(thrown)?, None))
    }

    /// The population of the first trial, and its records or their moments: the same as in `simulate`.
    fn simulated(&self, signal: f64) -> Result<(Sample, Option<Subspace>), JsValue> {
        let mut rng = stream(self.seed, self.first_trial);
        let population =
            SpikedModel::draw(self.dimension, self.rank, signal, self.sparsity, &mut rng).map_err(thrown)?;
        // The lab's own methods do without records, and the lab without drawing them here.
        let sample = match (self.whole, cfg!(feature = "methods")) {
            (false, _) => self.moments(&population, &mut rng)?,
            (true, true) => self.records(&population, &mut rng)?,
            (true, false) => return Err(failure("argument", &"records are drawn after `await loadMethods()`")),
        };
        Ok((sample, Some(population.subspace().clone())))
    }

    fn records(&self, population: &SpikedModel, rng: &mut ChaCha12Rng) -> Result<Sample, JsValue> {
        let numbers = self.count.saturating_mul(self.dimension as u64);
        if numbers > MOST_DRAWN {
            let (count, dimension) = (self.count, self.dimension);
            let message = format!(
                "{count} records of {dimension} features are {numbers} numbers, but at most {MOST_DRAWN} are drawn: \
                 ask for fewer records, or for their second moments alone"
            );
            return Err(failure("argument", &message));
        }
        let values = (0..self.count).flat_map(|_| population.record(rng)).collect();
        Sample::new(self.dimension, values).map_err(thrown)
    }

    /// Second moments drawn from their law.
    fn moments(&self, population: &SpikedModel, rng: &mut ChaCha12Rng) -> Result<Sample, JsValue> {
        let (records, rank) = (self.count, self.rank);
        let (reports, centring) = (Reports::Drawn, None);
        let trial = ldp_pca_simulation::Trial { population, mechanisms: &[], records, rank, reports, centring };
        let moments = trial.collect(rng, |_| {}).map_err(thrown)?.second_moment;
        Sample::from_second_moment(moments, records, 1.0).map_err(thrown)
    }
}

impl MethodFacts {
    fn of(row: Row, share_found: impl Fn(&Trial) -> Option<f64>) -> Self {
        let facts = |trial: &Trial| TrialFacts {
            share_found: share_found(trial),
            sin_theta_squared: trial.sin_theta_squared,
            captured: trial.captured,
            seconds: trial.seconds,
        };
        Self {
            name: row.method,
            key: key(row.method),
            trusted: row.trust.who(),
            guarantee: row.guarantee.map(GuaranteeFacts::from),
            trials: row.trials.iter().map(facts).collect(),
            refusal: row.refusal.map(|refusal| refusal.to_string()),
        }
    }
}

impl From<MethodGuarantee> for GuaranteeFacts {
    fn from(MethodGuarantee { claimed, proved, adjacency, argument }: MethodGuarantee) -> Self {
        let facts = |budget: EpsilonDelta| BudgetFacts { epsilon: budget.epsilon.value(), delta: budget.delta_value() };
        Self { claimed: facts(claimed), proved: proved.map(facts), about: adjacency.to_string(), argument }
    }
}
