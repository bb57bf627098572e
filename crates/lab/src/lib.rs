//! The aggregator's side for web pages, demos and notebooks: bindings, which translate and never compute.
//!
//! This crate has four builds. The *lab* (feature `lab`) has the client of `ldp-pca` in it and adds sums of reports,
//! recovery, prediction, simulation, and the few methods of the literature that it has room for. The *methods* (feature
//! `methods`, without the client) compare all of them, for pages that ask for more: such a page has the lab already.
//! The *records* (feature `records`, also without the client) read the files of the demo page's visitors, and the
//! *waves* (feature `waves`, likewise) predict what two waves of people find. Only that page uses these two; the npm
//! package does not contain them. All builds exist on `wasm32-unknown-unknown` alone: elsewhere the crate is empty. The
//! npm package (`pkg/`) wraps the others and is what applications use.
//!
//! Options and results cross the boundary as objects, long lists of numbers as typed arrays. Errors are thrown as the
//! client throws them, as a text `code: message`. Besides the client's codes:
//!
//! | code | what was wrong |
//! |---|---|
//! | `aggregate` | bytes that are not an aggregate of the task, or one that is empty or of another task |
//! | `recovery` | a rank, a penalty, a matrix or a spectrum that makes no sense |
//! | `simulation` | a population that does not exist |
//! | `records` | a file that is not a table of records |
//! | `method` | records or parameters with which no comparison of methods can start |
//! | `cancelled` | the progress callback asked to stop before there was a result |

#![cfg(all(target_family = "wasm", target_os = "unknown"))]
#![allow(clippy::missing_errors_doc, reason = "the table above says what is thrown, for all of them")]
#![allow(clippy::needless_pass_by_value, reason = "bytes that may be missing come by value")]

#[cfg(feature = "lab")]
mod aggregate;
#[cfg(any(feature = "lab", feature = "methods"))]
mod compare;
mod crossing;
#[cfg(any(feature = "lab", feature = "records"))]
mod mechanism;
#[cfg(feature = "lab")]
mod predict;
#[cfg(feature = "records")]
mod records;
#[cfg(feature = "lab")]
mod recover;
#[cfg(feature = "lab")]
mod simulate;
#[cfg(feature = "waves")]
mod waves;
