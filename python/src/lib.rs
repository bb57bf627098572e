//! The native half of the Python package `ldp_pca`, which is beside it with its tests: it translates, never computes.
//!
//! The library's functions take and give NumPy and Arrow arrays here, and the package wraps them. Every kernel runs
//! without the interpreter's lock.

mod aggregate;
mod arrow;
mod covariance;
mod error;
mod infer;
mod norms;
mod parameters;
mod planning;
mod randomizer;
mod records;
mod recovery;
mod refined;
mod reports;
mod signals;
mod task;

use pyo3::prelude::pymodule;

/// Everything that `ldp_pca` re-exports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        aggregate::{Aggregate, Collection},
        covariance::_covariance,
        infer::_infer_schema,
        norms::_norms,
        planning::_plan,
        randomizer::Randomizer,
        recovery::{_components, _recover, _share_found, _sin_theta_squared},
        refined::{_recover_refined, _refined_task, PublicSample},
        reports::Reports,
        task::Task,
    };

    /// The version of the crate and of the wheel.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
