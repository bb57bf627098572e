//! The methods of the literature on private principal components, and their papers' experiments: no products.
//!
//! [`baselines`] has each method under its paper's name, behind one trait ([`baselines::SubspaceEstimator`]). The trait
//! states whom a method requires trust in, what it claims, and what of that is proved. [`baselines::comparison`] runs
//! methods on the same records, for `ldp-pca-research compare`. [`experiments`] reproduces the papers' tables and
//! figures, for `ldp-pca-research experiment`, and [`theorems`] evaluates what the papers prove.
//!
//! ```
//! use ldp_pca::privacy::{Delta, Epsilon};
//! use ldp_pca::recovery::Rank;
//! use ldp_pca_literature::baselines::{AnalyzeGauss, Sample, SubspaceEstimator};
//! use rand::SeedableRng;
//!
//! // Three records of two features each, on a line.
//! let sample = Sample::new(2, vec![0.6, 0.8, -0.3, -0.4, 0.0, 0.0])?;
//! let method = AnalyzeGauss::new(Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let mut rng = chacha20::ChaCha12Rng::seed_from_u64(1);
//! let found = method.estimate(&sample, Rank::new(1)?, &mut rng)?;
//! assert_eq!(found.subspace.dimension(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! These are comparators. Collect with the mechanisms of `ldp-pca`.

pub mod baselines;
pub mod experiments;
pub mod theorems;
