//! Every method of the crate for the same guarantee, in the order of tables and charts.

use super::dps_pca::DpsPca;
use super::sulq::{Reading, SulqNoise};
use super::{
    Amin, AnalyticGaussianPca, AnalyzeGauss, DoubleCapPca, DoubleCapSparse, DpPca, ModSulq, ModSulqLaplace, NoisyPower,
    Oja, Pca, Ppca, PrivUnitPca, PrivateOja, RandomSubspace, SpectralProjector, SubspaceEstimator, Sulq, WangXuPca,
    WangXuSparse, WishartDifference,
};
use ldp_pca::privacy::{Delta, Epsilon};

/// The number of providers that hold the records of [`DpsPca`] here. A single provider, its default, would be a
/// curator.
pub const PROVIDERS: usize = 10;

/// All methods at `epsilon`, with `delta` where they need one, otherwise with the defaults of their documentation:
/// first those that guarantee nothing, then from the least trust to the most.
///
/// No method is left out for its parameters: a method whose theorem excludes them refuses when its guarantee is
/// requested.
#[must_use]
pub fn methods(epsilon: Epsilon, delta: Delta) -> Vec<Box<dyn SubspaceEstimator>> {
    with(epsilon, delta, WangXuSparse::new(epsilon, delta), None)
}

/// The rows that DPS-PCA keeps, in units of the nonzero ones: its paper keeps 50 for s = 10.
pub const KEPT_ROWS: usize = 5;

/// All methods at `epsilon` for components with `nonzero_rows` nonzero rows, with `delta` where they need one. The
/// methods for sparse components have the settings of their papers: DPS-PCA keeps [`KEPT_ROWS`] times as many rows, and
/// Algorithm 2 is [`WangXuSparse::own`]. Double-cap's is that of [`methods`], as `recover` has it.
#[must_use]
pub fn methods_for_sparse(epsilon: Epsilon, delta: Delta, nonzero_rows: usize) -> Vec<Box<dyn SubspaceEstimator>> {
    with(epsilon, delta, WangXuSparse::own(epsilon, delta), Some(KEPT_ROWS * nonzero_rows))
}

fn with(
    epsilon: Epsilon,
    delta: Delta,
    wang_xu: WangXuSparse,
    kept_rows: Option<usize>,
) -> Vec<Box<dyn SubspaceEstimator>> {
    vec![
        Box::new(Pca),
        Box::new(Oja::default()),
        Box::new(RandomSubspace),
        Box::new(DoubleCapPca::new(epsilon)),
        Box::new(DoubleCapSparse::new(epsilon)),
        Box::new(PrivUnitPca::new(epsilon)),
        Box::new(AnalyticGaussianPca::new(epsilon, delta)),
        Box::new(WangXuPca::new(epsilon, delta)),
        Box::new(wang_xu),
        Box::new(DpsPca { providers: PROVIDERS, kept_rows, ..DpsPca::new(epsilon, delta) }),
        Box::new(Sulq::new(epsilon, delta)),
        Box::new(Sulq { epsilon, noise: SulqNoise::Laplace, reading: Reading::AsPrinted }),
        Box::new(ModSulq::new(epsilon, delta)),
        Box::new(ModSulqLaplace::new(epsilon)),
        Box::new(Ppca::new(epsilon)),
        Box::new(Amin::new(epsilon)),
        Box::new(WishartDifference::new(epsilon)),
        Box::new(AnalyzeGauss::new(epsilon, delta)),
        Box::new(SpectralProjector::new(epsilon, delta)),
        Box::new(SpectralProjector::tested(epsilon, delta)),
        Box::new(NoisyPower::new(epsilon, delta)),
        Box::new(PrivateOja::new(epsilon, delta)),
        Box::new(PrivateOja::unshuffled(epsilon, delta)),
        Box::new(DpPca::new(epsilon, delta)),
        Box::new(DpPca::in_balls(epsilon, delta)),
    ]
}

/// The methods among [`methods`] that the lab of a web page includes, local and central. Samplers, decompositions and
/// private statistics that only one method needs would be a third of the lab. A separate build, with the feature
/// `methods`, has all methods.
#[must_use]
pub fn for_pages(epsilon: Epsilon, delta: Delta) -> [Box<dyn SubspaceEstimator>; 5] {
    [
        Box::new(Pca),
        Box::new(AnalyticGaussianPca::new(epsilon, delta)),
        Box::new(ModSulq::new(epsilon, delta)),
        Box::new(Ppca::new(epsilon)),
        Box::new(AnalyzeGauss::new(epsilon, delta)),
    ]
}

/// A method's name as an option: lower case, with hyphens for characters other than ASCII letters and digits.
///
/// ```
/// use ldp_pca_literature::baselines::catalogue::key;
/// assert_eq!([key("MOD-SULQ (Laplace)"), key("Cai, Xia & Zha")], ["mod-sulq-laplace", "cai-xia-zha"]);
/// ```
#[must_use]
pub fn key(name: &str) -> String {
    let mut key = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            key.push(character.to_ascii_lowercase());
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    if key.ends_with('-') {
        key.pop();
    }
    key
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chacha20::ChaCha12Rng;
    use nalgebra::DMatrix;
    use rand::SeedableRng;

    use super::*;
    use crate::baselines::{BaselineError, Sample, Shape, Trust};
    use ldp_pca::recovery::Rank;

    fn all() -> Vec<Box<dyn SubspaceEstimator>> {
        methods(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap())
    }

    #[test]
    fn every_method_has_a_name_of_its_own_that_can_be_typed() {
        let methods = all();
        let keys: BTreeSet<String> = methods.iter().map(|method| key(method.name())).collect();
        assert_eq!(keys.len(), methods.len());
        assert!(keys.iter().all(|key| key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')));
    }

    /// One component on 3 of 30 features, at a budget at which keeping all rows leaves noise in the others.
    #[test]
    fn for_sparse_components_the_same_methods_have_settings_of_their_own() {
        let (epsilon, delta) = (Epsilon::new(0.5).unwrap(), Delta::new(1e-6).unwrap());
        let sparse = methods_for_sparse(epsilon, delta, 3);
        let dense = methods(epsilon, delta);
        let names = |methods: &[Box<dyn SubspaceEstimator>]| -> Vec<&str> {
            methods.iter().map(|method| method.name()).collect()
        };
        assert_eq!(names(&sparse), names(&dense));
        let spike = DMatrix::from_fn(30, 30, |i, j| if i < 3 && j < 3 { 0.3 } else { 0.0 });
        let moments = spike + DMatrix::identity(30, 30) * 0.003;
        let sample = Sample::from_second_moment(moments, 2_000, 1.0).unwrap();
        let rows = |methods: &[Box<dyn SubspaceEstimator>], name: &str| {
            let method = methods.iter().find(|method| method.name() == name).unwrap();
            let mut rng = ChaCha12Rng::seed_from_u64(2);
            let found = method.estimate(&sample, Rank::new(1).unwrap(), &mut rng).unwrap().subspace;
            found.basis().row_iter().filter(|row| row.norm() > 0.0).count()
        };
        assert_eq!((rows(&dense, "DPS-PCA"), rows(&sparse, "DPS-PCA")), (30, 15));
    }

    #[test]
    fn pages_have_some_of_the_methods_in_their_order() {
        let mut all = all().into_iter().map(|method| method.name());
        let pages = for_pages(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        assert!(pages.iter().all(|method| all.any(|name| name == method.name())));
    }

    #[test]
    fn a_method_that_reads_records_one_by_one_says_so_in_its_own_name() {
        let moments = Sample::from_second_moment(DMatrix::identity(4, 4) / 4.0, 100_000, 1.0).unwrap();
        let mut refusals = 0;
        for method in all() {
            let mut rng = ChaCha12Rng::seed_from_u64(1);
            if let Err(BaselineError::NeedsRecords { method: named }) =
                method.estimate(&moments, Rank::new(2).unwrap(), &mut rng)
            {
                assert_eq!(named, method.name());
                refusals += 1;
            }
        }
        assert!(refusals > 3, "{refusals}");
    }

    #[test]
    fn methods_without_a_guarantee_come_first_and_the_others_in_order_of_trust() {
        let shape = Shape { records: 100_000, dimension: 10, rank: Rank::new(2).unwrap() };
        let place = |method: &dyn SubspaceEstimator| match method.trust() {
            // A method that refuses has a guarantee for other parameters, so its trust counts.
            _ if matches!(method.guarantee(shape), Ok(None)) => 0,
            Trust::Nobody | Trust::Local => 1,
            Trust::Providers => 2,
            Trust::Curator => 3,
            Trust::Everybody => 4,
        };
        let places: Vec<u8> = all().iter().map(|method| place(method.as_ref())).collect();
        assert!(places.is_sorted(), "{places:?}");
    }
}
