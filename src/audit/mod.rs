//! A black-box test of a randomizer: how large epsilon is at least, with stated confidence.
//!
//! # Statement
//! Let a randomizer be (epsilon, delta)-private for any two records. With probability at least `confidence` over its
//! randomness, the bound of [`Audit::conclude`] at that delta is at most epsilon. So a bound above the claimed epsilon
//! refutes the claim, and a correct randomizer is refuted with probability at most `1 - confidence`. A bound below
//! the claim proves nothing: it says how much of the claim this test can see.
//!
//! # Argument
//! For records x, y and an event E, `P[E | x] <= e^epsilon P[E | y] + delta`, hence (Jagielski, Ullman & Oprea 2020;
//! Ding et al. 2018)
//!
//! ```text
//! epsilon >= ln((p - delta) / q),     p = P[E | x],  q = P[E | y]
//! ```
//!
//! Both probabilities are bounded from independent trials by Clopper and Pearson ([`binomial`]), p from below and q
//! from above. The event is chosen on one half of the trials and judged on the other, so that the judging trials
//! know nothing of the choice. Every pair of records is tried in both directions: with P pairs there are 4 P
//! bounds, each of which fails with probability at most `(1 - confidence) / (4 P)`.
//!
//! # What is tried
//! Pairs whose contributions are as far apart as any two can be: `e_1` and `e_2`; two dense records that are
//! orthogonal; and `e_1` against a record in which nothing is present. An event uses the report and public things
//! alone, among them whether there is a report at all: a randomizer that refuses one record of a pair and not the other
//! has no epsilon, whatever its reports are.
//!
//! - double-cap: the rank of the reported candidate by its score for x and for y, and which of the two has more large
//!   scores under this id. With caps A and B, "in A and not in B" has `p / q = W / 2^32` exactly, so the whole claim
//!   can be seen, up to the width of the confidence bounds.
//! - Gaussian: a threshold on the log-likelihood ratio. The whole claim is seen where the ratio is e^epsilon, which
//!   for a small delta is so rare an event that a few million trials see a fraction of it.
//!
//! ```
//! use ldp_pca::audit::{Audit, Confidence, Randomizer};
//! use ldp_pca::mechanism::{DoubleCap, LocalRandomizer, Mechanism};
//! use ldp_pca::privacy::Epsilon;
//! use ldp_pca::record::Bounding;
//!
//! let mechanism = Mechanism::DoubleCap(DoubleCap::new(4, Bounding::UnitNorm, Epsilon::new(2.0)?, 32, 4)?);
//! let audit = Audit::new(&mechanism, Bounding::UnitNorm)?;
//! let mut tallies = audit.empty_tallies();
//! for job in audit.jobs(4_000)? {
//!     tallies[job.comparison()].merge(&audit.observe(job, 1, &mechanism)?);
//! }
//! let finding = audit.conclude(&tallies, 0.0, Confidence::new(0.99)?);
//! assert!(finding.epsilon_lower_bound > 1.0 && finding.epsilon_lower_bound < 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod binomial;
mod observer;
mod tally;

use chacha20::ChaCha12Rng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use self::observer::Observer;
pub use self::tally::Tally;
use crate::mechanism::{Estimator, LocalRandomizer, Mechanism};
use crate::record::{BoundedRecord, Bounding, RecordError};
use crate::report::ReportId;
use crate::sampling::EntropyError;

/// Anything that turns a record into a payload, correct or not: a [`Mechanism`], or a closure.
pub trait Randomizer {
    /// The payload of `record` under a task and a report id; `None` where it refuses the record, which others see.
    ///
    /// # Errors
    /// [`EntropyError`] when `rng` fails.
    fn payload(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut ChaCha12Rng,
    ) -> Result<Option<Vec<u8>>, EntropyError>;
}

impl Randomizer for Mechanism {
    fn payload(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut ChaCha12Rng,
    ) -> Result<Option<Vec<u8>>, EntropyError> {
        self.randomize_with_rng(record, task_key, id, rng).map(Some)
    }
}

impl<F> Randomizer for F
where
    F: Fn(&BoundedRecord, &[u8; 16], ReportId, &mut ChaCha12Rng) -> Result<Option<Vec<u8>>, EntropyError>,
{
    fn payload(
        &self,
        record: &BoundedRecord,
        task_key: &[u8; 16],
        id: ReportId,
        rng: &mut ChaCha12Rng,
    ) -> Result<Option<Vec<u8>>, EntropyError> {
        self(record, task_key, id, rng)
    }
}

/// The pairs of records and events for randomizers that claim to be a mechanism.
#[derive(Debug)]
pub struct Audit {
    mechanism: Mechanism,
    comparisons: Vec<Comparison>,
}

#[derive(Debug)]
struct Comparison {
    name: &'static str,
    pair: [BoundedRecord; 2],
    observer: Observer,
}

/// Some trials of one comparison, with a random stream of their own: their outcome does not depend on which jobs run
/// when and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    comparison: usize,
    stream: u64,
    trials: u64,
}

impl Job {
    /// Whose tally the job's outcome belongs to.
    #[must_use]
    pub fn comparison(self) -> usize {
        self.comparison
    }

    /// The number of reports that the job draws.
    #[must_use]
    pub fn reports(self) -> u64 {
        2 * self.trials
    }
}

/// Trials of a job at the most.
const TRIALS_PER_JOB: u64 = 2_000;

/// The task key of audited reports. The guarantee holds for every key.
const TASK_KEY: [u8; 16] = *b"privacy of audit";

impl Audit {
    /// The audit of randomizers that claim to be `mechanism`, for records made with `bounding`.
    ///
    /// # Errors
    /// [`AuditError::Record`] for a mechanism without dimensions.
    pub fn new(mechanism: &Mechanism, bounding: Bounding) -> Result<Self, AuditError> {
        let d = mechanism.dimension();
        let mut pairs = vec![];
        if d >= 2 {
            // As long as the radius, or longer: bounded to the unit sphere.
            let length = bounding.covariance_scale().sqrt() * 2.0;
            let record = |coordinate: &dyn Fn(usize) -> f64| {
                BoundedRecord::new((0..d).map(|i| length * coordinate(i)).collect(), bounding)
            };
            let unit = |axis: usize| record(&move |i| if i == axis { 1.0 } else { 0.0 });
            let even = d & !1;
            let dense = record(&|i| if i < even { 1.0 } else { 0.0 })?;
            let alternating = record(&|i| if i >= even { 0.0 } else { [1.0, -1.0][i % 2] })?;
            pairs.push(("one coordinate each", [unit(0)?, unit(1)?]));
            pairs.push(("dense and orthogonal", [dense, alternating]));
        }
        let mut values = vec![0.0; d];
        let nothing = BoundedRecord::new(values.clone(), bounding)?;
        values[0] = bounding.length_scale();
        pairs.push(("one coordinate and nothing", [BoundedRecord::new(values, bounding)?, nothing]));
        let comparisons = pairs.into_iter().map(|(name, pair)| {
            let observer = Observer::new(mechanism, &pair);
            Comparison { name, pair, observer }
        });
        Ok(Self { mechanism: mechanism.clone(), comparisons: comparisons.collect() })
    }

    /// A tally for every comparison, to merge outcomes into.
    #[must_use]
    pub fn empty_tallies(&self) -> Vec<Tally> {
        self.comparisons.iter().map(|comparison| Tally::empty(comparison.observer.kinds())).collect()
    }

    /// The work for `trials` reports of each record of each pair, in pieces.
    ///
    /// # Errors
    /// [`AuditError::Trials`] for fewer than two trials (one to choose the event and one to judge it).
    pub fn jobs(&self, trials: u64) -> Result<Vec<Job>, AuditError> {
        if !(2..=1 << 40).contains(&trials) {
            return Err(AuditError::Trials(trials));
        }
        // Even pieces, so that both halves have as many trials; one trial may be left over and is not made.
        let jobs = (0..self.comparisons.len()).flat_map(|comparison| {
            (0..trials.div_ceil(TRIALS_PER_JOB)).map(move |piece| Job {
                comparison,
                stream: ((comparison as u64) << 40) | piece,
                trials: TRIALS_PER_JOB.min(trials - piece * TRIALS_PER_JOB) & !1,
            })
        });
        Ok(jobs.filter(|job| job.trials > 0).collect())
    }

    /// Runs a job with a generator seeded by `seed` and the job's number.
    ///
    /// # Errors
    /// [`EntropyError`] from the randomizer.
    pub fn observe<R: Randomizer + ?Sized>(&self, job: Job, seed: u64, randomizer: &R) -> Result<Tally, EntropyError> {
        let Comparison { pair, observer, .. } = &self.comparisons[job.comparison];
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        rng.set_stream(job.stream);
        let mut tally = Tally::empty(observer.kinds());
        for trial in 0..job.trials {
            let half = if trial % 2 == 0 { &mut tally.choosing } else { &mut tally.judging };
            for (record, counts) in pair.iter().zip(half) {
                let mut id = [0; 16];
                rng.fill_bytes(&mut id);
                let id = ReportId::new(id);
                let payload = randomizer.payload(record, &TASK_KEY, id, &mut rng)?;
                let kind = match payload {
                    None => observer.kinds() - 1,
                    Some(payload)
                        if payload.len() != self.mechanism.payload_bytes()
                            || self.mechanism.check(&payload).is_err() =>
                    {
                        observer.kinds() - 2
                    }
                    Some(payload) => observer.kind(&TASK_KEY, id, &payload),
                };
                counts[kind] += 1;
            }
        }
        Ok(tally)
    }

    /// The lower bound on epsilon at `delta` from the tallies of all comparisons.
    #[must_use]
    pub fn conclude(&self, tallies: &[Tally], delta: f64, confidence: Confidence) -> Finding {
        let alpha = (1.0 - confidence.0) / (4.0 * self.comparisons.len() as f64);
        let mut events = vec![];
        for (comparison, tally) in self.comparisons.iter().zip(tallies) {
            for likelier in [0, 1] {
                let event = tally.choose(likelier, comparison.observer.ordered(), delta, alpha);
                let judged = tally.judge(likelier, &event, delta, alpha);
                let [count, count_other] = judged.counts;
                let [trials, trials_other] = judged.trials;
                events.push(Event {
                    pair: comparison.name,
                    reversed: likelier == 1,
                    count,
                    trials,
                    count_other,
                    trials_other,
                    epsilon_lower_bound: judged.bound,
                });
            }
        }
        let epsilon_lower_bound = events.iter().map(|event| event.epsilon_lower_bound).fold(0.0, f64::max);
        Finding { epsilon_lower_bound, delta, confidence, events }
    }
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Epsilon is at least this, with probability at least `confidence`: the largest bound of all events.
    pub epsilon_lower_bound: f64,
    /// The delta that was granted.
    pub delta: f64,
    /// The confidence over all pairs, directions and probabilities.
    pub confidence: Confidence,
    /// Every pair in both directions.
    pub events: Vec<Event>,
}

/// One event: how often the judging trials saw it for the record it speaks for, and for the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// The pair of records.
    pub pair: &'static str,
    /// Whether the event speaks for the second record of the pair.
    pub reversed: bool,
    /// Reports of the record it speaks for that were in the event …
    pub count: u64,
    /// … out of so many.
    pub trials: u64,
    /// Reports of the other record that were in the event …
    pub count_other: u64,
    /// … out of so many.
    pub trials_other: u64,
    /// The bound on epsilon from this event.
    pub epsilon_lower_bound: f64,
}

/// A probability, inside (0, 1), with which a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(into = "f64")]
pub struct Confidence(f64);

impl Confidence {
    /// Checks that `value` is inside (0, 1).
    ///
    /// # Errors
    /// [`AuditError::Confidence`] otherwise.
    pub fn new(value: f64) -> Result<Self, AuditError> {
        if value > 0.0 && value < 1.0 { Ok(Self(value)) } else { Err(AuditError::Confidence(value)) }
    }

    /// The number itself.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> f64 {
        confidence.0
    }
}

/// Why an audit cannot run.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// Too few trials, or too many.
    #[error("{0} trials: use 2 to 2^40 (100000 or more to see most of a claim)")]
    Trials(u64),
    /// A confidence outside (0, 1).
    #[error("the confidence is {0}: it must be greater than 0 and less than 1 (0.99 is common)")]
    Confidence(f64),
    /// A record of a pair.
    #[error(transparent)]
    Record(#[from] RecordError),
}
