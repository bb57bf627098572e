//! What one person (in practice: one device) has promised and sent so far, and whether another report fits.
//!
//! Pure logic: where the ledger is kept, and that there is one of it, is up to the caller. Three rules make it sound:
//! 1. One report per task. A retry sends the very same bytes again, which is post-processing and costs nothing; a fresh
//!    randomization would cost again, so there is none.
//! 2. A report is recorded, and the ledger saved, *before* the report is sent. A crash in between costs budget that
//!    was not used, never the other way round.
//! 3. The total, by [`Composition`] at the budget's delta, stays within the budget's epsilon.

use serde::{Deserialize, Serialize};

use super::composition::{Composition, PrivacyLoss};
use super::{Delta, Epsilon, Guarantee, PrivacyError};
use crate::mechanism::LocalRandomizer;
use crate::report::report_bytes;
use crate::task::{Task, TaskDigest};

/// The version of the ledger format that this crate reads and writes.
pub const LEDGER_VERSION: u32 = 1;

/// The largest ledger document that is read, in bytes.
pub const MAX_LEDGER_BYTES: usize = 256 << 20;

/// What all reports of one person together may lose: epsilon, and delta (`None`: pure reports only).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The bound on the privacy loss of all reports together.
    pub epsilon: Epsilon,
    /// The probability with which it may fail; `None` (written 0) for never.
    #[serde(with = "super::delta_or_zero")]
    pub delta: Option<Delta>,
}

/// The answer to a [`request`](Ledger::request).
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The task's report fits. Randomize, [`record`](Ledger::record), save, send.
    Grant {
        /// The epsilon left afterwards.
        remaining: f64,
    },
    /// The task was answered before: send these bytes again.
    Resend(Vec<u8>),
    /// The task's report does not fit.
    Refuse {
        /// The epsilon left.
        remaining: f64,
        /// The epsilon by which the total would grow; infinite where no epsilon holds at the budget's delta.
        needed: f64,
    },
}

/// Promises made and reports sent under one budget.
///
/// ```
/// use ldp_pca::privacy::{Epsilon, ledger::{Budget, Decision, Ledger}};
/// # use ldp_pca::{mechanism::MechanismSpec, record::Bounding, schema::Schema, task::{Folds, Task}};
/// # let mechanism = MechanismSpec::DoubleCap { epsilon: Epsilon::new(2.0)?, candidates: 64, cap: 8 };
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let mut ledger = Ledger::new(Budget { epsilon: Epsilon::new(3.0)?, delta: None });
/// assert!(matches!(ledger.request(&task), Decision::Grant { .. }));
/// let report = task.randomize(&task.bound(vec![0.6, 0.8])?)?.to_bytes();
/// ledger.record(&task, report.clone())?;
/// assert_eq!(ledger.request(&task), Decision::Resend(report));
/// assert_eq!(Ledger::from_json(&ledger.to_json())?, ledger);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    budget: Budget,
    entries: Vec<Entry>,
}

/// One answered task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    #[serde(with = "hexadecimal")]
    task: [u8; 32],
    guarantee: Guarantee,
    loss: PrivacyLoss,
    #[serde(with = "hexadecimal")]
    report: Vec<u8>,
}

impl Entry {
    /// The task.
    #[must_use]
    pub fn task(&self) -> TaskDigest {
        TaskDigest::new(self.task)
    }

    /// What its report promises on its own.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// The report that was sent.
    #[must_use]
    pub fn report(&self) -> &[u8] {
        &self.report
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    budget: Budget,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

impl Ledger {
    /// No reports yet.
    #[must_use]
    pub fn new(budget: Budget) -> Self {
        Self { budget, entries: Vec::new() }
    }

    /// The budget.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The answered tasks, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The epsilon that all reports together have, at the budget's delta; 0 without reports.
    #[must_use]
    pub fn spent(&self) -> f64 {
        self.total(None)
    }

    /// The epsilon left, at the budget's delta.
    #[must_use]
    pub fn remaining(&self) -> f64 {
        (self.budget.epsilon.value() - self.spent()).max(0.0)
    }

    /// Whether `task` may be answered, is answered already, or does not fit. Changes nothing.
    #[must_use]
    pub fn request(&self, task: &Task) -> Decision {
        if let Some(entry) = self.entry(task) {
            return Decision::Resend(entry.report.clone());
        }
        let total = self.total(Some(task.mechanism().privacy_loss()));
        if total <= self.budget.epsilon.value() {
            Decision::Grant { remaining: self.budget.epsilon.value() - total }
        } else {
            // Where the total is infinite, so is what is needed, whatever was spent.
            let needed = if total.is_finite() { total - self.spent() } else { f64::INFINITY };
            Decision::Refuse { remaining: self.remaining(), needed }
        }
    }

    /// Records the report that is about to be sent for `task`. The same bytes may be recorded again.
    ///
    /// # Errors
    /// [`LedgerError`] when another report was recorded for the task, when it does not fit the budget, and when
    /// `report` has not the length of the task's reports. Nothing changes then.
    pub fn record(&mut self, task: &Task, report: Vec<u8>) -> Result<(), LedgerError> {
        if report.len() != report_bytes(task) {
            return Err(LedgerError::ReportLength { expected: report_bytes(task), found: report.len() });
        }
        match self.request(task) {
            Decision::Grant { .. } => {
                self.entries.push(Entry {
                    task: *task.digest().as_bytes(),
                    guarantee: task.guarantee(),
                    loss: task.mechanism().privacy_loss(),
                    report,
                });
                Ok(())
            }
            Decision::Resend(sent) if sent == report => Ok(()),
            Decision::Resend(_) => Err(LedgerError::Answered(task.digest())),
            Decision::Refuse { remaining, needed } => Err(LedgerError::Budget { remaining, needed }),
        }
    }

    /// The document to keep.
    #[must_use]
    pub fn to_json(&self) -> String {
        let document = Document { version: LEDGER_VERSION, budget: self.budget, entries: self.entries.clone() };
        // Numbers, names and hexadecimal digits: there is nothing that could fail.
        serde_json::to_string(&document).unwrap_or_default()
    }

    /// Reads a document. Unknown fields, other versions and a task that occurs twice are errors.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn from_json(text: &str) -> Result<Self, LedgerError> {
        let malformed = |error: serde_json::Error| LedgerError::Json(error.to_string());
        if text.len() > MAX_LEDGER_BYTES {
            return Err(LedgerError::TooLong(text.len()));
        }
        let VersionOnly { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != LEDGER_VERSION {
            return Err(LedgerError::Version(version));
        }
        let Document { budget, entries, .. } = serde_json::from_str(text).map_err(malformed)?;
        let mut tasks: Vec<[u8; 32]> = entries.iter().map(|entry| entry.task).collect();
        tasks.sort_unstable();
        if let Some(pair) = tasks.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(LedgerError::Answered(TaskDigest::new(pair[0])));
        }
        Ok(Self { budget, entries })
    }

    fn entry(&self, task: &Task) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.task == *task.digest().as_bytes())
    }

    /// The epsilon of all reports and of one more that loses `further`; infinite where none holds.
    fn total(&self, further: Option<PrivacyLoss>) -> f64 {
        let mut composition = Composition::default();
        for loss in self.entries.iter().map(|entry| entry.loss).chain(further) {
            if composition.add(loss, 1).is_err() {
                return f64::INFINITY;
            }
        }
        if composition.is_empty() {
            return 0.0;
        }
        composition.epsilon(self.budget.delta).map_or(f64::INFINITY, |composed| composed.epsilon.value())
    }
}

/// Why a ledger refused a report or a document.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// Not the JSON of a ledger.
    #[error("not a valid ledger: {0}")]
    Json(String),
    /// Another version.
    #[error(
        "the ledger has version {0}, and this software reads version {LEDGER_VERSION}: use a release that knows it"
    )]
    Version(u32),
    /// A document beyond the limit.
    #[error("the ledger has {0} bytes: at most {MAX_LEDGER_BYTES} are read")]
    TooLong(usize),
    /// A second report for a task.
    #[error("task {0} is answered already: send the recorded report again instead of a new one")]
    Answered(TaskDigest),
    /// A report of the wrong length.
    #[error("the report has {found} bytes, and those of this task have {expected}")]
    ReportLength {
        /// The length of the task's reports.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// No budget left for the report.
    #[error("the report needs epsilon {needed}, and {remaining} is left")]
    Budget {
        /// The epsilon left.
        remaining: f64,
        /// The epsilon by which the total would grow.
        needed: f64,
    },
    /// A parameter is out of range.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
}

/// Bytes as lower-case hexadecimal digits.
mod hexadecimal {
    use core::fmt::Write as _;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(2 * bytes.as_ref().len());
        for byte in bytes.as_ref() {
            // Writing into a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T: TryFrom<Vec<u8>>>(deserializer: D) -> Result<T, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(D::Error::custom("expected lower-case hexadecimal digits")),
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(D::Error::custom("expected an even number of hexadecimal digits"));
        }
        let bytes =
            pairs.iter().map(|[high, low]| Ok(digit(*high)? << 4 | digit(*low)?)).collect::<Result<Vec<_>, _>>()?;
        let length = bytes.len();
        T::try_from(bytes).map_err(|_| D::Error::custom(format!("{length} bytes are not the right number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{Calibration, MechanismSpec};
    use crate::privacy::tests::epsilon;
    use crate::record::Bounding;
    use crate::schema::Schema;
    use crate::task::Folds;

    /// Tasks differ in their number of features.
    fn task(features: usize, mechanism: MechanismSpec) -> Task {
        Task::new(Schema::numeric(features).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap()).unwrap()
    }

    fn cap(features: usize, e: f64) -> Task {
        task(features, MechanismSpec::DoubleCap { epsilon: epsilon(e), candidates: 64, cap: 8 })
    }

    fn gaussian(features: usize, e: f64) -> Task {
        let (epsilon, delta) = (epsilon(e), Delta::new(1e-6).unwrap());
        task(features, MechanismSpec::Gaussian { epsilon, delta, calibration: Calibration::Analytic })
    }

    fn ledger(e: f64, delta: Option<f64>) -> Ledger {
        Ledger::new(Budget { epsilon: epsilon(e), delta: delta.map(|delta| Delta::new(delta).unwrap()) })
    }

    fn answer(ledger: &mut Ledger, task: &Task) -> Result<Vec<u8>, LedgerError> {
        let report = task.randomize(&task.bound(vec![1.0; task.dimension()]).unwrap()).unwrap().to_bytes();
        ledger.record(task, report.clone())?;
        Ok(report)
    }

    #[test]
    fn a_task_is_answered_once_and_a_retry_is_free() {
        let mut ledger = ledger(4.0, None);
        assert_eq!(ledger.request(&cap(3, 2.5)), Decision::Grant { remaining: 1.5 });
        let sent = answer(&mut ledger, &cap(3, 2.5)).unwrap();
        let before = ledger.clone();
        assert_eq!(ledger.request(&cap(3, 2.5)), Decision::Resend(sent.clone()));
        ledger.record(&cap(3, 2.5), sent).unwrap();
        assert!(matches!(answer(&mut ledger, &cap(3, 2.5)), Err(LedgerError::Answered(_))));
        assert_eq!(ledger, before);
        assert_eq!((ledger.spent(), ledger.remaining()), (2.5, 1.5));
    }

    #[test]
    fn a_report_that_does_not_fit_is_refused_and_costs_nothing() {
        let mut ledger = ledger(4.0, None);
        answer(&mut ledger, &cap(3, 2.5)).unwrap();
        let Decision::Refuse { remaining, needed } = ledger.request(&cap(4, 2.0)) else { panic!() };
        assert!(remaining == 1.5 && (needed - 2.0).abs() < 1e-6, "{remaining} {needed}");
        assert!(matches!(answer(&mut ledger, &cap(4, 2.0)), Err(LedgerError::Budget { .. })));
        // A budget without delta has no room for a report with one.
        let Decision::Refuse { needed, .. } = ledger.request(&gaussian(4, 0.1)) else { panic!() };
        assert_eq!(needed, f64::INFINITY);
        assert_eq!(ledger.entries().len(), 1);
        assert!(ledger.record(&cap(4, 1.0), vec![0; 3]).is_err());
    }

    #[test]
    fn composition_makes_room_for_more_than_the_plain_sum() {
        let mut ledger = ledger(4.0, Some(1e-6));
        for features in 1..=10 {
            answer(&mut ledger, &gaussian(features, 0.8)).unwrap();
        }
        assert!(ledger.spent() < 4.0);
        assert!(matches!(ledger.request(&cap(3, 2.0)), Decision::Refuse { .. }));
        assert_eq!(Ledger::from_json(&ledger.to_json()).unwrap(), ledger);
    }

    #[test]
    fn documents_that_make_no_sense_are_refused() {
        let mut ledger = ledger(4.0, None);
        answer(&mut ledger, &cap(3, 2.5)).unwrap();
        let text = ledger.to_json();
        let (start, end) = (text.find('[').unwrap() + 1, text.rfind(']').unwrap());
        let twice = format!("{},{}{}", &text[..end], &text[start..end], &text[end..]);
        assert!(matches!(Ledger::from_json(&twice), Err(LedgerError::Answered(_))));
        for (from, to, expected) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"version\":1,", "", "version"),
            ("\"entries\"", "\"note\":1,\"entries\"", "note"),
            ("\"epsilon\":4.0", "\"epsilon\":-4", "epsilon is -4"),
            ("\"delta\":0.0", "\"delta\":1.5", "delta is 1.5"),
            ("\"cap\":8", "\"cap\":64", "likelier"),
            ("\"report\":\"", "\"report\":\"f", "even number"),
            ("\"report\":\"", "\"report\":\"FF", "lower-case"),
            ("\"task\":\"", "\"task\":\"00", "33 bytes"),
        ] {
            assert!(text.contains(from), "{text} lacks {from}");
            let error = Ledger::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        assert!(Ledger::from_json("").is_err());
    }
}
