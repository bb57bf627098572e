//! What the library offers beyond its documentation to the crates around it: the aggregator, the command line, the page
//! and the Python package, the simulations, research, tests and benchmarks. It is not for others, and any version may
//! change it. Every module here has names of the module of that name.

/// Sums per fold, and the ids of reports.
pub mod aggregate {
    pub use crate::aggregate::fold::{FoldSum, MAX_RECORDS};
    pub use crate::aggregate::seen::{SeenIds, SeenSums};
}

/// Numbers that are found by halving an interval.
pub mod bisection {
    pub use crate::bisection::bisect;
}

/// Bounds on binomial probabilities.
pub mod binomial {
    pub use crate::binomial::*;
}

/// Numbers in texts.
pub mod decimal {
    pub use crate::decimal::{Decimal, grouped, plural};
}

/// Tasks that are estimated together.
pub mod family {
    pub use crate::family::*;
}

/// The law of the estimate.
pub mod law {
    pub use crate::law::*;
}

/// Reports about the lengths of records.
pub mod lengths {
    pub use crate::lengths::*;
}

/// What mechanisms of second moments share.
pub mod mechanism {
    pub use crate::mechanism::moments::{Forms, Moments, Perturbation, triangle};
    pub use crate::mechanism::pull::{Check, HostilePull, Pull};
    pub use crate::mechanism::summable::Summable;

    /// What mechanisms share whose report is an index.
    pub mod cap {
        pub use crate::mechanism::cap::*;
    }
}

/// Work on several threads.
pub mod parallel {
    pub use crate::parallel::for_each;
}

/// What a plan holds.
pub mod prediction {
    pub use crate::prediction::optimum::Optimum;
}

/// Theorems behind the accounting.
pub mod privacy {
    pub use crate::privacy::amplification::inverse::keeps;
    pub use crate::privacy::variation::TotalVariation;

    /// The scale of Gaussian noise.
    pub mod calibration {
        pub use crate::privacy::calibration::*;
    }

    /// Divergences.
    pub mod renyi {
        pub use crate::privacy::renyi::*;
    }
}

/// Parts of an answer, and what it is made with.
pub mod recovery {
    pub use crate::recovery::answer::{
        OtherCollection, ReferenceAnswer, ReferenceComparison, Selection, ThresholdedAnswer, answer_by, components,
        components_of_matrix, mean_answer, solve,
    };
    pub use crate::recovery::bootstrap::{
        Bootstrap, ComponentConfidence, FEWEST_REPLICATES, SubspaceEstimate, bootstrap,
    };
    pub use crate::recovery::change::{Change, ChangeError, HeldOutChange, change, check_change};
    pub use crate::recovery::denoise::{Denoised, Denoising};
    pub use crate::recovery::feature_test::FeatureTest;
    pub use crate::recovery::held_out::{Fit, HeldOut, HeldOutAnswer, Measured};
    pub use crate::recovery::penalty::{CROSS_VALIDATION_FACTORS, cross_validate};
    pub use crate::recovery::rank_test::{RankTest, TestedComponent};
    pub use crate::recovery::support::{FoundSupport, SupportConditions};
}

/// The length of a report.
pub mod report {
    pub use crate::report::codec::framed_bytes;
}

/// Sources of randomness, and exact samplers.
pub mod sampling {
    pub use crate::sampling::*;
}

/// Rows under a schema, what does not fit it, and what its inference noticed.
pub mod schema {
    pub use crate::schema::dialect::Dialect;
    pub use crate::schema::fit::Fit;
    pub use crate::schema::infer::looks::{identifying, is_date};
    pub use crate::schema::infer::numbers::{NumberForms, in_ascii, is_unread_number, plain_number, read_number};
    pub use crate::schema::infer::warning::{Oddity, Warning};
    pub use crate::schema::table::{features_of_columns, positional_name, read_fields, stands_for_missing};
}

/// The size of a task's document.
pub mod task {
    /// The largest task document that is read, in bytes.
    pub const MAX_TASK_BYTES: usize = crate::task::MAX_TASK_BYTES;
}

/// Two waves of people.
pub mod waves {
    pub use crate::waves::*;
}
