//! Methods of the literature on the same records.

use chacha20::ChaCha12Rng;
use js_sys::Date;
use nalgebra::DMatrix;
use rand::SeedableRng;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::recover::json;
use super::{failure, matrix, options, thrown};
use crate::baselines::catalogue::{key, methods};
use crate::baselines::comparison::{Comparison, Row, Trial};
use crate::baselines::{BaselineError, Budget, MethodGuarantee, Sample, SampleError};
use crate::js::Coded;
use crate::privacy::{Delta, Epsilon};
use crate::recovery::Rank;
use crate::simulation::{self, Reports, SpikedModel};
use crate::subspace::Subspace;

impl Coded for BaselineError {
    fn code(&self) -> &'static str {
        "method"
    }
}

impl Coded for SampleError {
    fn code(&self) -> &'static str {
        "argument"
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CompareOptions {
    dimension: usize,
    rank: Rank,
    epsilon: Epsilon,
    delta: Delta,
    /// Keys of methods; all of them where it is empty.
    methods: Vec<String>,
    seed: u64,
    first_trial: u64,
    trials: u64,
    /// Of the second moments that are given, or of a population.
    count: Option<u64>,
    /// The norm of the longest record behind the second moments.
    largest_norm: Option<f64>,
    population: Option<PopulationOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PopulationOptions {
    signal: f64,
    sparsity: Option<usize>,
}

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
    sin_theta_squared: f64,
    captured: f64,
    seconds: f64,
}

/// Compares methods on `numbers`: records one after the other, or d × d second moments where their count is given; or on
/// a simulated population, for which there are no numbers. JSON.
#[wasm_bindgen(js_name = compareMethods)]
pub fn compare_methods(options_json: &str, numbers: &[f64]) -> Result<String, JsValue> {
    let asked: CompareOptions = options(options_json)?;
    let (sample, truth) = asked.sample(numbers)?;
    let mut comparison = Comparison::new(&sample, asked.rank, asked.seed).map_err(thrown)?;
    if let Some(truth) = truth {
        comparison = comparison.against(truth).map_err(thrown)?;
    }
    let all = methods(asked.epsilon, asked.delta);
    let known = |name: &String| all.iter().any(|method| key(method.name()) == *name);
    if let Some(name) = asked.methods.iter().find(|name| !known(name)) {
        let names: Vec<String> = all.iter().map(|method| key(method.name())).collect();
        return Err(failure("argument", &format!("there is no method '{name}': there are {}", names.join(", "))));
    }
    let streams = || asked.first_trial..asked.first_trial + asked.trials;
    let rows = all
        .iter()
        .filter(|method| asked.methods.is_empty() || asked.methods.contains(&key(method.name())))
        .map(|method| MethodFacts::from(comparison.row(method.as_ref(), streams(), &mut || Date::now() / 1000.0)));
    json(&ComparedMethods {
        methods: rows.collect(),
        non_private: comparison.without_privacy().map_err(thrown)?,
        captured: comparison.most_captured(),
        random_subspace: comparison.uninformed(),
    })
}

impl CompareOptions {
    /// The records, and the components of the population where they are simulated.
    fn sample(&self, numbers: &[f64]) -> Result<(Sample, Option<Subspace>), JsValue> {
        match (&self.population, self.count) {
            (Some(population), Some(count)) => self.simulated(population, count),
            (None, Some(count)) => {
                let norm = self.largest_norm.unwrap_or(1.0);
                let moments = matrix(numbers, self.dimension)?;
                Ok((Sample::from_second_moment(symmetric(&moments), count, norm).map_err(thrown)?, None))
            }
            _ => Ok((Sample::new(self.dimension, numbers.to_vec()).map_err(thrown)?, None)),
        }
    }

    /// The population of the first trial, whose second moments are drawn from their law: the same as `simulate` has.
    fn simulated(&self, population: &PopulationOptions, count: u64) -> Result<(Sample, Option<Subspace>), JsValue> {
        let mut rng = ChaCha12Rng::seed_from_u64(self.seed);
        rng.set_stream(self.first_trial);
        let PopulationOptions { signal, sparsity } = *population;
        let population = SpikedModel::draw(self.dimension, self.rank, signal, sparsity, &mut rng).map_err(thrown)?;
        let trial = simulation::Trial {
            population: &population,
            mechanisms: &[],
            records: count,
            rank: self.rank,
            reports: Reports::Drawn,
        };
        let moments = trial.collect(&mut rng, |_| {}).map_err(thrown)?.second_moment;
        let sample = Sample::from_second_moment(moments, count, 1.0).map_err(thrown)?;
        Ok((sample, Some(population.subspace().clone())))
    }
}

fn symmetric(moments: &DMatrix<f64>) -> DMatrix<f64> {
    (moments + moments.transpose()) * 0.5
}

impl From<Row> for MethodFacts {
    fn from(row: Row) -> Self {
        Self {
            name: row.method,
            key: key(row.method),
            trusted: row.trust.who(),
            guarantee: row.guarantee.map(GuaranteeFacts::from),
            trials: row.trials.into_iter().map(TrialFacts::from).collect(),
            refusal: row.refusal.map(|refusal| refusal.to_string()),
        }
    }
}

impl From<MethodGuarantee> for GuaranteeFacts {
    fn from(MethodGuarantee { claimed, proved, adjacency, argument }: MethodGuarantee) -> Self {
        let facts = |budget: Budget| BudgetFacts { epsilon: budget.epsilon.value(), delta: budget.delta_value() };
        Self { claimed: facts(claimed), proved: proved.map(facts), about: adjacency.to_string(), argument }
    }
}

impl From<Trial> for TrialFacts {
    fn from(Trial { sin_theta_squared, captured, seconds, .. }: Trial) -> Self {
        Self { sin_theta_squared, captured, seconds }
    }
}
