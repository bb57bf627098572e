//! The operator's settings per task. They change no guarantee: only the task determines it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::Either;
use ldp_pca::task::TaskDigest;

/// The settings of one task on one aggregator. Everything has a default, so `{}` is one.
///
/// ```
/// use ldp_pca_server::TaskSettings;
/// let settings: TaskSettings = serde_json::from_str(r#"{"minimum_batch": 1000, "max_records": 1000000}"#)?;
/// let (minimum_batch, max_records) = (Some(1_000), Some(1_000_000));
/// assert_eq!(settings, TaskSettings { minimum_batch, max_records, ..TaskSettings::default() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskSettings {
    /// The least number of reports for which components are returned. Default: the server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_batch: Option<u64>,
    /// The most reports that are accepted. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_records: Option<u64>,
    /// When the first report is accepted, in seconds since 1970; also read from a text such as `2099-12-31T23:59:59Z`.
    /// Default: at once.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub starts: Option<u64>,
    /// When the last report is accepted, in the same forms. Default: never.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "time")]
    pub expires: Option<u64>,
    /// Seconds after `expires` at which the task and its reports are deleted. Default: they are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<u64>,
    /// The origins whose pages may use the task, as `https://example.org`. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// Whether only reports with an id that this server issued are accepted. Default: the server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_ids: Option<bool>,
    /// Whether dense reports with entries that a randomizer hardly ever makes are refused. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range_check: Option<bool>,
    /// Whether everybody may see components, without the collector's token. Default: the server's setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_recovery: Option<bool>,
    /// Whether everybody may have the components that stand out, as a document that web pages use on the device.
    /// Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<bool>,
    /// The number of reports after which a second wave of other people refines the components
    /// (docs/guides/two-waves.md). Its task shows everybody the components that the first wave found. Default: no
    /// second wave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refine_after: Option<u64>,
    /// The number of components that the second wave refines. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refine_rank: Option<usize>,
    /// Whether the first wave is over, so that no new report is accepted. Only the server sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<bool>,
    /// The task of the second wave, once there is one. Only the server sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refined_by: Option<TaskDigest>,
}

/// The number of components that a second wave refines, where the task's settings have none.
const REFINE_RANK: usize = 3;

/// When a task is refined, and how many components of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefinementPlan {
    /// Reports of the first wave.
    pub(crate) after: u64,
    /// Components.
    pub(crate) rank: usize,
}

impl TaskSettings {
    /// Whether dense reports that honest noise hardly ever makes are refused.
    pub(crate) fn checks_range(&self) -> bool {
        self.range_check.unwrap_or(true)
    }

    /// Whether the components are published.
    pub(crate) fn publishes(&self) -> bool {
        self.publish == Some(true)
    }

    /// The plan of the second wave, if there is to be one.
    pub(crate) fn plan(&self) -> Option<RefinementPlan> {
        let rank = self.refine_rank.unwrap_or(REFINE_RANK);
        self.refine_after.map(|after| RefinementPlan { after, rank })
    }

    /// Whether the first wave is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed == Some(true)
    }

    /// These settings with the plan of the refinement, and with the first wave over.
    pub(crate) fn closing(&self, plan: RefinementPlan) -> Self {
        let (refine_after, refine_rank) = (Some(plan.after), Some(plan.rank));
        Self { refine_after, refine_rank, closed: Some(true), ..self.clone() }
    }

    /// These settings with the first wave going on.
    pub(crate) fn reopening(&self) -> Self {
        Self { closed: None, ..self.clone() }
    }

    /// These settings with what the server has set of a second wave in others.
    pub(crate) fn with_wave_of(&self, others: &Self) -> Self {
        let Self { closed, refined_by, refine_after, refine_rank, .. } = *others;
        Self { closed, refined_by, refine_after, refine_rank, ..self.clone() }
    }

    /// The settings of the second wave's task.
    pub(crate) fn of_second_wave(&self) -> Self {
        let (publish, closed, refined_by) = (None, None, None);
        Self { publish, refine_after: None, refine_rank: None, closed, refined_by, ..self.clone() }
    }
}

/// A time in seconds since 1970 or as a date (ISO 8601 in UTC).
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let remedy =
        || D::Error::custom("give a time as a text such as \"2099-12-31T23:59:59Z\", or as its Unix time in seconds");
    match Option::<Either<u64, String>>::deserialize(deserializer).map_err(|_| remedy())? {
        None => Ok(None),
        Some(Either::One(seconds)) => Ok(Some(seconds)),
        Some(Either::Other(text)) => {
            let time = humantime::parse_rfc3339(&text).map_err(|_| remedy())?;
            Ok(Some(time.duration_since(UNIX_EPOCH).map_err(|_| remedy())?.as_secs()))
        }
    }
}

/// Seconds since 1970.
pub(crate) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time in a form that people write.
pub(crate) fn date_of(seconds: u64) -> String {
    // Later times have no year of four digits.
    const LATEST: u64 = 253_402_300_799;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST));
    humantime::format_rfc3339_seconds(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_wave_refines_three_components_where_the_task_has_no_number() {
        let plan = |refine_after, refine_rank| {
            let settings = TaskSettings { refine_after, refine_rank, ..TaskSettings::default() };
            settings.plan().map(|plan| (plan.after, plan.rank))
        };
        assert_eq!(plan(Some(5), None), Some((5, 3)));
        assert_eq!(plan(Some(5), Some(2)), Some((5, 2)));
        assert_eq!(plan(None, Some(2)), None);
    }

    #[test]
    fn times_are_numbers_or_dates_and_kept_as_numbers() {
        let read = |text: &str| serde_json::from_str::<TaskSettings>(&format!("{{\"expires\": {text}}}"));
        for (text, expires) in
            [("4102444799", Some(4_102_444_799)), ("\"2099-12-31T23:59:59Z\"", Some(4_102_444_799)), ("null", None)]
        {
            let settings = read(text).unwrap();
            assert_eq!(settings.expires, expires);
            let kept = serde_json::to_string(&settings).unwrap();
            assert_eq!(kept, expires.map_or("{}".to_owned(), |expires| format!("{{\"expires\":{expires}}}")));
        }
        for bad in ["\"tomorrow\"", "-1", "1.5", "true", "\"2099-12-31\"", "\"1969-12-31T00:00:00Z\"", "[1]"] {
            assert!(read(bad).unwrap_err().to_string().contains("2099-12-31T23:59:59Z"), "{bad}");
        }
        assert_eq!(
            (date_of(4_102_444_799), date_of(u64::MAX)),
            ("2099-12-31T23:59:59Z".into(), "9999-12-31T23:59:59Z".into())
        );
    }
}
