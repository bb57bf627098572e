//! The private search for step sizes (Liu et al. 2022, end of section 5).
//!
//! ```text
//! for each round i = 1, 2, ...:
//!     run with eta_t = c_1 / (c_2 + t) for (c_1, c_2) in {2^(i-1), 2^(1-i)} x {2^(1-i), ..., 2^(i-1)}, and exchanged,
//!     each with epsilon_i = epsilon / (2^(i+1) (2i - 1)), delta_i = delta / (2^(i+1) (2i - 1)),
//!     and compute each sin(w, v_1) privately;   end once one is at most the target
//! ```
//!
//! The paper leaves these details open:
//!
//! - `sin(w, v_1)` cannot be computed, because v_1 is unknown. The captured variance, the mean of `|W^T x|^2`, compares
//!   candidates equally well; it is a private mean in one dimension (Algorithms 4 and 5 on these numbers). The search
//!   ends with a round that captures less than `improvement` more than all earlier rounds.
//! - A candidate costs a run and an evaluation; each has half of its share.
//! - A round of distinct pairs has 1 of them, or 8 (i - 1) = 2 · 2 · (2i - 1) less four counted twice. With the printed
//!   shares all rounds add up to `5/4 - (sqrt(2) atanh(1 / sqrt(2)) - 1) = 1.0035` of the budget, a little too much.
//!   Rounds are limited here, and the shares divided by their sum over those rounds: all candidates together are
//!   (epsilon, delta)-private by basic composition, whenever the search ends.

use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::calibration::Calibration;
use super::eigenvalue::private_eigenvalue;
use super::mean::mean_in_box;
use super::{DpPca, Range, Run, Step};
use crate::baselines::matrices::Matrices;
use crate::baselines::private_oja::permutation;
use crate::baselines::{BaselineError, Shape};
use ldp_pca::privacy::{Delta, Epsilon};

/// The most rounds: later ones have shares too small to find anything.
const MOST_ROUNDS: u32 = 16;

/// The distinct pairs (c_1, c_2) of round i.
fn candidates(round: u32) -> Vec<(f64, f64)> {
    let largest = round as i32 - 1;
    let power = |exponent: i32| libm::exp2(f64::from(exponent));
    let mut pairs = vec![];
    for inner in -largest..=largest {
        for outer in [largest, -largest] {
            for pair in [(power(outer), power(inner)), (power(inner), power(outer))] {
                if !pairs.contains(&pair) {
                    pairs.push(pair);
                }
            }
        }
    }
    pairs
}

/// The printed share of the budget of one pair of round i.
fn printed_share(round: u32) -> f64 {
    1.0 / (libm::exp2(f64::from(round) + 1.0) * f64::from(2 * round - 1))
}

/// The budget of one pair of round i for its run, and again for its evaluation, in a search of `rounds` rounds.
fn budget(method: &DpPca, round: u32, rounds: u32) -> Result<(Epsilon, Delta), BaselineError> {
    let all: f64 = (1..=rounds).map(|i| candidates(i).len() as f64 * printed_share(i)).sum();
    let share = 0.5 * printed_share(round) / all * (1.0 - 1e-12);
    Ok((Epsilon::new(method.epsilon.value() * share)?, Delta::new(method.delta.value() * share)?))
}

/// Checks that every round up to the last has enough records.
///
/// # Errors
/// [`BaselineError::OutsideTheorem`] if a round does not.
pub(super) fn check(method: &DpPca, shape: Shape, rounds: u32) -> Result<(), BaselineError> {
    if rounds > MOST_ROUNDS {
        return Err(method.outside(
            "the number of the search's rounds",
            f64::from(rounds),
            "section 5 of Liu, Kong, Jain & Oh (2022)",
            "it must be at most 16: later rounds have shares of the budget too small to find anything",
        ));
    }
    (1..=rounds).try_for_each(|round| {
        let share = budget(method, round, rounds)?;
        method.plan(shape, share)?;
        evaluation(method, shape.records, share).map(drop)
    })
}

/// The noise of an evaluation.
fn evaluation(method: &DpPca, records: u64, share: (Epsilon, Delta)) -> Result<(DpPca, Calibration), BaselineError> {
    let scalar = DpPca { range: Range::Box, ..*method };
    let calibration = Calibration::new(&scalar, share, (1, 1), 1)?;
    if (records as usize) < calibration.batch {
        return Err(method.outside(
            "the number of records",
            records as f64,
            "Theorem 6.1 and Lemma 6.2 of Liu, Kong, Jain & Oh (2022)",
            "too few to evaluate one of the search's candidates privately: give more records, or take fewer rounds",
        ));
    }
    Ok((scalar, calibration))
}

/// The candidate that captures the most variance, and the number of its batches.
///
/// # Errors
/// As [`check`], and [`BaselineError::Failed`] where no candidate could be evaluated.
pub(super) fn search(
    method: &DpPca,
    matrices: Matrices<'_>,
    shape: Shape,
    rounds: u32,
    improvement: f64,
    rng: &mut dyn CryptoRng,
) -> Result<(Run, usize), BaselineError> {
    check(method, shape, rounds)?;
    let mut best: Option<(f64, Run, usize)> = None;
    for round in 1..=rounds {
        let share = budget(method, round, rounds)?;
        let plan = method.plan(shape, share)?;
        let before = best.as_ref().map(|(captured, ..)| *captured);
        for (numerator, offset) in candidates(round) {
            let step = Step { numerator, offset, relative: false };
            // A run that shows nothing has spent its share and is not a candidate.
            let Ok(run) = method.run(matrices, shape.rank, &plan, step, rng) else { continue };
            let (scalar, calibration) = evaluation(method, shape.records, share)?;
            let Some(captured) = captured(&scalar, &calibration, matrices, &run.basis, rng)? else { continue };
            if best.as_ref().is_none_or(|(most, ..)| captured > *most) {
                best = Some((captured, run, plan.batches));
            }
        }
        if let (Some(before), Some((after, ..))) = (before, &best)
            && *after <= before * (1.0 + improvement)
        {
            break;
        }
    }
    best.map(|(_, run, batches)| (run, batches)).ok_or(BaselineError::Failed {
        method: "DP-PCA",
        what: "no candidate of the search for step sizes showed a result: give more records or more budget",
    })
}

/// The private mean of `tr(W^T A_i W)`, which is `|W^T x|^2` of records.
fn captured(
    scalar: &DpPca,
    calibration: &Calibration,
    matrices: Matrices<'_>,
    basis: &DMatrix<f64>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<f64>, BaselineError> {
    let order = permutation(matrices.count(), rng);
    let (first, second) = order.split_at(order.len() / 2);
    let squares = |indices: &[usize]| {
        let captured = |&index: &usize| matrices.gradient(index, basis).captured(basis);
        DMatrix::from_iterator(1, indices.len(), indices.iter().map(captured))
    };
    let Some(scale) = private_eigenvalue(&squares(first), scalar.accounting, calibration, rng)? else {
        return Ok(None);
    };
    Ok(Some(mean_in_box(squares(second), 1, scale, scalar, calibration, rng).value[0]))
}

#[cfg(test)]
mod tests {
    use super::super::tests::method;
    use super::*;

    #[test]
    fn the_printed_shares_add_up_to_a_little_more_than_the_budget() {
        let counts: Vec<usize> = (1..=4).map(|round| candidates(round).len()).collect();
        assert_eq!(counts, [1, 8, 16, 24]);
        let all: f64 = (1..=50).map(|i| if i == 1 { 0.25 } else { 8.0 * f64::from(i - 1) * printed_share(i) }).sum();
        assert!((all - (1.25 - (2f64.sqrt() * 0.5f64.sqrt().atanh() - 1.0))).abs() < 1e-12, "{all}");
        assert!(all > 1.003);
    }

    #[test]
    fn shares_add_up_to_the_budget_in_a_search_of_few_rounds() {
        let method = method(Range::Ball);
        for rounds in [1, 3, 5] {
            let spent: f64 = (1..=rounds)
                .map(|i| 2.0 * candidates(i).len() as f64 * budget(&method, i, rounds).unwrap().0.value())
                .sum();
            assert!(spent <= 1.0 && spent > 1.0 - 1e-9, "{spent}");
        }
    }
}
