//! Predictions before there is a report: what it is expected to find, and how many reports that takes.

use serde::Deserialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::aggregate::Aggregate;
use crate::crossing::{object, read, thrown};
use crate::mechanism::{MechanismOptions, centring, family};
use ldp_pca::prediction::{Batches, Goal, Planner, Spectrum};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::recovery::Rank;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Population {
    dimension: usize,
    signals: Vec<f64>,
    bulk: Option<f64>,
    mechanism: MechanismOptions,
    /// The weight of the centring, if there is one.
    centring: Option<f64>,
    mean_share: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanOptions {
    rank: Rank,
    records: Option<u64>,
    share: Option<f64>,
    target: Option<f64>,
    shuffled: Option<ShuffledOptions>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShuffledOptions {
    honest_reports: u64,
    delta: Delta,
}

impl Population {
    fn planner(self, rank: Rank) -> Result<Planner, JsValue> {
        let centring = centring(self.centring)?;
        let family = family(&self.mechanism)?;
        let spectrum = Spectrum::stated(self.dimension, self.signals, self.bulk);
        let spectrum = spectrum.and_then(|spectrum| spectrum.with_mean_share(self.mean_share.unwrap_or(0.0)));
        let planner = spectrum.and_then(|spectrum| Planner::new(spectrum, rank, family, Bounding::UnitNorm));
        Ok(planner.map_err(thrown)?.with_centring(centring))
    }
}

/// Predicts what the `rank` leading components of `records` unit-norm records of this population find: an object.
#[wasm_bindgen(js_name = predict)]
pub fn predict_population(population: JsValue, rank: usize, records: f64) -> Result<JsValue, JsValue> {
    let population: Population = read(population)?;
    let epsilon = population.mechanism.epsilon;
    let planner = population.planner(Rank::new(rank).map_err(thrown)?)?;
    object(&planner.predict(epsilon, records as u64).map_err(thrown)?)
}

/// Plans a collection of unit-norm records of this population: an object.
#[wasm_bindgen(js_name = plan)]
pub fn plan_population(population: JsValue, options: JsValue) -> Result<JsValue, JsValue> {
    let population: Population = read(population)?;
    let wanted: PlanOptions = read(options)?;
    let epsilon = population.mechanism.epsilon;
    plan(&population.planner(wanted.rank)?, epsilon, &wanted)
}

#[wasm_bindgen]
impl Aggregate {
    /// Plans another collection like this one, with the spectrum of the estimate: an object.
    pub fn plan(&self, options: JsValue) -> Result<JsValue, JsValue> {
        let wanted: PlanOptions = read(options)?;
        let spectrum = Spectrum::of_estimate(&self.covariance()?).map_err(thrown)?;
        let planner = Planner::of_task(spectrum, wanted.rank, &self.task).map_err(thrown)?;
        plan(&planner, self.task.guarantee().epsilon, &wanted)
    }
}

fn plan(planner: &Planner, epsilon: Epsilon, wanted: &PlanOptions) -> Result<JsValue, JsValue> {
    let goal = Goal {
        records: wanted.records,
        share: wanted.share,
        target: wanted.target,
        shuffled: wanted.shuffled.map(|ShuffledOptions { honest_reports, delta }| Batches { honest_reports, delta }),
        hostile: None,
    };
    object(&planner.plan(epsilon, &goal).map_err(thrown)?)
}
