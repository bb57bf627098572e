//! The `dps-pca result` command: the components of a finished session.

use std::path::PathBuf;

use clap::Args;
use ldp_pca_cli::aggregator;
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::files;
use ldp_pca_cli::output::{Format, wrote};
use ldp_pca_cli::writing::{Kind, Target};
use ldp_pca_dps::SessionId;
use serde::Serialize;

use super::sessions::Sessions;
use super::{described, session_id, write_components};

/// Show the components of a finished session
#[derive(Args)]
pub(crate) struct ShowResult {
    /// The id of the session
    #[arg(long, value_parser = session_id)]
    session: SessionId,
    /// A file with the collector's token, or with a provider's
    ///
    /// Such as collector.token in the coordinator's folder
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// Wait for the end of the session
    #[arg(long)]
    wait: bool,
    /// The coordinator
    #[arg(long, value_parser = aggregator::url, default_value = aggregator::DEFAULT_URL)]
    url: String,
    /// Where to write the components, as an NPY matrix
    ///
    /// Of features times components
    #[arg(short, long, value_parser = Target::parser(Kind::MATRIX))]
    output: Option<Target>,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Summary {
    session: String,
    rounds: u32,
    components: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Target>,
}

impl ShowResult {
    pub(super) fn run(self) -> Result<()> {
        let patience = if self.wait { aggregator::DEFAULT_PATIENCE } else { 0 };
        let sessions = Sessions::new(&self.url, files::token(&self.token_file)?, patience)?;
        let session = sessions.session(self.session)?;
        let mut state = sessions.state(self.session)?;
        while self.wait && !state.finished && state.failed.is_none() {
            state = sessions.state_after(self.session, state.round)?;
        }
        if let Some(failed) = state.failed {
            return Err(CliError::Failed(format!("the session has failed: {failed}")));
        }
        if !state.finished {
            let missing: Vec<String> = state.missing.iter().map(ToString::to_string).collect();
            let rounds = session.parameters().rounds;
            return Err(CliError::Failed(format!(
                "the session is at round {} of {rounds} and waits for the providers {}: ask again later, or with \
                    --wait",
                state.round,
                missing.join(", ")
            )));
        }
        write_components(self.output.as_ref(), &session, &state)?;
        let summary = Summary {
            session: self.session.to_string(),
            rounds: session.parameters().rounds,
            components: state.basis,
            output: self.output,
        };
        self.format.print(&summary, |summary| {
            format!(
                "after {} rounds\n{}{}",
                summary.rounds,
                described(&summary.components),
                wrote(summary.output.as_ref())
            )
        })
    }
}
