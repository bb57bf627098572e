//! `experiment`: the tables and figures of the literature, run again.

mod figures;
pub(crate) mod folder;
mod html;
pub(crate) mod kept;
mod markdown;
mod run;
mod section;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ldp_pca_cli::error::{CliError, InFile as _, Result};
use ldp_pca_cli::output::Format;
use ldp_pca_cli::writing::{self, Kind, Target};
use ldp_pca_literature::experiments::data::DataSet;
use ldp_pca_literature::experiments::{Cell, Experiment, Scale, all};
use serde::Serialize;

/// Run the tables and figures of the literature again
#[derive(Subcommand)]
pub(super) enum ExperimentCommand {
    /// List the experiments
    List(List),
    /// Run experiments, and write their rows, pictures and one report
    Run(Run),
}

/// List the experiments
#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    format: Format,
}

/// Run experiments, and write their rows, pictures and one report
///
/// Every experiment leaves NAME.csv with its rows, NAME.svg with its figures, and its part of index.html and README.md:
/// what the paper says, what we measure, and why. Finished parts are kept in NAME.cells: an interrupted run continues
/// where it stopped. A run with other parameters, another seed or another program starts over, and the earlier parts
/// are set aside.
#[derive(Args)]
pub(super) struct Run {
    /// Names from `experiment list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The folder to write into
    #[arg(long, value_name = "DIR", default_value = "experiments")]
    out: PathBuf,
    /// The folder with the papers' data sets [default: none]
    ///
    /// Experiments that need one are left out without it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Fewer points and repetitions: all experiments in minutes, not hours
    #[arg(long)]
    quick: bool,
    /// Seed of every random number
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Continue with finished parts that another build of the same version kept
    #[arg(long)]
    reuse: bool,
    /// Compress rows of over 100 kB: NAME.csv.gz in place of NAME.csv
    #[arg(long)]
    gzip: bool,
    #[command(flatten)]
    format: Format,
}

impl ExperimentCommand {
    pub(super) fn run(self) -> Result<()> {
        match self {
            Self::List(list) => list.run(),
            Self::Run(run) => run.run(),
        }
    }
}

/// The command that runs experiments.
fn command(names: &str, scale: Scale, seed: u64, with_data: bool) -> String {
    let quick = if scale == Scale::Quick { " --quick" } else { "" };
    let data = if with_data { " --data DIR" } else { "" };
    format!("ldp-pca-research experiment run {names}{quick} --seed {seed}{data}")
}

/// One line of the list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    paper: String,
    title: &'static str,
    /// Parts with the paper's parameters, and quickly.
    cells: [usize; 2],
    data: Vec<&'static DataSet>,
}

/// The data sets of an experiment, each once.
fn data_of(experiment: &dyn Experiment, scale: Scale) -> Vec<&'static DataSet> {
    let mut sets: Vec<&'static DataSet> = vec![];
    for set in experiment.cells(scale).iter().filter_map(Cell::data) {
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

impl List {
    fn run(self) -> Result<()> {
        let listed = |experiment: &dyn Experiment| Listed {
            name: experiment.name(),
            paper: experiment.paper().to_string(),
            title: experiment.title(),
            cells: [Scale::Full, Scale::Quick].map(|scale| experiment.cells(scale).len()),
            data: data_of(experiment, Scale::Full),
        };
        let experiments: Vec<Listed> = all().iter().map(|experiment| listed(experiment.as_ref())).collect();
        self.format.print(&experiments, |experiments| {
            let mut text = String::new();
            for Listed { name, paper, title, data, .. } in experiments {
                text += &format!("{name}\n    {paper}: {title}\n");
                if !data.is_empty() {
                    let names: Vec<&str> = data.iter().map(|set| set.file).collect();
                    text += &format!("    data: {}\n", names.join(", "));
                }
            }
            text
        })
    }
}

impl Run {
    fn run(self) -> Result<()> {
        let experiments = self.chosen()?;
        let named = !self.names.iter().any(|name| name == "all");
        if let Some(data) = self.data.as_ref().filter(|data| !data.is_dir()) {
            return Err(CliError::Usage(format!("--data {} is not a folder", data.display())));
        }
        std::fs::create_dir_all(&self.out).in_file(&self.out)?;
        let named_data = self.data.is_some();
        let data = folder::DataFolder::new(self.data);
        let scale = if self.quick { Scale::Quick } else { Scale::Full };
        let job = run::Job { out: &self.out, data: &data, scale, seed: self.seed, reuse: self.reuse, gzip: self.gzip };
        let outcomes = job.run(&experiments)?;
        let report = self.out.join("index.html");
        let sections = job.sections(&experiments)?;
        let mut command = command(&self.names.join(" "), scale, self.seed, named_data);
        for (given, option) in [(self.reuse, " --reuse"), (self.gzip, " --gzip")] {
            command += if given { option } else { "" };
        }
        for (path, page) in [
            (report.clone(), html::report(&sections)),
            (self.out.join("README.md"), markdown::report(&sections, &command)),
        ] {
            writing::write(&Target::new(path, Kind::TEXT), page.as_bytes())?;
        }
        let summary = run::Summary { report: report.display().to_string(), experiments: &outcomes };
        self.format.print(&summary, run::Summary::text)?;
        let failed = outcomes.iter().filter(|outcome| outcome.is_failure(named)).map(|outcome| outcome.name);
        match failed.collect::<Vec<_>>()[..] {
            [] => Ok(()),
            ref names => Err(CliError::Failed(format!("not finished: {}", names.join(", ")))),
        }
    }

    /// The experiments of these names, in the order of the list.
    fn chosen(&self) -> Result<Vec<Box<dyn Experiment>>> {
        let everything = all();
        for name in self.names.iter().filter(|name| *name != "all") {
            if !everything.iter().any(|experiment| experiment.name() == name) {
                let problem = format!("there is no experiment '{name}': `ldp-pca-research experiment list` shows them");
                return Err(CliError::Usage(problem));
            }
        }
        let wanted = |name: &str| self.names.iter().any(|wanted| wanted == "all" || wanted == name);
        Ok(everything.into_iter().filter(|experiment| wanted(experiment.name())).collect())
    }
}
