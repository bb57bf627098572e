//! Principal components of data that never leaves its owner's device: the library, which does no IO and reads no clock.
//!
//! A browser (or any other device) bounds a record and randomizes it. What leaves the device is a report that is
//! private on its own. An aggregator sums reports without ever seeing a record. The sum is debiased into a covariance
//! estimate with a known noise level, and principal components, sparse or not, are recovered from it.
//!
//! # The story in code
//!
//! ```
//! use ldp_pca::{Aggregate, Covariance, Rank, Task, principal_components};
//!
//! // The public parameters of a collection, fixed before the first report. With double-cap a report names one of 64
//! // public candidates, and the 3 nearest to the record (the cap) are the likelier ones. Folds are sums of their own.
//! let task = Task::from_json(r#"{
//!     "version": 1,
//!     "schema": {"columns": [
//!         {"type": "numeric", "name": "height", "offset": 170, "scale": 30},
//!         {"type": "numeric", "name": "weight", "offset": 70, "scale": 40},
//!         {"type": "categorical", "name": "sport", "values": ["none", "some", "much"], "unseen": "zero"}
//!     ]},
//!     "bounding": {"type": "clip", "radius": 1.5},
//!     "mechanism": {"type": "double-cap", "epsilon": 4, "candidates": 64, "cap": 3},
//!     "folds": 1
//! }"#)?;
//!
//! // On each device: a record with names becomes numbers, a bounded record, and a private report.
//! let report = |height: &str, weight: &str, sport: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let record = task.bound(task.schema().encode_fields(&[height, weight, sport]))?;
//!     Ok(task.randomize(&record, None)?)
//! };
//! let reports = [report("182", "91", "much")?, report("158", "54", "none")?, report("171", "70", "some")?];
//!
//! // At the aggregator: reports are summed, debiased, and their principal components recovered.
//! let mut aggregate = Aggregate::empty(&task);
//! aggregate.accumulate(&task, &reports)?;
//! let covariance = Covariance::estimate(&aggregate, &task)?;
//! let components = principal_components(covariance.matrix(), Rank::new(2)?)?;
//! assert_eq!(components.vectors.shape(), (5, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three reports recover nothing, of course. [`Covariance::noise_deviation`](covariance::Covariance::noise_deviation)
//! says how much noise is left, and [`prediction`] says beforehand how many reports it takes.
//!
//! # What is guaranteed
//!
//! The *local* model: every report satisfies its guarantee against everybody, the aggregator included, whatever other
//! reports there are. The neighbouring relation is "any two records", and the unit is one record in one report. A
//! person who answers several tasks, or one task several times, spends the sum. [`mechanism`] has the two randomizers
//! that estimate covariances, `waves` and `lengths` have one each, and the file of each has its statement and its
//! proof. The code cannot ensure that a modified client randomizes at all, that a person sends one report, that nobody
//! chose this report among several by its content, or that schema, offsets and scales were chosen without looking at
//! the protected records.
//!
//! # Architecture
//!
//! Modules in the order of the story:
//!
//! | module | from | to |
//! |---|---|---|
//! | [`schema`] | a row of texts or named values | d numbers |
//! | [`record`] | d numbers | a bounded record, inside the unit ball |
//! | [`centring`] | a bounded record | the same with one public constant, which makes the mean known |
//! | [`task`] | schema, bounding, mechanism | the public parameters of a collection and their digest |
//! | [`mechanism`] | bounded record | a private payload, its sums, and the formula that debiases them |
//! | [`report`] | payload | bytes on the wire, strictly decoded |
//! | [`aggregate`] | reports | integer sums, the same bytes in any order |
//! | [`covariance`] | sums | debiased estimate, in the units of the features, with its noise level |
//! | [`recovery`] | estimate | principal components, dense or sparse, certified, with an interval for their error |
//! | [`components`] | an answer | a public document, by which a device finds the scores of its record |
//!
//! Beside them: [`privacy`] (parameters, guarantees, calibration, trade-off, composition, shuffling), `law` (the law
//! of the estimate) and [`prediction`] (the error that follows from it). Two modules have all of one subject, from the
//! mechanism to the answer: `waves` (other people report where the first people's components are still wrong) and
//! `lengths` (reports about the lengths of records). The other modules are what these are made of (sampling, the text
//! of tasks), or make use of them (budgets, the interface for browsers). The linear algebra and the sparse solver are
//! the crate [`fantope`] (`crates/fantope/`), below this one. What judges a collection and never runs one is a crate on
//! this one: synthetic populations and trials, the answer without privacy, and a statistical test of the guarantee
//! (`crates/simulation/`). The pictures (`crates/pictures/`), the result's page (`crates/page/`), the aggregator
//! (`crates/server/`), the command line (`crates/cli/`), the demo page's lab (`crates/lab/`) and the Python package
//! (`python/`) are crates on this one, too: they translate, and never compute. The methods of the literature are
//! another (`research/literature/`).
//!
//! Invariants: `aggregate` and everything after it never take a record (`records` is a number of reports there), but
//! for the scores that a device computes of its own. Only the interfaces do IO or read a clock. Randomness is an
//! argument; each function that opens the system's source is one line. A module uses those below it alone, in the order
//! of `MODULE_FLOORS` in `scripts/rules.js`, which is not that of the story: mechanisms are below tasks. `cfg(target…)`
//! appears only here, in `js` and [`mechanism::cap::kernel`], which alone has `unsafe` code. Every stage has its own
//! error, and [`error::Error`] holds them all.
//!
//! # Documents
//!
//! Proofs, formats with their versions, measurements and comparisons: [`_documentation`].
//!
//! # Versions
//!
//! Matrices are those of [`nalgebra`] 0.35, and sources of randomness those of [`rand_core`] 0.10 (`rand` 0.10). Both
//! are re-exported at the root; use them from there to get the matching version.
//!
//! # Features
//!
//! None by default. `js` has the bindings for web pages, and does nothing outside wasm32. On wasm32-unknown-unknown it
//! also takes random bytes from `crypto.getRandomValues`. A host without JavaScript leaves it out and gives `getrandom`
//! a custom source (`tests/hosts/no-js`). `client` is `js` with its own allocator: the module that a page loads to
//! randomize records. Every byte counts, so it uses no recovery, no `serde_json` and none of the standard library's
//! number formatting.

// `wasm-pack test` builds the library's own tests too, which run natively alone.
#![cfg(not(all(test, target_family = "wasm")))]

#[cfg(doc)]
pub mod _documentation;

/// The README, whose example in Rust is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod aggregate;
mod binomial;
mod bisection;
pub mod centring;
pub mod components;
pub mod covariance;
mod decimal;
pub mod error;
mod family;
mod identity;
#[doc(hidden)]
pub mod internal;
#[cfg(all(feature = "js", target_family = "wasm", target_os = "unknown"))]
pub mod js;
mod json;
mod law;
pub mod ledger;
mod lengths;
pub mod mechanism;
mod parallel;
pub mod prediction;
pub mod privacy;
pub mod record;
pub mod recovery;
pub mod report;
mod sampling;
pub mod schema;
pub mod task;
#[cfg(test)]
mod tests;
mod waves;

pub use fantope::{linalg, subspace};
pub use nalgebra;
pub use rand::rand_core;

pub use aggregate::{Accumulator, Aggregate};
pub use centring::Centring;
pub use covariance::{Covariance, Mean};
pub use error::Error;
pub use ledger::{Booking, Budget, Decision, Filter, Ledger};
pub use mechanism::{Calibration, DoubleCap, LocalRandomizer, Mechanism, MechanismSpec};
pub use prediction::{Planner, Spectrum, predict_from_estimate};
pub use privacy::{Delta, Epsilon, Guarantee};
pub use record::{BoundedRecord, Bounding, Radius};
pub use recovery::{
    Components, FantopeProblem, FantopeSolver, Penalty, PenaltyChoice, Rank, SolverSettings, principal_components,
};
pub use report::{Report, ReportId};
pub use schema::{Column, ColumnKind, Schema, Value};
pub use task::{Folds, Task, TaskDigest};
