//! The scores of reports, summed, and what the errors of these sums follow from.

use nalgebra::DMatrix;

use super::fit::Fit;
use crate::mechanism::double_cap::Slopes;

/// The largest weight of the score of the likelihood; that of the linear one is what remains of 1.
const LARGEST_WEIGHT: f64 = 2.0;

/// All fits in the form in which reports are compared with them, in single precision.
pub(super) struct Model {
    dimension: usize,
    /// The number of components.
    rank: usize,
    /// The number of directions of a fit, its components first.
    width: usize,
    /// Row by row: the directions of all fits.
    directions: Vec<f32>,
    /// For each direction of each fit, its variance over the bulk.
    excess: Vec<f32>,
    fits: Vec<Beside>,
}

/// What a fit has beside its directions.
struct Beside {
    /// The fold that is left out.
    fold: Option<usize>,
    bulk: f32,
    lift: f32,
    slopes: Slopes,
}

impl Model {
    /// Of fits with as many components each.
    pub(super) fn new(fits: &[Fit], dimension: usize) -> Self {
        let rank = fits.first().map_or(0, Fit::rank);
        let width = fits.iter().map(|fit| fit.directions.ncols()).max().unwrap_or(rank);
        let at = |fit: &Fit, row: usize, column: usize| fit.directions.get((row, column)).map_or(0.0, |&entry| entry);
        let of_row = |row| fits.iter().flat_map(move |fit| (0..width).map(move |column| at(fit, row, column) as f32));
        let beside = |fit: &Fit| Beside {
            fold: fit.fold,
            bulk: fit.bulk as f32,
            lift: fit.lift as f32,
            slopes: fit.slopes.clone(),
        };
        Self {
            dimension,
            rank,
            width,
            directions: (0..dimension).flat_map(of_row).collect(),
            excess: fits.iter().flat_map(|fit| (0..width).map(|column| fit.excess(column) as f32)).collect(),
            fits: fits.iter().map(beside).collect(),
        }
    }

    /// One for each component of each fit.
    pub(super) fn columns(&self) -> usize {
        self.rank * self.fits.len()
    }

    /// The number of sums.
    pub(super) fn sums(&self) -> usize {
        2 * self.columns() * self.dimension
    }
}

/// Sums of both scores, one column for each component of each fit.
#[derive(Clone)]
pub(super) struct Scores {
    /// Row by row, of the scores for each direction.
    pub(super) sums: Vec<[f64; 2]>,
    pub(super) moments: Vec<Moments>,
}

/// What the errors of the scores follow from, as means over all directions across the components.
#[derive(Clone, Copy, Default)]
pub(super) struct Moments {
    /// Minus the sums of their derivatives.
    pub(super) slopes: [f64; 2],
    /// The sums of the products: of the linear score with itself, of both, of the other with itself.
    pub(super) products: [f64; 3],
}

impl Moments {
    /// The factors of both sums of scores in the turn of least variance.
    pub(super) fn factors(&self) -> [f64; 2] {
        let ([linear, likelihood], [own, both, other]) = (self.slopes, self.products);
        // A score of which noise alone decides the derivative says nothing.
        match (linear > 0.0, likelihood > 0.0) {
            (false, false) => [0.0; 2],
            (true, false) => [1.0 / linear, 0.0],
            (false, true) => [0.0, 1.0 / likelihood],
            (true, true) => {
                let [own, both, other] =
                    [own / (linear * linear), both / (linear * likelihood), other / (likelihood * likelihood)];
                let share = ((own - both) / (own + other - 2.0 * both)).clamp(0.0, LARGEST_WEIGHT);
                // Scores that are equal have no least variance.
                let share = if share.is_nan() { 0.0 } else { share };
                [(1.0 - share) / linear, share / likelihood]
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.slopes.iter_mut().zip(&other.slopes).for_each(|(sum, more)| *sum += more);
        self.products.iter_mut().zip(&other.products).for_each(|(sum, more)| *sum += more);
    }
}

impl Scores {
    pub(super) fn none(model: &Model) -> Self {
        let columns = model.columns();
        Self { sums: vec![[0.0; 2]; model.dimension * columns], moments: vec![Moments::default(); columns] }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        self.moments.iter_mut().zip(&other.moments).for_each(|(sum, more)| sum.add(more));
    }

    /// The estimates of the turns of a fit's components, one column each, from the sums of both scores.
    pub(super) fn steps(&self, fit: usize, rank: usize) -> DMatrix<f64> {
        let columns = self.moments.len();
        DMatrix::from_fn(self.sums.len() / columns, rank, |row, component| {
            let column = fit * rank + component;
            let ([linear, likelihood], factors) = (self.sums[row * columns + column], self.moments[column].factors());
            factors[0] * linear + factors[1] * likelihood
        })
    }

    /// Adds the reported candidates of a block, each with its fold: few enough for single precision.
    pub(super) fn add_block(&mut self, model: &Model, reports: impl Iterator<Item = (usize, Vec<f32>)>) {
        let mut sums = vec![0.0f32; model.sums()];
        let (mut along, mut scores) = (vec![0.0f32; model.excess.len()], vec![0.0f32; 2 * model.columns()]);
        for (fold, candidate) in reports {
            let (record, lift) = candidate.split_at(model.dimension);
            along.fill(0.0);
            for (&z, row) in record.iter().zip(model.directions.chunks_exact(model.excess.len())) {
                along.iter_mut().zip(row).for_each(|(along, direction)| *along += z * direction);
            }
            let squares = [record, lift].map(|part| part.iter().map(|z| z * z).sum());
            scores.fill(0.0);
            for (fit, beside) in model.fits.iter().enumerate().filter(|(_, beside)| beside.fold != Some(fold)) {
                let directions = fit * model.width..(fit + 1) * model.width;
                let components = fit * model.rank..(fit + 1) * model.rank;
                let (along, excess) = (&along[directions.clone()], &model.excess[directions]);
                let moments = &mut self.moments[components.clone()];
                let scores = &mut scores[2 * components.start..2 * components.end];
                beside.score((along, excess), squares, model.dimension, moments, scores);
            }
            for (&z, row) in record.iter().zip(sums.chunks_exact_mut(scores.len())) {
                row.iter_mut().zip(&scores).for_each(|(sum, score)| *sum += z * score);
            }
        }
        for (sum, more) in self.sums.iter_mut().zip(sums.chunks_exact(2)) {
            sum.iter_mut().zip(more).for_each(|(sum, &more)| *sum += f64::from(more));
        }
    }
}

impl Beside {
    /// The factors of z in both scores for each component, given z along the directions and the squares of its parts;
    /// and what they add to the moments.
    fn score(
        &self,
        (along, excess): (&[f32], &[f32]),
        [square, lift]: [f32; 2],
        dimension: usize,
        moments: &mut [Moments],
        scores: &mut [f32],
    ) {
        let within: f32 = along.iter().zip(excess).map(|(g, excess)| excess * g * g).sum();
        let [slope, bend] = self.slopes.at(within + self.bulk * square + self.lift * lift);
        let rank = moments.len();
        // z_e^2, its mean over all e.
        let beside = (square - along[..rank].iter().map(|g| g * g).sum::<f32>()).max(0.0) / (dimension - rank) as f32;
        for (((&g, excess), moments), scores) in along.iter().zip(excess).zip(moments).zip(scores.chunks_exact_mut(2)) {
            scores.copy_from_slice(&[g, g * slope]);
            let (linear, product) = (g * g - beside, g * g * beside);
            // Turned by the angle t, g becomes g + t z_e, z_e becomes z_e - t g, and s grows by 2 t excess g z_e.
            let derivatives = [linear, slope * linear - 2.0 * excess * bend * product];
            let products = [product, slope * product, slope * slope * product];
            moments.slopes.iter_mut().zip(derivatives).for_each(|(sum, more)| *sum += f64::from(more));
            moments.products.iter_mut().zip(products).for_each(|(sum, more)| *sum += f64::from(more));
        }
    }
}
