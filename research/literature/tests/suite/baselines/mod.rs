//! The methods of the literature: their guarantees under audit, their samplers against exact densities.

pub(crate) mod audit;
mod audit_streaming;
mod bingham;
mod dps_pca;
mod streaming;
