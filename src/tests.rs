//! What the unit tests of several modules are about.

use ldp_pca_simulation::SecondMoment;
use nalgebra::DMatrix;
use rand::{CryptoRng, Rng, RngExt};

use crate::aggregate::Aggregate;
use crate::centring::Centring;
use crate::mechanism::MechanismSpec;
use crate::privacy::tests::{delta, epsilon};
use crate::record::{BoundedRecord, Bounding, Radius};
use crate::recovery::Rank;
use crate::report::{Report, ReportId};
use crate::schema::Schema;
use crate::task::{Folds, Task};

pub(crate) fn clip(radius: f64) -> Bounding {
    Bounding::Clip { radius: Radius::new(radius).unwrap() }
}

pub(crate) fn double_cap(e: f64, candidates: u32, cap: u32) -> MechanismSpec {
    MechanismSpec::DoubleCap { epsilon: epsilon(e), candidates, cap }
}

/// At delta 1e-6.
pub(crate) fn gaussian(e: f64) -> MechanismSpec {
    MechanismSpec::gaussian(epsilon(e), delta(1e-6))
}

pub(crate) fn rank(value: usize) -> Rank {
    Rank::new(value).unwrap()
}

pub(crate) fn task(features: usize, bounding: Bounding, mechanism: MechanismSpec, folds: u32) -> Task {
    Task::new(Schema::numeric(features).unwrap(), bounding, mechanism, Folds::new(folds).unwrap()).unwrap()
}

/// The same about an estimated mean, where there is a centring.
pub(crate) fn centred(task: Task, centring: Option<Centring>) -> Task {
    match centring {
        Some(centring) => task.with_centring(centring).unwrap(),
        None => task,
    }
}

pub(crate) fn sum(task: &Task, reports: &[Report]) -> Aggregate {
    let mut sum = Aggregate::empty(task);
    sum.accumulate(task, reports).unwrap();
    sum
}

/// The reports of so many people, of whom each has the record that `record` makes of their number.
pub(crate) fn reports<R: CryptoRng>(
    task: &Task,
    count: usize,
    rng: &mut R,
    mut record: impl FnMut(usize, &mut R) -> Vec<f64>,
) -> Vec<Report> {
    let one = |index| task.randomize_with_rng(&task.bound(record(index, rng)).unwrap(), None, rng).unwrap();
    (0..count).map(one).collect()
}

/// The sum of so many reports of records drawn from these.
pub(crate) fn collected(task: &Task, records: &[BoundedRecord], count: usize, rng: &mut impl CryptoRng) -> Aggregate {
    let report = |_| task.randomize_with_rng(&records[rng.random_range(0..records.len())], None, rng).unwrap();
    sum(task, &(0..count).map(report).collect::<Vec<_>>())
}

/// The second moments of a finite population.
pub(crate) fn moment(records: &[BoundedRecord]) -> DMatrix<f64> {
    let mut moment = SecondMoment::new(records[0].dimension(), 1.0);
    records.iter().for_each(|record| moment.add_coordinates(record.coordinates()));
    moment.matrix()
}

/// A record of unit norm.
pub(crate) fn unit(values: &[f64]) -> BoundedRecord {
    BoundedRecord::new(values.to_vec(), Bounding::UnitNorm).unwrap()
}

pub(crate) fn random_id(rng: &mut impl Rng) -> ReportId {
    let mut id = [0; 16];
    rng.fill_bytes(&mut id);
    ReportId::new(id)
}
