//! The Bingham samplers against exact densities, which are computed here in another way.

use chacha20::ChaCha12Rng;
use ldp_pca_literature::baselines::ppca::{Gibbs, bingham::draw_orthogonal};
use nalgebra::DMatrix;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

/// The limit of a Kolmogorov-Smirnov test: the statistic times sqrt(n) is above it with probability 1e-4 (the first
/// term of Kolmogorov's series, `2 exp(-2 x^2)`).
const CRITICAL: f64 = 2.226;

/// Points of the grids on [0, 1].
const GRID: usize = 1000;

/// The law of |u_j| for u with density proportional to `exp(sum l_i u_i^2)` on the unit sphere, as its distribution
/// function on a grid.
///
/// The squares of the coordinates have density proportional to `prod x_i^(-1/2) exp(l_i x_i)` on the simplex (a
/// Dirichlet law with weights). Two of them together contribute to a sum r the smooth function
/// `int_0^pi exp(r (a cos^2 t + b sin^2 t)) dt`; pairs are convolved on a grid. One that is left over is convolved in
/// its root, which takes out the singularity.
fn law_of_projection(exponents: &[f64], j: usize) -> Vec<f64> {
    let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut others: Vec<f64> = exponents.iter().map(|l| l - largest).collect();
    let own = others.remove(j);
    let single = if others.len() % 2 == 1 { others.pop() } else { None };
    let step = 1.0 / GRID as f64;
    let point = |i: usize| i as f64 * step;
    let pair = |a: f64, b: f64| -> Vec<f64> {
        let angles = 64;
        let at = |r: f64| {
            let value = |i: i32| {
                let t = std::f64::consts::PI * f64::from(i) / f64::from(angles);
                (r * (a * t.cos().powi(2) + b * t.sin().powi(2))).exp()
            };
            (0..angles).map(value).sum::<f64>()
        };
        (0..=GRID).map(|i| at(point(i))).collect()
    };
    let mut rest: Option<Vec<f64>> = None;
    for both in others.chunks_exact(2) {
        let next = pair(both[0], both[1]);
        rest = Some(match rest {
            None => next,
            Some(sum) => {
                let convolved = |r: usize| {
                    let inner: f64 = (0..=r).map(|i| sum[i] * next[r - i]).sum();
                    step * (inner - 0.5 * (sum[0] * next[r] + sum[r] * next[0]))
                };
                (0..=GRID).map(convolved).collect()
            }
        });
    }
    let mut rest = rest.unwrap();
    let interpolate = |values: &[f64], r: f64| {
        let at = (r / step).clamp(0.0, GRID as f64 - 1e-9);
        let below = at as usize;
        values[below] + (at - below as f64) * (values[below + 1] - values[below])
    };
    if let Some(l) = single {
        let with = |i: usize| {
            let root = point(i).sqrt();
            let nodes = 400;
            let value = |n: i32| {
                let v = root * (f64::from(n) + 0.5) / f64::from(nodes);
                (l * v * v).exp() * interpolate(&rest, point(i) - v * v)
            };
            (0..nodes).map(value).sum::<f64>() * root / f64::from(nodes)
        };
        rest = (0..=GRID).map(with).collect();
    }
    let density: Vec<f64> =
        (0..=GRID).map(|i| (own * point(i).powi(2)).exp() * interpolate(&rest, 1.0 - point(i).powi(2))).collect();
    let mut distribution = vec![0.0; GRID + 1];
    for i in 1..=GRID {
        distribution[i] = distribution[i - 1] + 0.5 * (density[i - 1] + density[i]);
    }
    let total = distribution[GRID];
    distribution.iter().map(|value| value / total).collect()
}

/// sqrt(n) times the largest gap between the draws' distribution and a law.
fn kolmogorov_smirnov(mut draws: Vec<f64>, law: &[f64]) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let gap = |(i, x): (usize, &f64)| {
        let at = (x * GRID as f64).clamp(0.0, GRID as f64 - 1e-9);
        let below = at as usize;
        let expected = law[below] + (at - below as f64) * (law[below + 1] - law[below]);
        (expected - i as f64 / n).abs().max((expected - (i + 1) as f64 / n).abs())
    };
    draws.iter().enumerate().map(gap).fold(0.0, f64::max) * n.sqrt()
}

/// Strong, weak and tied exponents in each dimension.
fn spectra(d: usize) -> [Vec<f64>; 2] {
    let steep = (0..d).map(|i| 24.0 / (1.0 + i as f64) - f64::from(i as u32)).collect();
    let flat = (0..d).map(|i| if i < 2 { 6.0 } else { -1.5 * f64::from((i % 2) as u32) }).collect::<Vec<f64>>();
    let mut flat = flat;
    flat.sort_by(|a, b| b.total_cmp(a));
    [steep, flat]
}

/// alpha = 1e-4 for each of 18 tests.
#[test]
fn exact_draws_follow_the_exact_law_in_3_10_and_20_dimensions() {
    let mut rng = ChaCha12Rng::seed_from_u64(3);
    for d in [3, 10, 20] {
        for exponents in spectra(d) {
            let none = DMatrix::zeros(d, 0);
            let draws: Vec<_> =
                (0..20_000).map(|_| draw_orthogonal(&exponents, &none, &mut rng).unwrap().vector).collect();
            let statistic = |exponents: &[f64], j: usize| {
                kolmogorov_smirnov(draws.iter().map(|u| u[j].abs()).collect(), &law_of_projection(exponents, j))
            };
            let coordinates = [0, d / 2, d - 1];
            for j in coordinates {
                let found = statistic(&exponents, j);
                assert!(found < CRITICAL, "d = {d}, coordinate {j}: {found}");
            }
            // The test sees a law that is somewhat too narrow.
            let wrong: Vec<f64> = exponents.iter().map(|l| 1.2 * l).collect();
            let seen = coordinates.map(|j| statistic(&wrong, j)).into_iter().fold(0.0, f64::max);
            assert!(seen > 1.5 * CRITICAL, "d = {d}: {seen}");
        }
    }
}

/// The samplers of two public packages divide where they must multiply. From d = 3 on, this gives another law.
#[test]
fn the_proposals_alone_do_not_follow_it() {
    let mut rng = ChaCha12Rng::seed_from_u64(4);
    let exponents: [f64; 10] = [24.0, 11.0, 6.0, 3.0, 0.8, -1.0, -2.6, -4.0, -5.3, -6.6];
    // The envelope with b = 1.
    let proposal = |rng: &mut ChaCha12Rng| {
        let y: Vec<f64> = exponents
            .iter()
            .map(|l| {
                let z: f64 = StandardNormal.sample(rng);
                z / (1.0 + 2.0 * (exponents[0] - l)).sqrt()
            })
            .collect();
        y[0].abs() / y.iter().map(|value| value * value).sum::<f64>().sqrt()
    };
    let draws = (0..20_000).map(|_| proposal(&mut rng)).collect();
    let statistic = kolmogorov_smirnov(draws, &law_of_projection(&exponents, 0));
    assert!(statistic > 10.0 * CRITICAL, "{statistic}");
}

/// In the complement of a coordinate plane the law is the one without those coordinates.
#[test]
fn draws_orthogonal_to_columns_follow_the_law_of_the_complement() {
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    let exponents = [80.0, 30.0, 24.0, 17.0, 12.0, 10.0, 9.0];
    // A rotated basis of the plane of axes 0 and 3.
    let mut columns = DMatrix::zeros(7, 2);
    for (row, values) in [(0, [0.6, 0.8]), (3, [-0.8, 0.6])] {
        columns.row_mut(row).copy_from_slice(&values);
    }
    let draws: Vec<_> = (0..20_000).map(|_| draw_orthogonal(&exponents, &columns, &mut rng).unwrap().vector).collect();
    let left = [30.0, 24.0, 12.0, 10.0, 9.0];
    for (axis, j) in [(1, 0), (2, 1), (6, 4)] {
        let found = kolmogorov_smirnov(draws.iter().map(|u| u[axis].abs()).collect(), &law_of_projection(&left, j));
        assert!(found < CRITICAL, "axis {axis}: {found}");
    }
    assert!(draws.iter().all(|u| columns.tr_mul(u).amax() < 1e-12));
}

/// The Gibbs sampler for two and three columns against uniform draws weighted by the density: the means of the squared
/// length of each axis's projection and of the exponent. Standard errors come from batches; five of them are allowed
/// (two-sided normal: 6e-7 for each of 6 means).
#[test]
fn the_chain_has_the_means_of_the_matrix_law() {
    for k in [2, 3] {
        compare_with_weighted_draws(&[5.0, 3.5, 2.0, 1.0, 0.0], k);
    }
}

fn compare_with_weighted_draws(exponents: &[f64], k: usize) {
    let d = exponents.len();
    let means = |batches: &[(f64, Vec<f64>)]| -> Vec<(f64, f64)> {
        let total: f64 = batches.iter().map(|(weight, _)| weight).sum();
        (0..=d)
            .map(|i| {
                let mean = batches.iter().map(|(_, sums)| sums[i]).sum::<f64>() / total;
                let spread: f64 = batches.iter().map(|(weight, sums)| (sums[i] - mean * weight).powi(2)).sum();
                (mean, spread.sqrt() / total)
            })
            .collect()
    };
    let observed = |columns: &DMatrix<f64>| -> Vec<f64> {
        let lengths: Vec<f64> = columns.row_iter().map(|row| row.norm_squared()).collect();
        let exponent = lengths.iter().zip(exponents).map(|(length, l)| length * l).sum();
        lengths.into_iter().chain([exponent]).collect()
    };
    let gather = |draws: &mut dyn FnMut() -> (f64, Vec<f64>), batches: usize, size: usize| {
        (0..batches)
            .map(|_| {
                let mut sums = (0.0, vec![0.0; d + 1]);
                for _ in 0..size {
                    let (weight, values) = draws();
                    sums.0 += weight;
                    sums.1.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
                }
                sums
            })
            .collect::<Vec<_>>()
    };

    let mut rng = ChaCha12Rng::seed_from_u64(6);
    let mut uniform = || {
        let columns = DMatrix::from_fn(d, k, |_, _| StandardNormal.sample(&mut rng));
        let values = observed(&columns.qr().q());
        ((values[d] - 9.0).exp(), values)
    };
    let weighted = means(&gather(&mut uniform, 200, 2_000));

    let mut rng = ChaCha12Rng::seed_from_u64(7);
    let mut chain = Gibbs::start(exponents, k, &mut rng).unwrap();
    for _ in 0..100 {
        chain.sweep(&mut rng).unwrap();
    }
    let mut next = || {
        chain.sweep(&mut rng).unwrap();
        (1.0, observed(chain.columns()))
    };
    let sampled = means(&gather(&mut next, 100, 150));
    for (i, ((expected, its_error), (found, error))) in weighted.iter().zip(&sampled).enumerate() {
        let allowed = 5.0 * its_error.hypot(*error);
        assert!((found - expected).abs() < allowed, "{i}: {found} for {expected}, {allowed} allowed");
        // The comparison is sharp.
        assert!(allowed < 0.05 * expected.max(1.0), "{i}: {allowed}");
    }
}
