//! The view of an adversary who suspects two records: a finite summary of a report, made only from public things.

use ldp_pca::internal::bisection::bisect;
use ldp_pca::internal::mechanism::cap::candidates::Candidates;
use ldp_pca::internal::mechanism::cap::{Weights, direction, usual_threshold};
use ldp_pca::internal::mechanism::{Moments, Perturbation, Summable, triangle};
use ldp_pca::internal::waves::SignedCap;
use ldp_pca::mechanism::{LocalRandomizer, Mechanism};
use ldp_pca::record::BoundedRecord;
use ldp_pca::report::ReportId;
use ldp_pca::task::TaskMechanism;
use nalgebra::DMatrix;

/// Sorts the well-formed reports of a mechanism into kinds, for one pair of records.
#[derive(Debug)]
pub(super) enum Observer {
    Ranks(Ranks),
    Projection(Projection),
    Bytes,
}

/// The values of two bytes, enough for all recommended numbers of candidates.
const BYTE_KINDS: usize = 1 << 12;

impl Observer {
    /// All observers for the reports of `mechanism`. The exact bytes are observed where there are few: two.
    pub(super) fn all(mechanism: &TaskMechanism, pair: &[BoundedRecord; 2]) -> Vec<Self> {
        match mechanism {
            TaskMechanism::Moments(mechanism) => Self::of_moments(mechanism, pair),
            TaskMechanism::SignedCap(signed) => {
                let directions = pair.each_ref().map(|record| signed.direction(record));
                vec![Self::Ranks(Ranks::new(signed.weights(), directions, Some(signed))), Self::Bytes]
            }
            // Its report has no more to see.
            TaskMechanism::NormCap(_) => vec![Self::Bytes],
        }
    }

    fn of_moments(mechanism: &Mechanism, pair: &[BoundedRecord; 2]) -> Vec<Self> {
        let own = match mechanism.perturbation() {
            Perturbation::Additive { diagonal, off_diagonal } => {
                Self::Projection(Projection::new(mechanism, [diagonal, off_diagonal], pair))
            }
            Perturbation::Directions { weights, .. } => {
                Self::Ranks(Ranks::new(weights, pair.each_ref().map(direction), None))
            }
        };
        if mechanism.payload_bytes() == 2 { vec![own, Self::Bytes] } else { vec![own] }
    }

    /// The number of kinds.
    pub(super) fn kinds(&self) -> usize {
        match self {
            Self::Ranks(_) => RANK_KINDS * RANK_KINDS * BALANCE_KINDS,
            Self::Projection(_) => PROJECTION_KINDS,
            Self::Bytes => BYTE_KINDS,
        }
    }

    /// How many of the kinds are ordered: later ones indicate the first record of the pair.
    pub(super) fn ordered(&self) -> usize {
        if matches!(self, Self::Projection(_)) { PROJECTION_KINDS } else { 0 }
    }

    /// The kind of a well-formed report.
    pub(super) fn kind(&self, task_key: &[u8; 16], id: ReportId, payload: &[u8]) -> usize {
        match self {
            Self::Ranks(ranks) => ranks.kind(task_key, id, payload),
            Self::Projection(projection) => projection.kind(task_key, id, payload),
            Self::Bytes => usize::from(u16::from_le_bytes([payload[0], payload[1]])) % BYTE_KINDS,
        }
    }
}

/// Directions: the rank of the reported candidate among all candidates of the id by its score for each of the two
/// records, and for which of the two the id has more large scores than usual (which does not matter to a correct cap,
/// since its size is always the same).
#[derive(Debug)]
pub(super) struct Ranks {
    directions: [Vec<f64>; 2],
    /// The mechanism, if it is the signed cap.
    signed: Option<SignedCap>,
    candidates: u32,
    cap: u32,
    /// The score that L of J candidates exceed on average.
    large: f64,
    /// Standard deviation of the difference of the two records' numbers of large scores.
    spread: f64,
}

/// Upper half of the cap, its lower half, as many again below it, and the rest.
const RANK_KINDS: usize = 4;
const BALANCE_KINDS: usize = 5;

impl Ranks {
    fn new(weights: Weights, directions: [Vec<f64>; 2], signed: Option<&SignedCap>) -> Self {
        let (candidates, cap) = (weights.candidates(), weights.cap());
        let share = f64::from(cap) / f64::from(candidates);
        Self {
            large: signed.map_or_else(|| usual_threshold(&weights, directions[0].len()), SignedCap::usual_threshold),
            directions,
            signed: signed.cloned(),
            candidates,
            cap,
            spread: (2.0 * f64::from(cap) * (1.0 - share)).sqrt(),
        }
    }

    fn kind(&self, task_key: &[u8; 16], id: ReportId, payload: &[u8]) -> usize {
        let index = usize::from(u16::from_le_bytes([payload[0], payload[1]]));
        let mut ranks = [0usize; 2];
        let mut large = [0.0; 2];
        for record in 0..2 {
            let direction = &self.directions[record];
            let scores = match &self.signed {
                Some(signed) => signed.scores(task_key, id, direction),
                None => Candidates::new(task_key, id, direction.len()).scores(direction, self.candidates),
            };
            let own = scores[index];
            for (other, &score) in scores.iter().enumerate() {
                ranks[record] += usize::from(score > own || score == own && other < index);
                large[record] += f64::from(u8::from(score as f64 >= self.large));
            }
        }
        let [first, second] = ranks.map(|rank| match rank as u32 {
            rank if 2 * rank < self.cap => 0,
            rank if rank < self.cap => 1,
            rank if rank < 2 * self.cap => 2,
            _ => 3,
        });
        let balance = ((large[0] - large[1]) / self.spread).round().clamp(-2.0, 2.0) + 2.0;
        (first * RANK_KINDS + second) * BALANCE_KINDS + balance as usize
    }
}

/// The x > 0 with P[|G| > x] = `share`.
pub(super) fn two_sided_quantile(share: f64) -> f64 {
    bisect(0.0, 40.0, 80, |x| libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2) <= share)
}

/// Additive noise: the log-likelihood ratio of the two records (Neyman & Pearson 1933), in standard deviations from the
/// middle between them: `sum_(i<=j) (x x^T - y y^T)_ij R_ij / variance_ij`, shifted and scaled. In the mechanism's
/// geometry that is the projection of the report R on `x x^T - y y^T`.
#[derive(Debug)]
pub(super) struct Projection {
    mechanism: Mechanism,
    weights: DMatrix<f64>,
    middle: f64,
}

/// Slices of 1/16 of a standard deviation, 6 on both sides.
const PROJECTION_KINDS: usize = 192;

impl Projection {
    fn new(mechanism: &Mechanism, [on, off]: [f64; 2], pair: &[BoundedRecord; 2]) -> Self {
        let [first, second] = [0, 1].map(|record: usize| {
            let x = nalgebra::DVector::from_row_slice(pair[record].coordinates());
            &x * x.transpose()
        });
        let difference = &first - &second;
        let deviation = |i: usize, j: usize| if i == j { on } else { off };
        let d = difference.nrows();
        let mut weights =
            DMatrix::from_fn(d, d, |i, j| if i <= j { difference[(i, j)] / deviation(i, j).powi(2) } else { 0.0 });
        let separation = weights.dot(&difference).sqrt();
        if separation > 0.0 {
            weights /= separation;
        }
        let middle = 0.5 * weights.dot(&(first + second));
        Self { mechanism: mechanism.clone(), weights, middle }
    }

    fn kind(&self, task_key: &[u8; 16], id: ReportId, payload: &[u8]) -> usize {
        let mut sums = vec![0; triangle(self.weights.nrows())];
        self.mechanism.accumulate(task_key, &[(id, payload)], &mut sums);
        let projection = self.weights.dot(&self.mechanism.debias(&sums, 1)) - self.middle;
        // Casting a float to an integer saturates: what is below the first slice is in it.
        ((projection * 16.0).floor() + (PROJECTION_KINDS / 2) as f64).min((PROJECTION_KINDS - 1) as f64) as usize
    }
}
