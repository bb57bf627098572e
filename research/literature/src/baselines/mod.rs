//! The methods of the literature as comparators: each under its paper's name, behind one trait that states the parties
//! that must be trusted and the guarantee.
//!
//! | method | trust | where |
//! |---|---|---|
//! | PCA, a random subspace | nobody is protected; nothing is read | [`mod@reference`] |
//! | Oja | nobody is protected | [`oja`] |
//! | Wang & Xu's Algorithms 1 and 2, analytic Gaussian, `PrivUnit`, double-cap | local | [`local`] |
//! | DPS-PCA | each provider, with its own people's records | [`dps_pca`] |
//! | SULQ, with Gaussian or Laplace noise | the curator | [`sulq`] |
//! | MOD-SULQ, with Gaussian or Laplace noise | the curator | [`mod_sulq`] |
//! | Analyze Gauss | the curator | [`analyze_gauss`] |
//! | PPCA | the curator | [`ppca`] |
//! | Amin et al. | the curator | [`amin`] |
//! | Wishart difference, for d'Orsi & Novikov | the curator | [`wishart_difference`] |
//! | noisy power method | the curator | [`noisy_power`] |
//! | Cai, Xia & Zha, and its release with a tested gap | the curator | [`spectral_projector`] |
//! | Private Oja | the curator | [`private_oja`] |
//! | DP-PCA | the curator | [`dp_pca`] |
//!
//! [`catalogue`] has all of them for one guarantee, and [`comparison`] runs them on the same records.
//!
//! These are comparators, not products. Their noise is drawn in double precision from real-valued laws, as the papers
//! write it, so a real release would leak through the rounding (Mironov 2012); only the messages of [`ldp_pca_dps`] are
//! on an exact lattice. Collect with the randomizers of [`mechanism`](ldp_pca::mechanism). Central methods see every
//! record: run them on public or synthetic records, or where you may see the records.

pub mod amin;
pub mod analyze_gauss;
pub mod catalogue;
pub mod comparison;
pub mod dp_pca;
pub mod dps_pca;
mod error;
mod guarantee;
pub mod local;
mod matrices;
pub mod mod_sulq;
pub mod noisy_power;
pub mod oja;
mod orthonormal;
mod perturbation;
pub mod ppca;
pub mod private_oja;
pub mod reference;
mod sample;
pub mod spectral_projector;
pub mod sulq;
pub mod wishart_difference;

pub use amin::Amin;
pub use analyze_gauss::AnalyzeGauss;
pub use dp_pca::DpPca;
pub use error::{BaselineError, SampleError};
pub use guarantee::{Adjacency, EpsilonDelta, MethodGuarantee, Trust};
pub use local::{
    AnalyticGaussianPca, DoubleCapPca, DoubleCapSparse, NoisePlacement, PrivUnitPca, SparseSolver, WangXuPca,
    WangXuSparse,
};
pub use matrices::Matrices;
pub use mod_sulq::{ModSulq, ModSulqLaplace};
pub use noisy_power::NoisyPower;
pub use oja::Oja;
pub use ppca::Ppca;
pub use private_oja::PrivateOja;
pub use reference::{Pca, RandomSubspace};
pub use sample::Sample;
pub use spectral_projector::SpectralProjector;
pub use sulq::Sulq;
pub use wishart_difference::WishartDifference;

use rand::rand_core::CryptoRng;

use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;

/// A method that estimates a principal subspace from records, private or not.
///
/// A value holds all parameters of the method and can be used again for other records.
pub trait SubspaceEstimator: Sync {
    /// The method's name in its paper, such as `MOD-SULQ`.
    fn name(&self) -> &'static str;

    /// The parties that see records and so must be trusted: the curator, unless a method overrides it.
    fn trust(&self) -> Trust {
        Trust::Curator
    }

    /// The method's guarantee for `records` records of `dimension` features and `rank` components: its claim, and the
    /// proved part; `None` for a method without one.
    ///
    /// # Errors
    /// [`BaselineError`] where the parameters are outside the theorem behind the guarantee.
    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError>;

    /// Estimates the leading `rank` components of the records' second moments.
    ///
    /// # Errors
    /// [`BaselineError`] where the records or the parameters are outside the method's theorem, or do not fit.
    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError>;
}

/// The numbers that a guarantee may depend on. None of them is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// n, the number of records.
    pub records: u64,
    /// d, the number of features.
    pub dimension: usize,
    /// k, the number of components.
    pub rank: Rank,
}

/// The result of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The estimate, k-dimensional.
    pub subspace: Subspace,
    /// Diagnostics for readers of the method's paper, such as the burn-in statistic of a sampler, in the order of the
    /// method's documentation. The guarantee does not protect them.
    pub diagnostics: Vec<(&'static str, f64)>,
}

impl Outcome {
    /// A subspace without diagnostics.
    #[must_use]
    pub fn new(subspace: Subspace) -> Self {
        Self { subspace, diagnostics: vec![] }
    }
}
