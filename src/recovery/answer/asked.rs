//! The first part of an answer: what was asked.

use serde::Serialize;

use super::super::Method;
use crate::family::FamilyMember;

/// What was asked: how many components of which reports, and by which method.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Asked {
    /// The method of recovery, as asked for or chosen on reports held out.
    pub method: Method,
    /// Whether the components are of the covariance about an estimated mean, as those of a task with
    /// [centring](crate::centring) are. Those of other tasks are of second moments about zero.
    pub centred: bool,
    /// The number of reports.
    pub records: u64,
    /// The part of each task, of a task family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Vec<FamilyMember>>,
    /// The number of features, d.
    pub dimension: usize,
    /// The number of components, k.
    pub rank: usize,
    /// The names of the features.
    pub feature_names: Vec<String>,
}
