//! The readers, which make errors of what hostile files do to the decoders.

mod arrow;
mod cells;
mod decoders;
mod pages;
mod parquet;
mod reports;
mod rows;

pub use self::reports::for_each_report_batch;
pub(crate) use self::reports::write_reports;
pub(crate) use self::rows::open;
