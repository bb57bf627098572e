//! The result of `compare`.

use ldp_pca::internal::schema::Fit;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca_cli::writing::Target;
use ldp_pca_literature::baselines::catalogue::key;
use ldp_pca_literature::baselines::comparison::{Figures, Quartiles, Row, Trial};
use ldp_pca_literature::baselines::{MethodGuarantee, Trust};
use serde::Serialize;

use super::picture::{MethodMark, MethodsPanel};

#[derive(Serialize)]
pub(super) struct CompareResult {
    #[serde(flatten)]
    pub(super) records: RecordsResult,
    pub(super) dimension: usize,
    pub(super) rank: usize,
    pub(super) delta: Delta,
    pub(super) trials: u64,
    pub(super) seed: u64,
    /// The sum of all eigenvalues of the second moments: 1 for records of norm 1.
    pub(super) total_variance: f64,
    /// q_F of the components without privacy.
    pub(super) most_captured: f64,
    /// Expected error of a subspace that knows nothing: k (1 - k/d).
    pub(super) random_subspace: f64,
    /// The time that the second moments and their components took, which is not in the methods' times.
    pub(super) second_moment_seconds: f64,
    pub(super) epsilons: Vec<AtEpsilon>,
    pub(super) seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plot: Option<Target>,
}

/// The source of the records.
#[derive(Default, Serialize)]
pub(super) struct RecordsResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bounding: Option<Bounding>,
    pub(super) records: u64,
    /// What of them cannot be read, and is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unread: Option<Fit>,
}

/// All methods at one epsilon.
#[derive(Serialize)]
pub(super) struct AtEpsilon {
    pub(super) epsilon: Epsilon,
    pub(super) rows: Vec<RowResult>,
}

/// One method.
#[derive(Serialize)]
pub(super) struct RowResult {
    pub(super) method: &'static str,
    /// Its name as --methods takes it.
    pub(super) key: String,
    pub(super) trust: Trust,
    /// The parties that have to be trusted.
    pub(super) trusted: &'static str,
    pub(super) guarantee: Option<MethodGuarantee>,
    /// A summary of the trials; `null` where there are none.
    pub(super) figures: Option<Figures>,
    /// The captured variance, as a share of that captured by the components without privacy.
    pub(super) captured_share: Option<Quartiles>,
    pub(super) trials: Vec<Trial>,
    /// Why there are no trials, or fewer than asked for.
    pub(super) refusal: Option<String>,
}

impl RowResult {
    pub(super) fn new(row: Row, most_captured: f64) -> Self {
        let figures = row.figures();
        let share = |Quartiles { lower, median, upper }| Quartiles {
            lower: lower / most_captured,
            median: median / most_captured,
            upper: upper / most_captured,
        };
        Self {
            method: row.method,
            key: key(row.method),
            trust: row.trust,
            trusted: row.trust.who(),
            guarantee: row.guarantee,
            captured_share: figures.map(|figures| share(figures.captured)),
            figures,
            trials: row.trials,
            refusal: row.refusal.map(|refusal| refusal.to_string()),
        }
    }
}

impl AtEpsilon {
    pub(super) fn panel(&self) -> MethodsPanel {
        let mark = |row: &RowResult| MethodMark {
            name: row.method,
            trust: row.trust,
            error: row.figures.map(|figures| figures.sin_theta_squared),
        };
        MethodsPanel { title: format!("epsilon = {}", self.epsilon), marks: self.rows.iter().map(mark).collect() }
    }
}
