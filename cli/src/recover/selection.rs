//! The features that take part in the components, at a stated false-discovery rate.

use clap::Args;
use ldp_pca::covariance::Covariance;
use ldp_pca::recovery::{FeatureTest, Rank};
use serde::Serialize;

use crate::error::Result;
use crate::output::first;
use crate::parameters;

/// Features that are named.
const SHOWN: usize = 12;

/// The argument.
#[derive(Args)]
pub(super) struct SelectionArguments {
    /// Name the features that take part in the components: a share of at most this many of them moves alone, on average
    #[arg(
        long,
        value_name = "RATE",
        num_args = 0..=1,
        default_missing_value = "0.1",
        require_equals = true,
        value_parser = parameters::rate
    )]
    select: Option<f64>,
}

/// The features selected.
#[derive(Serialize)]
pub(crate) struct Selection {
    rate: f64,
    features: Vec<String>,
    #[serde(flatten)]
    test: FeatureTest,
}

impl SelectionArguments {
    /// Tests the features, where that is asked for.
    pub(super) fn select(&self, covariance: &Covariance, rank: Rank, names: &[String]) -> Result<Option<Selection>> {
        let Some(rate) = self.select else { return Ok(None) };
        let test = FeatureTest::new(covariance, rank)?;
        let features = test.selected(rate).into_iter().map(|feature| names[feature].clone()).collect();
        Ok(Some(Selection { rate, features, test }))
    }
}

impl Selection {
    pub(super) fn text(&self) -> String {
        let (count, of, rate) = (self.features.len(), self.test.p_values.len(), 100.0 * self.rate);
        let named = if count == 0 { String::new() } else { format!(": {}", first(&self.features, SHOWN)) };
        format!(
            "selected    {count} of {of} features{named}\n\
             {:12}on average at most {rate} % of them are uncorrelated with all other features\n",
            ""
        )
    }
}
