//! The loaders of the papers' data sets against facts known of them. The data lives outside the package
//! ([`shared`]); without it these tests say so and pass.

use std::fs::File;
use std::io::BufReader;

use chacha20::ChaCha12Rng;
use flate2::read::GzDecoder;
use ldp_pca::baselines::SubspaceEstimator as _;
use ldp_pca::baselines::reference::Pca;
use ldp_pca::experiments::data::{Connections, DataSet, Scaling};
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::captured_variance;
use rand::SeedableRng as _;

use crate::support::shared;

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }
}

/// Known figures of KDD Cup 99 with each feature scaled to the maximum 1, and the captured variance that Table 1 of
/// Chaudhuri et al. prints as 0.6587 (1.0 % less than it is here).
#[test]
fn kdd_cup_99_has_the_known_norms_and_spectrum() {
    let set = DataSet::named("kddcup99").unwrap();
    let Some(path) = shared(&format!("data/{}", set.file)) else { return };
    let connections = Connections::read(BufReader::new(GzDecoder::new(File::open(path).unwrap()))).unwrap();
    assert_eq!((connections.records() as u64, connections.dimension()), (set.records, set.features));
    let mean = connections.norms().iter().sum::<f64>() / connections.records() as f64;
    let largest = connections.norms().iter().copied().fold(0.0, f64::max);
    assert_close(&[largest, mean], &[3.6056, 2.9935], 5e-5);
    let normal = (0..connections.records()).filter(|&index| connections.is_normal(index)).count();
    // The count that UCI's documentation of the data set gives.
    assert_eq!(normal, 97_278);

    let all: Vec<usize> = (0..connections.records()).collect();
    let leading = |scaling| {
        let moments = connections.moments(&all, scaling).unwrap();
        assert!((moments.largest_norm() - 1.0).abs() < 1e-9);
        let mut eigenvalues = symmetric_eigenvalues(moments.second_moment()).unwrap().as_slice().to_vec();
        eigenvalues.sort_by(|a, b| b.total_cmp(a));
        (eigenvalues, moments)
    };
    let (eigenvalues, moments) = leading(Scaling::LargestNorm);
    assert_close(&eigenvalues, &[0.47764, 0.11150, 0.05141, 0.02495], 5e-6);
    let rank = Rank::new(4).unwrap();
    let components = Pca.estimate(&moments, rank, &mut ChaCha12Rng::seed_from_u64(0)).unwrap().subspace;
    assert_close(&[captured_variance(&components, moments.second_moment()).unwrap()], &[0.66549], 1e-5);
    let (eigenvalues, _) = leading(Scaling::UnitNorm);
    assert_close(&eigenvalues, &[0.64590, 0.17626, 0.08798, 0.03859, 0.01582], 5e-6);
}
