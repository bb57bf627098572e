//! The `dps-pca start` command: a new session.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::internal::sampling::system_rng;
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca_cli::choice::{Choice, one_of};
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::output::Format;
use ldp_pca_cli::parameters;
use ldp_pca_dps::{Accounting, Parameters, Session, SessionGuarantee};
use rand::Rng as _;
use serde::Serialize;

use super::folder;

/// Fix the parameters of a session, and make the providers' tokens
#[derive(Args)]
#[command(override_usage = "ldp-pca-research dps-pca start [OPTIONS] --dimension <DIMENSION> --rank <RANK>
       --providers <PROVIDERS> --epsilon <EPSILON> --delta <DELTA> --data <DATA>")]
pub(crate) struct Start {
    /// The number of features of every record
    #[arg(long)]
    dimension: usize,
    /// The number of components
    #[arg(long)]
    rank: usize,
    /// The number of data providers
    #[arg(long)]
    providers: u32,
    /// Epsilon for everything that a provider sends
    #[arg(long, value_parser = parameters::epsilon)]
    epsilon: Epsilon,
    /// Delta for everything that a provider sends
    #[arg(long, value_parser = parameters::delta)]
    delta: Delta,
    /// The number of rounds
    ///
    /// The noise grows with its square root
    #[arg(long, default_value_t = 10)]
    rounds: u32,
    /// Number of features that the components may use [default: all]
    ///
    /// At least --rank
    #[arg(long)]
    kept_rows: Option<usize>,
    /// Providers scale longer records to this norm
    ///
    /// The noise grows with its square
    #[arg(long, default_value_t = 1.0)]
    norm_bound: f64,
    /// How the noise follows from epsilon and delta
    #[arg(long, value_parser = one_of(&FORMULAS), default_value = "corrected", help_heading = "Protocol")]
    accounting: Accounting,
    /// The public seed of the first matrix, up to 2^53 [default: random]
    #[arg(long, help_heading = "Protocol")]
    start: Option<u64>,
    /// The folder of the session, for `coordinate`; created if missing
    ///
    /// It gets the tokens too: tokens/provider-1.token and so on, and collector.token
    #[arg(long)]
    data: PathBuf,
    #[command(flatten)]
    format: Format,
}

/// How the noise is calculated.
const FORMULAS: [Choice<Accounting>; 2] = [
    ("corrected", "The least that proves epsilon and delta", Accounting::Corrected),
    ("printed", "The paper's, for epsilon below 1 and delta below 1/2", Accounting::Printed),
];

#[derive(Serialize)]
struct Summary {
    session: String,
    guarantee: SessionGuarantee,
    sigma: f64,
    tokens: Vec<PathBuf>,
}

impl Start {
    pub(super) fn run(self) -> Result<()> {
        let start = match self.start {
            Some(start) => start,
            None => system_rng()?.next_u64() >> 11,
        };
        let session = Session::new(Parameters {
            version: 1,
            dimension: self.dimension,
            rank: self.rank,
            kept_rows: self.kept_rows.unwrap_or(self.dimension),
            rounds: self.rounds,
            providers: self.providers,
            epsilon: self.epsilon,
            delta: self.delta,
            accounting: self.accounting,
            norm_bound: self.norm_bound,
            start,
        });
        let session = session.map_err(CliError::usage)?;
        let guarantee = session.guarantee().map_err(CliError::usage)?;
        let tokens = folder::make(&self.data, &session)?;
        let summary = Summary { session: session.id().to_string(), guarantee, sigma: session.scale().sigma(), tokens };
        self.format.print(&summary, |summary| {
            format!(
                "session {}\nwhat a provider sends is {}-private for each of its records; the noise has deviation \
                    {:.4}\n\
                 wrote {} tokens to {}: give each provider its own\n",
                summary.session,
                summary.guarantee,
                summary.sigma,
                summary.tokens.len(),
                self.data.join("tokens").display()
            )
        })
    }
}
