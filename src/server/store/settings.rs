//! What an operator decides per task. It changes no guarantee: that is the task's alone.

use serde::{Deserialize, Serialize};

/// The settings of one task on one aggregator. Everything has a default, so `{}` is one.
///
/// ```
/// use ldp_pca::server::TaskSettings;
/// let settings: TaskSettings = serde_json::from_str(r#"{"minimum_batch": 1000, "max_records": 1000000}"#)?;
/// assert_eq!(settings, TaskSettings { minimum_batch: Some(1_000), max_records: Some(1_000_000), ..TaskSettings::default() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// The number of reports below which no components are given out. Default: the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_batch: Option<u64>,
    /// The most reports that are taken. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_records: Option<u64>,
    /// When the first report is taken, in seconds since 1970. Default: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<u64>,
    /// When the last report is taken, in seconds since 1970. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Seconds after `expires` at which the task and its reports are deleted. Default: they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<u64>,
    /// The origins whose pages may use the task, as `https://example.org`. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// Whether only reports with an id that this server issued are taken. Default: what the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_ids: Option<bool>,
    /// Whether dense reports with entries that a randomizer can hardly have made are refused. Default: what the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_check: Option<bool>,
    /// Whether everybody may see components, without the collector's token. Default: what the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_recovery: Option<bool>,
}
