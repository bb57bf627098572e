//! The `doctor` command: what is wrong with an aggregator.

use clap::Args;
use ldp_pca_server::{Check, CheckState, examine};
use serde::Serialize;

use super::aggregator;
use super::error::{CliError, Result};
use super::output::{Details, Format, plural};
use super::serve::Settings;

/// Say what is wrong with the aggregator of this machine, and what to do
///
/// Before a start or while it runs: settings, folder, keys and tokens, audit log, address and clock. Each finding has a
/// line. Run it as the server's user, with the options of `serve`. Exits with 1 if there is a problem, and not for
/// warnings.
#[derive(Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    settings: Settings,
    /// The public address of the aggregator, to ask there too
    ///
    /// It tells redirects, a proxy that leaves headers out or is not trusted, another release, and a wrong clock
    #[arg(long, value_parser = aggregator::url)]
    url: Option<String>,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Examination {
    problems: usize,
    warnings: usize,
    checks: Vec<Check>,
}

impl Doctor {
    pub(super) fn run(self) -> Result<()> {
        let checks = examine(&self.settings.config()?, self.url.as_deref());
        let count = |state| checks.iter().filter(|check| check.state == state).count();
        let (problems, warnings) = (count(CheckState::Problem), count(CheckState::Warning));
        let examination = Examination { problems, warnings, checks };
        self.format.print_laid_out(&examination, |examination| examination.text(self.details.wanted))?;
        if problems == 0 {
            return Ok(());
        }
        let found = plural(problems as u64, "problem");
        Err(CliError::Failed(format!("the aggregator has {found}: see what to do beside each")))
    }
}

impl Examination {
    fn text(&self, details: bool) -> String {
        let lines = |state| self.checks.iter().filter(move |check| check.state == state).map(line);
        let (wrong, good) = (lines(CheckState::Problem).chain(lines(CheckState::Warning)), lines(CheckState::Ok));
        if details {
            return wrong.chain(good).collect();
        }
        let good = plural(good.count() as u64, "check");
        wrong.chain([format!("ok       {good} (--details names them)\n")]).collect()
    }
}

fn line(check: &Check) -> String {
    let state = match check.state {
        CheckState::Ok => "ok",
        CheckState::Warning => "warning",
        CheckState::Problem => "problem",
    };
    let remedy = check.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    format!("{state:<7}  {}: {}{remedy}\n", check.name, check.message)
}
