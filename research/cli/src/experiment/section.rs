//! What a report says of one experiment.

use ldp_pca_cli::output::grouped;
use ldp_pca_literature::experiments::{Agreement, Experiment, Findings};

use super::kept::{Complete, Head};
use super::{command, data_of};

/// One experiment's part of a report.
pub(super) struct Section {
    pub(super) experiment: Box<dyn Experiment>,
    /// None where it was not run or its data are missing.
    pub(super) result: Option<Measured>,
    /// The missing data sets, as messages name them.
    pub(super) missing: Vec<String>,
}

/// What was measured, and how.
pub(super) struct Measured {
    pub(super) findings: Findings,
    pub(super) agreement: Agreement,
    pub(super) head: Head,
    /// The processor time of its cells, added up.
    pub(super) seconds: f64,
    rows: usize,
    /// The name of the file with the rows.
    pub(super) file: String,
}

impl Section {
    /// `ending` is that of the file with the rows.
    pub(super) fn new(
        experiment: Box<dyn Experiment>,
        complete: Option<Complete>,
        missing: Vec<String>,
        ending: &str,
    ) -> Self {
        let result = complete.map(|Complete { head, table, seconds }| Measured {
            findings: experiment.findings(head.scale(), &table),
            agreement: experiment.agreement(&table),
            head,
            seconds,
            rows: table.len(),
            file: format!("{}.{ending}", experiment.name()),
        });
        Self { experiment, result, missing }
    }

    /// The three texts of a report, each with its head.
    pub(super) fn texts(&self) -> [(&'static str, Vec<&str>); 3] {
        let says = self.experiment.paper_says().split("\n\n").collect();
        let texts = |texts: fn(&Findings) -> &Vec<String>, otherwise| match &self.result {
            None => vec![otherwise],
            Some(result) if texts(&result.findings).is_empty() => vec!["See below."],
            Some(result) => texts(&result.findings).iter().map(String::as_str).collect(),
        };
        let measured = texts(|findings| &findings.measured, "Nothing: it did not finish, or its data are missing.");
        [("The paper says", says), ("We measure", measured), ("Why", texts(|findings| &findings.differences, "–"))]
    }
}

impl Measured {
    /// Every parameter with its value.
    pub(super) fn parameters(&self, experiment: &dyn Experiment) -> Vec<(&'static str, String)> {
        let mut parameters = experiment.parameters(self.head.scale());
        parameters.push(("scale", self.head.scale().to_string()));
        parameters.push(("seed", self.head.seed.to_string()));
        parameters.extend(self.head.builds().map(|builds| ("program", builds.to_owned())));
        parameters
    }

    /// The command that runs it again.
    pub(super) fn command(&self, experiment: &dyn Experiment) -> String {
        let scale = self.head.scale();
        command(experiment.name(), scale, self.head.seed, !data_of(experiment, scale).is_empty())
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> String {
        grouped(self.rows as u64)
    }
}
