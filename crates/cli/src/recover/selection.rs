//! The features that take part in the components, at a stated false-discovery rate.

use ldp_pca::internal::recovery::{FeatureTest, Selection};
use ldp_pca::task::Task;

use crate::error::{CliError, Result};
use crate::output::Decimal;

/// Refuses a task whose reports do not say what features covary, where they are to be selected at a `rate`.
pub(super) fn check(rate: Option<f64>, task: &Task) -> Result<()> {
    match FeatureTest::objection(task).filter(|_| rate.is_some()) {
        Some(objection) => Err(CliError::usage(format!(
            "--select is not for this task: {objection}. Collect with a task of `task new --centre --bounding clip:R`, \
             with an R that few records exceed, or leave --select out"
        ))),
        None => Ok(()),
    }
}

/// The features selected.
pub(super) fn selected(Selection { rate, features, test }: &Selection) -> String {
    let (count, of, rate) = (features.len(), test.p_values.len(), Decimal(100.0 * rate));
    let named = if count == 0 { String::new() } else { format!(": {}", features.join(", ")) };
    format!(
        "selected    {count} of {of} features{named}\n\
         {:12}hypothesis about a feature: all its covariances with other features are 0, of clipped records about the \
         mean. At most {rate} % of the selected meet it, on average, if p-values depend on each other little. Where \
         the radius shortens many records, that alone can make features covary\n",
        ""
    )
}
