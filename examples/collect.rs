//! Runs a collection from its task to its components, on one machine: `cargo run --release --example collect`.
//!
//! 20,000 made-up people answer twelve questions about their leisure. Each device randomizes its own answers and sends
//! bytes; the aggregator sees only the bytes.

use std::error::Error;

use chacha20::ChaCha12Rng;
use ldp_pca::{
    Accumulator, Bounding, Covariance, Epsilon, Folds, MechanismSpec, Rank, Report, Task, predict_from_estimate,
    principal_components,
};
use ldp_pca_simulation::LeisureSurvey;
use rand::SeedableRng;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // The public parameters, fixed before the first report.
    let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
    let task = Task::new(LeisureSurvey::schema()?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
    println!("{}", task.guarantee());

    let mut people = ChaCha12Rng::seed_from_u64(1);
    let mut accumulator = Accumulator::new(&task);
    for _ in 0..20_000 {
        // On a device: answers (made up, from a seed) become a bounded record, and the record becomes a private report.
        let answers = LeisureSurvey::answers(&mut people);
        let record = task.bound(task.schema().encode_numbers(&answers))?;
        let upload = task.randomize(&record, None)?.to_bytes();

        // At the aggregator: bytes are strictly decoded and summed as integers.
        accumulator.push(Report::from_bytes(&upload, &task)?)?;
    }

    // The sums, corrected for the randomizer's average effect.
    let covariance = Covariance::estimate(accumulator.aggregate()?, &task)?;
    let rank = Rank::new(3)?;
    let prediction = predict_from_estimate(&covariance, rank)?;
    let (error, random) = (prediction.sin_theta_squared, prediction.uninformed);
    println!("error to expect: {error:.3}; a random subspace has {random:.2}");

    let names = task.schema().feature_names();
    for component in principal_components(covariance.matrix(), rank)?.vectors.column_iter() {
        let mut loadings: Vec<(&str, f64)> = names.iter().map(String::as_str).zip(component.iter().copied()).collect();
        loadings.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        println!("component: {:+.2?}", &loadings[..4]);
    }
    Ok(())
}
