//! The progress of a recovery, on a terminal.

use std::ops::ControlFlow;
use std::time::Instant;

use indicatif::ProgressBar;
use ldp_pca::recovery::{Part, Step, Stop};

use crate::output::{bar, spinner};
use crate::solver::{SolverArguments, show};

/// The bar of the present step, and the time since the start of it all.
pub(super) struct Progress {
    label: &'static str,
    bar: ProgressBar,
    solver: SolverArguments,
    started: Instant,
}

impl Progress {
    pub(super) fn new(solver: SolverArguments, started: Instant) -> Self {
        Self { label: "solving", bar: spinner("solving"), solver, started }
    }

    pub(super) fn watch(&mut self, step: &Step) -> ControlFlow<Stop> {
        match step {
            Step::Beginning(part) => self.turn_to(label(*part)),
            Step::Solving(progress) => {
                self.turn_to("solving");
                show(&self.bar, progress);
            }
            Step::Done { part, done, of } => self.show(*part, *done, *of),
        }
        self.in_time()
    }

    /// Stops the work when the time is up.
    pub(super) fn in_time(&self) -> ControlFlow<Stop> {
        self.solver.in_time(self.started)
    }

    fn show(&mut self, part: Part, done: usize, total: usize) {
        let label = label(part);
        // What begins has a spinner, until the length of the work is known.
        if self.label != label || self.bar.length().is_none() {
            (self.label, self.bar) = (label, bar(label, total as u64));
        }
        self.bar.set_position(done as u64);
    }

    fn turn_to(&mut self, label: &'static str) {
        if self.label != label {
            (self.label, self.bar) = (label, spinner(label));
        }
    }
}

fn label(part: Part) -> &'static str {
    match part {
        Part::Rank | Part::Penalty | Part::HeldOut => "validating",
        Part::Solution => "solving",
        Part::Path => "path",
        Part::Baselines => "simpler methods",
        Part::Bootstrap => "bootstrapping",
        Part::Reference => "reference",
        Part::Other => "comparing",
    }
}
