//! What a second wave is asked with: weights and clips, for recovery and prediction alike.

/// The least distance of an eigenvalue from the bulk, as a share of it.
pub(super) const LEAST_GAP: f64 = 0.02;
/// The least share of the variance across the components.
const LEAST_ACROSS: f64 = 0.02;
/// The clips that are tried, in units of the root of the share across the components.
pub(super) const CLIPS: [f64; 4] = [1.0, 1.5, 2.0, 3.0];

/// The distance of an eigenvalue from the bulk.
pub(super) fn gap(eigenvalue: f64, bulk: f64) -> f64 {
    (eigenvalue - bulk).max(LEAST_GAP * eigenvalue)
}

/// `w_j^2 ~ 1 / (gap_j sqrt(lambda_j))`, with `Sum w_j^2 lambda_j = 1`: the least error, summed over the components.
pub(super) fn weights(eigenvalues: &[f64], bulk: f64) -> Vec<f64> {
    let squares: Vec<f64> = eigenvalues.iter().map(|&value| 1.0 / (gap(value, bulk) * value.sqrt())).collect();
    let whole: f64 = squares.iter().zip(eigenvalues).map(|(square, value)| square * value).sum();
    squares.iter().map(|square| (square / whole).sqrt().clamp(1e-3, 200.0)).collect()
}

/// The least share of the variance that is taken to be across.
pub(super) fn across(share: f64) -> f64 {
    share.max(LEAST_ACROSS)
}
