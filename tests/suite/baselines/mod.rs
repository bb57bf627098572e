//! The methods of the literature: their guarantees under audit, their samplers against exact densities.

pub(crate) mod audit;
mod bingham;
mod audit_streaming;
mod streaming;
mod dps_pca;
