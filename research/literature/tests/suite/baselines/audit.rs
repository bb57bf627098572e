//! A black-box audit of estimators: a lower bound on epsilon, from runs on neighbouring sets of records.
//!
//! # Statement
//! Let a method be (epsilon, delta)-private for the relation under which the two samples are neighbours. With
//! probability at least 1 - alpha over its randomness, [`Audit::lower_bound`] is at most epsilon. So a bound above the
//! claim refutes it, and a bound below shows only the part of the claim that this test can detect.
//!
//! # Argument
//! As in `ldp_pca_simulation::audit`: for every event E, `epsilon >= ln((P[E | one] - delta) / P[E | other])`. An event
//! is that a number computed from the answer is at least, or is below, a threshold. With both directions these are four
//! families. The threshold of each is chosen on one half of the trials and tested on the other half by two
//! Clopper-Pearson bounds, each of which fails with probability at most alpha / 8.

use ldp_pca::internal::binomial;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;
use ldp_pca_literature::baselines::analyze_gauss::RecordChange;
use ldp_pca_literature::baselines::reference::Pca;
use ldp_pca_literature::baselines::sulq::{Reading, SulqNoise};
use ldp_pca_literature::baselines::{
    Amin, AnalyzeGauss, BaselineError, MethodGuarantee, ModSulq, ModSulqLaplace, Outcome, Ppca, Sample, Shape,
    SubspaceEstimator, Sulq, Trust, WishartDifference,
};
use rand::rand_core::CryptoRng;

/// Every test here refutes a correct method with at most this probability, at a new seed.
pub(crate) const ALPHA: f64 = 1e-3;

/// A method on two neighbouring samples, and the number computed from its answer.
pub(crate) struct Audit<'a> {
    pub(crate) estimator: &'a dyn SubspaceEstimator,
    pub(crate) sample: &'a Sample,
    pub(crate) neighbour: &'a Sample,
    pub(crate) rank: usize,
    /// Best if it grows with the ratio of the answer's two densities.
    pub(crate) statistic: &'a dyn Fn(&Subspace) -> f64,
}

impl Audit<'_> {
    /// The largest epsilon that is refuted at `delta` by `trials` runs on each sample.
    pub(crate) fn lower_bound(&self, delta: f64, trials: usize, seed: u64, alpha: f64) -> f64 {
        let run = |sample: &Sample, stream: u64| -> Vec<f64> {
            let mut rng = ldp_pca_simulation::stream(seed, stream);
            let rank = Rank::new(self.rank).unwrap();
            // A refusal is an answer too, below all others.
            let answer = |_| {
                let outcome = self.estimator.estimate(sample, rank, &mut rng);
                outcome.map_or(f64::NEG_INFINITY, |outcome| (self.statistic)(&outcome.subspace))
            };
            let answers: Vec<f64> = (0..trials).map(answer).collect();
            let given = answers.iter().filter(|value| value.is_finite()).count();
            assert!(2 * given > trials, "{}: {given} answers in {trials} trials", self.estimator.name());
            answers
        };
        let (one, other) = (run(self.sample, 0), run(self.neighbour, 1));
        let negated = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<f64>>();
        let families = [
            (one.clone(), other.clone()),
            (other.clone(), one.clone()),
            (negated(&one), negated(&other)),
            (negated(&other), negated(&one)),
        ];
        families.iter().map(|(likely, rare)| best_event(likely, rare, delta, alpha / 8.0)).fold(0.0, f64::max)
    }

    /// The method's claim about the two samples.
    pub(crate) fn claim(&self) -> MethodGuarantee {
        let rank = Rank::new(self.rank).unwrap();
        let shape = Shape { records: self.sample.records(), dimension: self.sample.dimension(), rank };
        self.estimator.guarantee(shape).unwrap().unwrap()
    }

    /// The bound at the claim's delta, which must not be above the claim.
    pub(crate) fn keeps_its_claim(&self, trials: usize, seed: u64) -> f64 {
        let claimed = self.claim().claimed;
        let found = self.lower_bound(claimed.delta_value(), trials, seed, ALPHA);
        println!("{}: at least {found:.3} of {claimed} from {trials} trials", self.estimator.name());
        assert!(found <= claimed.epsilon.value(), "{}: {found} of {claimed}", self.estimator.name());
        found
    }
}

/// The bound for the events "at least t", t chosen on the even trials and judged on the odd ones.
fn best_event(likely: &[f64], rare: &[f64], delta: f64, alpha: f64) -> f64 {
    let half = |values: &[f64], parity: usize| {
        let mut half: Vec<f64> = values.iter().copied().skip(parity).step_by(2).collect();
        half.sort_by(f64::total_cmp);
        half
    };
    let bound = |likely: &[f64], rare: &[f64], threshold: f64| {
        let count = |sorted: &[f64]| (sorted.len() - sorted.partition_point(|value| *value < threshold)) as u64;
        let p = binomial::lower(count(likely), likely.len() as u64, alpha);
        let q = binomial::upper(count(rare), rare.len() as u64, alpha);
        if p > delta { ((p - delta) / q).ln() } else { f64::NEG_INFINITY }
    };
    let (choosing, judging) = ((half(likely, 0), half(rare, 0)), (half(likely, 1), half(rare, 1)));
    // A hundred thresholds, closer together where events are rare.
    let n = choosing.0.len();
    let thresholds = (1..=100).map(|i| choosing.0[n - 1 - ((n - 1) as f64 * (f64::from(i) / 100.0).powi(3)) as usize]);
    let scored = thresholds.map(|threshold| (bound(&choosing.0, &choosing.1, threshold), threshold));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    bound(&judging.0, &judging.1, best.1)
}

/// Two samples of records on the first two axes by turns, that differ in the first record: no two are further apart.
pub(crate) fn replaced(dimension: usize, records: usize) -> [Sample; 2] {
    let others = (1..records).flat_map(|i| axis(dimension, i % 2));
    let with =
        |first: usize| Sample::new(dimension, axis(dimension, first).into_iter().chain(others.clone()).collect());
    [with(0).unwrap(), with(1).unwrap()]
}

/// A sample, and the same without its first record.
pub(crate) fn removed(dimension: usize, records: usize) -> [Sample; 2] {
    let all: Vec<f64> = (0..records).flat_map(|i| axis(dimension, i % 2)).collect();
    [Sample::new(dimension, all.clone()).unwrap(), Sample::new(dimension, all[dimension..].to_vec()).unwrap()]
}

fn axis(dimension: usize, index: usize) -> Vec<f64> {
    (0..dimension).map(|i| f64::from(i == index)).collect()
}

/// The excess of the first axis over the second in the answer. The ratio of densities grows with it.
pub(crate) fn first_over_second(subspace: &Subspace) -> f64 {
    subspace.basis().row(0).norm_squared() - subspace.basis().row(1).norm_squared()
}

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

/// The audit of a method on three records, one of which is replaced or missing.
pub(crate) fn small<'a>(estimator: &'a dyn SubspaceEstimator, pair: &'a [Sample; 2]) -> Audit<'a> {
    Audit { estimator, sample: &pair[0], neighbour: &pair[1], rank: 1, statistic: &first_over_second }
}

#[test]
fn noise_in_the_moments_keeps_its_claims() {
    let (pair, one_less) = (replaced(2, 3), removed(2, 3));
    for e in [0.5, 1.0, 4.0] {
        small(&ModSulq::new(epsilon(e), delta(0.01)), &pair).keeps_its_claim(4_000, 1);
        small(&ModSulqLaplace::new(epsilon(e)), &pair).keeps_its_claim(4_000, 2);
        let found = small(&AnalyzeGauss::new(epsilon(e), delta(0.01)), &pair).keeps_its_claim(20_000, 3);
        assert!(e < 4.0 || found > 0.5, "the audit sees {found} of {e}");
    }
    small(&AnalyzeGauss::as_printed(epsilon(1.0), delta(0.01)), &one_less).keeps_its_claim(20_000, 4);
    for e in [1.0, 6.0] {
        let replacing = WishartDifference::new(epsilon(e));
        let found = small(&replacing, &pair).keeps_its_claim(20_000, 10);
        assert!(found > 0.15 * e, "the audit sees {found} of {e}");
        let removing = WishartDifference { change: RecordChange::AddedOrRemoved, ..replacing };
        small(&removing, &one_less).keeps_its_claim(20_000, 11);
    }
}

#[test]
fn sulq_keeps_its_claims() {
    let pair = replaced(2, 3);
    for noise in [SulqNoise::Gaussian(delta(0.01)), SulqNoise::Laplace] {
        for reading in [Reading::AsPrinted, Reading::SymmetricPart] {
            let method = Sulq { noise, reading, ..Sulq::new(epsilon(4.0), delta(0.01)) };
            small(&method, &pair).keeps_its_claim(4_000, 6);
        }
    }
}

#[test]
fn exponential_mechanisms_keep_their_claims_and_show_much_of_them() {
    let pair = replaced(2, 3);
    for e in [0.5, 2.0, 6.0] {
        for method in [&Ppca::new(epsilon(e)) as &dyn SubspaceEstimator, &Amin::new(epsilon(e))] {
            let found = small(method, &pair).keeps_its_claim(20_000, 7);
            // Between these two samples the ratio of densities goes up to e^(eps/2).
            assert!(found < 0.5 * e && found > 0.15 * e, "the audit sees {found} of {e}");
        }
    }
    // Two components of three: for a sampler that is a chain, and for successive draws.
    let pair = replaced(3, 3);
    let chain = Ppca { sweeps: 10, ..Ppca::new(epsilon(4.0)) };
    for method in [&chain as &dyn SubspaceEstimator, &Amin::new(epsilon(4.0)), &Amin::as_printed(epsilon(4.0))] {
        let found = Audit { rank: 2, ..small(method, &pair) }.keeps_its_claim(4_000, 8);
        assert!(found > 0.05, "the audit sees {found}");
    }
}

/// Four times the exponent. Between these two samples the audit can detect half of the spent epsilon: 2, and 1 is
/// claimed.
#[test]
fn an_exponent_that_is_too_large_is_caught() {
    let pair = replaced(2, 3);
    let claims = Ppca::new(epsilon(1.0));
    let estimator = Ppca::new(epsilon(4.0));
    let fault = Boasting { estimator: &estimator, claims: &claims };
    let audit = small(&fault, &pair);
    let found = audit.lower_bound(0.0, 20_000, 9, ALPHA);
    assert!(found > audit.claim().claimed.epsilon.value(), "{found}");
}

/// A method that claims less than it spends.
struct Boasting<'a> {
    estimator: &'a dyn SubspaceEstimator,
    claims: &'a dyn SubspaceEstimator,
}

impl SubspaceEstimator for Boasting<'_> {
    fn name(&self) -> &'static str {
        "a planted fault"
    }

    fn trust(&self) -> Trust {
        Trust::Curator
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.claims.guarantee(shape)
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        self.estimator.estimate(sample, rank, rng)
    }
}

/// The harness can fail: without noise, and with a quarter of the noise that the claim needs.
#[test]
fn too_little_noise_is_caught() {
    let pair = replaced(2, 3);
    let claims = ModSulqLaplace::new(epsilon(1.0));
    for estimator in [&Pca as &dyn SubspaceEstimator, &ModSulqLaplace::new(epsilon(8.0))] {
        let fault = Boasting { estimator, claims: &claims };
        let audit = small(&fault, &pair);
        let found = audit.lower_bound(0.0, 4_000, 5, ALPHA);
        assert!(found > audit.claim().claimed.epsilon.value(), "{}: {found}", estimator.name());
    }
}
