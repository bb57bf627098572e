//! The arguments of the method: chosen, plain or sparse.

use clap::Args;
use ldp_pca::recovery::{HeldOutUse, PenaltyChoice};

use crate::choice::{Choice, one_of};
use crate::parameters;
use crate::solver::SolverArguments;
use crate::usage::no_number;

/// The methods of components that are not asked to be sparse, by what reports held out are used for.
const METHODS: [Choice<HeldOutUse>; 2] = [
    ("auto", "The one that captures most in reports held out, where the task has folds", HeldOutUse::Choose),
    ("pca", "Plain principal components", HeldOutUse::Measure),
];

#[derive(Args)]
pub(super) struct SparseArguments {
    /// The method: auto compares plain components with sparse ones on reports held out, where the task has folds, and
    /// takes another than plain ones only if it captures more
    #[arg(long, value_parser = one_of(&METHODS), default_value = "auto", help_heading = "Method")]
    #[arg(conflicts_with = "sparse")]
    pub(super) method: HeldOutUse,
    /// Recover sparse components, by the Fantope program
    #[arg(long)]
    pub(super) sparse: bool,
    /// Penalty of the program: auto, cv or a number
    ///
    /// auto is 0.5 × noise × sqrt(ln d), cv is cross-validated over the task's folds, and a number is in the units of
    /// the covariance
    #[arg(long, value_name = "auto|cv|NUMBER", default_value = "auto", value_parser = penalty_choice,
        requires = "sparse", allow_hyphen_values = true, help_heading = "Sparse components")]
    pub(super) penalty: PenaltyChoice,
    /// Also solve a sequence of penalties, and show what each gives
    ///
    /// This many, from the largest that changes anything to a quarter of `auto`
    #[arg(long, value_name = "POINTS", value_parser = clap::value_parser!(u16).range(2..=1000), requires = "sparse")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "20", help_heading = "Sparse components")]
    pub(super) path: Option<u16>,
    #[command(flatten)]
    pub(super) solver: SolverArguments,
}

/// Parses `auto`, `cv` or a penalty.
fn penalty_choice(text: &str) -> Result<PenaltyChoice, String> {
    match text {
        "auto" => Ok(PenaltyChoice::default()),
        "cv" => Ok(PenaltyChoice::cross_validated()),
        _ => match parameters::penalty(text) {
            Err(_) if text.parse::<f64>().is_err() => {
                Err(no_number(text).replacen("is not a number", "is neither auto, nor cv, nor a number", 1))
            }
            parsed => parsed.map(PenaltyChoice::Value),
        },
    }
}
