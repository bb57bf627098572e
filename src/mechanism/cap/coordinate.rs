//! The law of a coordinate of a point on the sphere of radius sqrt(m) in m dimensions, whose mean square is 1, and the
//! normal law that it approaches: for integrals over it, and for its quantiles.
//!
//! With `s = sqrt(m) cos(psi)` the angle psi to the axis has a density proportional to `sin(psi)^(m-2)` from 0 to pi/2:
//! smooth, and bounded for every m >= 2. In few dimensions a steep cap is a small part of this range, next to 0: there
//! the square root of psi has evenly spaced nodes.

use core::f64::consts::FRAC_PI_2;

/// Intervals of the quadrature (Simpson's rule). The integrands are smooth.
const INTERVALS: usize = 2400;

/// The largest coordinate in the quadrature. Beyond it there is less than 10^-30.
const LARGEST: f64 = 12.0;

/// A node of the quadrature over the magnitude of a coordinate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The square of the coordinate.
    pub(super) square: f64,
    /// Its weight: those of all nodes add up to 1.
    pub(super) weight: f64,
    /// The probability of a larger magnitude.
    pub(super) exceeded: f64,
}

/// The law of the magnitude.
#[derive(Clone, Debug)]
pub struct Coordinate {
    nodes: Vec<Node>,
}

impl Coordinate {
    /// In `rows` dimensions (at least 2), or the normal law.
    #[must_use]
    pub fn new(rows: Option<usize>) -> Self {
        let m = rows.map(|rows| rows as f64);
        let few = m.is_some_and(|m| LARGEST > FRAC_PI_2 * m.sqrt());
        let largest = m.map_or(LARGEST, |m| if few { 1.0 } else { LARGEST / m.sqrt() });
        let step = largest / INTERVALS as f64;
        // The square of the coordinate, and a density, at a multiple of half a step.
        let at = |half: usize| {
            let place = 0.5 * step * half as f64;
            let Some(m) = m else { return (place * place, libm::exp(-0.5 * place * place)) };
            // From the axis on, or from the plane across it.
            let root = 1.0 - place;
            let ((sine, cosine), slope) = if few {
                let psi = FRAC_PI_2 * root * root;
                (libm::sincos(psi), root)
            } else {
                let (sine, cosine) = libm::sincos(place);
                ((cosine, sine), 1.0)
            };
            // The sine to the power m - 2, also where it is nearly 1.
            let density = if m == 2.0 { 1.0 } else { libm::exp((0.5 * m - 1.0) * libm::log1p(-cosine * cosine)) };
            let density = if sine < 0.5 && m > 2.0 { libm::exp((m - 2.0) * libm::log(sine)) } else { density };
            (m * cosine * cosine, slope * density)
        };
        let mut nodes = vec![Node { square: 0.0, weight: 0.0, exceeded: 0.0 }; INTERVALS + 1];
        let mut beyond = 0.0;
        for index in (0..=INTERVALS).rev() {
            let (square, density) = at(2 * index);
            if index < INTERVALS {
                beyond += (density + 4.0 * at(2 * index + 1).1 + at(2 * index + 2).1) * step / 6.0;
            }
            let simpson = match index {
                0 | INTERVALS => 1.0,
                _ if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
            nodes[index] = Node { square, weight: simpson * density * step / 3.0, exceeded: beyond };
        }
        let total: f64 = nodes.iter().map(|node| node.weight).sum();
        for node in &mut nodes {
            node.weight /= total;
            node.exceeded /= beyond;
        }
        Self { nodes }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The magnitude that is exceeded with this probability, to a few digits.
    #[must_use]
    pub fn exceeded_with(&self, tail: f64) -> f64 {
        let above = self.nodes.partition_point(|node| node.exceeded > tail).min(INTERVALS);
        if above == 0 {
            return 0.0;
        }
        let (low, high) = (self.nodes[above - 1], self.nodes[above]);
        let width = low.exceeded - high.exceeded;
        let part = if width > 0.0 { ((low.exceeded - tail) / width).clamp(0.0, 1.0) } else { 0.0 };
        let (low, high) = (low.square.sqrt(), high.square.sqrt());
        low + part * (high - low)
    }
}
