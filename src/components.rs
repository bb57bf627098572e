//! Components as a public document, and the place of a record among them.
//!
//! The owner of a collection publishes its components: `PublishedComponents::document(&answer, &task)` is the text of
//! an answer. Whoever reads it knows what was asked, of how many, and the directions that were found. A device finds
//! its own place among them, which nobody else sees:
//!
//! ```
//! use ldp_pca::components::PublishedComponents;
//!
//! let components = PublishedComponents::from_json(r#"{
//!     "version": 1,
//!     "task": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
//!     "schema": {"columns": [
//!         {"type": "numeric", "name": "height", "offset": 170, "scale": 30},
//!         {"type": "numeric", "name": "weight", "offset": 70, "scale": 40}
//!     ]},
//!     "bounding": {"type": "clip", "radius": 1.5},
//!     "feature_names": ["height", "weight"],
//!     "records": 20000,
//!     "mean": [0.5, 0.25],
//!     "noise_edge": 0.01,
//!     "components": [{"loadings": [0.6, 0.8], "variance": 0.2}]
//! }"#)?;
//! let features = components.schema().encode_fields(&["200", "90"]);
//! assert_eq!(features, [1.0, 0.5]);
//! assert_eq!(components.scores(&features)?, [0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::decimal::Json;
use crate::identity::TaskDigest;
use crate::json::{self, Read, Reader, read_object, write_array, write_text};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::recovery::{Answer, Method};
use crate::schema::Schema;
use crate::task::{MAX_TASK_BYTES as MAX_BYTES, Task, read_version};

/// The version of the document that this crate reads and writes.
const VERSION: u32 = 1;

/// The most reports that a document can state: all programs that read JSON have this number exactly.
const MAX_RECORDS: u64 = 1 << 53;

/// Components that were published, with the schema and the bounding of their records. The document is as strict as a
/// task's, and the same answer has the same text (docs/reference/wire-format.md).
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedComponents {
    task: TaskDigest,
    schema: Schema,
    bounding: Bounding,
    records: u64,
    // Absent where they are not known, not null.
    mean: Option<Vec<f64>>,
    total_variance: Option<f64>,
    noise_edge: f64,
    components: Vec<Component>,
    prediction: Option<Predicted>,
}

#[derive(Clone, Debug, PartialEq)]
struct Component {
    loadings: Vec<f64>,
    /// Null where it is not above the noise.
    variance: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Predicted {
    share_found: Option<f64>,
    sin_theta_squared: f64,
}

impl PublishedComponents {
    /// Reads a document. Unknown fields, other versions and numbers that do not fit together are errors.
    ///
    /// # Errors
    /// [`ComponentsError`].
    pub fn from_json(text: &str) -> Result<Self, ComponentsError> {
        if text.len() > MAX_BYTES {
            return Err(ComponentsError::TooLong(text.len()));
        }
        let version = json::read(text, read_version).map_err(ComponentsError::Json)?;
        if version != VERSION {
            return Err(ComponentsError::Version(version));
        }
        let (found, names) = json::read(text, Self::read).map_err(ComponentsError::Json)?;
        if names != found.schema.feature_names() {
            return Err(ComponentsError::Content("'feature_names' are not those of the schema"));
        }
        found.checked()
    }

    /// The scores of a record, one for each component: its encoded features (d finite numbers), of norm 1 where
    /// bounding says so, less the mean where that is known, times the loadings. A record that is longer than the radius
    /// of a clip is not shortened. They are as private as the record.
    ///
    /// # Errors
    /// [`RecordError::Dimension`] for another number of features.
    pub fn scores(&self, features: &[f64]) -> Result<Vec<f64>, RecordError> {
        let (expected, found) = (self.schema.dimension(), features.len());
        if found != expected {
            return Err(RecordError::Dimension { expected, found });
        }
        let mut record = match self.bounding {
            Bounding::UnitNorm => BoundedRecord::new(features.to_vec(), self.bounding)?.coordinates().to_vec(),
            Bounding::Clip { .. } => features.to_vec(),
        };
        for (value, mean) in record.iter_mut().zip(self.mean.iter().flatten()) {
            *value -= mean;
        }
        let product = |loadings: &[f64]| loadings.iter().zip(&record).map(|(one, other)| one * other).sum::<f64>();
        Ok(self.components.iter().map(|component| product(&component.loadings)).collect())
    }

    /// Checks what the reader of a text does not.
    fn checked(self) -> Result<Self, ComponentsError> {
        let dimension = self.schema.dimension();
        let is_vector = |numbers: &[f64]| numbers.len() == dimension && numbers.iter().all(|number| number.is_finite());
        let predicted = self.prediction.iter().flat_map(|found| [found.share_found, Some(found.sin_theta_squared)]);
        let variances = self.components.iter().map(|component| component.variance);
        let others = [self.total_variance, Some(self.noise_edge)];
        let problem = if !(1..=MAX_RECORDS).contains(&self.records) {
            "'records' is a number from 1 to 2^53"
        } else if !(1..=dimension).contains(&self.components.len()) {
            "there is at least one component, and at most one for each feature"
        } else if !self.components.iter().all(|component| is_vector(&component.loadings)) {
            "a component has one finite loading for each feature"
        } else if !self.mean.iter().all(|mean| is_vector(mean)) {
            "the mean has one finite number for each feature"
        } else if !predicted.chain(variances).chain(others).flatten().all(f64::is_finite) {
            "every number is finite"
        } else {
            return Ok(self);
        };
        Err(ComponentsError::Content(problem))
    }

    /// The document, and its names of the features. `null` is not a second way of leaving a field out.
    fn read(reader: &mut Reader<'_>) -> Read<(Self, Vec<String>)> {
        const FIELDS: &str = "components have 'version', 'task', 'schema', 'bounding', 'feature_names', 'records', \
                              'noise_edge' and 'components', and may have 'mean', 'total_variance' and 'prediction'";
        read_object!(reader, FIELDS, has {
            "task" => task: Reader::parsed,
            "schema" => schema: Schema::read,
            "bounding" => bounding: Bounding::read,
            "records" => records: |reader| reader.whole(&(1..=MAX_RECORDS as i64)).map(|count| count as u64),
            "noise_edge" => noise_edge: Reader::number,
            "components" => components: |reader| reader.list(Component::read),
            "feature_names" => names: |reader| reader.list(Reader::text),
        } may_have {
            "version" => version: Reader::integer,
            "mean" => mean: |reader| reader.list(Reader::number),
            "total_variance" => total_variance: Reader::number,
            "prediction" => prediction: Predicted::read,
        });
        let found = Self { task, schema, bounding, records, mean, total_variance, noise_edge, components, prediction };
        Ok((found, names))
    }
}

/// What our own crates need too.
#[doc(hidden)]
impl PublishedComponents {
    /// The text of the components of an answer about this task's reports; of a family, about its first task's.
    ///
    /// # Errors
    /// [`ComponentsError::TooLong`] for more numbers than a document has room for, and
    /// [`ComponentsError::Content`] for an answer that is not of this task.
    pub fn document(answer: &Answer, task: &Task) -> Result<String, ComponentsError> {
        let text = Self::of(answer, task)?.to_json();
        if text.len() > MAX_BYTES { Err(ComponentsError::TooLong(text.len())) } else { Ok(text) }
    }

    fn of(answer: &Answer, task: &Task) -> Result<Self, ComponentsError> {
        let Answer { asked, found, trust, .. } = answer;
        let component = |(loadings, variance): (&Vec<f64>, _)| Component { loadings: loadings.clone(), variance };
        // The prediction is that of plain components.
        let predicted = trust.predicted.as_ref().filter(|_| asked.method == Method::Pca);
        let published = Self {
            task: task.digest(),
            schema: task.schema().clone(),
            bounding: task.bounding(),
            records: asked.records,
            mean: found.mean.as_ref().map(|mean| mean.estimate.values().to_vec()),
            total_variance: answer.whole(),
            noise_edge: answer.edge(),
            components: found.components.iter().zip(answer.variances_above()).map(component).collect(),
            prediction: predicted
                .map(|found| Predicted { share_found: found.share_found, sin_theta_squared: found.sin_theta_squared }),
        };
        published.checked()
    }

    /// The canonical JSON: fields in the documented order, no spaces, shortest decimals.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = format!("{{\"version\":{VERSION},\"task\":\"{}\",\"schema\":", self.task);
        self.schema.write(&mut text);
        text.push_str(",\"bounding\":");
        self.bounding.write(&mut text);
        text.push_str(",\"feature_names\":");
        write_array(self.schema.feature_names(), &mut text, |name, out| write_text(&name, out));
        text.push_str(&format!(",\"records\":{}", self.records));
        if let Some(mean) = &self.mean {
            text.push_str(",\"mean\":");
            write_numbers(mean, &mut text);
        }
        if let Some(total) = self.total_variance {
            text.push_str(&format!(",\"total_variance\":{}", Json(total)));
        }
        text.push_str(&format!(",\"noise_edge\":{},\"components\":", Json(self.noise_edge)));
        write_array(&self.components, &mut text, Component::write);
        if let Some(Predicted { share_found, sin_theta_squared }) = self.prediction {
            text.push_str(",\"prediction\":{");
            if let Some(share) = share_found {
                text.push_str(&format!("\"share_found\":{},", Json(share)));
            }
            text.push_str(&format!("\"sin_theta_squared\":{}}}", Json(sin_theta_squared)));
        }
        text.push('}');
        text
    }

    /// The digest of the task.
    #[must_use]
    pub fn task(&self) -> TaskDigest {
        self.task
    }

    /// The number of reports.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The columns and features of the records.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of components, k.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.components.len()
    }
}

impl Component {
    fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "a component has 'loadings' and 'variance'", has {
            "loadings" => loadings: |reader| reader.list(Reader::number),
            "variance" => variance: |reader| reader.nullable(Reader::number),
        });
        Ok(Self { loadings, variance })
    }

    fn write(&self, out: &mut String) {
        out.push_str("{\"loadings\":");
        write_numbers(&self.loadings, out);
        match self.variance {
            Some(variance) => out.push_str(&format!(",\"variance\":{}}}", Json(variance))),
            None => out.push_str(",\"variance\":null}"),
        }
    }
}

impl Predicted {
    fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "a prediction has 'sin_theta_squared' and maybe 'share_found'", has {
            "sin_theta_squared" => sin_theta_squared: Reader::number,
        } may_have {
            "share_found" => share_found: Reader::number,
        });
        Ok(Self { share_found, sin_theta_squared })
    }
}

fn write_numbers(numbers: &[f64], out: &mut String) {
    write_array(numbers, out, |number, out| out.push_str(&format!("{}", Json(*number))));
}

/// Reasons why a document of components was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ComponentsError {
    /// Not JSON, or not the JSON of components.
    #[error("not valid components: {0}")]
    Json(String),
    /// Another version.
    #[error("the components have version {0}, and this software reads version {VERSION}: use a release that knows it")]
    Version(u32),
    /// A document beyond the limit.
    #[error("the document of the components has {0} bytes, of at most {MAX_BYTES}: publish fewer components")]
    TooLong(usize),
    /// Parts that do not fit together.
    #[error("not valid components: {0}")]
    Content(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::prediction::Prediction;
    use crate::privacy::tests::epsilon;
    use crate::recovery::answer::ThresholdedAnswer;
    use crate::tests::task;

    /// With everything that a document may have.
    const WHOLE: &str = concat!(
        r#"{"version":1,"task":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","#,
        r#""schema":{"columns":[{"type":"numeric","name":"a","offset":1.0,"scale":2.0},"#,
        r#"{"type":"categorical","name":"b","values":["x"],"unseen":"zero"}]},"bounding":{"type":"clip","radius":1.5},"#,
        r#""feature_names":["a","b=x"],"records":9007199254740992,"mean":[0.25,-1e-6],"total_variance":0.5,"#,
        r#""noise_edge":0.125,"components":[{"loadings":[0.6,-0.8],"variance":0.25},"#,
        r#"{"loadings":[0.8,0.6],"variance":null}],"prediction":{"share_found":0.875,"sin_theta_squared":0.0625}}"#,
    );

    #[test]
    fn a_document_is_read_in_any_order_and_written_in_one() {
        let whole = PublishedComponents::from_json(WHOLE).unwrap();
        assert_eq!(whole.to_json(), WHOLE);
        // In the order of their names.
        let spelled = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(WHOLE).unwrap()).unwrap();
        assert_eq!(PublishedComponents::from_json(&spelled), Ok(whole.clone()));
        for absent in [
            r#""mean":[0.25,-1e-6],"#,
            r#""total_variance":0.5,"#,
            r#""share_found":0.875,"#,
            r#","prediction":{"share_found":0.875,"sin_theta_squared":0.0625}"#,
        ] {
            let text = WHOLE.replace(absent, "");
            let read = PublishedComponents::from_json(&text).unwrap();
            assert!(read != whole && read.to_json() == text, "{absent}");
        }
    }

    #[test]
    fn documents_that_make_no_sense_are_refused_with_the_reason() {
        for (from, to, expected) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"version\":1,", "", "missing field 'version'"),
            ("\"records\":", "\"note\":", "unknown field 'note'"),
            ("\"noise_edge\":0.125", "\"noise_edge\":0.125,\"noise_edge\":0.125", "duplicate field 'noise_edge'"),
            ("\"noise_edge\":0.125,", "", "missing field 'noise_edge'"),
            ("\"noise_edge\":0.125", "\"noise_edge\":1e999", "number out of range"),
            ("\"total_variance\":0.5", "\"total_variance\":null", "invalid type: null"),
            ("2c26b", "2C26B", "64 lower-case hexadecimal digits"),
            ("\"b=x\"", "\"b=y\"", "'feature_names' are not those of the schema"),
            ("[0.25,-1e-6]", "[0.25]", "the mean has one finite number for each feature"),
            ("[0.8,0.6]", "[0.8,0.6,0.0]", "a component has one finite loading for each feature"),
            ("9007199254740992", "9007199254740993", "not a whole number from 1 to 9007199254740992"),
            ("9007199254740992", "0", "not a whole number from 1 to 9007199254740992"),
            (",\"variance\":null", "", "missing field 'variance'"),
            ("null", "nul", "expected a value"),
            ("\"sin_theta_squared\"", "\"sin_theta\"", "unknown field 'sin_theta'"),
        ] {
            assert!(WHOLE.contains(from), "{from}");
            let error = PublishedComponents::from_json(&WHOLE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error} lacks {expected}");
        }
        let start = WHOLE.find("{\"loadings\"").unwrap();
        let none = format!("{}]}}", &WHOLE[..start]);
        let error = PublishedComponents::from_json(&none).unwrap_err().to_string();
        assert!(error.contains("at least one component"), "{error}");
    }

    #[test]
    fn a_document_is_read_up_to_its_limit() {
        let text = format!("{WHOLE}{}", " ".repeat(MAX_BYTES - WHOLE.len()));
        assert!(PublishedComponents::from_json(&text).is_ok());
        let beyond = PublishedComponents::from_json(&(text + " "));
        assert_eq!(beyond, Err(ComponentsError::TooLong(MAX_BYTES + 1)));
    }

    #[test]
    fn scores_are_about_the_mean_and_of_norm_one_only_under_unit_norm() {
        let clipped = PublishedComponents::from_json(WHOLE).unwrap();
        // Longer than the radius.
        let scores = clipped.scores(&[3.25, 1.0]).unwrap();
        let rest = 1.0 + 1e-6;
        assert_eq!(scores, [0.6 * 3.0 - 0.8 * rest, 0.8 * 3.0 + 0.6 * rest]);
        let text = WHOLE.replace(r#"{"type":"clip","radius":1.5}"#, r#"{"type":"unit-norm"}"#);
        let unit = PublishedComponents::from_json(&text.replace(r#""mean":[0.25,-1e-6],"#, "")).unwrap();
        let [first, second] = unit.scores(&[6.0, -8.0]).unwrap()[..] else { panic!("two components") };
        assert!((first - 1.0).abs() < 1e-15 && second.abs() < 1e-15, "{first} {second}");
        assert_eq!(unit.scores(&[0.0, 0.0]).unwrap(), [0.0, 0.0]);
        assert_eq!(unit.scores(&[1.0]), Err(RecordError::Dimension { expected: 2, found: 1 }));
    }

    #[test]
    fn an_answer_states_variances_above_the_noise_and_the_prediction_of_plain_components() {
        let task = task(2, Bounding::UnitNorm, MechanismSpec::double_cap(epsilon(2.0)), 1);
        let mut answer = Answer::default().with_components(vec![vec![0.6, 0.8], vec![0.8, -0.6]], vec![0.5, 0.25]);
        (answer.asked.records, answer.asked.dimension, answer.trust.noise_edge) = (20, 2, 0.25);
        let variances = |answer: &Answer| -> Vec<Option<f64>> {
            let published = PublishedComponents::of(answer, &task).unwrap();
            assert_eq!(PublishedComponents::from_json(&published.to_json()), Ok(published.clone()));
            published.components.iter().map(|component| component.variance).collect()
        };
        assert_eq!(variances(&answer), [Some(0.5), None]);
        answer.found.variances = Some(vec![None, Some(0.125)]);
        assert_eq!(variances(&answer), [None, Some(0.125)]);
        for (total, published) in [(0.75, Some(0.75)), (0.11, Some(0.125)), (0.09, None)] {
            (answer.found.total_variance, answer.trust.total_variance_error) = (Some(total), Some(0.05));
            assert_eq!(PublishedComponents::of(&answer, &task).unwrap().total_variance, published, "{total}");
        }
        answer.trust.predicted = Some(Prediction {
            share_found: Some(0.75),
            sin_theta_squared: 0.5,
            per_component: vec![0.25, 0.25],
            recoverable: vec![true, true],
            uninformed: 1.0,
            threshold: 0.1,
        });
        let predicted = |answer: &Answer| PublishedComponents::of(answer, &task).unwrap().prediction;
        assert_eq!(predicted(&answer), Some(Predicted { share_found: Some(0.75), sin_theta_squared: 0.5 }));
        answer.asked.method = Method::Fantope;
        assert_eq!(predicted(&answer), None);
        // Of one feature of two.
        let rows = ThresholdedAnswer { penalty: 0.1, support: vec!["x1".to_owned()], rows: vec![0] };
        (answer.found.soft_threshold, answer.trust.noise_deviation) = (Some(rows), 0.01);
        let edge = PublishedComponents::of(&answer, &task).unwrap().noise_edge;
        assert!((edge - 0.02 * (1.0 + 2.0_f64.ln().sqrt())).abs() < 1e-15, "{edge}");
        answer.found.soft_threshold = None;
        answer.trust.noise_edge = f64::NAN;
        let refused = PublishedComponents::of(&answer, &task);
        assert_eq!(refused, Err(ComponentsError::Content("every number is finite")));
    }
}
