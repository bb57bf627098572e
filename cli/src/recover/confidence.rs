//! The arguments of the bootstrap.

use clap::Args;

/// Whether the noise is drawn again.
#[derive(Args)]
pub(super) struct ConfidenceArguments {
    /// Draw the known noise again so many times (200 or more) for an interval of the error and the stability of the
    /// support
    #[arg(long, value_name = "REPLICATES", num_args = 0..=1, default_missing_value = "200")]
    pub(super) bootstrap: Option<usize>,
    /// Seed of those draws
    #[arg(long, default_value_t = 1, requires = "bootstrap")]
    pub(super) bootstrap_seed: u64,
}
