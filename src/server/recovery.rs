//! Components of what was collected so far, computed once per state and off the request threads.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::problem::Problem;
use super::store::TaskReports;
use crate::aggregate::Aggregate;
use crate::covariance::{Covariance, Mean};
use crate::recovery::{Components, Rank, principal_components};
use crate::task::Task;

/// The last state of a task whose components were asked for. While it is computed, others wait for it rather than compute it again.
#[derive(Default)]
pub(super) struct RecoveryCache {
    last: Arc<Mutex<Option<Arc<Spectrum>>>>,
}

/// All components of a state; those of a rank are its first ones.
struct Spectrum {
    records: u64,
    noise_deviation: f64,
    noise_edge: f64,
    mean: Option<Mean>,
    components: Components,
}

/// The answer to a request for components.
#[derive(Serialize)]
pub(super) struct Recovery {
    task: String,
    records: u64,
    rank: usize,
    /// `rank` numbers, descending.
    eigenvalues: Vec<f64>,
    /// `rank` arrays of d numbers.
    components: Vec<Vec<f64>>,
    feature_names: Vec<String>,
    /// Standard deviation that the mechanism gives to one off-diagonal entry of the estimate.
    noise_deviation: f64,
    /// The variance that noise alone would give to the first component.
    noise_edge: f64,
    /// The mean, of a task with centring: then the components are those of the covariance about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Mean>,
}

impl Recovery {
    /// The number of reports that it is of.
    pub(super) fn records(&self) -> u64 {
        self.records
    }
}

impl RecoveryCache {
    /// The `rank` leading components of a state with `records` reports or more; `rank` is at most the dimension and there is
    /// at least one report.
    pub(super) async fn recover(
        &self,
        store: Arc<dyn TaskReports>,
        rank: Rank,
        records: u64,
    ) -> Result<Recovery, Problem> {
        let task = store.task().clone();
        let spectrum = self.spectrum(store, records).await?;
        let Components { vectors, values, .. } = &spectrum.components;
        let rank = rank.value().min(values.len());
        Ok(Recovery {
            task: task.digest().to_string(),
            records: spectrum.records,
            rank,
            eigenvalues: values.iter().take(rank).copied().collect(),
            components: vectors.column_iter().take(rank).map(|column| column.iter().copied().collect()).collect(),
            feature_names: task.schema().feature_names(),
            noise_deviation: spectrum.noise_deviation,
            noise_edge: spectrum.noise_edge,
            mean: spectrum.mean.clone(),
        })
    }

    async fn spectrum(&self, store: Arc<dyn TaskReports>, records: u64) -> Result<Arc<Spectrum>, Problem> {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        // Reports are summed before they are counted, so a result can be of a newer state than the count.
        if let Some(spectrum) = last.as_ref().filter(|spectrum| spectrum.records >= records) {
            return Ok(Arc::clone(spectrum));
        }
        // The lock goes along: when the request is given up, the result still serves the next one.
        let computed = spawn_blocking(move || {
            let spectrum =
                Arc::new(Spectrum::compute(&store.aggregate().map_err(|error| error.to_string())?, store.task())?);
            *last = Some(Arc::clone(&spectrum));
            Ok(spectrum)
        });
        computed.await.unwrap_or_else(|error| Err(error.to_string())).map_err(Problem::internal)
    }
}

impl Spectrum {
    fn compute(aggregate: &Aggregate, task: &Task) -> Result<Self, String> {
        let covariance = Covariance::estimate(aggregate, task).map_err(|error| error.to_string())?;
        let all = Rank::new(task.dimension()).map_err(|error| error.to_string())?;
        let components = principal_components(covariance.matrix(), all).map_err(|error| error.to_string())?;
        Ok(Self {
            records: covariance.records(),
            noise_deviation: covariance.noise_deviation(),
            noise_edge: covariance.noise_edge(),
            mean: covariance.mean().cloned(),
            components,
        })
    }
}
