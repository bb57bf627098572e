//! Any bytes, gzip or not, are connections of KDD Cup 99 or an error; connections are finite records in the unit ball.
#![no_main]

use ldp_pca_literature::experiments::data::Scaling;
use ldp_pca_research::fuzzing as research;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(connections) = research::connections(bytes) else { return };
    let (records, dimension) = (connections.records(), connections.dimension());
    assert!(records > 0 && (3..=38 + 3 * 1000).contains(&dimension));
    assert_eq!(connections.norms().len(), records);
    // A category of each feature, and numbers up to 1.
    assert!(connections.norms().iter().all(|norm| (1.73..6.41).contains(norm)), "{:?}", connections.norms());
    for scaling in [Scaling::LargestNorm, Scaling::UnitNorm] {
        let mut largest: f64 = 0.0;
        for index in 0..records {
            let record = connections.record(index, scaling);
            assert!(record.clone().all(|(feature, value)| feature < dimension && value.abs() <= 1.0));
            let norm = record.map(|(_, value)| value * value).sum::<f64>().sqrt();
            assert!(norm < 1.0 + 1e-12 && (norm > 1.0 - 1e-12 || scaling == Scaling::LargestNorm), "{norm}");
            largest = largest.max(norm);
        }
        assert!(largest > 1.0 - 1e-12, "{largest}");
    }
    // Two ways to the same matrix, where it is small.
    if dimension <= 128 {
        let all: Vec<usize> = (0..records).collect();
        let sample = connections.sample(&all, Scaling::LargestNorm).expect("records are a sample");
        let moments = connections.moments(&all, Scaling::LargestNorm).expect("records have moments");
        assert!((sample.second_moment() - moments.second_moment()).amax() < 1e-12);
        assert!((sample.largest_norm() - 1.0).abs() < 1e-12 && (moments.largest_norm() - 1.0).abs() < 1e-12);
    }
});
