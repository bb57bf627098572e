//! What an aggregate refuses.

use super::{MAX_RECORDS, MOST_TAGS, TAG_BYTES, VERSION};
use crate::report::ReportId;
use crate::task::TaskDigest;

/// Why reports or states cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// A state or a task that is not this aggregate's.
    #[error("the aggregate belongs to task {found}, not {expected}: aggregate each task on its own")]
    OtherTask {
        /// The task at hand.
        expected: TaskDigest,
        /// The task found.
        found: TaskDigest,
    },
    /// A report that answers another task.
    #[error("report {0} answers another task: aggregate each task on its own")]
    OtherReport(ReportId),
    /// A report that is in the sum already.
    #[error(
        "report {0} is in the sum already, and would count twice: leave it out, or sum all reports together, which \
         counts a repeated one once"
    )]
    Repeated(ReportId),
    /// A sum with reports that are in the other sum already.
    #[error(
        "the sum to be added has reports that are in the other one already ({shared} of {compared} ids compared), and \
         would count twice: leave it out, or sum all reports together, which counts a repeated one once"
    )]
    Overlap {
        /// Ids in both sums.
        shared: usize,
        /// Different ids of either sum that were compared.
        compared: usize,
    },
    /// More reports than an aggregate can hold.
    #[error("{0} reports are more than the {MAX_RECORDS} an aggregate can hold: aggregate fewer")]
    TooMany(u64),
    /// Sums that no reports can have.
    #[error("the aggregate is not a sum of as many reports as it says: it was made up; make it again from the reports")]
    NotASum,
    /// The first bytes are not those of a state.
    #[error("not an aggregate: the first four bytes are not \"LDPA\"")]
    Magic,
    /// Another version of the format.
    #[error("the aggregate has version {0}, and this software reads version {VERSION}: use a release that knows it")]
    Version(u8),
    /// Too short or too long.
    #[error(
        "the aggregate has {found} bytes where this task's has {expected}, and {} more for each of up to {MOST_TAGS} \
         reports: the file was cut or is not an aggregate",
        TAG_BYTES
    )]
    Length {
        /// The length of the task's aggregate of no reports.
        expected: usize,
        /// The length of this one.
        found: usize,
    },
    /// The sums of a refinement where those of a first wave are wanted.
    #[error(
        "the sums are those of a refinement, which say nothing about a covariance alone: give the sums of the first \
         wave, and these beside them as what refines it"
    )]
    Refinement,
    /// The sums of a first wave where those of a refinement are wanted.
    #[error("the task is not a refinement: give the sums of a task with 'refinement', and its task")]
    NotARefinement,
    /// Nothing to estimate from.
    #[error("the aggregate has no reports: aggregate some first")]
    NoReports,
    /// Altered.
    #[error("the aggregate's checksum does not match: the file was altered; make it again from the reports")]
    Checksum,
}
