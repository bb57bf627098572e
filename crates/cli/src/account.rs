//! The `account` command: what the reports of a task guarantee.

use std::path::PathBuf;

use clap::Args;
use ldp_pca::mechanism::LocalRandomizer;
use ldp_pca::privacy::amplification::{BatchGuarantee, amplify};
use ldp_pca::privacy::composition::{Composed, Composition, Method, PrivacyLoss};
use ldp_pca::privacy::tradeoff::Detection;
use ldp_pca::privacy::{Delta, Epsilon, Guarantee};
use serde::Serialize;

use super::error::Result;
use super::files;
use super::output::{Details, Format, at_most, plural};
use super::parameters::{count, delta, warn_of, warn_of_delta};

/// Show what reports of a task guarantee: one, several of one person, and each anonymised batch.
#[derive(Args)]
pub(super) struct Account {
    /// The task
    #[arg(short, long)]
    task: PathBuf,
    /// Number of reports that one person sends
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = count())]
    reports: u64,
    /// The delta at which epsilons are stated
    ///
    /// [default: 1e-6, or the task's own if that is more]
    #[arg(long, value_parser = delta, allow_negative_numbers = true)]
    delta: Option<Delta>,
    /// Also state the guarantee of each anonymised batch of N honest reports
    ///
    /// The reports are of N people
    #[arg(long, value_name = "N", value_parser = count())]
    shuffled: Option<u64>,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Accounted {
    guarantee: Guarantee,
    /// The guarantee of one report.
    detection: Detection,
    loss: PrivacyLoss,
    reports: u64,
    delta: Delta,
    /// With delta 0, for mechanisms that have none.
    pure_epsilon: Option<Epsilon>,
    methods: Vec<MethodEpsilon>,
    best: Composed,
    /// In addition to the local guarantee, never instead.
    anonymised_batch: Option<BatchGuarantee>,
}

#[derive(Serialize)]
struct MethodEpsilon {
    method: Method,
    epsilon: Option<Epsilon>,
}

impl Account {
    pub(super) fn run(self) -> Result<()> {
        let task = files::task(&self.task)?;
        let guarantee = task.guarantee();
        warn_of(&guarantee);
        warn_of_delta(self.delta);
        let target = self.delta.map_or_else(|| Delta::new(guarantee.delta_value().max(Delta::USUAL.value())), Ok)?;
        let loss = task.mechanism().privacy_loss();
        let mut composition = Composition::default();
        composition.add(loss, self.reports)?;
        let by = |method| MethodEpsilon { method, epsilon: composition.epsilon_by(method, Some(target)) };
        let accounted = Accounted {
            guarantee,
            detection: Detection::of(loss),
            loss,
            reports: self.reports,
            delta: target,
            pure_epsilon: composition.epsilon_by(Method::Basic, None),
            methods: Method::ALL.into_iter().map(by).collect(),
            best: composition.epsilon(Some(target))?,
            anonymised_batch: self.shuffled.map(|reports| amplify(loss, reports, target)).transpose()?,
        };
        self.format.print(&accounted, |accounted| accounted.text(self.details.wanted))
    }
}

impl Accounted {
    /// The best epsilon of several reports; in `details` that of every method.
    fn text(&self, details: bool) -> String {
        let Self { guarantee, detection, delta, .. } = self;
        let mut text = format!(
            "one report   {guarantee}\n             {detection}\n\
             {} of one person, any records in place of any others, delta {delta}:\n",
            plural(self.reports, "report")
        );
        text.extend(self.pure_epsilon.map(|epsilon| {
            let shown = at_most(epsilon, 6);
            format!("  pure         epsilon {shown} with delta 0\n")
        }));
        let shown = self.methods.iter().filter(|by| details || by.method == self.best.method);
        for MethodEpsilon { method, epsilon } in shown {
            let value = epsilon.map_or("none proved".to_owned(), |epsilon| format!("epsilon {}", at_most(epsilon, 6)));
            let best = if *method == self.best.method { "  (the least)" } else { "" };
            text += &format!("  {method:<13}{value}{best}\n");
        }
        text.extend(self.anonymised_batch.iter().map(|batch| format!("shuffled     {batch}\n")));
        text
    }
}
