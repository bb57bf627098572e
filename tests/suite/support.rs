//! The mechanisms that tests share.

use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};

/// The double-cap mechanism with the recommended number of candidates and the best cap.
pub(crate) fn double_cap(epsilon: f64) -> MechanismSpec {
    MechanismSpec::double_cap(Epsilon::new(epsilon).unwrap())
}

/// The Gaussian mechanism with the default calibration and delta 1e-6.
pub(crate) fn gaussian(epsilon: f64) -> MechanismSpec {
    MechanismSpec::Gaussian {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        calibration: Calibration::Analytic,
    }
}
