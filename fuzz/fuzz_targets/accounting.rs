//! Every query of the accounting ends, with an answer that is a bound or an error, for every number there is.
#![no_main]

use ldp_pca::privacy::amplification::{Clones, batch_epsilon, local_epsilon};
use ldp_pca::privacy::calibration::{
    analytic_gaussian_sigma, gaussian_delta, gaussian_epsilon, gaussian_epsilon_of_rho, sigma_of_rho,
};
use ldp_pca::privacy::{Delta, Epsilon, Rho};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (f64, f64, f64, f64, u64)| {
    let (epsilon, delta, sigma, sensitivity, reports) = input;
    if let Ok(rho) = Rho::new(epsilon) {
        let _ = sigma_of_rho(rho, sensitivity);
    }
    let Ok(delta) = Delta::new(delta) else { return };
    let _ = gaussian_epsilon(sigma, sensitivity, delta);
    if let Ok(rho) = Rho::new(sigma) {
        let _ = gaussian_epsilon_of_rho(rho, delta);
    }
    let Ok(epsilon) = Epsilon::new(epsilon) else { return };
    if let Ok(sigma) = analytic_gaussian_sigma(epsilon, delta, sensitivity) {
        assert!(sigma > 0.0 && sigma.is_finite());
    }
    if let Ok(delta) = gaussian_delta(sigma, sensitivity, epsilon) {
        assert!((0.0..=1.0).contains(&delta));
    }
    if let Ok(batch) = batch_epsilon(Clones::any(epsilon), reports, delta) {
        assert!(batch.value() <= epsilon.value());
    }
    let _ = local_epsilon(epsilon, delta, reports);
});
