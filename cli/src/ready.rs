//! `ready`.

use std::time::Duration;

use clap::Args;

use super::error::{CliError, Result};

/// Ask a running aggregator whether it can store reports
///
/// Exits with 0 when it can, and with 1 and the reason when it cannot: for the health check of a container.
#[derive(Args)]
pub(super) struct Ready {
    /// The aggregator
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
}

impl Ready {
    pub(super) fn run(self) -> Result<()> {
        let url = format!("{}/readyz", self.url.trim_end_matches('/'));
        let failed = |error: ureq::Error| CliError::Failed(format!("{url}: {error}"));
        let settings = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = settings.timeout_global(Some(Duration::from_secs(10))).build().into();
        let mut response = agent.get(&url).call().map_err(failed)?;
        if !response.status().is_success() {
            return Err(CliError::refused(&url, &mut response));
        }
        println!("ready");
        Ok(())
    }
}
