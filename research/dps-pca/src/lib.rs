//! DPS-PCA (Ge, Wang, Wang & Liu 2018, Algorithms 1 to 3): its steps and messages alone, without files and network.
//!
//! Sparse principal components by a power iteration between data providers and a server that they do not trust.
//!
//! ```text
//! Input: n_i records at provider i = 1 … N; Q(0), d × k; kept rows s, rounds T, epsilon, delta
//!  1  Q(1), R   <- Thin_QR(Threshold(Q(0), s))
//!  2  sigma     <- 2 T sqrt(2 log(2 T / delta)) / epsilon
//!  3  Sigma_i   <- sum of x x^T over the records of provider i, divided by n_i
//!  4  for t = 1 … T
//!  5      H_i   <- Sigma_i Q(t) + G / n_i, entries of G independent N(0, sigma^2)     each provider
//!  6      K     <- sum of n_i H_i, divided by the sum of n_i                          the server, from here on
//!  7      V, R  <- Thin_QR(K)
//!  8      Q(t+1), R <- Thin_QR(Threshold(V, s))
//!  9  return Q(T+1)
//! ```
//!
//! `Threshold` zeroes all rows but the s longest; `Thin_QR` is the Householder factorization with a positive diagonal.
//! The steps are [`Provider`] (3, 5) and [`Coordinator`] (1, 6 to 8). A [`Session`] is what all parties agree on before
//! a run over HTTP. [`run`] runs all of them in one process, and [`scale`] has the noise. `ldp-pca-research dps-pca` is
//! built on this crate; `ldp_pca_literature::baselines::dps_pca` compares it with other methods.
//!
//! # Where we had to choose
//! - *The scale.* The printed formula has no logarithm under its root, which is not how the Gaussian mechanism is
//!   calibrated; `(epsilon/T, delta/T)` for each of T rounds of sensitivity 2 gives the one above. The literal one,
//!   `2 T sqrt(4 T / delta) / epsilon`, is larger, so all that is proved for ours holds for it too.
//! - *Whose noise.* As printed, G is drawn once per round, before the loop over providers. One G for all would cancel
//!   in `n_i H_i - n_j H_j`, which the server can form, and Theorem 4.1 promises privacy from the server: every
//!   provider draws its own.
//! - *What is sent.* `n_i H_i`: the server multiplies by `n_i` anyway, and `Thin_QR` does not see the common factor. So
//!   no provider reveals how many records it has.
//! - *The start.* The paper leaves Q(0) to its user and assumes it good (its appendix); it must not depend on records.
//!   Ours is a uniformly random subspace, drawn by the server, and the first round is the first to zero rows
//!   ([`Coordinator::dense`]): 50 rows of 1000, drawn blindly, miss all 10 nonzero rows in 0.95^10 = 60 % of runs,
//!   and the iteration then stays orthogonal to the components. The guarantee is the same, because it holds for
//!   every Q. On the population of section 5.1 (n = 1e5, no sampling error) all of 10 dense starts arrive within 10
//!   rounds: `|sin Theta|_F` below 0.001 with the printed noise at (1, 0.3), 0.04 with the least noise for records of
//!   norm 74 at the same, 0.25 at (1, 1e-6).
//!
//! # Guarantee
//! *Relation*: one record of one provider replaced by another (Definition 2.1). *Assumption*: every record has norm at
//! most R. The paper calls its records bounded (Assumption 2.3) and names no R in the text that we have; the factor 2
//! in the scale is the triangle inequality for R = 1.
//!
//! *Sensitivity of a round.* Replacing x by y changes `n_i Sigma_i Q` by `(x x^T - y y^T) Q`, and Q has orthonormal
//! columns, so by at most `|x x^T - y y^T|_F <= sqrt(2) R^2`, with equality for orthogonal x, y inside the span of Q:
//! it is exact for k >= 2. For k = 1, `x (x . q)` with `|x| <= R` runs through the ball with diameter `R^2 q`, so the
//! sensitivity is `R^2`, exactly.
//!
//! *T rounds.* Q(t+1) depends on earlier messages alone, and what is sent is Gaussian noise around a query of that
//! sensitivity, chosen adaptively: T rounds together are the Gaussian mechanism with sensitivity `sqrt(T)` times that
//! of one (Dong, Roth & Su 2022, Corollary 3.3), and so is the result, computed from messages. Other providers'
//! messages depend on no record of this one but through Q(t).
//!
//! *As printed* ([`scale::printed`]). For R = 1 Theorem 4.1 holds, wastefully: its T-fold basic composition pays T
//! where the square root of T is enough, and its sensitivity is 2. For longer records it does not hold, and the paper's
//! own experiment (section 5.1) has longer ones: Gaussian records with eigenvalue 100 in 1000 dimensions, of norm 74 on
//! average and without any bound, so that no epsilon holds for them at all. At epsilon = 1, T = 10, k = 5, d = 1000:
//!
//! | delta | printed sigma | least sigma, R = 1 | what the printed one really gives, R = 1 | the same, R = 74 |
//! |---|---|---|---|---|
//! | 0.3 | 57.96 | 3.09 | (0.30, 1e-6) | (89647, 0.3) |
//! | 1e-6 | 115.97 | 18.91 | (0.14, 1e-6) | (23344, 1e-6) |
//!
//! (A delta of 0.3 is the paper's. Publishing three records of ten is (0, 0.3)-private.)
//! Without a bound on the records nothing is proved.
//!
//! *Corrected* ([`scale::corrected`]). The smallest Gaussian scale for `sqrt(T)` times the exact sensitivity (Balle &
//! Wang 2018), for every epsilon and delta: `R^2` times the third column.
//!
//! *In double precision.* The noise is an exact Gaussian on a lattice (the library's `sampling::gaussian`), and a
//! message is its integers, so it leaks nothing through rounding; the sampler's total variation is booked into delta.
//! The product `n_i Sigma_i Q` is rounded, which [`scale::ROUNDING_SLACK`] covers: [`Provider`] refuses so many records
//! that it would not.

mod coordinator;
mod error;
mod messages;
mod provider;
pub mod scale;
mod session;

use nalgebra::DMatrix;

pub use coordinator::{Coordinator, random_start, thin_qr, threshold};
pub use error::DpsPcaError;
pub use messages::{Message, State};
pub use provider::{LARGEST_CELL, NoiseSource, Provider};
pub use scale::Scale;
pub use session::{Accounting, MOST_NUMBERS, Parameters, Session, SessionError, SessionGuarantee, SessionId};

/// The whole run: T rounds between `providers`, each with its own source of noise, and `coordinator`. Returns all
/// bases.
///
/// # Errors
/// [`DpsPcaError`] when a message leaves the lattice's range or an iteration collapses.
pub fn run(
    providers: &[Provider],
    sources: &[NoiseSource],
    scale: Option<Scale>,
    mut coordinator: Coordinator,
) -> Result<Vec<DMatrix<f64>>, DpsPcaError> {
    let mut bases = vec![coordinator.basis().clone()];
    while !coordinator.finished() {
        let basis = coordinator.basis();
        let sum = match scale {
            None => {
                providers.iter().map(|provider| provider.product(basis)).fold(basis * 0.0, |sum, product| sum + product)
            }
            Some(scale) => {
                let round = coordinator.round();
                let answers = providers
                    .iter()
                    .zip(sources)
                    .map(|(provider, source)| provider.answer(basis, scale, &mut source.of_round(round)));
                let answers = answers.collect::<Result<Vec<_>, _>>()?;
                scale.sum(basis.shape(), answers.iter().map(Vec::as_slice))
            }
        };
        coordinator.advance(&sum)?;
        bases.push(coordinator.basis().clone());
    }
    Ok(bases)
}

#[cfg(test)]
mod tests;
