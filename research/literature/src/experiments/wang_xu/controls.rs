//! The controls of Tables 1 and 2: what two references, drawn alike, and the Fantope have without privacy.

use nalgebra::DMatrix;
use rand::Rng;

use super::super::ExperimentError;
use super::projection_distance;
use super::reference::sparse_components;
use crate::baselines::Sample;
use ldp_pca::recovery::{FantopeProblem, FantopeSolver, Penalty, Rank, SolverSettings};
use ldp_pca::subspace::Subspace;

/// What the truth itself varies by.
pub(super) const ANOTHER_REFERENCE: &str = "two references from each other, without privacy";
/// What Algorithm 2's problem gives without any noise.
pub(super) const FANTOPE: &str = "Fantope, without noise";

/// The controls for one s, each with the number of its repetition: the distance of each pair of references, and of the
/// Fantope's components without noise from the first of them.
pub(super) fn distances(
    sample: &Sample,
    truth: &Subspace,
    sparsity: usize,
    (references, starts): (usize, usize),
    rng: &mut impl Rng,
) -> Result<Vec<(usize, &'static str, f64)>, ExperimentError> {
    let rank = Rank::new(truth.rank())?;
    let mut all = vec![truth.clone()];
    for _ in 1..references {
        all.push(sparse_components(sample, rank, sparsity, starts, rng)?);
    }
    let mut found = vec![];
    for (index, one) in all.iter().enumerate() {
        for other in &all[..index] {
            found.push((found.len(), ANOTHER_REFERENCE, projection_distance(one, other)?));
        }
    }
    let fantope = fantope(sample.second_moment(), rank, sparsity)?;
    found.push((0, FANTOPE, projection_distance(&fantope, truth)?));
    Ok(found)
}

/// The penalties that are tried, in steps of a tenth, from the largest that changes anything.
pub(super) const PENALTIES: usize = 60;
const PENALTY_STEP: f64 = 0.9;

/// The components of the Fantope's solution at the least of these penalties that leaves at most `rows` rows.
fn fantope(moments: &DMatrix<f64>, rank: Rank, rows: usize) -> Result<Subspace, ExperimentError> {
    let solver = FantopeSolver::new(SolverSettings::default().for_sequence())?;
    let diagonal = DMatrix::from_diagonal(&moments.diagonal());
    let largest = (moments - &diagonal).amax();
    let mut problem = FantopeProblem::new(moments, rank, Penalty::new(largest)?)?;
    let mut found = solver.solve(&problem)?;
    for step in 1..PENALTIES {
        problem = problem.with_penalty(Penalty::new(largest * PENALTY_STEP.powi(step as i32))?);
        let next = solver.solve(&problem)?;
        if next.support.len() > rows {
            break;
        }
        found = next;
    }
    Ok(Subspace::new(&found.components)?)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use rand::SeedableRng;

    use super::super::population::Population;
    use super::*;

    /// Five features with nearly all the variance: the penalty that leaves five rows finds them.
    #[test]
    fn the_fantope_without_noise_has_no_more_rows_than_asked_for() {
        let population = Population { dimension: 30, rank: 2, signal: 30.0, sparsity: Some(5), unit_norm: true };
        let (sample, truth) = population.draw(500, &mut ChaCha12Rng::seed_from_u64(3)).unwrap();
        let found = fantope(sample.second_moment(), Rank::new(2).unwrap(), 5).unwrap();
        assert!(found.basis().row_iter().filter(|row| row.norm() > 1e-9).count() <= 5);
        assert!(projection_distance(&found, &truth).unwrap() < 0.3);
    }
}
