//! A collection from its task to its components, on one machine: `cargo run --release --example collect`.
//!
//! 20,000 made-up people answer twelve questions about their leisure. Each device randomizes its own answers and sends
//! bytes; the aggregator sees the bytes alone.

use std::error::Error;

use chacha20::ChaCha12Rng;
use ldp_pca::simulation::LeisureSurvey;
use ldp_pca::{
    Aggregate, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Rank, Report, Task, predict_from_estimate,
    principal_components,
};
use rand::SeedableRng;

const PEOPLE: usize = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    // The public parameters, fixed before the first report.
    let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
    let task = Task::new(LeisureSurvey::schema()?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
    println!("{}", task.guarantee());

    // On each device: answers (made up, from a seed) become a bounded record, and that a private report.
    let mut people = ChaCha12Rng::seed_from_u64(1);
    let mut device = || -> Result<Vec<u8>, Box<dyn Error>> {
        let answers = LeisureSurvey::answers(&mut people);
        let record = task.bound(task.schema().encode_numbers(&answers)?)?;
        Ok(task.randomize(&record)?.to_bytes())
    };
    let uploads = (0..PEOPLE).map(|_| device()).collect::<Result<Vec<_>, _>>()?;

    // At the aggregator: bytes are decoded strictly, summed as integers, and debiased.
    let reports = uploads.iter().map(|bytes| Report::from_bytes(bytes, &task)).collect::<Result<Vec<_>, _>>()?;
    let mut aggregate = Aggregate::empty(&task);
    aggregate.accumulate(&task, &reports)?;
    let covariance = Covariance::estimate(&aggregate, &task)?;

    let rank = Rank::new(3)?;
    let components = principal_components(covariance.matrix(), rank)?;
    let prediction = predict_from_estimate(&covariance, rank)?;
    println!(
        "error to expect: {:.3} of {:.2} without knowing anything",
        prediction.sin_theta_squared, prediction.uninformed
    );
    let names = task.schema().feature_names();
    for (number, vector) in components.vectors.column_iter().enumerate() {
        let mut loadings: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(vector.iter().copied()).collect();
        loadings.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let largest: Vec<String> =
            loadings[..4].iter().map(|(name, loading)| format!("{name} {loading:+.2}")).collect();
        println!("component {}: {}", number + 1, largest.join(", "));
    }
    Ok(())
}
