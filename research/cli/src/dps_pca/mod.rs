//! The `dps-pca` commands: components of several providers' records, in several rounds
//! (research/docs/distributed.md).
//!
//! One command makes a session and the tokens of its providers, and one coordinates it. Providers ask for the state
//! until a round begins, send their message, and ask again; when all messages have arrived, the next round begins. The
//! mathematics are those of `ldp_pca_dps`.

mod coordinate;
mod files;
pub(crate) mod folder;
pub(crate) mod memory;
mod problem;
mod provide;
mod result;
mod running;
mod sessions;
mod start;

use std::fs::File;
use std::io;
use std::path::Path;

use clap::Subcommand;
use ldp_pca::internal::schema::positional_name;
use ldp_pca_cli::error::{CliError, Result};
use ldp_pca_cli::output::first;
use ldp_pca_cli::writing::{self, Target};
use ldp_pca_dps::{Session, SessionId, State};

/// Find sparse components of several data providers' records; no provider shows a record
///
/// A coordinator mediates between the providers and is not trusted: what each provider sends is private on its own
/// (DPS-PCA; Ge, Wang, Wang & Liu 2018).
#[derive(Subcommand)]
pub(super) enum DpsPcaCommand {
    Start(start::Start),
    Coordinate(coordinate::Coordinate),
    Provide(provide::Provide),
    Result(result::ShowResult),
}

impl DpsPcaCommand {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::Start(command) => command.run(),
            Self::Coordinate(command) => command.run(),
            Self::Provide(command) => command.run(),
            Self::Result(command) => command.run(),
        }
    }
}

/// Reads the id of a session.
fn session_id(text: &str) -> core::result::Result<SessionId, String> {
    text.parse().map_err(|_| "an id has 64 lower-case hexadecimal digits".into())
}

/// Makes what was created in a folder last. Elsewhere than on Unix a folder cannot be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The folder that a file or a folder is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
