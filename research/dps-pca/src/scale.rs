//! The noise scale of DPS-PCA's messages, and what it proves.

use nalgebra::DMatrix;

use crate::error::DpsPcaError;
use ldp_pca::internal::privacy::TotalVariation;
use ldp_pca::internal::privacy::calibration::{analytic_gaussian_sigma, gaussian_rho};
use ldp_pca::internal::sampling::gaussian::{STEPS_PER_SIGMA, TOTAL_VARIATION};
use ldp_pca::privacy::composition::{Composition, Method, PrivacyLoss};
use ldp_pca::privacy::{Delta, Epsilon, PrivacyError};
use ldp_pca::recovery::Rank;

/// The common shape of a provider's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// d.
    pub dimension: usize,
    /// k.
    pub rank: Rank,
    /// T, the number of messages.
    pub rounds: u32,
}

/// Relative increase of the sensitivity that pays for rounding in the products, in the norm of a clipped record, and in
/// the orthonormality of a basis: 2^-10. [`Provider`](super::Provider) ensures that it is enough.
pub const ROUNDING_SLACK: f64 = 1.0 / 1024.0;

/// The l2-sensitivity of one message to the replacement of one record, both of norm at most `norm`: `sqrt(2) norm^2`,
/// and `norm^2` for k = 1; with the slack for rounding.
#[must_use]
pub fn sensitivity(rank: Rank, norm: f64) -> f64 {
    let diameter = if rank.value() == 1 { 1.0 } else { core::f64::consts::SQRT_2 };
    diameter * norm * norm * (1.0 + ROUNDING_SLACK)
}

/// The standard deviation of Algorithm 1, with its logarithm: `2 T sqrt(2 ln(2 T / delta)) / epsilon`.
///
/// # Errors
/// [`DpsPcaError::OutsideTheorem`] unless epsilon is in (0, 1), delta in (0, 1/2), and there is a round.
pub fn printed(epsilon: Epsilon, delta: Delta, rounds: u32) -> Result<f64, DpsPcaError> {
    let outside = |parameter, value, remedy| {
        let theorem = "Ge, Wang, Wang & Liu (2018), Theorem 4.1";
        Err(DpsPcaError::OutsideTheorem { parameter, value, theorem, remedy })
    };
    if epsilon.value() >= 1.0 {
        return outside("epsilon", epsilon.value(), "it must be below 1; the corrected accounting takes every epsilon");
    }
    if delta.value() >= 0.5 {
        return outside("delta", delta.value(), "it must be below 1/2; the corrected accounting takes every delta");
    }
    check_rounds(rounds)?;
    Ok(formula(epsilon, delta, rounds))
}

/// The formula of [`printed`], also outside its theorem: the paper's figures go up to epsilon = 2.
#[must_use]
pub fn formula(epsilon: Epsilon, delta: Delta, rounds: u32) -> f64 {
    let rounds = f64::from(rounds);
    2.0 * rounds * (2.0 * libm::log(2.0 * rounds / delta.value())).sqrt() / epsilon.value()
}

/// The least standard deviation, rounded up, with which all messages together are (`epsilon`, `delta`)-private for
/// records of norm at most `norm`.
///
/// # Errors
/// [`DpsPcaError`] for no rounds, an invalid norm, and a delta below the known accuracy of the sampler's law.
pub fn corrected(epsilon: Epsilon, delta: Delta, messages: Messages, norm: f64) -> Result<f64, DpsPcaError> {
    check_rounds(messages.rounds)?;
    check_norm(norm)?;
    // Booked as in mechanism::gaussian: (1 + e^epsilon) times the distance of all deviates together.
    let slack = (1.0 + libm::exp(epsilon.value())) * distance(messages) * f64::from(messages.rounds) * 1.000_001;
    if slack > 0.5 * delta.value() {
        return Err(DpsPcaError::OutsideTheorem {
            parameter: "delta",
            value: delta.value(),
            theorem: "the accuracy to which the noise is drawn",
            remedy: "it must be above 2^-58 (1 + e^epsilon) for each number that a provider sends",
        });
    }
    let composed = f64::from(messages.rounds).sqrt().next_up() * sensitivity(messages.rank, norm);
    let left = Delta::new((delta.value() - slack).next_down())?;
    Ok(analytic_gaussian_sigma(epsilon, left, composed)?)
}

/// The least epsilon that is proved at `delta` for all messages together, rounded up; `None` where there is no finite
/// one.
///
/// # Errors
/// [`DpsPcaError`] for no rounds and for an invalid norm.
pub fn epsilon(scale: Scale, delta: Delta, messages: Messages, norm: f64) -> Result<Option<Epsilon>, DpsPcaError> {
    check_rounds(messages.rounds)?;
    check_norm(norm)?;
    let rho = gaussian_rho(scale.sigma(), sensitivity(messages.rank, norm))?;
    let total_variation = TotalVariation::new(distance(messages))?;
    let mut rounds = Composition::default();
    rounds.add(PrivacyLoss::Gaussian { rho, total_variation }, messages.rounds.into())?;
    Ok(rounds.epsilon_by(Method::Gaussian, Some(delta)))
}

/// The distance of one message's law from the real Gaussian's.
fn distance(messages: Messages) -> f64 {
    (messages.dimension * messages.rank.value()) as f64 * TOTAL_VARIATION
}

fn check_rounds(rounds: u32) -> Result<(), DpsPcaError> {
    if rounds > 0 {
        return Ok(());
    }
    Err(DpsPcaError::OutsideTheorem {
        parameter: "the number of rounds",
        value: 0.0,
        theorem: "Ge, Wang, Wang & Liu (2018), Algorithm 1",
        remedy: "there must be at least one",
    })
}

/// A bound of a norm must be a positive number.
///
/// # Errors
/// [`DpsPcaError::Privacy`] otherwise.
pub fn check_norm(norm: f64) -> Result<(), DpsPcaError> {
    let name = "the bound of the records' norm";
    if norm.is_finite() && norm > 0.0 { Ok(()) } else { Err(PrivacyError::Scale { name, value: norm }.into()) }
}

/// A standard deviation, and the lattice of messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    sigma: f64,
}

impl Scale {
    /// Noise of standard deviation `sigma`.
    ///
    /// # Errors
    /// [`DpsPcaError`] unless it is a positive number, and large enough for a lattice of a sixteenth of it.
    pub fn new(sigma: f64) -> Result<Self, DpsPcaError> {
        let step = sigma / f64::from(STEPS_PER_SIGMA);
        if step.is_normal() && step > 0.0 {
            Ok(Self { sigma })
        } else {
            Err(PrivacyError::Scale { name: "the standard deviation of the noise", value: sigma }.into())
        }
    }

    /// The standard deviation of the noise on every entry of `n_i H_i`.
    #[must_use]
    pub fn sigma(self) -> f64 {
        self.sigma
    }

    /// The distance of neighbouring values of a message: a power of two below `sigma`, exactly.
    #[must_use]
    pub fn step(self) -> f64 {
        self.sigma / f64::from(STEPS_PER_SIGMA)
    }

    /// The sum of `n_i H_i` from the providers' messages, each column after column. The integers are added first, so
    /// that the order of messages does not matter.
    #[must_use]
    pub fn sum<'a>(self, shape: (usize, usize), messages: impl Iterator<Item = &'a [i64]>) -> DMatrix<f64> {
        let mut total = vec![0_i64; shape.0 * shape.1];
        let mut count = 0_u32;
        for message in messages {
            for (total, cell) in total.iter_mut().zip(message) {
                // Providers keep to 2^52 either way: thousands of them do not overflow.
                *total = total.saturating_add(*cell);
            }
            count += 1;
        }
        // Rounding down took half a step from each.
        let taken = 0.5 * f64::from(count);
        DMatrix::from_iterator(shape.0, shape.1, total.into_iter().map(|cell| (cell as f64 + taken) * self.step()))
    }
}
