//! Operator splitting on a working set: the iteration of Algorithm 2 in one variable, accelerated.

use nalgebra::{DMatrix, DVector};

use super::SolverSettings;
use super::part::Part;
use crate::FantopeError;
use crate::linalg::{Anderson, sort_descending, sorted_descending};
use crate::problem::fantope_weights;

/// Douglas–Rachford splitting of the problem on the rows of a working set.
///
/// Algorithm 2 of Wang & Xu (2019) is ADMM, and ADMM is this iteration in the one variable `T = X̂ + U`: its clipped
/// part is `U`, the rest is `Y`.
///
/// ```text
/// U ← clip(T, penalty/ρ),  Y ← T − U
/// X ← P_Fantope(Y − U + S/ρ)
/// T ← T + α (X − Y)
/// ```
///
/// Anderson acceleration needs a single variable. A step that makes the residual `‖X − Y‖` grow too much is undone.
pub(super) struct Splitting {
    rank: usize,
    penalty: f64,
    pub(super) settings: SolverSettings,
    pub(super) parts: Vec<Part>,
    pub(super) rho: f64,
    /// The `ρ` of the start, for [`Splitting::restart`]; none once that has used it.
    first_rho: Option<f64>,
    /// `T` of all parts, each in the isometric coordinates of [`Part`].
    t: Vec<f64>,
    y: Vec<f64>,
    x: Vec<f64>,
    step: Vec<f64>,
    anderson: Anderson,
    /// The plain step that an extrapolation replaced.
    plain: Vec<f64>,
    extrapolated: bool,
    residual: f64,
    pub(super) iterations: usize,
    next_adaptation: usize,
}

/// `α`, in `(0, 2)`: the over-relaxation of the step.
const RELAXATION: f64 = 1.6;

/// How many times smaller than the dual residual the primal one is kept, both relative.
///
/// The gap suffers first from the disagreement of `X` and `Y`, entry by entry.
const PRIMAL_WEIGHT: f64 = 5.0;

/// The factor by which an extrapolated step may make the residual grow. Forbidding every growth discards the memory
/// repeatedly while the pattern of the solution is still unknown, at up to 1.6 times the iterations.
const SETBACK: f64 = 2.0;

/// The residual of followed eigenvectors, in units of `‖X − Y‖`, above which they are computed anew.
///
/// The error of a projection is at most √2 of that residual, and in practice far smaller. At 10 the iteration takes as
/// many steps as with exact projections; at 1 it is followed so rarely that it takes up to twice the time.
const INEXACTNESS: f64 = 10.0;

impl Splitting {
    /// Starts at `X` and `Z` of all parts, in their coordinates.
    pub(super) fn new(
        rank: usize,
        penalty: f64,
        parts: Vec<Part>,
        start: &[(DMatrix<f64>, DMatrix<f64>)],
        rho: f64,
        settings: SolverSettings,
    ) -> Self {
        let length = parts.last().map_or(0, |part| part.range().end);
        let mut t = vec![0.0; length];
        for (part, (x, z)) in parts.iter().zip(start) {
            part.pack(&(x + z / rho), &mut t);
        }
        Self {
            rank,
            penalty,
            settings,
            parts,
            rho,
            first_rho: Some(rho),
            y: vec![0.0; length],
            x: vec![0.0; length],
            step: vec![0.0; length],
            plain: vec![0.0; length],
            t,
            anderson: Anderson::new(settings.memory),
            extrapolated: false,
            residual: f64::INFINITY,
            iterations: 0,
            next_adaptation: 20,
        }
    }

    /// One iteration.
    pub(super) fn advance(&mut self) -> Result<(), FantopeError> {
        self.iterations += 1;
        self.threshold();
        self.project()?;
        let mut norm = 0.0;
        for ((step, x), y) in self.step.iter_mut().zip(&self.x).zip(&self.y) {
            *step = RELAXATION * (x - y);
            norm += *step * *step;
        }
        let residual = norm.sqrt();
        if self.extrapolated && residual > SETBACK * self.residual {
            self.t.copy_from_slice(&self.plain);
            self.extrapolated = false;
            self.anderson.reset();
            return Ok(());
        }
        self.residual = residual;
        self.t.iter_mut().zip(&self.step).for_each(|(t, step)| *t += step);
        if self.settings.memory > 0 {
            self.plain.copy_from_slice(&self.t);
            self.extrapolated = self.anderson.extrapolate(&self.step, &mut self.t);
        }
        Ok(())
    }

    /// `U ← clip(T, penalty/ρ)`, `Y ← T − U`.
    fn threshold(&mut self) {
        thresholded(&self.parts, &self.t, self.penalty / self.rho, &mut self.y);
    }

    /// `X ← P_Fantope(Y − U + S/ρ)`: the eigenvalues of all parts share one threshold.
    fn project(&mut self) -> Result<(), FantopeError> {
        for part in &mut self.parts {
            let range = part.range();
            part.decompose(&self.y[range.clone()], &self.t[range], self.rho)?;
        }
        let (merged, weights, threshold) = loop {
            let mut merged: Vec<(f64, usize, usize)> = Vec::new();
            for (index, part) in self.parts.iter().enumerate() {
                merged.extend(part.values().iter().enumerate().map(|(place, value)| (*value, index, place)));
            }
            let merged = sorted_descending(merged, |value| value.0);
            let values = DVector::from_iterator(merged.len(), merged.iter().map(|(value, _, _)| *value));
            let (weights, threshold) = fantope_weights(&values, self.rank);
            let accuracy = INEXACTNESS * self.residual();
            let mut refined = false;
            for part in &mut self.parts {
                refined |= part.refine(threshold, accuracy)?;
            }
            if !refined {
                break (merged, weights, threshold);
            }
        };
        self.parts.iter_mut().for_each(|part| part.weights.clear());
        for ((_, part, place), weight) in merged.iter().zip(weights.iter()).take_while(|(_, weight)| **weight > 0.0) {
            // Descending within a part too, so the places come in order.
            debug_assert_eq!(self.parts[*part].weights.len(), *place);
            self.parts[*part].weights.push(*weight);
        }
        let reach = self.residual;
        for part in &mut self.parts {
            part.settle(threshold, reach);
            let range = part.range();
            part.project(&mut self.x[range]);
        }
        Ok(())
    }

    /// `⟨S, X⟩ − penalty Σ_{i≠j} |X_ij|`.
    pub(super) fn value(&self) -> f64 {
        self.parts.iter().map(|part| part.value(&self.x[part.range()], self.penalty)).sum()
    }

    /// `Z = ρU` of every part, zero on the diagonal.
    pub(super) fn dual(&self) -> Vec<DMatrix<f64>> {
        let of = |part: &Part| {
            let range = part.range();
            part.dual(&self.t[range.clone()], &self.y[range], self.rho, self.penalty)
        };
        self.parts.iter().map(of).collect()
    }

    /// An estimate of the sum of the `k` largest eigenvalues of `S − Z`, and never above it up to rounding: its value
    /// in the space around the eigenvectors of `X`. `None` where the exact sum costs little more.
    pub(super) fn glimpse(&self, dual: &[DMatrix<f64>]) -> Result<Option<f64>, FantopeError> {
        if self.parts.iter().all(|part| part.rows.len() <= MANY_ROWS) {
            return Ok(None);
        }
        let mut values = Vec::new();
        for (part, dual) in self.parts.iter().zip(dual) {
            values.extend(part.leading_values(&(&part.estimate - dual))?.iter());
        }
        sort_descending(&mut values);
        Ok(values.get(..self.rank).map(|largest| largest.iter().sum()))
    }

    /// `Y` of every part.
    pub(super) fn sparse(&self) -> Vec<DMatrix<f64>> {
        self.parts.iter().map(|part| part.unpack(&self.y[part.range()])).collect()
    }

    /// `‖X − Y‖_F`.
    pub(super) fn residual(&self) -> f64 {
        self.residual / RELAXATION
    }

    /// Whether the residual is within the rounding of the projection.
    pub(super) fn stands_still(&self) -> bool {
        let size = self.parts.iter().map(|part| part.estimate.norm()).fold(0.0, f64::max);
        self.residual() <= 4.0 * f64::EPSILON * (size / self.rho + (self.rank as f64).sqrt())
    }

    /// `‖Y⁺ − Y‖_F` for the `Y⁺` of the plain step, before any extrapolation.
    fn dual_step(&mut self) -> f64 {
        let plain = if self.extrapolated { &self.plain } else { &self.t };
        self.step.copy_from_slice(&self.y);
        thresholded(&self.parts, plain, self.penalty / self.rho, &mut self.step).sqrt()
    }

    /// Balances the residuals, each relative to what it must vanish against; ever more rarely, so that convergence
    /// holds.
    pub(super) fn adapt_rho(&mut self) {
        if self.iterations < self.next_adaptation {
            return;
        }
        self.next_adaptation = self.iterations + (self.iterations / 2).max(20);
        let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
        let dual_size = self.t.iter().zip(&self.y).map(|(t, y)| (t - y).powi(2)).sum::<f64>().sqrt();
        let primal = self.residual() / norm(&self.y).max(norm(&self.x));
        let dual = self.dual_step().max(f64::MIN_POSITIVE) / dual_size.max(f64::MIN_POSITIVE);
        let factor = (PRIMAL_WEIGHT * primal / dual).sqrt().clamp(0.2, 5.0);
        if (1.0 / ADAPTATION..=ADAPTATION).contains(&factor) || !factor.is_finite() {
            return;
        }
        self.rescale(factor);
    }

    /// Multiplies `ρ`; `Y` and `Z = ρU` stay.
    fn rescale(&mut self, factor: f64) {
        self.threshold();
        self.rho *= factor;
        self.t.iter_mut().zip(&self.y).for_each(|(t, y)| *t = y + (*t - y) / factor);
        self.anderson.reset();
        self.extrapolated = false;
        self.residual = f64::INFINITY;
    }

    /// Goes on with the `ρ` of the start, which is not adapted any more; once. Balancing the residuals can lead to a
    /// `ρ` with which neither falls for thousands of iterations, while every fixed one converges.
    pub(super) fn restart(&mut self) -> bool {
        let Some(first) = self.first_rho.take() else { return false };
        self.rescale(first / self.rho);
        self.next_adaptation = usize::MAX;
        true
    }
}

/// [`Part::threshold`] of all parts.
fn thresholded(parts: &[Part], t: &[f64], limit: f64, y: &mut [f64]) -> f64 {
    parts.iter().fold(0.0, |change, part| change + part.threshold(&t[part.range()], limit, &mut y[part.range()]))
}

/// The part from which all eigenvalues cost several times as much as a few.
const MANY_ROWS: usize = 150;

/// The factor by which `ρ` must be off before it is changed.
const ADAPTATION: f64 = 1.6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::tests::spike_in_noise;

    #[test]
    fn a_restart_goes_back_to_the_rho_of_the_start_for_good_and_keeps_both_matrices() {
        const START: f64 = 100.0;
        let part = Part::new((0..20).collect(), spike_in_noise(20, 20, 0.3, 1), 0);
        let start = [(DMatrix::zeros(20, 20), DMatrix::zeros(20, 20))];
        let mut splitting = Splitting::new(1, 0.1, vec![part], &start, START, SolverSettings::default());
        for _ in 0..60 {
            splitting.advance().unwrap();
            splitting.adapt_rho();
        }
        assert!((splitting.rho / START - 1.0).abs() > 0.1, "{}", splitting.rho);
        splitting.threshold();
        let (sparse, dual) = (splitting.sparse(), splitting.dual());
        assert!(sparse[0].norm() > 0.1 && dual[0].norm() > 0.1);
        assert!(splitting.restart());
        splitting.threshold();
        assert!((&splitting.sparse()[0] - &sparse[0]).norm() < 1e-9);
        assert!((&splitting.dual()[0] - &dual[0]).norm() < 1e-9);
        for _ in 0..60 {
            splitting.advance().unwrap();
            splitting.adapt_rho();
        }
        assert!((splitting.rho / START - 1.0).abs() < 1e-12 && !splitting.restart());
    }
}
