//! A linear support vector machine. Its accuracy on projected records measures the quality of the projection.
//!
//! ```text
//! minimize over w in R^p  1/2 ||w||^2 + C Sum_i max(0, 1 - y_i w^T z_i),     z_i = (x_i, 1),  y_i = +1 or -1
//! ```
//!
//! by dual coordinate descent (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, Algorithm 1): each step minimizes the
//! dual `1/2 ||Sum_i a_i y_i z_i||^2 - Sum_i a_i` over one `0 <= a_i <= C` exactly, with `w = Sum_i a_i y_i z_i` kept
//! up to date. The constant feature is the intercept, which is regularized with the rest, as in LIBLINEAR and unlike in
//! LIBSVM. The duality gap, primal minus dual, is never negative and bounds the distance of both from the optimum.
//! Training stops when the gap is small, and [`LinearSvm::gap`] certifies the result whatever algorithm found it.
//!
//! No crate fits. Chaudhuri et al. train on a tenth of half of KDD Cup 99, 24,701 records. `linfa-svm` 0.8 holds the
//! full kernel matrix, here 4.9 GB, and its users report that half as many records do not finish in hours. `liblinear`
//! binds C++ sources. In the few dimensions of a projection this loop takes seconds.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt as _};

/// A hyperplane that separates two classes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearSvm {
    /// One weight per feature, the intercept last.
    weights: Vec<f64>,
    /// Primal minus dual value: neither is further from the optimum.
    pub gap: f64,
    /// The number of passes over the records in training.
    pub epochs: usize,
}

/// The cost in the objective, and when training stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvmSettings {
    /// C, the cost of a violated margin; above 0.
    pub cost: f64,
    /// Training stops when the duality gap is below this fraction of the primal value.
    pub tolerance: f64,
    /// Training stops after this many passes over the records, whatever the gap.
    pub epochs: usize,
}

impl Default for SvmSettings {
    /// C = 1, the default of LIBSVM; a gap of a thousandth; a thousand passes.
    fn default() -> Self {
        Self { cost: 1.0, tolerance: 1e-3, epochs: 1000 }
    }
}

impl LinearSvm {
    /// Trains on records of `dimension` features each, stored one after the other. `positive` gives their classes.
    ///
    /// # Panics
    /// If there are not as many classes as records, or the cost is not above 0.
    pub fn train(
        dimension: usize,
        records: &[f64],
        positive: &[bool],
        settings: SvmSettings,
        rng: &mut (impl Rng + ?Sized),
    ) -> Self {
        assert_eq!(records.len(), dimension * positive.len(), "as many classes as records");
        assert!(settings.cost > 0.0, "the cost of a violated margin must be above 0");
        let mut svm = Self { weights: vec![0.0; dimension + 1], gap: f64::INFINITY, epochs: 0 };
        let mut dual = vec![0.0; positive.len()];
        let rows: Vec<&[f64]> =
            if dimension == 0 { vec![&[]; positive.len()] } else { records.chunks_exact(dimension).collect() };
        let curvature: Vec<f64> = rows.iter().map(|row| row.iter().map(|x| x * x).sum::<f64>() + 1.0).collect();
        let mut order: Vec<usize> = (0..positive.len()).collect();
        while svm.epochs < settings.epochs {
            order.shuffle(rng);
            for &index in &order {
                let sign = if positive[index] { 1.0 } else { -1.0 };
                let gradient = sign * svm.decision(rows[index]) - 1.0;
                let next = (dual[index] - gradient / curvature[index]).clamp(0.0, settings.cost);
                let step = (next - dual[index]) * sign;
                if step != 0.0 {
                    svm.add(rows[index], step);
                    dual[index] = next;
                }
            }
            svm.epochs += 1;
            let primal = svm.close_gap(&rows, positive, &dual, settings.cost);
            if svm.gap <= settings.tolerance * primal {
                break;
            }
        }
        svm
    }

    /// Above 0 for the positive class.
    ///
    /// # Panics
    /// If the record has another number of features.
    #[must_use]
    pub fn decision(&self, record: &[f64]) -> f64 {
        let (intercept, weights) = self.weights.split_last().expect("there is always an intercept");
        assert_eq!(record.len(), weights.len(), "a record of another dimension");
        record.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + intercept
    }

    fn add(&mut self, record: &[f64], step: f64) {
        for (weight, x) in self.weights.iter_mut().zip(record.iter().chain(&[1.0])) {
            *weight += step * x;
        }
    }

    /// Sets the gap and gives the primal value.
    fn close_gap(&mut self, rows: &[&[f64]], positive: &[bool], dual: &[f64], cost: f64) -> f64 {
        let regularization = 0.5 * self.weights.iter().map(|weight| weight * weight).sum::<f64>();
        let margin = |(row, &positive): (&&[f64], &bool)| {
            (1.0 - self.decision(row) * if positive { 1.0 } else { -1.0 }).max(0.0)
        };
        let loss: f64 = rows.iter().zip(positive).map(margin).sum();
        let primal = regularization + cost * loss;
        self.gap = primal - (dual.iter().sum::<f64>() - regularization);
        primal
    }
}

/// The candidate for C with the best mean accuracy in cross-validation with `folds` folds; the first of several that
/// are equally good.
///
/// # Panics
/// As [`LinearSvm::train`], or without a candidate, or with fewer than two folds.
pub fn tuned_cost(
    dimension: usize,
    records: &[f64],
    positive: &[bool],
    candidates: &[f64],
    folds: usize,
    settings: SvmSettings,
    rng: &mut (impl Rng + ?Sized),
) -> f64 {
    assert!(folds > 1 && !candidates.is_empty(), "there must be something to choose from");
    let part: Vec<usize> = (0..positive.len()).map(|_| rng.random_range(0..folds)).collect();
    let mut best = (candidates[0], -1.0);
    for &cost in candidates {
        let mut right = 0;
        for fold in 0..folds {
            let of = |held: bool| -> (Vec<f64>, Vec<bool>) {
                let chosen = (0..positive.len()).filter(|&index| (part[index] == fold) == held);
                let rows = chosen.clone().flat_map(|i| records[i * dimension..(i + 1) * dimension].iter().copied());
                (rows.collect(), chosen.map(|index| positive[index]).collect())
            };
            let (rows, classes) = of(false);
            let svm = LinearSvm::train(dimension, &rows, &classes, SvmSettings { cost, ..settings }, rng);
            let (rows, classes) = of(true);
            right += rows
                .chunks_exact(dimension.max(1))
                .zip(&classes)
                .filter(|(row, positive)| (svm.decision(row) > 0.0) == **positive)
                .count();
        }
        let accuracy = right as f64 / positive.len().max(1) as f64;
        if accuracy > best.1 {
            best = (cost, accuracy);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn exactly(cost: f64) -> SvmSettings {
        SvmSettings { cost, tolerance: 1e-12, epochs: 100_000 }
    }

    /// Two records at +-1 on a line: by symmetry the intercept is 0, and `w^2 / 2 + 2 C (1 - w)` has its minimum at
    /// `min(1, 2 C)`.
    #[test]
    fn the_solution_of_two_records_is_the_one_by_hand() {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for (cost, slope) in [(0.1, 0.2), (0.4, 0.8), (3.0, 1.0)] {
            let svm = LinearSvm::train(1, &[1.0, -1.0], &[true, false], exactly(cost), &mut rng);
            assert!((svm.weights[0] - slope).abs() < 1e-6 && svm.weights[1].abs() < 1e-6, "{cost}: {:?}", svm.weights);
        }
    }

    /// No point in a cloud around the solution has a lower primal value. The problem is convex, so a local minimum is
    /// global.
    #[test]
    fn overlapping_classes_are_separated_at_the_least_cost() {
        let mut rng = ChaCha12Rng::seed_from_u64(2);
        let positive: Vec<bool> = (0..200).map(|index| index % 3 == 0).collect();
        let mut draw = |centre: f64| -> f64 { centre + Distribution::<f64>::sample(&StandardNormal, &mut rng) };
        let records: Vec<f64> = positive
            .iter()
            .flat_map(|&yes| [draw(if yes { 1.0 } else { -0.5 }), draw(if yes { 0.3 } else { 0.0 })])
            .collect();
        let svm = LinearSvm::train(2, &records, &positive, exactly(0.7), &mut rng);
        assert!(svm.epochs < 100_000 && svm.gap >= -1e-9);
        let primal = |weights: &[f64]| {
            let margin = |(row, &yes): (&[f64], &bool)| {
                let sign = if yes { 1.0 } else { -1.0 };
                (1.0 - sign * (row[0] * weights[0] + row[1] * weights[1] + weights[2])).max(0.0)
            };
            0.5 * weights.iter().map(|w| w * w).sum::<f64>()
                + 0.7 * records.chunks_exact(2).zip(&positive).map(margin).sum::<f64>()
        };
        let least = primal(&svm.weights);
        for _ in 0..2000 {
            let size = 10f64.powf(rng.random_range(-4.0..0.0));
            let near: Vec<f64> =
                svm.weights.iter().map(|w| w + size * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect();
            assert!(primal(&near) > least - 1e-9);
        }
    }

    #[test]
    fn a_cost_is_chosen_that_classifies_what_was_held_out() {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let positive: Vec<bool> = (0..300).map(|index| index % 10 == 0).collect();
        // So small a difference is not worth a weight until C is large.
        let records: Vec<f64> = positive.iter().map(|&yes| if yes { 0.02 } else { -0.02 }).collect();
        let cost = tuned_cost(1, &records, &positive, &[0.01, 1.0, 10_000.0], 3, SvmSettings::default(), &mut rng);
        assert_eq!(cost, 10_000.0);
    }
}
