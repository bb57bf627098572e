//! Every query of the accounting ends, with an answer that is a bound or an error, for every number.
#![no_main]

use ldp_pca::internal::privacy::calibration::{
    analytic_gaussian_sigma, gaussian_delta, gaussian_epsilon, gaussian_epsilon_of_rho,
};
use ldp_pca::privacy::amplification::{Blanket, batch_epsilon};
use ldp_pca::privacy::{Delta, Epsilon, Rho};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (f64, f64, f64, f64, u64)| {
    let (epsilon, delta, sigma, sensitivity, reports) = input;
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
    // Batches cost milliseconds: most inputs go to the rest, and batches stay small enough for the fuzzer's clock.
    let reports = reports % 1_000_000;
    if reports.is_multiple_of(64) {
        let batch = batch_epsilon(Blanket::from(epsilon), reports, delta);
        assert!(batch.is_ok_and(|batch| batch <= epsilon) || reports == 0);
    }
});
