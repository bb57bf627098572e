//! One row of the dual matrix between the working set and the rest.

use nalgebra::{DMatrix, DVector};

/// Chooses `z`, `|z_j| ≤ penalty`, for a row `s` of the estimate so that what is left, `m = s − z`, is orthogonal to the columns of
/// `leading` (`Q`, `|J| × r`) and otherwise as small as possible. Returns `m` and `Qᵀ m`, which is zero where the penalty
/// allows.
///
/// The dual of this least-squares problem is smooth and convex in `r` variables, `z = clip(s − Q y)`; Newton's method solves it in
/// a few steps, since it is piecewise quadratic. Where no `z` exists the steps run out.
pub(super) fn cancel_against(s: &DVector<f64>, leading: &DMatrix<f64>, penalty: f64) -> (DVector<f64>, DVector<f64>) {
    let count = leading.ncols();
    let left_at = |y: &DVector<f64>| {
        let shift = leading * y;
        s.zip_map(&shift, |s, shift| s - (s - shift).clamp(-penalty, penalty))
    };
    let size = s.norm();
    let mut y = DVector::zeros(count);
    let mut value = dual_value(s, leading, &y, penalty);
    let mut left = left_at(&y);
    let mut gradient = leading.tr_mul(&left);
    for _ in 0..MAX_STEPS {
        if gradient.norm() <= 4.0 * f64::EPSILON * size {
            break;
        }
        let shift = leading * &y;
        let mut hessian = DMatrix::zeros(count, count);
        for (row, (s, shift)) in s.iter().zip(shift.iter()).enumerate() {
            if (s - shift).abs() < penalty {
                let direction = leading.row(row).transpose();
                hessian.ger(1.0, &direction, &direction, 1.0);
            }
        }
        (0..count).for_each(|index| hessian[(index, index)] += RIDGE);
        let Some(factor) = hessian.cholesky() else { break };
        let step = factor.solve(&gradient);
        let mut length = 1.0;
        let slope = gradient.dot(&step);
        let improved = loop {
            let next = &y - &step * length;
            let next_value = dual_value(s, leading, &next, penalty);
            if next_value <= value - 1e-4 * length * slope {
                value = next_value;
                y = next;
                break true;
            }
            length *= 0.5;
            if length < 1e-6 {
                break false;
            }
        };
        if !improved {
            break;
        }
        left = left_at(&y);
        gradient = leading.tr_mul(&left);
    }
    (left, gradient)
}

const MAX_STEPS: usize = 30;

/// Keeps the Newton matrix definite where too few entries are free.
const RIDGE: f64 = 1e-9;

/// `Σ_j s_j w_j + H(s_j − w_j)` at `w = Q y`, where `H` is the Huber function whose derivative is the clip.
fn dual_value(s: &DVector<f64>, leading: &DMatrix<f64>, y: &DVector<f64>, penalty: f64) -> f64 {
    let shift = leading * y;
    let huber = |v: f64| if v.abs() <= penalty { 0.5 * v * v } else { penalty * v.abs() - 0.5 * penalty * penalty };
    s.iter().zip(shift.iter()).map(|(s, w)| s * w + huber(s - w)).sum()
}
