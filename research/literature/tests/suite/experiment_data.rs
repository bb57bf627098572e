//! The loaders of the papers' data sets against known facts. The data lives outside the package
//! ([`shared`]); without it these tests say so and pass.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use chacha20::ChaCha12Rng;
use flate2::read::GzDecoder;
use ldp_pca::linalg::symmetric_eigenvalues;
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::captured_variance;
use ldp_pca_literature::baselines::SubspaceEstimator as _;
use ldp_pca_literature::baselines::reference::Pca;
use ldp_pca_literature::experiments::data::{Connections, DataSet, Scaling};
use ldp_pca_literature::experiments::{Data, ExperimentError, Matrix, Scale, StandingClock, Table, all};
use rand::SeedableRng as _;

use crate::shared::shared;

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }
}

/// Known figures of KDD Cup 99 with each feature scaled to the maximum 1, and the captured variance that Table 1 of
/// Chaudhuri et al. prints as 0.6587 (1.0 % less than it is here).
#[test]
fn kdd_cup_99_has_the_known_norms_and_spectrum_and_shows_what_its_paper_says() {
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
    real_records_show_the_ordering_and_the_share_of_the_trace(connections);
}

/// Only KDD Cup 99.
struct OnlyConnections(Arc<Connections>);

impl Data for OnlyConnections {
    fn matrix(&self, set: &'static DataSet) -> Result<Arc<Matrix>, ExperimentError> {
        Err(ExperimentError::Missing(set))
    }

    fn connections(&self) -> Result<Arc<Connections>, ExperimentError> {
        Ok(Arc::clone(&self.0))
    }
}

/// Figure 3 of Chaudhuri et al. at its smallest size, and Table 1: single draws are far enough apart for the ordering
/// PCA > PPCA > MOD-SULQ (0.66, 0.38 and 0.03, standard deviations about 0.03).
fn real_records_show_the_ordering_and_the_share_of_the_trace(connections: Connections) {
    let data = OnlyConnections(Arc::new(connections));
    let run = |name: &str, key: &str| {
        let experiments = all();
        let experiment = experiments.iter().find(|experiment| experiment.name() == name).unwrap();
        let cells = experiment.cells(Scale::Quick);
        let cell = cells.iter().find(|cell| cell.key() == key).unwrap();
        let mut table = Table::new(experiment.columns());
        table.extend(cell.run(experiment.as_ref(), 1, &data, &StandingClock).unwrap());
        let findings = experiment.findings(Scale::Quick, &table);
        (table, findings)
    };
    let (table, _) = run("chaudhuri-figures-3-4", "kddcup99-9880-0");
    let mean = |method: &str| table.summary("q_f", &[("method", method.into())]).unwrap().mean;
    assert!(mean("PCA") > mean("PPCA") + 0.1 && mean("PPCA") > mean("MOD-SULQ") + 0.1);
    assert!((mean("MOD-SULQ") - mean("random subspace")).abs() < 0.05);

    let (table, findings) = run("chaudhuri-table-1", "kddcup99");
    let row = table.rows().next().unwrap();
    assert_close(&[row.number("q_f") / row.number("trace")], &[0.9603], 5e-5);
    let expected = "kddcup99: q_F = 0.66549; the paper prints 0.6587 (difference +1.0 %).";
    assert!(findings.measured[0].starts_with(expected), "{findings:?}");
}
