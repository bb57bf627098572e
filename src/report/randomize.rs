//! Randomization of a bounded record on the device: the one place where a record becomes something to send.

use rand::rand_core::TryCryptoRng;

use super::{Report, ReportId};
use crate::mechanism::{LocalRandomizer, RandomizeError};
use crate::record::{BoundedRecord, RecordError};
use crate::sampling::{EntropyError, system_rng};
use crate::task::Task;

impl Task {
    /// Randomizes a record into a report, with randomness from the system.
    ///
    /// The report draws an id, or has the `id` that somebody else chose, as an aggregator that issues ids requires. An
    /// id is for one report: two reports with one id count once. The guarantee is the same, whoever chose the id and
    /// why, if it was chosen without looking at the record and before this device draws the noise. (The report shows
    /// its id: one that was derived from the record would tell of it.) The issuer of the id can recognize the report
    /// that has it.
    ///
    /// # Errors
    /// [`RandomizeError`] for a record that does not fit the task, and when the system gives no randomness.
    pub fn randomize(&self, record: &BoundedRecord, id: Option<ReportId>) -> Result<Report, RandomizeError> {
        self.randomize_with_rng(record, id, &mut system_rng()?)
    }

    /// Randomizes a record as [`randomize`](Self::randomize) does, with randomness from `rng`: 16 bytes of report id,
    /// unless there is an `id`, then the mechanism's draws. The guarantee assumes that `rng` is cryptographically
    /// strong and unknown to others; use a seeded one in tests only.
    ///
    /// # Errors
    /// [`RandomizeError`] for a record that does not fit the task, and when `rng` fails.
    pub fn randomize_with_rng<R: TryCryptoRng + ?Sized>(
        &self,
        record: &BoundedRecord,
        id: Option<ReportId>,
        rng: &mut R,
    ) -> Result<Report, RandomizeError> {
        record.check_dimension(self.dimension())?;
        if record.bounding() != self.bounding() {
            return Err(RecordError::OtherBounding { expected: self.bounding(), found: record.bounding() }.into());
        }
        let augmented = self.centring().map(|centring| centring.augment(record));
        let record = augmented.as_ref().unwrap_or(record);
        let id = match id {
            Some(id) => id,
            None => {
                let mut id = [0; 16];
                rng.try_fill_bytes(&mut id).map_err(|error| EntropyError::new(&error))?;
                ReportId::new(id)
            }
        };
        let payload = self.mechanism().randomize_with_rng(record, &self.digest().key(), id, rng)?;
        Ok(Report::from_parts(self.digest(), id, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centring::Centring;
    use crate::record::Bounding;
    use crate::sampling::bits::tests::ScriptedSource;
    use crate::tests::{self, clip};

    fn task() -> Task {
        tests::task(3, Bounding::UnitNorm, tests::double_cap(2.0, 64, 8), 1)
    }

    /// The constant is added once, by the task, and before the mechanism; a report without an id asks for 16 bytes
    /// first.
    #[test]
    fn what_is_randomized_is_the_bounded_record_with_the_constant() {
        let unbounded = vec![30.0, -20.0, 90.0];
        for task in [task(), task().with_centring(Centring::default()).unwrap()] {
            let record = task.bound(unbounded.clone()).unwrap();
            let whole = match task.centring() {
                Some(centring) => centring.augment(&record),
                None => record.clone(),
            };
            for seed in 0..20 {
                let id = ReportId::new([seed; 16]);
                let words = [u64::MAX - (u64::from(seed) << 58), 99].map(u64::to_le_bytes).concat();
                let mut source = ScriptedSource::new(words.clone());
                let expected =
                    task.mechanism().randomize_with_rng(&whole, &task.digest().key(), id, &mut source).unwrap();
                assert_eq!(source.requests, [64]);
                let mut source = ScriptedSource::new([vec![seed; 16], words].concat());
                let report = task.randomize_with_rng(&record, None, &mut source).unwrap();
                assert_eq!((report.id(), report.payload()), (id, &expected[..]));
                assert_eq!(source.requests, [16, 64]);
            }
        }
    }

    #[test]
    fn a_record_has_its_constant_from_the_task_alone() {
        let centred = task().with_centring(Centring::default()).unwrap();
        let record = centred.bound(vec![1.0, 2.0, 3.0]).unwrap();
        assert!(centred.randomize(&record, None).is_ok());
        let augmented = Centring::default().augment(&record);
        assert!(matches!(
            centred.randomize(&augmented, None),
            Err(RandomizeError::Record(RecordError::Dimension { .. }))
        ));
    }

    /// A report with a given id has the bytes of one whose generator happened to draw that id.
    #[test]
    fn a_report_with_a_given_id_is_the_one_that_drew_it() {
        use chacha20::ChaCha8Rng;
        use rand::{Rng, SeedableRng};
        let record = task().bound(vec![0.3, -0.2, 0.9]).unwrap();
        let drawn = task().randomize_with_rng(&record, None, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let given = task().randomize_with_rng(&record, Some(ReportId::new(id)), &mut rng).unwrap();
        assert_eq!(given, drawn);
        let id = ReportId::new([9; 16]);
        let given = || task().randomize(&record, Some(id)).unwrap();
        let (one, other) = (given(), given());
        assert_eq!((one.id(), other.id()), (id, id));
        assert!((0..64).any(|_| given() != one), "the noise is new each time");
    }

    #[test]
    fn records_that_do_not_fit_are_refused() {
        let id = ReportId::new([3; 16]);
        for found in [0, 1, 2, 4] {
            let error = RecordError::Dimension { expected: 3, found };
            assert_eq!(task().bound(vec![1.0; found]), Err(error), "{found}");
            let Ok(other) = BoundedRecord::new(vec![1.0; found], Bounding::UnitNorm) else { continue };
            assert_eq!(task().randomize(&other, None), Err(RandomizeError::Record(error)));
            assert_eq!(task().randomize(&other, Some(id)), Err(RandomizeError::Record(error)));
        }
        let other = BoundedRecord::new(vec![1.0, 0.0, 0.0], clip(1.0)).unwrap();
        let error = RecordError::OtherBounding { expected: Bounding::UnitNorm, found: clip(1.0) };
        assert_eq!(task().randomize(&other, None), Err(RandomizeError::Record(error)));
        // The radius is part of the bounding.
        let twice = tests::task(3, clip(2.0), task().mechanism_spec(), 1);
        let error = RecordError::OtherBounding { expected: clip(2.0), found: clip(1.0) };
        assert_eq!(twice.randomize(&other, None), Err(RandomizeError::Record(error)));
    }
}
