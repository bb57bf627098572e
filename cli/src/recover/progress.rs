//! The progress of a recovery, on a terminal.

use std::ops::ControlFlow;
use std::time::Instant;

use indicatif::ProgressBar;
use ldp_pca::recovery::{Step, Stop};

use crate::output::{bar, spinner};
use crate::solver::{SolverArguments, show};

/// The bar of the present step. The time of the solver counts from the end of the steps before it.
pub(super) struct Progress {
    label: &'static str,
    bar: ProgressBar,
    solver: SolverArguments,
    started: Instant,
}

impl Progress {
    pub(super) fn new(solver: SolverArguments) -> Self {
        Self { label: "solving", bar: spinner("solving"), solver, started: Instant::now() }
    }

    pub(super) fn watch(&mut self, step: &Step) -> ControlFlow<Stop> {
        let (label, done, total) = match step {
            Step::Solving(progress) => {
                self.turn_to("solving", || spinner("solving"));
                show(&self.bar, progress);
                return self.solver.in_time(self.started);
            }
            Step::Validating(state) => ("validating", state.solved, state.total),
            Step::Path(state) => ("path", state.solved, state.total),
            Step::Bootstrapping(state) => ("bootstrapping", state.done, state.replicates),
        };
        self.turn_to(label, || bar(label, total as u64));
        self.bar.set_position(done as u64);
        self.started = Instant::now();
        ControlFlow::Continue(())
    }

    fn turn_to(&mut self, label: &'static str, make: impl FnOnce() -> ProgressBar) {
        if self.label != label {
            (self.label, self.bar) = (label, make());
        }
    }
}
