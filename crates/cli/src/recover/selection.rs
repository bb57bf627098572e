//! The features that take part in the components, at a stated false-discovery rate.

use clap::Args;
use ldp_pca::internal::recovery::{FeatureTest, Selection};
use ldp_pca::task::Task;

use crate::error::{CliError, Result};
use crate::output::Decimal;
use crate::parameters;

/// The argument.
#[derive(Args)]
pub(super) struct SelectionArguments {
    /// Name the features that take part, at this false-discovery rate
    ///
    /// Those whose covariances with the others are not all zero (only of a task that clips, with centring)
    #[arg(long, value_name = "RATE", value_parser = parameters::rate, help_heading = "Features")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    pub(super) select: Option<f64>,
}

impl SelectionArguments {
    /// Refuses a task whose reports do not say what features covary.
    pub(super) fn check(&self, task: &Task) -> Result<()> {
        match FeatureTest::objection(task).filter(|_| self.select.is_some()) {
            Some(objection) => Err(CliError::usage(format!(
                "--select is not for this task: {objection}. Collect with a task of `task new --centre --bounding \
                 clip:R`, with an R that few records exceed, or leave --select out"
            ))),
            None => Ok(()),
        }
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
