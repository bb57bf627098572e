//! A black-box test of a randomizer: a lower bound on epsilon, with stated confidence.
//!
//! # Statement
//! Let a randomizer be (epsilon, delta)-private for any two records, and each of its calls independent of all others:
//! it keeps no state, and its randomness is new every time. Let trials, seeds and delta be fixed before anything is
//! observed. Then, with probability at least `confidence`, the bound of [`Audit::conclude`] at that delta is at most
//! epsilon. So a bound above the claimed epsilon refutes the claim, and the bound of a correct randomizer is above it
//! with probability at most `1 - confidence`. A bound below the claim proves nothing: it says how much of the claim
//! this test can see.
//!
//! If you look, and then add trials or change seeds because of what you saw, you look twice: each look needs a share of
//! `1 - confidence`. A randomizer with state (one that refuses every second call, or repeats an earlier draw) is
//! outside the statement.
//!
//! # Argument
//! For records x, y and an event E, `P[E | x] <= e^epsilon P[E | y] + delta`, hence (Jagielski, Ullman & Oprea 2020;
//! Ding et al. 2018)
//!
//! ```text
//! epsilon >= ln((p - delta) / q),     p = P[E | x],  q = P[E | y]
//! ```
//!
//! Both probabilities are bounded from independent trials by Clopper and Pearson, p from below and q from above. The
//! event is chosen on one half of the trials and judged on the other, so that the judging trials know nothing of the
//! choice. Every pair of records is tried in both directions, and by one or two observers: with P pairs and V observers
//! there are 4 P V bounds, each of which fails with probability at most `(1 - confidence) / (4 P V)`.
//!
//! # What is tried
//! Pairs whose contributions are as far apart as any two can be: `e_1` and `e_2`; two dense records that are
//! orthogonal; and `e_1` against a record in which nothing is present, or nothing fits its column. An event uses the
//! report and public things alone, among them whether there is a report at all: a randomizer that refuses one record of
//! a pair and not the other has no epsilon, whatever its reports are.
//!
//! - double-cap: the rank of the reported candidate by its score for x and for y, and which of the two has more large
//!   scores under this id. With caps A and B, "in A and not in B" has `p / q = W / 2^32` exactly, so the whole claim
//!   can be seen, up to the width of the confidence bounds. Apart from that, the two bytes themselves.
//! - Gaussian: a threshold on the log-likelihood ratio. The whole claim is seen where the ratio is e^epsilon, which
//!   for a small delta is so rare an event that a few million trials see a fraction of it.
//! - payloads that are malformed, by a hash of their bytes, and refusals. A randomizer that has one does not pass,
//!   whatever the bound is: it is not the mechanism that it claims to be, and no list of kinds covers what such bytes
//!   may hold.
//!
//! # What is not shown
//! A randomizer that passes may still leak: see [`NOT_SHOWN`]. An audit in which no observation could have refuted the
//! claim is an error, not a pass.
//!
//! ```
//! use ldp_pca::task::TaskMechanism;
//! use ldp_pca::{Bounding, DoubleCap, Epsilon, LocalRandomizer};
//! use ldp_pca_simulation::audit::{Audit, Confidence, Randomizer};
//!
//! let mechanism = TaskMechanism::from(DoubleCap::new(4, Epsilon::new(2.0)?, 32, 4)?);
//! let audit = Audit::new(&mechanism, Bounding::UnitNorm)?;
//! let mut tally = audit.empty_tally();
//! for job in audit.jobs(4_000)? {
//!     let shipped: &Randomizer<'_> =
//!         &|record, task_key, id, rng| mechanism.randomize_with_rng(record, task_key, id, rng).map(Some);
//!     audit.observe(job, 1, shipped, &mut tally)?;
//! }
//! let finding = audit.conclude(&tally, 0.0, Confidence::new(0.99)?)?;
//! assert!(finding.passed && finding.epsilon_lower_bound > 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod observer;
mod tally;

use std::collections::BTreeSet;

use ldp_pca::internal::decimal::Decimal;
use ldp_pca::internal::mechanism::Summable;
use ldp_pca::mechanism::{LocalRandomizer, RandomizeError};
use ldp_pca::record::{BoundedRecord, Bounding, RecordError};
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskMechanism;
use rand::{CryptoRng, Rng};
use serde::Serialize;
use sha2::{Digest, Sha256};

use self::observer::Observer;
pub use self::tally::Tally;
use self::tally::{Counts, Observed, visible};
use super::stream;

/// What turns a record into its payload under a task's key and a report's id, correct or not; `None` where it refuses
/// the record, which others can see. (An error ends the audit; it is not a refusal.) Calls are independent: there is no
/// state, and all randomness is new, from the generator or elsewhere.
pub type Randomizer<'a> =
    dyn Fn(&BoundedRecord, &[u8; 16], ReportId, &mut dyn CryptoRng) -> Result<Option<Vec<u8>>, RandomizeError> + 'a;

/// The pairs of records and events for randomizers that claim to be a mechanism.
#[derive(Debug)]
pub struct Audit {
    mechanism: TaskMechanism,
    comparisons: Vec<Comparison>,
    /// Identifies the jobs and tallies of this audit.
    fingerprint: u64,
}

#[derive(Debug)]
struct Comparison {
    name: &'static str,
    pair: [BoundedRecord; 2],
    observers: Vec<Observer>,
}

/// Some trials of one comparison, with their own random stream: their outcome does not depend on when and where other
/// jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    audit: u64,
    comparison: usize,
    stream: u64,
    trials: u64,
}

impl Job {
    /// The number of reports that the job draws.
    #[must_use]
    pub fn reports(self) -> u64 {
        2 * self.trials
    }
}

/// The most trials of a job.
const TRIALS_PER_JOB: u64 = 2_000;

/// The most trials of an audit, whose jobs still fit a small memory.
const MOST_TRIALS: u64 = 1 << 32;

/// Kinds of malformed payloads, by a hash of all their bytes.
const MALFORMED_KINDS: usize = 64;

/// The limits of an audit: where a randomizer that passed may still be wrong.
pub const NOT_SHOWN: [&str; 3] = [
    "what leaves a device beside the payload: time, memory, logs, other requests",
    "records other than the pairs that were tried",
    "events that are too rare for so many trials, or that no observer looks at",
];

/// The task key of audited reports. The guarantee holds for every key.
const TASK_KEY: [u8; 16] = *b"privacy of audit";

impl Audit {
    /// The audit of randomizers that claim to be `mechanism`, for records made with `bounding`.
    ///
    /// # Errors
    /// [`AuditError::Record`] for a mechanism without dimensions.
    pub fn new(mechanism: &TaskMechanism, bounding: Bounding) -> Result<Self, AuditError> {
        let d = mechanism.dimension();
        let mut pairs = vec![];
        if d >= 2 {
            // At least as long as the radius, so bounded to the unit sphere.
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
            let observers = Observer::all(mechanism, &pair);
            Comparison { name, pair, observers }
        });
        let digest = Sha256::digest(format!("{mechanism:?} {bounding:?}"));
        let fingerprint = digest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte));
        Ok(Self { mechanism: mechanism.clone(), comparisons: comparisons.collect(), fingerprint })
    }

    /// Nothing observed yet.
    #[must_use]
    pub fn empty_tally(&self) -> Tally {
        let kinds = |observer: &Observer| observer.kinds() + MALFORMED_KINDS + 1;
        let observed = |comparison: &Comparison| Observed {
            counts: comparison.observers.iter().map(|observer| Counts::empty(kinds(observer))).collect(),
            malformed: Default::default(),
        };
        Tally {
            audit: self.fingerprint,
            jobs: BTreeSet::new(),
            comparisons: self.comparisons.iter().map(observed).collect(),
        }
    }

    /// The work for `trials` reports of each record of each pair, in pieces.
    ///
    /// # Errors
    /// [`AuditError::Trials`] for fewer than two trials (one to choose the event and one to judge it).
    pub fn jobs(&self, trials: u64) -> Result<Vec<Job>, AuditError> {
        if !(2..=MOST_TRIALS).contains(&trials) {
            return Err(AuditError::Trials(trials));
        }
        // Even pieces, so that both halves have as many trials; one trial may be left over and is not made.
        let jobs = (0..self.comparisons.len()).flat_map(|comparison| {
            (0..trials.div_ceil(TRIALS_PER_JOB)).map(move |piece| Job {
                audit: self.fingerprint,
                comparison,
                stream: ((comparison as u64) << 40) | piece,
                trials: TRIALS_PER_JOB.min(trials - piece * TRIALS_PER_JOB) & !1,
            })
        });
        Ok(jobs.filter(|job| job.trials > 0).collect())
    }

    /// Runs a job with a generator seeded by `seed` and the job's number, and adds what it observes to `tally`: that of
    /// one randomizer.
    ///
    /// # Errors
    /// [`AuditError::Foreign`] for a job or a tally of another audit, [`AuditError::Repeated`] for a job that the tally
    /// has, [`AuditError::Randomize`] from the randomizer. Then nothing was added.
    pub fn observe(
        &self,
        job: Job,
        seed: u64,
        randomizer: &Randomizer<'_>,
        tally: &mut Tally,
    ) -> Result<(), AuditError> {
        if job.audit != self.fingerprint || tally.audit != self.fingerprint {
            return Err(AuditError::Foreign);
        }
        if tally.jobs.contains(&(seed, job.stream)) {
            return Err(AuditError::Repeated);
        }
        let pair = &self.comparisons[job.comparison].pair;
        let mut rng = stream(seed, job.stream);
        let mut observed = tally.comparisons[job.comparison].clone();
        for trial in 0..job.trials {
            for (record, bounded) in pair.iter().enumerate() {
                let mut id = [0; 16];
                rng.fill_bytes(&mut id);
                let id = ReportId::new(id);
                let payload = randomizer(bounded, &TASK_KEY, id, &mut rng)?;
                self.count(job.comparison, [trial as usize % 2, record], id, payload.as_deref(), &mut observed);
            }
        }
        tally.comparisons[job.comparison] = observed;
        tally.jobs.insert((seed, job.stream));
        Ok(())
    }

    /// Counts one report, for choosing (half 0) or judging (half 1).
    fn count(
        &self,
        comparison: usize,
        [half, record]: [usize; 2],
        id: ReportId,
        payload: Option<&[u8]>,
        observed: &mut Observed,
    ) {
        let well_formed = payload.filter(|payload| self.mechanism.check(payload).is_ok());
        if well_formed.is_none() {
            let right_length = |payload: &[u8]| payload.len() == self.mechanism.payload_bytes();
            observed.malformed[record][payload.map_or(2, |payload| usize::from(right_length(payload)))] += 1;
        }
        // Malformed payloads and refusals are kinds of their own, behind those of the observer.
        let other = || payload.map_or(MALFORMED_KINDS, |payload| crc32fast::hash(payload) as usize % MALFORMED_KINDS);
        for (observer, counts) in self.comparisons[comparison].observers.iter().zip(&mut observed.counts) {
            let kind = match well_formed {
                Some(payload) => observer.kind(&TASK_KEY, id, payload),
                None => observer.kinds() + other(),
            };
            let half = if half == 0 { &mut counts.choosing } else { &mut counts.judging };
            half[record][kind] += 1;
        }
    }

    /// Whether the trials refute the claim at `delta`, and the lower bound on epsilon that they give.
    ///
    /// # Errors
    /// [`AuditError::Foreign`] for a tally of another audit, [`AuditError::Delta`] outside [0, 1), and
    /// [`AuditError::TooFew`] where no observation in this many trials could have refuted the claim.
    pub fn conclude(&self, tally: &Tally, delta: f64, confidence: Confidence) -> Result<Finding, AuditError> {
        if tally.audit != self.fingerprint {
            return Err(AuditError::Foreign);
        }
        if !(0.0..1.0).contains(&delta) {
            return Err(AuditError::Delta(delta));
        }
        let bounds = self.comparisons.iter().map(|comparison| 4 * comparison.observers.len()).sum::<usize>();
        let alpha = (1.0 - confidence.0) / bounds as f64;
        let epsilon_claimed = self.mechanism.guarantee().epsilon.value();
        let (mut events, mut malformed, mut fewest) = (vec![], vec![], u64::MAX);
        for (comparison, observed) in self.comparisons.iter().zip(&tally.comparisons) {
            for record in 0..2 {
                fewest = fewest.min(observed.counts[0].judging[record].iter().sum());
                let [of_another_length, of_right_length, refused] = observed.malformed[record];
                if of_another_length + of_right_length + refused > 0 {
                    malformed.push(Malformed {
                        pair: comparison.name,
                        record,
                        of_another_length,
                        of_right_length,
                        refused,
                    });
                }
            }
            for likelier in [0, 1] {
                let judgements = comparison.observers.iter().zip(&observed.counts).map(|(observer, counts)| {
                    let event = counts.choose(likelier, observer.ordered(), delta, alpha);
                    counts.judge(comparison.name, likelier, &event, delta, alpha)
                });
                // Every observer has a share of alpha, so the one with the largest bound decides.
                events.extend(judgements.max_by(|a, b| a.epsilon_lower_bound.total_cmp(&b.epsilon_lower_bound)));
            }
        }
        let epsilon_lower_bound = events.iter().map(|event| event.epsilon_lower_bound).fold(0.0, f64::max);
        let passed = malformed.is_empty() && epsilon_lower_bound <= epsilon_claimed;
        let could_refute = |trials| visible(trials, delta, alpha) > epsilon_claimed;
        if passed && !could_refute(fewest) {
            let needed = (0..32).map(|power| 1 << power).find(|&trials| could_refute(trials));
            let (trials, needed) = (2 * fewest, needed.map(|trials| 2 * trials));
            return Err(AuditError::TooFew { trials, epsilon_claimed, needed });
        }
        Ok(Finding {
            passed,
            epsilon_claimed,
            epsilon_lower_bound,
            delta,
            confidence,
            malformed,
            events,
            not_shown: NOT_SHOWN,
        })
    }
}

/// The result of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Whether (`epsilon_claimed`, `delta`) stands: no malformed payload, no refusal, and no bound above it.
    /// `not_shown` lists what this does not show.
    pub passed: bool,
    /// The epsilon that the randomizer claims.
    pub epsilon_claimed: f64,
    /// Epsilon is at least this, with probability at least `confidence`: the largest bound of all events.
    pub epsilon_lower_bound: f64,
    /// The delta that was granted.
    pub delta: f64,
    /// The confidence over all pairs, directions and probabilities.
    pub confidence: Confidence,
    /// The records that had malformed payloads, or no payload.
    pub malformed: Vec<Malformed>,
    /// Every pair in both directions.
    pub events: Vec<Event>,
    /// The limits of an audit: where a randomizer that passed may still be wrong.
    pub not_shown: [&'static str; 3],
}

/// Outputs for one record that the mechanism never makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Malformed {
    /// The pair of records.
    pub pair: &'static str,
    /// The record of the pair, from 0.
    pub record: usize,
    /// Payloads that are longer or shorter than the mechanism's.
    pub of_another_length: u64,
    /// Payloads that are as long, and that the mechanism cannot make.
    pub of_right_length: u64,
    /// How often there was no payload.
    pub refused: u64,
}

/// One event: how often the judging trials saw it for the record it indicates, and for the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// The pair of records.
    pub pair: &'static str,
    /// Whether the event indicates the second record of the pair.
    pub reversed: bool,
    /// Reports of the indicated record that were in the event …
    pub count: u64,
    /// … out of this many.
    pub trials: u64,
    /// Reports of the other record that were in the event …
    pub count_other: u64,
    /// … out of this many.
    pub trials_other: u64,
    /// The bound on epsilon from this event.
    pub epsilon_lower_bound: f64,
}

/// A probability, inside (0, 1), with which a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Confidence(f64);

impl Confidence {
    /// Checks that `value` is inside (0, 1).
    ///
    /// # Errors
    /// [`AuditError::Confidence`] otherwise.
    pub fn new(value: f64) -> Result<Self, AuditError> {
        if value > 0.0 && value < 1.0 { Ok(Self(value)) } else { Err(AuditError::Confidence(value)) }
    }
}

/// Why an audit cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// Too few trials, or too many.
    #[error("{0} trials: use 2 to 2^32 (100000 or more to see most of a claim)")]
    Trials(u64),
    /// A confidence outside (0, 1).
    #[error("the confidence is {}: it must be greater than 0 and less than 1 (0.99 is common)", Decimal(*.0))]
    Confidence(f64),
    /// A delta outside [0, 1).
    #[error("delta is {}: it must be at least 0 and less than 1", Decimal(*.0))]
    Delta(f64),
    /// A job or a tally of another audit.
    #[error("the job or the tally is one of another audit: make both with the audit that they are given to")]
    Foreign,
    /// A job that the tally has already.
    #[error("the tally has this job: count every job once, or run it with another seed")]
    Repeated,
    /// Trials that could not have refuted the claim with any result.
    #[error(
        "{trials} trials of each record cannot refute epsilon = {}, whatever they show: {}",
        Decimal(*epsilon_claimed),
        needed.map_or("no audit can".to_owned(), |needed| format!("use {needed} or more"))
    )]
    TooFew {
        /// The trials of the record with the fewest.
        trials: u64,
        /// The claim.
        epsilon_claimed: f64,
        /// How many are enough.
        needed: Option<u64>,
    },
    /// A record of a pair.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The randomizer takes other records, or had no random bytes.
    #[error(transparent)]
    Randomize(#[from] RandomizeError),
}
