//! The `dps-pca` commands: components of several providers' records, in several rounds (docs/distributed.md).

pub(crate) mod memory;
mod provide;
mod result;
mod sessions;
mod start;

use clap::Subcommand;
use ldp_pca::schema::positional_name;
use ldp_pca_dps::{Session, State};

use super::error::{CliError, Result};
use super::output::first;
use crate::writing::{self, Target};

/// Find sparse components of several data providers' records; no provider shows a record
///
/// A server (`ldp-pca serve`) mediates between the providers and is not trusted: what each provider sends is private on
/// its own (DPS-PCA; Ge, Wang, Wang & Liu 2018).
#[derive(Subcommand)]
pub(super) enum DpsPcaCommand {
    Start(start::Start),
    Provide(provide::Provide),
    Result(result::ShowResult),
}

impl DpsPcaCommand {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Start(command) => command.run(),
            Self::Provide(command) => command.run(),
            Self::Result(command) => command.run(),
        }
    }
}

/// Checks the components of a finished session, and writes them as a d × k matrix where a file is given.
fn write_components(target: Option<&Target>, session: &Session, state: &State) -> Result<()> {
    let components = session.check_basis(&state.basis).map_err(CliError::failed)?;
    target.map_or(Ok(()), |target| writing::write_matrix(target, &components))
}

/// The largest entries of every component.
fn described(components: &[Vec<f64>]) -> String {
    const SHOWN: usize = 8;
    let mut text = String::new();
    for (index, component) in components.iter().enumerate() {
        let mut entries: Vec<(usize, f64)> = component.iter().copied().enumerate().filter(|(_, v)| *v != 0.0).collect();
        entries.sort_by(|left, right| right.1.abs().total_cmp(&left.1.abs()));
        let entries = entries.iter().map(|(feature, value)| format!("{} {value:.3}", positional_name(*feature)));
        text += &format!("component {}: {}\n", index + 1, first(entries, SHOWN));
    }
    text
}
