//! The Python face of `ldp-pca`: what the crate has, with NumPy and Arrow at its doors. Every kernel runs without the
//! interpreter's lock.

mod aggregate;
mod error;
mod randomizer;
mod reports;
mod task;

use pyo3::prelude::pymodule;

/// Everything that `ldp_pca` re-exports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::aggregate::Aggregate;
    #[pymodule_export]
    use super::randomizer::Randomizer;
    #[pymodule_export]
    use super::reports::Reports;
    #[pymodule_export]
    use super::task::Task;

    /// The version of the crate and of the wheel.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
