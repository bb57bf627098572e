//! The extension of the dual matrix beyond the working set, and what it proves there.

use chacha20::ChaCha8Rng;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::SolverSettings;
use super::cross::{Canceller, Multipliers};
use super::thresholded::Thresholded;
use crate::FantopeError;
use crate::linalg::{
    Krylov, SymmetricEigen, lanczos, scatter, sort_descending, sorted_descending, symmetric_eigenvalues,
};
use crate::outcome::{Certificate, DualMatrix};
use crate::scaled::ScaledProblem;

/// `S − Z` on the whole problem, for a dual matrix found on the working set `J` and extended beyond it.
///
/// ```text
///            J        rest
///     J   [ M_J       Cᵀ  ]      C: per row the Z that makes C Q vanish, if the penalty allows ([`Canceller`])
///  rest   [ C         T   ]      T: the soft-thresholded S
/// ```
///
/// `Q` spans the leading eigenvectors of `M_J`. Where `C Q` vanishes, and every eigenvalue of the matrix on the
/// complement of `Q` lies below the `k`-th of `M_J`, the sum of the `k` largest is that of `M_J`: an optimum on `J` is
/// an optimum of the whole problem.
#[derive(Clone)]
pub(super) struct Extension<'a> {
    thresholded: &'a Thresholded<'a>,
    rows: &'a [usize],
    rank: usize,
    /// `M_J` and its eigendecomposition.
    block: DMatrix<f64>,
    spectrum: SymmetricEigen,
    /// The leading eigenvectors `Q`, `|J| × r`.
    leading: DMatrix<f64>,
    /// The rows of `C` that are not zero, ascending, and their entries: one column each.
    pub(super) cross_rows: Vec<usize>,
    pub(super) cross: DMatrix<f64>,
    /// `(C Q)ᵀ C Q`, `r × r`.
    coupling: DMatrix<f64>,
    /// Rows that cannot be cancelled, with their rest: `‖Qᵀ C_i‖`.
    violations: Vec<(usize, f64)>,
}

/// The bound that an extension proves, in the units of the scaled problem.
#[derive(Clone)]
pub(super) struct Evidence {
    /// Upper bound on the optimum.
    pub(super) bound: f64,
    /// The bound with the apparent eigenvalues of the complement in place of their bounds.
    pub(super) estimate: f64,
    pub(super) certificate: Certificate,
    pub(super) dual: DualMatrix,
    /// Rows to add to the working set, the most important first.
    pub(super) growth: Vec<usize>,
}

/// How much to spend on a bound.
pub(super) struct Effort<'a> {
    pub(super) settings: SolverSettings,
    /// The number of this certificate, from 1, continued from the solution that the run started from: each has its own
    /// random vector, because the matrix depends on those of all earlier ones.
    pub(super) number: u64,
    /// Whether a bound is good enough.
    pub(super) wanted: &'a dyn Fn(f64) -> bool,
}

/// Up to this dimension the last certificate is of all eigenvalues, since it costs little.
const CHEAP: usize = 200;

/// Lanczos steps to bound the largest eigenvalue beyond the working set: more where fewer do not decide.
const STEPS: [usize; 4] = [40, 80, 160, 320];

/// A vector of uniform direction: number `number` of this seed.
pub(super) fn random_direction(seed: u64, number: u64, dimension: usize) -> DVector<f64> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&number.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    DVector::from_fn(dimension, |_, _| StandardNormal.sample(&mut rng))
}

impl<'a> Extension<'a> {
    /// Extends `M_J`, of which the first `positive` eigenvectors carry the solution; the rows are cancelled from
    /// `multipliers` on.
    pub(super) fn new(
        problem: &ScaledProblem<'_>,
        thresholded: &'a Thresholded<'a>,
        rows: &'a [usize],
        block: DMatrix<f64>,
        spectrum: SymmetricEigen,
        positive: usize,
        multipliers: &mut Multipliers,
    ) -> Self {
        let leading = spectrum.vectors.columns(0, leading_count(&spectrum.values, problem.rank, positive)).into_owned();
        multipliers.turn(rows, &leading, problem.dimension());
        let mut canceller = Canceller::new(&leading, problem.penalty);
        let mut coupling = DMatrix::zeros(leading.ncols(), leading.ncols());
        let (mut violations, mut cross_rows, mut cross_entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut entries = vec![0.0; rows.len()];
        let mut inside = rows.iter().copied().peekable();
        for row in 0..problem.dimension() {
            if inside.next_if_eq(&row).is_some() {
                continue;
            }
            entries.iter_mut().zip(rows).for_each(|(entry, column)| *entry = problem.entry(*column, row));
            if entries.iter().all(|entry| entry.abs() <= problem.penalty) {
                continue;
            }
            let (left, remainder) = canceller.cancel(&entries, multipliers.of(row));
            let size = remainder.norm();
            if size > NEGLIGIBLE * problem.penalty {
                violations.push((row, size));
            }
            coupling.ger(1.0, &remainder, &remainder, 1.0);
            cross_rows.push(row);
            cross_entries.extend_from_slice(&left);
        }
        let cross = DMatrix::from_vec(rows.len(), cross_rows.len(), cross_entries);
        Self {
            thresholded,
            rows,
            rank: problem.rank,
            block,
            spectrum,
            leading,
            cross_rows,
            cross,
            coupling,
            violations,
        }
    }

    /// Bounds the sum of the `k` largest eigenvalues of the whole matrix.
    pub(super) fn evidence(&self, problem: &ScaledProblem<'_>, effort: &Effort<'_>) -> Result<Evidence, FantopeError> {
        let rounding = problem.rounding(self.rows.len(), self.block.norm());
        // Over all certificates, and all numbers of steps of each, the failure probabilities add up to at most the
        // stated one.
        let number = effort.number as f64;
        let failure = effort.settings.failure / (number * (number + 1.0) * STEPS.len() as f64);
        let mut choices = STEPS.into_iter().peekable();
        let (krylov, estimate, mut bound) = loop {
            let steps = choices.next().expect("the loop ends with the last of them");
            let krylov = self.complement(effort, steps)?;
            let estimate = self.sum_of_largest(krylov.values[0])? + rounding;
            let bound = self.sum_of_largest(krylov.upper_bound(failure))? + rounding;
            // More steps only where they can decide something.
            let undecided = (effort.wanted)(estimate) && !(effort.wanted)(bound);
            let all_seen = krylov.values.len() < steps;
            if !undecided || all_seen || choices.peek().is_none() {
                break (krylov, estimate, bound);
            }
        };
        let mut certificate = Certificate::Probable { failure: effort.settings.failure };
        let (dimension, close) = (problem.dimension(), (effort.wanted)(estimate));
        let undecided = close && !(effort.wanted)(bound);
        if close && dimension <= CHEAP || undecided && dimension <= effort.settings.exact_dimension {
            let exact = self.exact_bound(problem)?;
            // A certain bound is worth more than one that is smaller by a rounding margin.
            if exact < bound || (effort.wanted)(exact) {
                (bound, certificate) = (exact, Certificate::Exact);
            }
        }
        let left = self.cross.column_iter().map(nalgebra::Matrix::into_owned);
        let cross = self.cross_rows.iter().copied().zip(left).collect();
        let dual = DualMatrix { rows: self.rows.to_vec(), block: self.dual_block(problem), cross };
        Ok(Evidence { bound, estimate, certificate, dual, growth: self.growth(&krylov) })
    }

    /// `Z` on the working set.
    fn dual_block(&self, problem: &ScaledProblem<'_>) -> DMatrix<f64> {
        let penalty = problem.penalty;
        let mut block = problem.block(self.rows) - &self.block;
        // Clipped because the difference may round past the penalty.
        block.apply(|entry| *entry = entry.clamp(-penalty, penalty));
        block.fill_diagonal(penalty);
        block
    }

    /// The sum of the `k` largest eigenvalues of the whole matrix, decomposed in full.
    pub(super) fn exact_bound(&self, problem: &ScaledProblem<'_>) -> Result<f64, FantopeError> {
        let dimension = problem.dimension();
        let mut whole = DMatrix::from_fn(dimension, dimension, |row, column| {
            let entry = problem.entry(row, column);
            if row == column { entry } else { entry - entry.clamp(-problem.penalty, problem.penalty) }
        });
        for place in self.rows {
            whole.column_mut(*place).fill(0.0);
            whole.row_mut(*place).fill(0.0);
        }
        scatter(&self.block, self.rows, &mut whole);
        for (row, left) in self.cross_rows.iter().zip(self.cross.column_iter()) {
            for (column, at_column) in self.rows.iter().enumerate() {
                whole[(*row, *at_column)] = left[column];
                whole[(*at_column, *row)] = left[column];
            }
        }
        let rounding = problem.rounding(dimension, whole.norm());
        let values = symmetric_eigenvalues(&whole)?;
        Ok(values.rows(0, self.rank).sum() + rounding)
    }

    /// The sum of the `k` largest eigenvalues when those of the complement are at most `beta`.
    ///
    /// For every `δ > 0` the matrix is at most `diag(Λ + (CQ)ᵀCQ / δ, B + δ)` in the order of symmetric matrices, `Λ`
    /// the leading eigenvalues of `M_J` and `B` the complement, so its eigenvalues are too.
    pub(super) fn sum_of_largest(&self, beta: f64) -> Result<f64, FantopeError> {
        if beta.is_infinite() {
            return Ok(f64::INFINITY);
        }
        let threshold = self.spectrum.values[self.rank - 1];
        let size = self.coupling.trace();
        let mut candidates = vec![size.sqrt().max(f64::MIN_POSITIVE)];
        if threshold > beta {
            candidates.push(threshold - beta);
        }
        let mut least = f64::INFINITY;
        for delta in candidates {
            let count = self.leading.ncols();
            let mut block = &self.coupling / delta;
            (0..count).for_each(|index| block[(index, index)] += self.spectrum.values[index]);
            block.fill_lower_triangle_with_upper_triangle();
            let mut values = symmetric_eigenvalues(&block)?.as_slice().to_vec();
            if size > 0.0 || beta > threshold {
                values.extend(std::iter::repeat_n(beta + if size > 0.0 { delta } else { 0.0 }, self.rank));
            }
            sort_descending(&mut values);
            least = least.min(values[..self.rank].iter().sum());
        }
        Ok(least)
    }

    /// Krylov space of the matrix on the complement of `Q`, from a random start.
    fn complement(&self, effort: &Effort<'_>, steps: usize) -> Result<Krylov, FantopeError> {
        let mut start = random_direction(effort.settings.seed, effort.number, self.thresholded.dimension());
        self.project_out(&mut start);
        let mut inner = start.clone();
        let mut apply = |x: &DVector<f64>, y: &mut DVector<f64>| {
            inner.copy_from(x);
            self.project_out(&mut inner);
            self.multiply(&mut inner, y);
            self.project_out(y);
        };
        Ok(lanczos(&mut apply, &start, steps)?)
    }

    /// Removes the part in the span of `Q` from a vector.
    fn project_out(&self, vector: &mut DVector<f64>) {
        let inside = DVector::from_iterator(self.rows.len(), self.rows.iter().map(|row| vector[*row]));
        let part = &self.leading * self.leading.tr_mul(&inside);
        self.rows.iter().zip(part.iter()).for_each(|(row, part)| vector[*row] -= part);
    }

    /// `y ← (S − Z) x`; leaves `x` with zeros on the working set.
    fn multiply(&self, x: &mut DVector<f64>, y: &mut DVector<f64>) {
        let inside = DVector::from_iterator(self.rows.len(), self.rows.iter().map(|row| x[*row]));
        self.rows.iter().for_each(|row| x[*row] = 0.0);
        self.thresholded.multiply(x, y);
        let mut image = &self.block * &inside;
        let outside = DVector::from_iterator(self.cross_rows.len(), self.cross_rows.iter().map(|row| x[*row]));
        image.gemv(1.0, &self.cross, &outside, 1.0);
        let added = self.cross.tr_mul(&inside);
        self.cross_rows.iter().zip(added.iter()).for_each(|(row, added)| y[*row] += added);
        self.rows.iter().zip(image.iter()).for_each(|(row, image)| y[*row] = *image);
    }

    /// Rows that cannot be cancelled, worst first.
    pub(super) fn missing(&self) -> Vec<usize> {
        let violations = sorted_descending(self.violations.clone(), |violation| violation.1);
        violations.into_iter().map(|(row, _)| row).collect()
    }

    /// Rows that cannot be cancelled, then rows of the eigenvectors of the complement that reach above the threshold.
    fn growth(&self, krylov: &Krylov) -> Vec<usize> {
        let threshold = self.spectrum.values[self.rank - 1];
        let mut growth = self.missing();
        let above = krylov.values.iter().take_while(|value| **value > threshold).count().min(2 * self.rank);
        if above > 0 {
            let vectors = krylov.vectors(above);
            let mut leverage: Vec<(usize, f64)> =
                vectors.row_iter().enumerate().map(|(row, entries)| (row, entries.norm_squared())).collect();
            self.rows.iter().for_each(|row| leverage[*row].1 = 0.0);
            let leverage = sorted_descending(leverage, |share| share.1);
            let least = 0.05 * leverage[0].1;
            growth.extend(leverage.iter().take_while(|(_, size)| *size > least).map(|(row, _)| *row));
        }
        let mut seen = vec![false; growth.iter().max().map_or(0, |last| last + 1)];
        growth.retain(|row| !core::mem::replace(&mut seen[*row], true));
        growth
    }
}

/// Coupling below this share of the penalty is rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// The number of leading eigenvectors to keep apart: at least `k`, up to the widest gap among those that may carry the
/// solution.
fn leading_count(values: &DVector<f64>, rank: usize, positive: usize) -> usize {
    let last = (positive + 2).max(rank).min(values.len());
    let gap = |count: usize| values.get(count).map_or(f64::INFINITY, |next| values[count - 1] - next);
    let widest = |best: usize, count: usize| if gap(count) > gap(best) { count } else { best };
    (rank + 1..=last).fold(rank, widest)
}

#[cfg(test)]
mod tests {
    use super::super::tests::spike_in_noise;
    use super::super::working_set::WorkingSet;
    use super::*;
    use crate::FantopeProblem;
    use crate::scaled::largest_magnitudes;
    use crate::tests::problem;

    /// Noise strong enough that the rows beyond the working set matter.
    fn problems() -> [FantopeProblem; 4] {
        [(60, 1, 0.04, 0.06), (120, 2, 0.05, 0.08), (240, 3, 0.03, 0.06), (240, 1, 0.01, 0.02)].map(
            |(dimension, rank, deviation, penalty)| {
                problem(&spike_in_noise(dimension, 6, deviation, 11), rank, penalty)
            },
        )
    }

    /// The extension of the dual matrix after so many iterations on the first working set.
    fn extended<T>(
        problem: &FantopeProblem,
        iterations: usize,
        ask: impl FnOnce(&ScaledProblem<'_>, &Extension<'_>) -> T,
    ) -> T {
        let scaled = ScaledProblem::new(problem, largest_magnitudes(problem.estimate()).centred).unwrap();
        let thresholded = Thresholded::new(&scaled);
        let settings = SolverSettings::default();
        let (working, mut splitting) = WorkingSet::choose(&scaled, &thresholded, settings).unwrap();
        assert!(!working.is_everything(&scaled));
        (0..iterations).for_each(|_| splitting.advance().unwrap());
        let (dual, mut multipliers) = (splitting.dual(), Multipliers::default());
        ask(&scaled, &working.extend(&scaled, &thresholded, &splitting, &dual, &mut multipliers).unwrap())
    }

    fn effort(number: u64, failure: f64, wanted: &dyn Fn(f64) -> bool) -> Effort<'_> {
        Effort { settings: SolverSettings { seed: 5, failure, ..SolverSettings::default() }, number, wanted }
    }

    /// `S − Z` of the evidence, entry by entry as it is stored, and the sum of its largest eigenvalues by nalgebra.
    fn dense(problem: &FantopeProblem, scaled: &ScaledProblem<'_>, dual: DualMatrix) -> (DMatrix<f64>, f64) {
        let matrix = problem.estimate().to_double() - dual.times(scaled.scale).matrix(problem);
        let mut values: Vec<f64> = matrix.clone().symmetric_eigenvalues().iter().copied().collect();
        values.sort_by(|a, b| b.total_cmp(a));
        let sum = values[..scaled.rank].iter().sum();
        (matrix, sum)
    }

    /// Converts `S − Z` to the units of the scaled problem, where there is nothing of the penalty on the diagonal.
    fn centred(matrix: DMatrix<f64>, scaled: &ScaledProblem<'_>) -> DMatrix<f64> {
        let mut centred = matrix / scaled.scale;
        (0..centred.nrows()).for_each(|index| centred[(index, index)] += scaled.penalty - scaled.shift / scaled.scale);
        centred
    }

    /// Of certificate i, and of each of its numbers of steps, the bound may be wrong with the stated probability over 4
    /// i (i + 1): all together with no more than stated. The bound is that of Kuczyński and Woźniakowski, and above all
    /// eigenvalues.
    #[test]
    fn a_probable_bound_is_the_one_of_its_share_of_the_failure() {
        for problem in problems() {
            for (iterations, number, failure) in [(5, 1, 1e-15), (40, 2, 1e-3), (40, 7, 1e-9)] {
                extended(&problem, iterations, |scaled, extension| {
                    let effort = effort(number, failure, &|_| false);
                    let evidence = extension.evidence(scaled, &effort).unwrap();
                    assert_eq!(evidence.certificate, Certificate::Probable { failure });
                    let krylov = extension.complement(&effort, STEPS[0]).unwrap();
                    let (values, d, i) = (&krylov.values, scaled.dimension() as f64, number as f64);
                    let (largest, smallest, steps) = (values[0], values[values.len() - 1], values.len() as f64);
                    let share = failure / (4.0 * i * (i + 1.0));
                    let error = ((2.0 * 1.648 * d.sqrt() / share).ln() / (2.0 * steps - 1.0)).powi(2);
                    let upper = largest + error * (largest - smallest) / (1.0 - 2.0 * error);
                    let rounding = scaled.rounding(extension.rows.len(), extension.block.norm());
                    let expected = extension.sum_of_largest(upper).unwrap() + rounding;
                    assert!((evidence.bound / expected - 1.0).abs() < 1e-12, "{} {expected}", evidence.bound);
                    let (_, sum) = dense(&problem, scaled, evidence.dual);
                    assert!(scaled.in_units(evidence.bound) >= sum, "{} {sum}", scaled.in_units(evidence.bound));
                });
            }
        }
    }

    /// From all eigenvalues, above the sum by the rounding margin and no more; and from the true largest eigenvalue of
    /// the complement, no less than it.
    #[test]
    fn an_exact_bound_is_the_sum_of_eigenvalues_and_its_margin() {
        let mut coupled = 0;
        for problem in problems() {
            for iterations in [0, 5, 40] {
                extended(&problem, iterations, |scaled, extension| {
                    let found = extension.exact_bound(scaled).unwrap();
                    let evidence = extension.evidence(scaled, &effort(1, 1e-15, &|_| false)).unwrap();
                    let (matrix, sum) = dense(&problem, scaled, evidence.dual);
                    let matrix = centred(matrix, scaled);
                    let (d, count) = (scaled.dimension(), extension.leading.ncols());
                    let size = d as f64 * matrix.norm();
                    let margin = 4.0 * f64::EPSILON * scaled.rank as f64 * (size + 4.0) * scaled.scale;
                    let above = scaled.in_units(found) - sum;
                    assert!(above > 0.8 * margin && above < 1.2 * margin, "{above:e} {margin:e}");
                    let mut leading = DMatrix::zeros(d, count);
                    for (place, row) in extension.rows.iter().enumerate() {
                        leading.set_row(*row, &extension.leading.row(place));
                    }
                    let projector = DMatrix::identity(d, d) - &leading * leading.transpose();
                    let beta = (&projector * matrix * &projector).symmetric_eigenvalues().max();
                    let found = scaled.in_units(extension.sum_of_largest(beta).unwrap());
                    assert!(found >= sum - 1e-12, "{found} {sum}");
                    coupled += usize::from(extension.coupling.trace() > 0.01 * scaled.penalty);
                });
            }
        }
        assert!(coupled > 0, "rows that are not cancelled occur");
    }

    /// Where the certificate wants a bound that all eigenvalues give, it is from all of them, and says so.
    #[test]
    fn what_is_wanted_is_bounded_exactly_where_that_is_cheap() {
        for problem in problems() {
            extended(&problem, 40, |scaled, extension| {
                let exact = extension.exact_bound(scaled).unwrap();
                let evidence = extension.evidence(scaled, &effort(1, 1e-15, &|_| true)).unwrap();
                let cheap = scaled.dimension() <= CHEAP;
                assert_eq!(evidence.certificate == Certificate::Exact, cheap);
                assert_eq!(evidence.bound == exact, cheap, "{} {exact}", evidence.bound);
            });
        }
    }

    /// With all of the coupling on the first leading eigenvector, the complement may come before the last one that
    /// counts although its own eigenvalues are smaller.
    #[test]
    fn the_complement_counts_with_what_the_coupling_adds() {
        extended(&problems()[1], 40, |scaled, found| {
            let count = found.leading.ncols();
            let coupling = DMatrix::from_fn(count, count, |i, j| if i + j == 0 { 0.25 } else { 0.0 });
            let extension = Extension { coupling, ..found.clone() };
            let values = &found.spectrum.values;
            assert_eq!(scaled.rank, 2);
            for below in [0.01, 0.2, 0.7] {
                let beta = values[1] - below;
                // Room of a half, or of the difference of the two: the first eigenvalue rises by the coupling over it.
                let with = |room: f64| values[0] + 0.25 / room + values[1].max(beta + room);
                let expected = with(0.5).min(with(below));
                let bound = extension.sum_of_largest(beta).unwrap();
                assert!((bound / expected - 1.0).abs() < 1e-12, "{below}: {bound} {expected}");
            }
        });
    }

    /// Without any coupling the eigenvalues are those of the two blocks.
    #[test]
    fn without_coupling_the_complement_counts_as_it_is() {
        extended(&problems()[1], 40, |scaled, found| {
            let extension = Extension {
                coupling: DMatrix::zeros(2, 2),
                leading: found.leading.columns(0, 2).into(),
                ..found.clone()
            };
            let values = &found.spectrum.values;
            assert_eq!(scaled.rank, 2);
            for (beta, expected) in [
                (values[1] - 0.1, values[0] + values[1]),
                (values[1] + 0.5 * (values[0] - values[1]), values[0] + values[1] + 0.5 * (values[0] - values[1])),
                (values[0] + 0.1, 2.0 * (values[0] + 0.1)),
            ] {
                let bound = extension.sum_of_largest(beta).unwrap();
                assert!((bound / expected - 1.0).abs() < 1e-12, "{beta}: {bound} {expected}");
            }
        });
    }

    /// What the Lanczos steps see is the matrix that the evidence describes.
    #[test]
    fn products_are_those_of_the_whole_matrix() {
        let mut crossed = 0;
        for problem in problems() {
            extended(&problem, 5, |scaled, extension| {
                let evidence = extension.evidence(scaled, &effort(1, 1e-15, &|_| false)).unwrap();
                let matrix = centred(dense(&problem, scaled, evidence.dual).0, scaled);
                for number in 0..3 {
                    let x = random_direction(7, number, scaled.dimension());
                    let mut y = DVector::zeros(x.len());
                    extension.multiply(&mut x.clone(), &mut y);
                    let difference = (&matrix * &x - y).norm();
                    assert!(difference < 1e-11 * matrix.norm() * x.norm(), "{difference:e}");
                }
                crossed += extension.cross_rows.len();
            });
        }
        assert!(crossed > 0, "rows beyond the working set occur");
    }

    /// Steps are doubled while they may decide, and then all eigenvalues do, where there are few enough.
    #[test]
    fn what_stays_undecided_is_bounded_exactly_where_that_is_allowed() {
        let mut undecided = 0;
        for problem in problems() {
            extended(&problem, 40, |scaled, extension| {
                let rounding = scaled.rounding(extension.rows.len(), extension.block.norm());
                let asked = effort(1, 1e-15, &|_| false);
                let of_steps = |steps| {
                    let krylov = extension.complement(&asked, steps).unwrap();
                    let upper = krylov.upper_bound(1e-15 / 8.0);
                    [krylov.values[0], upper].map(|beta| extension.sum_of_largest(beta).unwrap() + rounding)
                };
                let [estimate, bound] = of_steps(STEPS[3]);
                if estimate >= bound || scaled.dimension() <= 160 {
                    return;
                }
                undecided += 1;
                let middle = 0.5 * (estimate + bound);
                let wanted = |value: f64| value <= middle;
                let with = |exact_dimension| {
                    let mut effort = effort(1, 1e-15, &wanted);
                    effort.settings.exact_dimension = exact_dimension;
                    let evidence = extension.evidence(scaled, &effort).unwrap();
                    (evidence.bound, evidence.certificate)
                };
                assert_eq!(with(0), (bound, Certificate::Probable { failure: 1e-15 }));
                let exact = extension.exact_bound(scaled).unwrap();
                assert_eq!(with(1500), (exact, Certificate::Exact));
                assert_eq!(with(scaled.dimension()).1, Certificate::Exact);
            });
        }
        assert!(undecided > 0);
    }
}
