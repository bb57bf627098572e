//! `ready`.

use std::time::Duration;

use clap::Args;

use super::aggregator::{self, Aggregator};
use super::error::Result;
use super::output::print_line;

/// Ask a running aggregator whether it can store reports
///
/// Exits with 0 when it can, and with 1 and the reason when it cannot: for the health check of a container.
#[derive(Args)]
pub(super) struct Ready {
    /// The aggregator
    #[arg(long, value_parser = aggregator::url, default_value = aggregator::DEFAULT_URL)]
    url: String,
}

impl Ready {
    pub(super) fn run(self) -> Result<()> {
        Aggregator::new(&self.url, None)?
            .within(Duration::from_secs(10))?
            .get("/readyz")?
            .good_with("status", "ready")?;
        print_line(format_args!("ready: {}", self.url))
    }
}
