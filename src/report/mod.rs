//! Reports: a report is private on its own, and its bytes are all that leaves the device.

mod checksum;
pub(crate) mod codec;
mod randomize;

use core::fmt;

pub use crate::identity::ReportId;
pub use codec::{ReportError, report_bytes};

/// One randomized record. Everything in it is public.
///
/// ```
/// # use ldp_pca::{Bounding, Epsilon, Folds, MechanismSpec, Report, Schema, Task};
/// # let mechanism = MechanismSpec::double_cap(Epsilon::new(2.0)?);
/// # let task = Task::new(Schema::numeric(2)?, Bounding::UnitNorm, mechanism, Folds::new(1)?)?;
/// let report = task.randomize(&task.bound(vec![3.0, 4.0])?, None)?;
/// let bytes = report.to_bytes();
/// assert_eq!(Report::from_bytes(&bytes, &task)?, report);
/// assert!(Report::from_bytes(&bytes[1..], &task).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Report {
    /// The first 8 bytes of the digest of the task that it answers.
    pub(crate) task_prefix: [u8; 8],
    id: ReportId,
    payload: Vec<u8>,
}

impl Report {
    /// The report's id, unique in its task.
    #[must_use]
    pub fn id(&self) -> ReportId {
        self.id
    }

    /// The mechanism's payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Report {{ id: {}, payload: {} bytes }}", self.id, self.payload.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskDigest;

    #[test]
    fn a_report_is_shown_without_its_payload() {
        let (digest, id) = (TaskDigest::new(core::array::from_fn(|index| index as u8)), ReportId::new([0xab; 16]));
        let report = Report::from_parts(digest, id, vec![77; 3]);
        assert_eq!(format!("{report:?}"), format!("Report {{ id: {}, payload: 3 bytes }}", "ab".repeat(16)));
        assert_eq!((report.task_prefix, report.id()), ([0, 1, 2, 3, 4, 5, 6, 7], id));
        assert_eq!(report.payload(), [77; 3]);
    }
}
