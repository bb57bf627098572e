//! The public parameters of a collection: what is asked, and how records are bounded and randomized. They are fixed
//! before the first report.

mod mechanism;

use std::sync::Arc;

use serde::{Serialize, Serializer, ser::Error};
use sha2::{Digest, Sha256};

use crate::centring::{Centring, CentringError};
use crate::json::{self, Read, Reader, deserialize_as_json, excerpt, read_object, write_text};
use crate::mechanism::{LocalRandomizer, Mechanism, MechanismError, MechanismSpec};
use crate::privacy::{Epsilon, Guarantee};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::schema::{MAX_DIMENSION, Schema};
use crate::waves::{Refinement, RefinementError, SignedCap};

pub use self::mechanism::TaskMechanism;
pub use crate::identity::{NameError, TaskDigest};

/// The version of the task format that this crate reads and writes.
pub(crate) const TASK_VERSION: u32 = 1;

/// The largest task document that is read, in bytes.
pub(crate) const MAX_TASK_BYTES: usize = 16 << 20;

/// The longest payload that a task may ask of a device, in bytes. (A Gaussian one of 10,000 features has 50 MB.)
const MAX_PAYLOAD_BYTES: usize = 64 << 20;

/// The longest name of a period, in bytes.
const MAX_PERIOD_BYTES: usize = 64;

/// The most random numbers that a task may ask of a device for one report ([`LocalRandomizer::draws`]): a second of
/// work.
const MAX_DRAWS: u64 = 1 << 28;

/// A collection's public parameters, checked and ready to use.
///
/// Two tasks are the same exactly when their digests are: SHA-256 of the canonical JSON (fields in the documented
/// order, no spaces, shortest decimals). Every report carries the digest's first bytes, so a report for another task
/// is refused by name.
///
/// ```
/// use ldp_pca::task::Task;
/// let task = Task::from_json(r#"{
///     "version": 1,
///     "schema": {"columns": [
///         {"name": "height", "type": "numeric", "offset": 0, "scale": 200},
///         {"name": "weight", "type": "numeric", "offset": 0, "scale": 100}
///     ]},
///     "bounding": {"type": "unit-norm"},
///     "mechanism": {"type": "double-cap", "epsilon": 2, "candidates": 64, "cap": 8},
///     "folds": 1
/// }"#)?;
/// let record = task.bound(task.schema().encode_fields(&["180", "75"]))?;
/// let report = task.randomize(&record, None)?;
/// assert_eq!(report.to_bytes().len(), 35);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    document: Arc<TaskDocument>,
    digest: TaskDigest,
    mechanism: TaskMechanism,
}

/// The serialized parameters, in canonical order.
#[derive(Clone, Debug, PartialEq)]
struct TaskDocument {
    schema: Schema,
    bounding: Bounding,
    // Absent, not null, in a task without.
    centring: Option<Centring>,
    // Likewise.
    refinement: Option<Arc<Refinement>>,
    mechanism: MechanismSpec,
    // Likewise.
    period: Option<String>,
    folds: Folds,
}

impl Task {
    /// A task from its parts.
    ///
    /// # Errors
    /// [`TaskError::Mechanism`] when the mechanism's parameters do not fit.
    pub fn new(schema: Schema, bounding: Bounding, mechanism: MechanismSpec, folds: Folds) -> Result<Self, TaskError> {
        Self::of_parts(schema, bounding, None, mechanism, folds)
    }

    /// The task that also estimates the mean, and is otherwise the same. It is another task, with another digest.
    ///
    /// # Errors
    /// [`TaskError::Centring`] when there is no room for one more coordinate, and [`TaskError::Mechanism`] when the
    /// mechanism's parameters do not fit it.
    pub fn with_centring(&self, centring: Centring) -> Result<Self, TaskError> {
        Self::from_document(TaskDocument { centring: Some(centring), ..TaskDocument::clone(&self.document) })
    }

    /// The task for a period, such as a week, in which people answer it once. It is otherwise the same, and another
    /// task, with another digest.
    ///
    /// ```
    /// # use ldp_pca::{Bounding, Epsilon, Folds, MechanismSpec, Schema, Task};
    /// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
    /// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
    /// let week = task.with_period("2026-W48")?;
    /// assert_eq!((task.period(), week.period()), (None, Some("2026-W48")));
    /// assert_ne!(task.digest(), week.digest());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TaskError::Period`] for another name than 1 to 64 ASCII letters, digits, `-`, `.`, `_` and `:`.
    pub fn with_period(&self, period: &str) -> Result<Self, TaskError> {
        let period = Some(checked_period(period.to_owned())?);
        Self::from_document(TaskDocument { period, ..TaskDocument::clone(&self.document) })
    }

    /// Reads a task. Unknown fields, other versions and values that make no sense are errors.
    ///
    /// # Errors
    /// [`TaskError`].
    pub fn from_json(text: &str) -> Result<Self, TaskError> {
        if text.len() > MAX_TASK_BYTES {
            return Err(TaskError::TooLong(text.len()));
        }
        // The version first, so that a task of another version is refused for that, not for unknown fields.
        let version = json::read(text, read_version).map_err(TaskError::Json)?;
        if version != TASK_VERSION {
            return Err(TaskError::Version(version));
        }
        Self::from_document(json::read(text, TaskDocument::read).map_err(TaskError::Json)?)
    }

    fn from_document(document: TaskDocument) -> Result<Self, TaskError> {
        let features = document.schema.dimension();
        if document.centring.is_some() && features >= MAX_DIMENSION {
            return Err(CentringError::Dimension(features).into());
        }
        let coordinates = features + usize::from(document.centring.is_some());
        let mechanism = match (&document.refinement, document.mechanism) {
            (None, MechanismSpec::SignedCap { .. }) => return Err(RefinementError::Missing.into()),
            (None, mechanism) => mechanism.for_task(coordinates, document.bounding, document.centring.is_some())?,
            (Some(_), _) if document.centring.is_some() => return Err(RefinementError::Centring.into()),
            (Some(refinement), _) if refinement.dimension() != features => {
                let found = refinement.dimension();
                return Err(RefinementError::Dimension { expected: features, found }.into());
            }
            (Some(refinement), MechanismSpec::SignedCap { epsilon, candidates, cap }) => {
                SignedCap::new(Arc::clone(refinement), epsilon, candidates, cap)?.into()
            }
            (Some(_), _) => return Err(RefinementError::Mechanism.into()),
        };
        let (payload_bytes, draws) = (mechanism.payload_bytes(), mechanism.draws());
        if payload_bytes > MAX_PAYLOAD_BYTES || draws > MAX_DRAWS {
            return Err(TaskError::Cost { payload_bytes, draws });
        }
        let digest = TaskDigest::new(Sha256::digest(document.to_json()).into());
        Ok(Self { document: Arc::new(document), digest, mechanism })
    }

    /// The canonical JSON; the digest is computed from it.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.document.to_json()
    }

    /// The digest: the task's identity.
    #[must_use]
    pub fn digest(&self) -> TaskDigest {
        self.digest
    }

    /// The columns and features.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.document.schema
    }

    /// The bounding of records.
    #[must_use]
    pub fn bounding(&self) -> Bounding {
        self.document.bounding
    }

    /// The centring, if the task also estimates the mean.
    #[must_use]
    pub fn centring(&self) -> Option<Centring> {
        self.document.centring
    }

    /// The mechanism's parameters.
    #[must_use]
    pub fn mechanism_spec(&self) -> MechanismSpec {
        self.document.mechanism
    }

    /// The mechanism. In a task with [centring](crate::centring) it is one for d + 1 coordinates.
    #[must_use]
    pub fn mechanism(&self) -> &TaskMechanism {
        &self.mechanism
    }

    /// The name of the period that the task is for, if it has one. That of a second wave is the first wave's.
    #[must_use]
    pub fn period(&self) -> Option<&str> {
        self.document.period.as_deref()
    }

    /// The number of independent sums that the reports are split into.
    #[must_use]
    pub fn folds(&self) -> Folds {
        self.document.folds
    }

    /// The number of features, d.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.document.schema.dimension()
    }

    /// The guarantee of one report.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.mechanism.guarantee()
    }

    /// Bounds encoded features (d numbers) as the task says. Every vector of the right length has a bounded record.
    ///
    /// # Errors
    /// [`RecordError::Dimension`] for another length.
    pub fn bound(&self, features: Vec<f64>) -> Result<BoundedRecord, RecordError> {
        if features.len() != self.dimension() {
            return Err(RecordError::Dimension { expected: self.dimension(), found: features.len() });
        }
        BoundedRecord::new(features, self.bounding())
    }
}

/// What our own crates need and others do not.
#[doc(hidden)]
impl Task {
    /// A task from its parts, with centring where it is given, which the mechanism is checked for at once.
    ///
    /// # Errors
    /// [`TaskError::Centring`] when there is no room for one more coordinate, and [`TaskError::Mechanism`] when the
    /// mechanism's parameters do not fit.
    pub fn of_parts(
        schema: Schema,
        bounding: Bounding,
        centring: Option<Centring>,
        mechanism: MechanismSpec,
        folds: Folds,
    ) -> Result<Self, TaskError> {
        let document = TaskDocument { schema, bounding, centring, refinement: None, mechanism, period: None, folds };
        Self::from_document(document)
    }

    /// The task of a second wave, which refines what was found from the sums of this one: other people answer it. The
    /// numbers of candidates, J and L, are the recommended ones where they are not given.
    ///
    /// # Errors
    /// [`TaskError::Refinement`] for a refinement of another task, or where this task has centring or is a refinement
    /// itself; [`TaskError::Mechanism`] when J and L do not fit.
    pub fn refined_by(
        &self,
        refinement: Refinement,
        epsilon: Epsilon,
        candidates: Option<u32>,
        cap: Option<u32>,
    ) -> Result<Self, TaskError> {
        if self.refinement().is_some() {
            return Err(RefinementError::Twice.into());
        }
        if refinement.parent() != self.digest {
            return Err(RefinementError::Parent { expected: self.digest, found: refinement.parent() }.into());
        }
        Self::from_document(TaskDocument {
            refinement: Some(Arc::new(refinement)),
            mechanism: MechanismSpec::signed_cap(epsilon, candidates, cap),
            ..TaskDocument::clone(&self.document)
        })
    }

    /// The refinement, if the task is that of a second wave.
    #[must_use]
    pub fn refinement(&self) -> Option<&Refinement> {
        self.document.refinement.as_deref()
    }

    /// The collection that a person answers once: the digest of the first wave's task.
    #[must_use]
    pub fn campaign(&self) -> TaskDigest {
        self.refinement().map_or(self.digest, Refinement::parent)
    }

    /// The mechanism, where the reports are about second moments.
    ///
    /// # Errors
    /// [`MechanismError::Refinement`] for the mechanism of a refinement, [`MechanismError::NoMoments`] for others.
    pub fn moments(&self) -> Result<&Mechanism, MechanismError> {
        self.mechanism.moments()
    }
}

/// As the task's JSON.
impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: serde_json::Value = serde_json::from_str(&self.to_json()).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

deserialize_as_json!(Task);

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Task {}

/// The number of independent sums (by report id) that the reports of a task are split into, to measure and choose
/// answers on reports that they were not found from: 1 to 64.
///
/// ```
/// use ldp_pca::Folds;
/// assert_eq!(Folds::new(5)?.count(), 5);
/// assert!(Folds::new(0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folds(u32);

impl Folds {
    /// Checks the number.
    ///
    /// # Errors
    /// [`TaskError::Folds`] outside 1 to 64.
    pub fn new(count: u32) -> Result<Self, TaskError> {
        if (1..=64).contains(&count) { Ok(Self(count)) } else { Err(TaskError::Folds(count)) }
    }

    /// The usual number for so many features: enough to choose a method on reports held out. Each fold is a sum of its
    /// own at the aggregator (4 MB for 1,000 features), and in every file of sums.
    #[must_use]
    pub fn usual(dimension: usize) -> Self {
        Self(if dimension <= 1_000 { 10 } else { 2 })
    }

    /// The number itself.
    #[must_use]
    pub fn count(self) -> usize {
        self.0 as usize
    }
}

/// What is read before all else.
pub(crate) fn read_version(reader: &mut Reader<'_>) -> Read<u32> {
    let mut version = None;
    reader.object(&mut |reader, field| match field {
        "version" => reader.once(field, &mut version, Reader::integer),
        _ => reader.skip(),
    })?;
    reader.required("version", version)
}

impl TaskDocument {
    /// Reads the document. `null` is not a second way of leaving a field out.
    fn read(reader: &mut Reader<'_>) -> Read<Self> {
        const FIELDS: &str = "a task has 'version', 'schema', 'bounding', 'mechanism' and 'folds', and may have \
                              'period', and 'centring' or 'refinement'";
        read_object!(reader, FIELDS, has {
            "schema" => schema: Schema::read,
            "bounding" => bounding: Bounding::read,
            "mechanism" => mechanism: MechanismSpec::read,
            "folds" => folds: |reader| Folds::new(reader.integer()?).map_err(|error| reader.refused(&error)),
        } may_have {
            "version" => version: Reader::integer,
            "centring" => centring: Centring::read,
            "refinement" => refinement: Refinement::read,
            "period" => period: |reader| checked_period(reader.text()?).map_err(|error| reader.refused(&error)),
        });
        let refinement = refinement.map(Arc::new);
        Ok(Self { schema, bounding, centring, refinement, mechanism, period, folds })
    }

    /// The canonical JSON: fields in this order, no spaces, shortest decimals.
    fn to_json(&self) -> String {
        let mut text = format!("{{\"version\":{TASK_VERSION},\"schema\":");
        self.schema.write(&mut text);
        text.push_str(",\"bounding\":");
        self.bounding.write(&mut text);
        if let Some(centring) = self.centring {
            text.push_str(",\"centring\":");
            centring.write(&mut text);
        }
        if let Some(refinement) = &self.refinement {
            text.push_str(",\"refinement\":");
            refinement.write(&mut text);
        }
        text.push_str(",\"mechanism\":");
        self.mechanism.write(&mut text);
        if let Some(period) = &self.period {
            text.push_str(",\"period\":");
            write_text(period, &mut text);
        }
        text.push_str(&format!(",\"folds\":{}}}", self.folds.0));
        text
    }
}

/// The name of a period, if it is one.
fn checked_period(period: String) -> Result<String, TaskError> {
    let fits = |byte| matches!(byte, b'-' | b'.' | b'0'..=b'9' | b':' | b'A'..=b'Z' | b'_' | b'a'..=b'z');
    let is_name = (1..=MAX_PERIOD_BYTES).contains(&period.len()) && period.bytes().all(fits);
    if is_name { Ok(period) } else { Err(TaskError::Period(excerpt(&period))) }
}

/// Reasons why a task was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// Not JSON, or not the JSON of a task.
    #[error("not a valid task: {0}")]
    Json(String),
    /// Another version.
    #[error("the task has version {0}, and this software reads version {TASK_VERSION}: use a release that knows it")]
    Version(u32),
    /// More than a device can compute.
    #[error(
        "a report takes {payload_bytes} bytes and {draws} random numbers, of at most {MAX_PAYLOAD_BYTES} and \
         {MAX_DRAWS}: use fewer features or candidates, or double-cap"
    )]
    Cost {
        /// The length of the payload.
        payload_bytes: usize,
        /// The random numbers that one report takes.
        draws: u64,
    },
    /// A document beyond the limit.
    #[error("the task document has {0} bytes: at most {MAX_TASK_BYTES} are read")]
    TooLong(usize),
    /// A number of folds outside its range.
    #[error("{0} folds: use 1 to 64 (10 is usual)")]
    Folds(u32),
    /// A name that no period has.
    #[error("the period is '{0}': use 1 to 64 ASCII letters, digits and -._: (2026-W48, for example)")]
    Period(String),
    /// Centring that does not fit.
    #[error(transparent)]
    Centring(#[from] CentringError),
    /// A refinement that does not fit.
    #[error(transparent)]
    Refinement(#[from] RefinementError),
    /// The mechanism's parameters do not fit.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Calibration;
    use crate::privacy::tests::{delta, epsilon};
    use crate::tests;

    fn task() -> Task {
        tests::task(3, Bounding::UnitNorm, tests::double_cap(2.0, 64, 8), 1)
    }

    #[test]
    fn the_digest_is_of_the_meaning_not_of_the_spelling() {
        let canonical = task().to_json();
        let spaced = canonical.replace(',', " ,\n").replace("2.0", "2");
        assert_ne!(canonical, spaced);
        assert_eq!(Task::from_json(&spaced).unwrap().digest(), task().digest());
    }

    /// By hand, and its SHA-256 by another implementation.
    #[test]
    fn the_canonical_json_is_what_is_documented_and_what_is_digested() {
        let text = concat!(
            r#"{"version":1,"schema":{"columns":[{"type":"numeric","name":"c1","offset":0.0,"scale":1.0},"#,
            r#"{"type":"numeric","name":"c2","offset":0.0,"scale":1.0},"#,
            r#"{"type":"numeric","name":"c3","offset":0.0,"scale":1.0}]},"bounding":{"type":"unit-norm"},"#,
            r#""mechanism":{"type":"double-cap","epsilon":2.0,"candidates":64,"cap":8},"folds":1}"#
        );
        assert_eq!(task().to_json(), text);
        let digest = "6553c1c52f75933a1e98f540925fbf37f432b1067ff62fa38bba8e284a72c16a";
        assert_eq!(task().digest().to_string(), digest);
        assert_eq!(digest.parse(), Ok(task().digest()));
    }

    #[test]
    fn a_refinement_is_a_task_of_the_same_campaign_with_json_of_its_own() {
        let first = task();
        let of = |parent, dimension| {
            let directions = nalgebra::DMatrix::identity(dimension, 1);
            Refinement::from_parts(parent, &directions, &[1.0], 0.5).unwrap()
        };
        let refined = |task: &Task, refinement| task.refined_by(refinement, epsilon(1.0), Some(64), Some(8));
        let second = refined(&first, of(first.digest(), 3)).unwrap();
        assert_eq!((second.campaign(), first.campaign()), (first.digest(), first.digest()));
        assert_eq!(second.refinement(), Some(&of(first.digest(), 3)));
        let json = second.to_json();
        let digest = first.digest();
        assert!(json.contains(&format!(
            r#""bounding":{{"type":"unit-norm"}},"refinement":{{"parent":"{digest}","directions":[[1048576,0,0]],"#
        )));
        assert!(json.contains(r#""mechanism":{"type":"signed-cap","epsilon":1.0,"candidates":64,"cap":8}"#));
        assert_eq!(Task::from_json(&json).unwrap(), second);
        let refused = |outcome: Result<Task, TaskError>, error| assert_eq!(outcome, Err(TaskError::Refinement(error)));
        let other = of(TaskDigest::new([1; 32]), 3);
        let found = other.parent();
        refused(refined(&first, other), RefinementError::Parent { expected: digest, found });
        refused(refined(&first, of(digest, 4)), RefinementError::Dimension { expected: 3, found: 4 });
        refused(refined(&second, of(second.digest(), 3)), RefinementError::Twice);
        let centred = first.with_centring(Centring::default()).unwrap();
        refused(refined(&centred, of(centred.digest(), 3)), RefinementError::Centring);
        let double_cap = json.replace("signed-cap", "double-cap");
        refused(Task::from_json(&double_cap), RefinementError::Mechanism);
        refused(Task::from_json(&first.to_json().replace("double-cap", "signed-cap")), RefinementError::Missing);
        let both = json.replace(r#""refinement""#, r#""centring":{"weight":0.5},"refinement""#);
        refused(Task::from_json(&both), RefinementError::Centring);
    }

    /// The second digest by hand and by another implementation of SHA-256, as that of the task without a period.
    #[test]
    fn a_period_makes_another_task_and_is_that_of_both_waves() {
        let (plain, week) = (task(), task().with_period("2026-W48").unwrap());
        assert_eq!((plain.period(), week.period()), (None, Some("2026-W48")));
        assert_eq!(week.to_json(), plain.to_json().replace(",\"folds\"", ",\"period\":\"2026-W48\",\"folds\""));
        assert_eq!(week.digest().to_string(), "cb25c688e4cd931a04ec7d0263b87f2c77b4a66cd26844c05f4d25a39cf3a340");
        assert_eq!(Task::from_json(&week.to_json()).unwrap(), week);
        assert_ne!(week, plain.with_period("2026-W49").unwrap());
        assert_eq!(week.with_centring(Centring::default()).unwrap().period(), Some("2026-W48"));
        let directions = nalgebra::DMatrix::identity(3, 1);
        let refinement = Refinement::from_parts(week.digest(), &directions, &[1.0], 0.5).unwrap();
        let second = week.refined_by(refinement, epsilon(1.0), Some(64), Some(8)).unwrap();
        assert_eq!((second.period(), second.campaign()), (Some("2026-W48"), week.digest()));
        assert!(second.to_json().ends_with(r#""cap":8},"period":"2026-W48","folds":1}"#), "{}", second.to_json());
        let longest = "azAZ09-._:".repeat(7)[..64].to_owned();
        assert_eq!(plain.with_period(&longest).unwrap().period(), Some(&*longest));
        for bad in ["", &format!("{longest}x"), "week 48", "48/2026", "\u{e4}", "a\"b", "a\n", "48,"] {
            let error = plain.with_period(bad).unwrap_err();
            assert!(matches!(error, TaskError::Period(_)), "{bad}");
            let text = week.to_json().replace("\"2026-W48\"", &serde_json::to_string(bad).unwrap());
            let told = Task::from_json(&text).unwrap_err().to_string();
            assert!(told.contains(&error.to_string()), "{told} lacks {error}");
        }
    }

    #[test]
    fn serde_and_parse_read_and_write_the_same_document() {
        let task = task().with_centring(Centring::default()).unwrap();
        let text = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<Task>(&text).unwrap().to_json(), task.to_json());
        assert_eq!(Task::from_json(&task.to_json()), Ok(task.clone()));
        let schema = serde_json::to_string(task.schema()).unwrap();
        assert_eq!(&serde_json::from_str::<Schema>(&schema).unwrap(), task.schema());
        let clip: Bounding = serde_json::from_str(r#"{"type":"clip","radius":1.5}"#).unwrap();
        assert_eq!(clip, Bounding::Clip { radius: 1.5.try_into().unwrap() });
        for bad in [r#"{"type":"clip","radius":0}"#, r#"{"type":"clip"}"#, r#"{"type":"cut"}"#] {
            assert!(serde_json::from_str::<Bounding>(bad).is_err(), "{bad}");
        }
        let error = serde_json::from_str::<Task>(&text.replace("folds", "parts")).unwrap_err();
        assert!(error.to_string().contains("'parts'"), "{error}");
    }

    #[test]
    fn every_field_is_needed_once() {
        let (plain, centred) = (task(), task().with_centring(Centring::default()).unwrap());
        let canonical = centred.with_period("2026-W48").unwrap().to_json();
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&canonical).unwrap();
        assert_eq!(fields.len(), 7);
        for (name, value) in &fields {
            let twice = format!("{},\"{name}\":{value}}}", &canonical[..canonical.len() - 1]);
            let (mut without, mut null) = (fields.clone(), fields.clone());
            without.remove(name);
            null.insert(name.clone(), serde_json::Value::Null);
            let [without, null] = [without, null].map(|fields| serde_json::to_string(&fields).unwrap());
            let optional = match name.as_str() {
                "centring" => Some(plain.with_period("2026-W48").unwrap()),
                "period" => Some(centred.clone()),
                _ => None,
            };
            if let Some(task) = optional {
                assert_eq!(Task::from_json(&without).unwrap(), task);
            } else {
                let error = Task::from_json(&without).unwrap_err();
                assert!(matches!(&error, TaskError::Json(_)) && error.to_string().contains(name), "{error}");
            }
            for bad in [twice, null] {
                assert!(matches!(Task::from_json(&bad), Err(TaskError::Json(_))), "{bad}");
            }
        }
    }

    #[test]
    fn other_versions_are_told_apart_before_anything_else_is_read() {
        for version in [0, 2, u32::MAX] {
            let text = format!(r#"{{"what": ["nobody", {{"knows": null}}], "version": {version}}}"#);
            assert_eq!(Task::from_json(&text), Err(TaskError::Version(version)));
        }
        assert!(matches!(Task::from_json(r#"{"version": 4294967296}"#), Err(TaskError::Json(_))));
    }

    #[test]
    fn a_document_is_read_up_to_its_limit() {
        let mut text = task().to_json();
        text.push_str(&" ".repeat(MAX_TASK_BYTES - text.len()));
        assert_eq!(Task::from_json(&text), Ok(task()));
        text.push(' ');
        assert_eq!(Task::from_json(&text), Err(TaskError::TooLong(MAX_TASK_BYTES + 1)));
    }

    #[test]
    fn there_are_one_to_sixty_four_folds() {
        assert_eq!([1, 2, 64].map(|count| Folds::new(count).unwrap().count()), [1, 2, 64]);
        for count in [0, 65, u32::MAX] {
            assert_eq!(Folds::new(count), Err(TaskError::Folds(count)));
        }
    }

    #[test]
    fn tasks_that_make_no_sense_are_refused_with_the_value() {
        let canonical = task().to_json();
        let cases = [
            ("\"version\":1,", "", "version"),
            ("\"folds\":1", "\"folds\":0", "0 folds"),
            ("\"folds\":1", "\"folds\":1,\"note\":\"x\"", "note"),
            ("\"epsilon\":2.0", "\"epsilon\":0", "epsilon is 0"),
            ("\"epsilon\":2.0", "\"epsilon\":-1", "epsilon is -1"),
            ("\"epsilon\":2.0", "\"epsilon\":1e999", "number out of range"),
            ("\"cap\":8", "\"cap\":64", "cap of 64"),
            ("\"cap\":8", "\"cap\":8,\"delta\":0.1", "delta"),
            ("unit-norm", "unit-ball", "unit-ball"),
        ];
        for (from, to, expected) in cases {
            assert!(canonical.contains(from), "{canonical} lacks {from}");
            let error = Task::from_json(&canonical.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        for bad in ["", "[]", "2", "null"] {
            assert!(matches!(Task::from_json(bad), Err(TaskError::Json(_))), "{bad}");
        }
    }

    #[test]
    fn centring_is_another_task_with_one_more_coordinate() {
        let plain = task();
        let centred = plain.with_centring(Centring::default()).unwrap();
        assert_ne!(centred.digest(), plain.digest());
        assert_eq!((plain.centring(), centred.centring()), (None, Some(Centring::default())));
        assert_eq!((centred.dimension(), centred.mechanism().dimension()), (3, 4));
        assert_eq!(centred.guarantee(), plain.guarantee());
        let canonical = centred.to_json();
        assert_eq!(canonical.replace("\"centring\":{\"weight\":0.25},", ""), plain.to_json());
        assert_eq!(Task::from_json(&canonical).unwrap(), centred);
        for (bad, expected) in [("null", "invalid type"), ("{\"weight\":1.5}", "weight is 1.5"), ("{}", "weight")] {
            let error = Task::from_json(&canonical.replace("{\"weight\":0.25}", bad)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        let record = centred.bound(vec![1.0, 2.0, 3.0]).unwrap();
        assert_eq!(record.dimension(), 3);
    }

    #[test]
    fn centring_needs_room_for_its_coordinate() {
        let full = tests::task(MAX_DIMENSION, Bounding::UnitNorm, task().mechanism_spec(), 1);
        let error = full.with_centring(Centring::default()).unwrap_err();
        assert_eq!(error, TaskError::Centring(CentringError::Dimension(MAX_DIMENSION)));
    }

    #[test]
    fn the_remedy_for_a_mechanism_is_one_with_centring() {
        let build = |e| {
            let (schema, folds) = (Schema::numeric(1).unwrap(), Folds::new(1).unwrap());
            Task::of_parts(schema, Bounding::UnitNorm, Some(Centring::default()), tests::gaussian(e), folds)
        };
        let said = build(100.0).unwrap_err().to_string();
        let (_, most) = said.split_once("lower epsilon to at most ").unwrap();
        let task = build(most.parse().unwrap()).unwrap();
        assert_eq!((task.dimension(), task.mechanism().dimension(), task.centring().is_some()), (1, 2, true));
    }

    #[test]
    fn what_no_device_can_be_asked_for_is_refused() {
        let build = |dimension, mechanism| {
            Task::new(Schema::numeric(dimension).unwrap(), Bounding::UnitNorm, mechanism, Folds::new(1).unwrap())
        };
        let double_cap = |candidates| tests::double_cap(2.0, candidates, candidates / 8);
        assert!(build(MAX_DIMENSION, double_cap(8191)).is_ok());
        let dear = build(MAX_DIMENSION, double_cap(8192)).unwrap_err();
        assert!(
            matches!(dear, TaskError::Cost { payload_bytes: 2, .. }) && dear.to_string().contains("268443648"),
            "{dear}"
        );
        let gaussian = tests::gaussian(2.0);
        assert!(build(11_584, gaussian).is_ok());
        assert!(matches!(build(11_585, gaussian), Err(TaskError::Cost { payload_bytes: 67_111_905, .. })));
    }

    /// The aggregator must know the noise of the reports: another calibration is another task, and is read back as it
    /// was.
    #[test]
    fn every_parameter_of_a_mechanism_is_in_the_digest() {
        let gaussian =
            |e, d, calibration| MechanismSpec::Gaussian { epsilon: epsilon(e), delta: delta(d), calibration };
        let specs = [
            gaussian(0.5, 1e-6, Calibration::Analytic),
            gaussian(0.5, 1e-6, Calibration::Paper),
            gaussian(0.6, 1e-6, Calibration::Analytic),
            gaussian(0.5, 1e-7, Calibration::Analytic),
            tests::double_cap(0.5, 64, 8),
            tests::double_cap(0.6, 64, 8),
            tests::double_cap(0.5, 65, 8),
            tests::double_cap(0.5, 64, 9),
        ];
        let digests: std::collections::HashSet<TaskDigest> = specs
            .map(|spec| {
                let task = tests::task(2, Bounding::UnitNorm, spec, 1);
                let back = Task::from_json(&task.to_json()).unwrap();
                assert_eq!((back.mechanism_spec(), back.digest()), (spec, task.digest()));
                task.digest()
            })
            .into_iter()
            .collect();
        assert_eq!(digests.len(), specs.len());
    }
}
