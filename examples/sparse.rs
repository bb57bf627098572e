//! Components on few of many features, with a proven bound on their distance from the best ones:
//! `cargo run --release --example sparse`.
//!
//! It uses 20,000 made-up records of 60 features, with two components on eight of them. The same reports give plain and
//! sparse components.

use std::error::Error;
use std::ops::ControlFlow;

use chacha20::ChaCha12Rng;
use ldp_pca::recovery::{Question, Reports, answer};
use ldp_pca::subspace::{Subspace, sin_theta_squared};
use ldp_pca::{
    Aggregate, Bounding, Covariance, Epsilon, Folds, MechanismSpec, PenaltyChoice, Rank, Schema, Task,
    principal_components,
};
use ldp_pca_simulation::SpikedModel;
use rand::SeedableRng;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let (dimension, rank) = (60, Rank::new(2)?);
    // A seed generates the made-up records; the reports draw from the system's source of randomness.
    let mut rng = ChaCha12Rng::seed_from_u64(1);
    let population = SpikedModel::draw(dimension, rank, 20.0, Some(8), &mut rng)?;

    let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
    let task = Task::new(Schema::numeric(dimension)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
    let mut device =
        || -> Result<_, Box<dyn Error>> { Ok(task.randomize(&task.bound(population.record(&mut rng))?, None)?) };
    let reports = (0..20_000).map(|_| device()).collect::<Result<Vec<_>, _>>()?;

    let mut aggregate = Aggregate::empty(&task);
    aggregate.accumulate(&task, &reports)?;
    let covariance = Covariance::estimate(&aggregate, &task)?;

    // The penalty follows from the noise level, which is known.
    let question = Question { penalty: Some(PenaltyChoice::default()), ..Question::new(rank) };
    let reports = Reports::one(&aggregate, &task);
    let answer = answer(&question, reports, &covariance, &mut |_| ControlFlow::Continue(()))?;
    let sparse = answer.found.sparse.as_ref().ok_or("components without a penalty are not sparse")?;
    println!("penalty {:.4}: {} features chosen: {:?}", sparse.penalty, sparse.rows.len(), sparse.rows);
    println!("within {:.1e} of the best, relative", sparse.relative_gap);

    let error = |columns| Ok::<_, Box<dyn Error>>(sin_theta_squared(population.subspace(), &Subspace::new(columns)?)?);
    let plain = principal_components(covariance.matrix(), rank)?;
    println!("error of plain components  {:.3}", error(&plain.vectors)?);
    println!("error of sparse components {:.3}", error(&answer.vectors())?);
    Ok(())
}
