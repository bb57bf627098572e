//! Anderson acceleration of a fixed-point iteration.

use nalgebra::{DMatrix, DVector};

/// Extrapolates the fixed point of `t ↦ G(t)` from the last few pairs of residual `G(t) − t` and image `G(t)`.
///
/// Of all affine combinations of the last images it takes the one whose residuals, combined in the same way, are
/// smallest (type II: Anderson 1965; Walker & Ni 2011). It is exact for a linear map once it remembers as many steps as
/// the map has dimensions, and needs no derivative. The caller checks whether the result is better.
pub(crate) struct Anderson {
    memory: usize,
    /// Differences of successive residuals and images, newest overwriting the oldest. In single precision: passing over
    /// them is most of the work, and an extrapolation needs no more digits of a step than that.
    residual_steps: Vec<Vec<f32>>,
    image_steps: Vec<Vec<f32>>,
    /// `⟨residual_steps[i], residual_steps[j]⟩`.
    gram: DMatrix<f64>,
    /// `⟨residual_steps[i], residual⟩`, carried along: a step changes it by its product with that step.
    projections: Vec<f64>,
    newest: usize,
    last: Option<(Vec<f64>, Vec<f64>)>,
}

/// Relative weight of the regularisation, against dependent differences.
const REGULARISATION: f64 = 1e-10;

/// Numbers to work on at a time.
const PIECE: usize = 1024;

impl Anderson {
    pub(crate) fn new(memory: usize) -> Self {
        Self {
            memory,
            residual_steps: Vec::new(),
            image_steps: Vec::new(),
            gram: DMatrix::zeros(memory, memory),
            projections: Vec::new(),
            newest: 0,
            last: None,
        }
    }

    /// Forgets everything, because the map has changed or the extrapolation diverged.
    pub(crate) fn reset(&mut self) {
        self.residual_steps.clear();
        self.image_steps.clear();
        self.projections.clear();
        self.last = None;
    }

    /// Takes the residual and the image of the last point; writes the extrapolated point over `image` and returns true,
    /// or leaves it when there are too few pairs yet.
    pub(crate) fn extrapolate(&mut self, residual: &[f64], image: &mut [f64]) -> bool {
        self.remember(residual, image);
        let count = self.residual_steps.len();
        if count < 2 {
            return false;
        }
        let projections = DVector::from_column_slice(&self.projections);
        let mut gram = self.gram.view((0, 0), (count, count)).into_owned();
        let ridge = REGULARISATION * gram.trace();
        (0..count).for_each(|index| gram[(index, index)] += ridge);
        let Some(factor) = gram.cholesky() else {
            self.reset();
            return false;
        };
        let coefficients = factor.solve(&projections);
        // Piece by piece, so that the sum stays in cache while every step passes over it.
        let mut sum = [0.0f64; PIECE];
        for (index, piece) in image.chunks_mut(PIECE).enumerate() {
            let range = index * PIECE..index * PIECE + piece.len();
            let sum = &mut sum[..piece.len()];
            sum.fill(0.0);
            for (coefficient, step) in coefficients.iter().zip(&self.image_steps) {
                sum.iter_mut().zip(&step[range.clone()]).for_each(|(sum, step)| *sum += coefficient * f64::from(*step));
            }
            piece.iter_mut().zip(sum).for_each(|(point, sum)| *point -= *sum);
        }
        true
    }

    fn remember(&mut self, residual: &[f64], image: &[f64]) {
        let Some((last_residual, last_image)) = &mut self.last else {
            self.last = Some((residual.to_vec(), image.to_vec()));
            return;
        };
        let slot = if self.residual_steps.len() < self.memory {
            self.residual_steps.push(vec![0.0; residual.len()]);
            self.image_steps.push(vec![0.0; residual.len()]);
            self.projections.push(0.0);
            self.residual_steps.len() - 1
        } else {
            (self.newest + 1) % self.memory
        };
        self.newest = slot;
        replace_by_difference(&mut self.residual_steps[slot], last_residual, residual);
        replace_by_difference(&mut self.image_steps[slot], last_image, image);
        for (other, step) in self.residual_steps.iter().enumerate() {
            let product = dot(step, &self.residual_steps[slot]);
            self.gram[(slot, other)] = product;
            self.gram[(other, slot)] = product;
            self.projections[other] += product;
        }
        self.projections[slot] = dot(&self.residual_steps[slot], residual);
    }
}

/// `step ← now − last`, `last ← now`.
fn replace_by_difference(step: &mut [f32], last: &mut [f64], now: &[f64]) {
    for ((step, last), now) in step.iter_mut().zip(last).zip(now) {
        *step = (now - *last) as f32;
        *last = *now;
    }
}

/// The inner product, in eight running sums so that it vectorises.
fn dot<T: Copy + Into<f64>>(left: &[f32], right: &[T]) -> f64 {
    let (mut sums, split) = ([0.0; 8], left.len() / 8 * 8);
    for (left, right) in left[..split].chunks_exact(8).zip(right[..split].chunks_exact(8)) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += f64::from(*left) * (*right).into();
        }
    }
    let rest = left[split..].iter().zip(&right[split..]).map(|(left, right)| f64::from(*left) * (*right).into());
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_map_is_solved_in_as_many_steps_as_it_has_dimensions() {
        // A slow contraction: plain iteration would need thousands of steps.
        let map = |t: &[f64]| -> Vec<f64> { (0..4).map(|row| t[row] * (0.999 - 0.1 * row as f64) + 1.0).collect() };
        let mut anderson = Anderson::new(5);
        let mut point = vec![0.0; 4];
        for _ in 0..12 {
            let mut image = map(&point);
            let residual: Vec<f64> = image.iter().zip(&point).map(|(image, point)| image - point).collect();
            anderson.extrapolate(&residual, &mut image);
            point = image;
        }
        for (row, value) in point.iter().enumerate() {
            let fixed = 1.0 / (0.001 + 0.1 * row as f64);
            assert!((value - fixed).abs() < 1e-4 * fixed, "{row}: {value} {fixed}");
        }
    }

    #[test]
    fn too_few_or_dependent_steps_leave_the_plain_image() {
        let mut anderson = Anderson::new(3);
        for _ in 0..6 {
            let mut image = vec![1.0, 2.0];
            // The same step again and again: all differences are zero.
            assert!(!anderson.extrapolate(&[0.5, 0.5], &mut image));
            assert_eq!(image, [1.0, 2.0]);
        }
    }
}
