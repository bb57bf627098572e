//! What components say beside their variance: whether they can be told from each other, whether they are patterns of
//! several columns at all, and whether the first may be the mean.

use nalgebra::DMatrix;

use super::super::DECOMPOSED;
use crate::law::{Along, NoiseLaw};
use crate::linalg::{sort_descending, symmetric_eigenvalues};
use crate::schema::{Schema, features_of_columns};

/// Two components of one variance are told from each other in this share of collections.
const LEVEL: f64 = 0.05;

/// A squared loading that leaves next to nothing for the other features.
const WHOLE: f64 = 0.98;

/// A share of the total variance that leaves little for the other components.
const DOMINANT: f64 = 0.8;

/// The number of features that must carry a component before the signs of its loadings say something.
const SEVERAL: f64 = 4.0;

/// A component above the noise: its variance in the estimate, and in the population as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) observed: f64,
    pub(super) truth: Along,
}

/// The runs of components, by their first and last index, of which the noise explains the distance of each two
/// neighbours' variances: any rotation of them fits as well.
///
/// The estimate of two components of one variance is a symmetric 2 × 2 matrix whose entries have the deviation s beside
/// the diagonal, and `sqrt(2) s` on it. The square of its eigenvalues' distance, over `8 s^2`, is exponential: the
/// distance exceeds `s sqrt(8 log(1 / level))` with the probability `level`. Neighbours among three and more are
/// closer. *Assumption*: normal noise, as that of many reports nearly is.
pub(super) fn ties(components: &[Standing], law: &NoiseLaw) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = vec![];
    for (index, pair) in components.windows(2).enumerate() {
        let [first, second] = [pair[0].truth, pair[1].truth];
        let eigenvalue = 0.5 * (first.eigenvalue + second.eigenvalue);
        let both = Along { eigenvalue, excess: first.excess.max(second.excess) };
        let distance = pair[0].observed - pair[1].observed;
        if distance * distance >= -8.0 * law.variance_between(both, both) * LEVEL.ln() {
            continue;
        }
        match runs.last_mut() {
            Some([_, last]) if *last == index => *last = index + 1,
            _ => runs.push([index, index + 1]),
        }
    }
    runs
}

/// The variances that the estimate has without what columns share: of numeric columns its diagonal, of a categorical
/// one the eigenvalues of the block of its features, which exclude each other. Descending; none where a column has too
/// many features to decompose their block.
pub(super) fn alone(estimate: &DMatrix<f64>, schema: &Schema) -> Vec<f64> {
    let mut variances = vec![];
    for features in features_of_columns(schema) {
        if features.len() > DECOMPOSED {
            return vec![];
        }
        let block = estimate.view((features.start, features.start), (features.len(), features.len())).into_owned();
        // It fails for numbers that are not finite, which no estimate has.
        if let Ok(values) = symmetric_eigenvalues(&block) {
            variances.extend_from_slice(values.as_slice());
        }
    }
    sort_descending(&mut variances);
    variances
}

/// Whether the first components hold no more variance than as many directions of single columns do, by two deviations
/// of the difference at most: then they are no pattern of several columns. None where a run of ties that does not end
/// here, or no component, leaves it open.
///
/// The sum of the first k eigenvalues of a matrix is at least that of its diagonal blocks, and the same for every k
/// only where nothing is beside the blocks (of single entries Schur 1923; pinching, Bhatia 1997, II.5). Inside a run of
/// ties, the noise orders both. The noise spreads the eigenvalues of large blocks, which makes a pattern harder to see.
pub(super) fn are_single_columns(
    components: &[Standing],
    ties: &[[usize; 2]],
    alone: &[f64],
    law: &NoiseLaw,
) -> Option<bool> {
    let (mut difference, mut variance) = (0.0, 0.0);
    let mut found = None;
    for (index, (component, alone)) in components.iter().zip(alone).enumerate() {
        difference += component.truth.eigenvalue - alone;
        variance += 2.0 * law.variance_between(component.truth, component.truth);
        if ties.iter().any(|[first, last]| (*first..*last).contains(&index)) {
            continue;
        }
        if difference > 2.0 * variance.sqrt() {
            return Some(false);
        }
        found = Some(true);
    }
    found
}

/// The marks that a mean far from zero leaves on a first component about zero, which has this share of the variance, in
/// words about the component. They are no proof: a strong component has them too.
pub(super) fn marks_of_mean(loadings: &[f64], names: &[String], share: Option<f64>) -> Vec<String> {
    let square = |loading: &f64| loading * loading;
    let sum = |kept: fn(f64) -> bool| loadings.iter().filter(|loading| kept(**loading)).map(square).sum::<f64>();
    let fourth_powers: f64 = loadings.iter().map(|loading| square(loading).powi(2)).sum();
    let mut marks = vec![];
    if let Some(alone) = loadings.iter().position(|loading| square(loading) >= WHOLE) {
        marks.push(format!("is '{}' alone", names[alone]));
    } else if 1.0 / fourth_powers >= SEVERAL && sum(|loading| loading < 0.0).min(sum(|loading| loading > 0.0)) < 0.01 {
        marks.push("has loadings of one sign".to_owned());
    }
    if let Some(share) = share.filter(|&share| share >= DOMINANT) {
        marks.push(format!("holds {:.0} % of the total variance", 100.0 * share));
    }
    marks
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha12Rng;
    use nalgebra::DVector;
    use rand::SeedableRng;

    use super::*;
    use crate::law::tests::{double_cap_law, gaussian_law};
    use crate::law::{SpikedCovariance, split_spectrum};
    use crate::schema::{Column, ColumnKind, Unseen};

    /// The first components of draws of the estimate of a population, their ties, and whether they are single columns.
    fn of_draws(truth: &SpikedCovariance, law: &NoiseLaw, rank: usize) -> Vec<(Vec<[usize; 2]>, Option<bool>)> {
        of_draws_in(&Schema::numeric(12).unwrap(), truth, law, rank)
    }

    fn of_draws_in(
        schema: &Schema,
        truth: &SpikedCovariance,
        law: &NoiseLaw,
        rank: usize,
    ) -> Vec<(Vec<[usize; 2]>, Option<bool>)> {
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        (0..400)
            .map(|_| {
                let estimate = law.draw_with_rng(truth, &mut rng).unwrap();
                let observed = symmetric_eigenvalues(&estimate).unwrap();
                let split = split_spectrum(&observed, law);
                let standing = split.eigenvalues.iter().zip(&observed).take(rank);
                let components: Vec<Standing> =
                    standing.map(|(&truth, &observed)| Standing { observed, truth: truth.into() }).collect();
                let ties = ties(&components, law);
                let single = are_single_columns(&components, &ties, &alone(&estimate, schema), law);
                (ties, single)
            })
            .collect()
    }

    fn count<T>(found: &[T], is_counted: impl Fn(&T) -> bool) -> usize {
        found.iter().filter(|one| is_counted(one)).count()
    }

    fn axes(variances: &[f64], bulk: f64) -> SpikedCovariance {
        let components = DMatrix::identity(12, variances.len());
        SpikedCovariance::new(components, DVector::from_row_slice(variances), bulk).unwrap()
    }

    /// 5 % of 400 draws tell two equal components apart: 20 expected, and 38 or more have a probability of 2e-4.
    /// Of components that are ten deviations apart, 0.5 % are tied (a deviation of the distance is two of them); six
    /// equal ones are one run nearly always.
    #[test]
    fn equal_components_are_tied_and_others_are_not() {
        for law in [double_cap_law(12, 4.0, 60_000), gaussian_law(12, 4.0, 600_000)] {
            let found = of_draws(&axes(&[0.25, 0.25], 0.05), &law, 2);
            let apart = count(&found, |(ties, _)| ties.is_empty());
            assert!((3..38).contains(&apart), "{law:?}: {apart}");
            let deviation = law.cross_variance(0.25, 0.25).sqrt();
            let found = of_draws(&axes(&[0.25 + 5.0 * deviation, 0.25 - 5.0 * deviation], 0.05), &law, 2);
            let tied = count(&found, |(ties, _)| !ties.is_empty());
            assert!(tied < 12, "{law:?}: {tied}");
            let found = of_draws(&axes(&[0.12; 6], 0.28 / 6.0), &law, 6);
            let whole = count(&found, |(ties, _)| ties == &[[0, 5]]);
            assert!(whole > 360, "{law:?}: {whole}");
        }
    }

    /// Unequal variances of features that are not correlated are no pattern, in 95 % of draws at least; two of them
    /// that are correlated are one, whether one component is asked for or both.
    #[test]
    fn features_alone_are_no_pattern_and_correlated_ones_are() {
        for law in [double_cap_law(12, 4.0, 60_000), gaussian_law(12, 4.0, 600_000)] {
            for variances in [&[0.3][..], &[0.3, 0.2], &[0.12; 6], &[0.2, 0.15, 0.1, 0.1]] {
                let bulk = (1.0 - variances.iter().sum::<f64>()) / (12 - variances.len()) as f64;
                let found = of_draws(&axes(variances, bulk), &law, variances.len());
                let single = count(&found, |(_, single)| *single == Some(true));
                assert!(single >= 380, "{law:?} {variances:?}: {single}");
            }
            let mut components = DMatrix::identity(12, 2);
            let root = core::f64::consts::FRAC_1_SQRT_2;
            components.view_mut((0, 0), (2, 2)).copy_from_slice(&[root, root, root, -root]);
            let pattern = SpikedCovariance::new(components, DVector::from_row_slice(&[0.4, 0.2]), 0.04).unwrap();
            for rank in [1, 2] {
                let found = of_draws(&pattern, &law, rank);
                assert_eq!(count(&found, |(_, single)| *single == Some(false)), 400, "{law:?} {rank}");
            }
        }
    }

    /// A component within the four features of one column is no pattern of several columns, in 95 % of draws at least;
    /// one of two columns is found.
    #[test]
    fn the_features_of_one_column_are_no_pattern_of_several() {
        let answers = |name: &str| {
            let values = ["a", "b", "c", "d"].map(String::from).to_vec();
            Column::new(name, ColumnKind::Categorical { values, unseen: Unseen::Zero })
        };
        let schema = Schema::new(["p", "q", "r"].map(answers).to_vec()).unwrap();
        let component = |places: &[(usize, f64)]| {
            let mut components = DMatrix::zeros(12, 1);
            places.iter().for_each(|&(place, loading)| components[(place, 0)] = loading);
            SpikedCovariance::new(components, DVector::from_row_slice(&[0.3]), 0.06).unwrap()
        };
        let within = component(&[(4, 0.5), (5, -0.5), (6, 0.5), (7, -0.5)]);
        let between = component(&[(0, 0.5), (1, -0.5), (4, 0.5), (5, -0.5)]);
        for law in [double_cap_law(12, 4.0, 60_000), gaussian_law(12, 4.0, 600_000)] {
            let single = count(&of_draws_in(&schema, &within, &law, 1), |(_, single)| *single == Some(true));
            assert!(single >= 380, "{law:?}: {single}");
            assert_eq!(count(&of_draws(&within, &law, 1), |(_, single)| *single == Some(false)), 400, "{law:?}");
            let found = of_draws_in(&schema, &between, &law, 1);
            assert_eq!(count(&found, |(_, single)| *single == Some(false)), 400, "{law:?}");
        }
    }

    /// A column of thousands of categories would take minutes, so nothing is said.
    #[test]
    fn the_block_of_a_column_is_not_decomposed_where_no_estimate_is() {
        let values = (0..=DECOMPOSED).map(|value| value.to_string()).collect();
        let column = Column::new("place", ColumnKind::Categorical { values, unseen: Unseen::Zero });
        let schema = Schema::new(vec![column]).unwrap();
        let estimate = DMatrix::zeros(schema.dimension(), schema.dimension());
        assert!(alone(&estimate, &schema).is_empty());
        assert_eq!(alone(&DMatrix::identity(2, 2), &Schema::numeric(2).unwrap()), [1.0, 1.0]);
    }

    /// The first of six equal components may be any rotation of them, so nothing is said of it alone.
    #[test]
    fn a_run_that_goes_on_leaves_open_what_its_components_are() {
        let law = double_cap_law(12, 4.0, 60_000);
        let standing = |observed: f64| Standing { observed, truth: observed.into() };
        let components = [standing(0.2), standing(0.2), standing(0.2)];
        assert_eq!(ties(&components, &law), [[0, 2]]);
        assert_eq!(are_single_columns(&components[..2], &[[0, 2]], &[0.2, 0.2, 0.2], &law), None);
        assert_eq!(are_single_columns(&[], &[], &[0.2], &law), None);
    }
}
