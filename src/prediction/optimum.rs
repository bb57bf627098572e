//! How many people other unbiased reports of the same promise would need: the bounds of docs/privacy/optimality.md.
//!
//! For records whose directions are uniform on the sphere and any unbiased report Y of `u u^T - I/d` with pure epsilon,
//! `E |Y|^2 >= c^2 / gamma^2` with `c = 1 - 1/d` and gamma the largest gamma(D) over symmetric D of trace 0 and norm 1.
//! It is proved that `gamma^2 <= 2 sinh(epsilon/2)^2 / (d (d + 2))`.
//!
//! For the centred projection of rank r, with B of the law Beta(r/2, (d - r)/2) and `a = e^epsilon - 1`,
//!
//! ```text
//! gamma(D) = max over t of  a E[B - r/d; B >= t] / (1 + a P[B >= t]) / sqrt(r (1 - r/d))
//! ```
//!
//! That no other D has a larger gamma(D) is a conjecture: none was found.

use serde::Serialize;

use crate::mechanism::{LocalRandomizer, Mechanism};

/// Steps of the angle whose squared cosine is B.
const STEPS: u32 = 8000;

/// The people whom other unbiased reports of the same promise would need: the share of the planned people of whom an
/// average of them with as large an error could be made, which is the expected squared Frobenius error of the second
/// moments of an isotropic population.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Optimum {
    /// No unbiased reports need less than this share. Proved; at most 1.
    pub proved_share: f64,
    /// The least share, if no D has a larger gamma(D) than the projections. A conjecture; at most 1.
    pub conjectured_share: f64,
    /// The rank of the projection that the conjectured share is computed from.
    pub rank: usize,
}

impl Optimum {
    /// For a mechanism with pure epsilon and unit vectors of at least two features; `None` for others.
    pub(super) fn of(mechanism: &Mechanism) -> Option<Self> {
        let Mechanism::DoubleCap(double_cap) = mechanism else { return None };
        let dimension = mechanism.dimension();
        if dimension < 2 {
            return None;
        }
        let (d, epsilon) = (dimension as f64, mechanism.guarantee().epsilon.value());
        let (conjectured, rank) = largest_gamma_of_projections(dimension, epsilon);
        let proved = libm::sinh(epsilon / 2.0) * (2.0 / (d * (d + 2.0))).sqrt();
        let own = (d - 1.0) / d * double_cap.fourth_power() / double_cap.gain().powi(2);
        let share = |gamma: f64| (((d - 1.0) / d / gamma).powi(2) / own).min(1.0);
        Some(Self { proved_share: share(proved), conjectured_share: share(conjectured), rank })
    }
}

/// The largest gamma(D) of projections, and its rank. It rises with the rank, then falls.
fn largest_gamma_of_projections(dimension: usize, epsilon: f64) -> (f64, usize) {
    let mut best = (gamma(dimension, 1, epsilon), 1);
    for rank in 2..dimension {
        let next = gamma(dimension, rank, epsilon);
        if next <= best.0 {
            break;
        }
        best = (next, rank);
    }
    best
}

fn gamma(dimension: usize, rank: usize, epsilon: f64) -> f64 {
    let (d, r, a) = (dimension as f64, rank as f64, libm::expm1(epsilon));
    let step = core::f64::consts::FRAC_PI_2 / f64::from(STEPS);
    let at = |index: u32| {
        let angle = step * (f64::from(index) + 0.5);
        let (sine, cosine) = libm::sincos(angle);
        ((r - 1.0) * libm::log(cosine) + (d - r - 1.0) * libm::log(sine), cosine * cosine)
    };
    let largest = (0..STEPS).map(|index| at(index).0).fold(f64::NEG_INFINITY, f64::max);
    let density = |index: u32| {
        let (log, square) = at(index);
        (libm::exp(log - largest), square)
    };
    let total: f64 = (0..STEPS).map(|index| density(index).0).sum();
    let (mut share, mut mean, mut best) = (0.0, 0.0, 0.0f64);
    for index in 0..STEPS {
        let (density, square) = density(index);
        share += density / total;
        mean += density / total * (square - r / d);
        best = best.max(a * mean / (1.0 + a * share));
    }
    best / (r * (1.0 - r / d)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::MechanismSpec;
    use crate::privacy::Delta;
    use crate::privacy::tests::epsilon;
    use crate::record::Bounding;

    fn optimum(dimension: usize, value: f64) -> Optimum {
        let spec = MechanismSpec::double_cap(epsilon(value));
        Optimum::of(&spec.build(dimension, Bounding::UnitNorm).unwrap()).unwrap()
    }

    /// Another program's figures, by the distribution functions of Beta laws, in whole percent. They are without the
    /// offsets of scores, which take up to 0.4 % of the gain.
    #[test]
    fn shares_are_those_of_the_table() {
        let manual = include_str!("../../docs/privacy/optimality.md");
        let mut rows = 0;
        for line in manual.lines().filter(|line| line.starts_with("| ") && line.contains(" % |")) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let number = |cell: usize| cells[cell].trim_end_matches(" %").parse::<f64>().unwrap();
            let found = optimum(number(2) as usize, number(1));
            for (cell, share) in [(6, found.proved_share), (8, found.conjectured_share)] {
                let less = number(cell) - 100.0 * share;
                assert!((-0.51..1.3).contains(&less), "{line}: {found:?}");
            }
            assert_eq!(found.rank as f64, number(9), "{line}");
            rows += 1;
        }
        assert_eq!(rows, 20);
    }

    /// At d = 2 the projection of rank 1 is the only D: 1 / gamma is known.
    #[test]
    fn in_the_plane_the_bound_is_a_known_one() {
        // With the angle psi to the axis uniform, E[cos^2 - 1/2; psi <= t] = sin(2 t) / (2 pi) and P = 2 t / pi.
        let a = 2f64.exp_m1();
        let pi = core::f64::consts::PI;
        let of = |t: f64| a * (2.0 * t).sin() / (2.0 * pi) / (1.0 + a * 2.0 * t / pi);
        let best = (0..100_000).map(|index| of(f64::from(index) * 1.57e-5)).fold(0.0, f64::max);
        assert!((gamma(2, 1, 2.0) / (best * 2f64.sqrt()) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn it_is_no_more_than_everybody_and_only_for_pure_epsilon() {
        for (dimension, value) in [(2, 0.1), (2, 8.0), (3, 4.0), (30, 1.0), (1000, 2.0)] {
            let found = optimum(dimension, value);
            let Optimum { proved_share, conjectured_share, .. } = found;
            let ordered = 0.0 < proved_share && proved_share <= conjectured_share && conjectured_share <= 1.0;
            assert!(ordered && conjectured_share > 0.3, "{dimension} {value}: {found:?}");
        }
        let gaussian = MechanismSpec::gaussian(epsilon(1.0), Delta::USUAL).build(5, Bounding::UnitNorm).unwrap();
        assert_eq!(Optimum::of(&gaussian), None);
        let one = MechanismSpec::double_cap(epsilon(1.0)).build(1, Bounding::UnitNorm).unwrap();
        assert_eq!(Optimum::of(&one), None);
    }
}
