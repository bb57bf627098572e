//! What to expect, before there is a report, and how many reports it takes.

use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use super::mechanism::{MechanismOption, default_delta};
use super::recover::{PredictionFacts, json, prediction_json};
use super::{Aggregate, options, thrown};
use crate::noise::NoiseLaw;
use crate::prediction::{
    Direction, Model, Planner, PredictionError, Published, Quantity, Spectrum, predict, published,
};
use crate::privacy::{Delta, Epsilon};
use crate::record::Bounding;
use crate::recovery::Rank;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Population {
    dimension: usize,
    signals: Vec<f64>,
    bulk: Option<f64>,
    mechanism: MechanismOption,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanOptions {
    rank: Rank,
    records: Option<u64>,
    target: Option<f64>,
    sparsity: Option<usize>,
    shuffled: Option<ShuffledOptions>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShuffledOptions {
    delta: Delta,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanFacts {
    threshold_records: Option<u64>,
    components: Vec<ThresholdFacts>,
    bulk: f64,
    uninformed: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<PredictionFacts>,
    /// Not asked for, or no finite number.
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_target: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_for_target: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shuffled: Option<ShuffledFacts>,
    bounds: Vec<BoundFacts>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThresholdFacts {
    eigenvalue: f64,
    threshold_records: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShuffledFacts {
    /// Of so many reports as were asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    local_epsilon: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<PredictionFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records_for_target: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_epsilon_for_target: Option<Option<Epsilon>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_for_target: Option<Option<Epsilon>>,
}

#[derive(Serialize)]
struct BoundFacts {
    name: &'static str,
    source: &'static str,
    kind: &'static str,
    model: &'static str,
    quantity: &'static str,
    direction: &'static str,
    value: Option<f64>,
}

impl Population {
    fn spectrum(self) -> Result<Spectrum, JsValue> {
        match self.bulk {
            Some(bulk) => Spectrum::new(self.dimension, self.signals, bulk),
            None => Spectrum::of_unit_trace(self.dimension, self.signals),
        }
        .map_err(thrown)
    }
}

/// Predicts the error of the `rank` leading components of `records` unit-norm records of this population: JSON.
#[wasm_bindgen(js_name = predict)]
pub fn predict_population(population_json: &str, rank: usize, records: f64) -> Result<String, JsValue> {
    let population: Population = options(population_json)?;
    let mechanism = population.mechanism.build(population.dimension)?;
    let law = NoiseLaw::new(&mechanism, Bounding::UnitNorm, records as u64).map_err(thrown)?;
    let rank = Rank::new(rank).map_err(thrown)?;
    prediction_json(&predict(&population.spectrum()?, rank, &law).map_err(thrown)?)
}

/// Plans a collection of unit-norm records of this population: JSON.
#[wasm_bindgen(js_name = plan)]
pub fn plan_population(population_json: &str, options_json: &str) -> Result<String, JsValue> {
    let population: Population = options(population_json)?;
    let wanted: PlanOptions = options(options_json)?;
    let mechanism = population.mechanism;
    let planner = Planner::new(population.spectrum()?, wanted.rank, mechanism.family()?, Bounding::UnitNorm);
    plan(&planner.map_err(thrown)?, mechanism.epsilon(), mechanism.delta()?, &wanted)
}

#[wasm_bindgen]
impl Aggregate {
    /// Plans another collection like this one, with the spectrum read out of the estimate: JSON.
    pub fn plan(&self, options_json: &str) -> Result<String, JsValue> {
        let wanted: PlanOptions = options(options_json)?;
        let spectrum = Spectrum::of_estimate(&self.covariance()?).map_err(thrown)?;
        let planner = Planner::of_task(spectrum, wanted.rank, &self.task).map_err(thrown)?;
        let guarantee = self.task.guarantee();
        let delta = guarantee.delta.map_or_else(default_delta, Ok)?;
        plan(&planner, guarantee.epsilon, delta, &wanted)
    }
}

fn plan(planner: &Planner, epsilon: Epsilon, delta: Delta, wanted: &PlanOptions) -> Result<String, JsValue> {
    facts(planner, epsilon, delta, wanted).map_err(thrown).and_then(|facts| json(&facts))
}

fn facts(
    planner: &Planner,
    epsilon: Epsilon,
    delta: Delta,
    wanted: &PlanOptions,
) -> Result<PlanFacts, PredictionError> {
    let spectrum = planner.spectrum();
    let thresholds = planner.threshold_records(epsilon)?;
    let eigenvalue = |index| spectrum.signals().get(index).copied().unwrap_or(spectrum.bulk());
    let predicted = |epsilon, records| planner.predict(epsilon, records).map(|it| PredictionFacts::from(&it));
    let both = wanted.records.zip(wanted.target);
    Ok(PlanFacts {
        threshold_records: thresholds.first().copied().flatten(),
        components: thresholds
            .iter()
            .enumerate()
            .map(|(index, &threshold_records)| ThresholdFacts { eigenvalue: eigenvalue(index), threshold_records })
            .collect(),
        bulk: spectrum.bulk(),
        uninformed: planner.uninformed(),
        predicted: wanted.records.map(|records| predicted(epsilon, records)).transpose()?,
        records_for_target: wanted.target.map(|target| planner.records_for(epsilon, target)).transpose()?,
        epsilon_for_target: both.map(|(records, target)| planner.epsilon_for(records, target)).transpose()?,
        shuffled: wanted
            .shuffled
            .as_ref()
            .map(|&ShuffledOptions { delta }| {
                let local = wanted.records.map(|records| planner.local_epsilon(epsilon, delta, records)).transpose()?;
                let found =
                    wanted.target.map(|target| planner.shuffled_records_for(epsilon, delta, target)).transpose()?;
                Ok::<_, PredictionError>(ShuffledFacts {
                    local_epsilon: local,
                    predicted: wanted
                        .records
                        .zip(local.flatten())
                        .map(|(records, local)| predicted(local, records))
                        .transpose()?,
                    records_for_target: found.map(|found| found.map(|found| found.records)),
                    local_epsilon_for_target: found.map(|found| found.map(|found| found.local_epsilon)),
                    epsilon_for_target: both
                        .map(|(records, target)| planner.shuffled_epsilon_for(records, delta, target))
                        .transpose()?
                        .map(|batch| batch.map(|batch| batch.epsilon)),
                })
            })
            .transpose()?,
        bounds: published(spectrum, planner.rank(), epsilon, delta, wanted.records, wanted.target, wanted.sparsity)
            .iter()
            .map(BoundFacts::from)
            .collect(),
    })
}

impl From<&Published> for BoundFacts {
    fn from(published: &Published) -> Self {
        Self {
            name: published.name,
            source: published.source,
            kind: if published.is_bound { "bound" } else { "rate" },
            model: match published.model {
                Model::Central => "central",
                Model::Local => "local",
            },
            quantity: match published.quantity {
                Quantity::Records => "records",
                Quantity::Correlation => "correlation",
                Quantity::SinThetaSquared => "sinThetaSquared",
            },
            direction: match published.direction {
                Direction::Upper => "upper",
                Direction::Lower => "lower",
            },
            value: published.value,
        }
    }
}
