//! What `recover` found, as people see it.

use super::denoising::CovarianceResult;
use super::result::{RecoverResult, ReferenceResult, SparseResult, descending};
use crate::hostile::HostileResult;
use crate::output::{grouped, wrote};

/// Features named per component and per support.
const SHOWN: usize = 5;
const SHOWN_SUPPORT: usize = 12;

impl RecoverResult {
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{} components of {} features from {} reports ({}, noise {:.2e} per entry)\n",
            self.rank,
            self.dimension,
            grouped(self.records),
            self.method,
            self.noise_deviation
        );
        for (index, (component, value)) in self.components.iter().zip(&self.eigenvalues).enumerate() {
            let share = self.explained_variance.as_ref().map(|shares| format!(" ({:.1} %)", 100.0 * shares[index]));
            text += &format!(
                "  {}. variance {value:.5}{}:  {}\n",
                index + 1,
                share.unwrap_or_default(),
                largest_loadings(component, &self.feature_names)
            );
        }
        text += &self.explained();
        text += &self.warning();
        text += &self.hostile.as_ref().map(HostileResult::text).unwrap_or_default();
        text += &self.mean_text();
        if let Some(sparse) = &self.sparse {
            text += &self.sparse_text(sparse);
        }
        text += &self.path_text();
        if let (Some(predicted), None) = (&self.predicted, &self.sparse) {
            text += &predicted.text();
        }
        if let Some(confidence) = &self.confidence {
            let support = self.sparse.as_ref().map(|sparse| sparse.support.as_slice());
            text += &confidence.text(&self.feature_names, support);
        }
        if let (Some(error), Some(reference)) = (self.sin_theta_squared, &self.reference) {
            text += &self.reference_text(error, reference);
        }
        let covariance = self.covariance.as_ref();
        text += &covariance.map(CovarianceResult::text).unwrap_or_default();
        let covariance = covariance.map(|covariance| covariance.output.as_path());
        text + &wrote(self.output.as_deref()) + &wrote(covariance) + &wrote(self.plot.as_deref())
    }

    fn explained(&self) -> String {
        let (Some(total), Some(shares)) = (self.total_variance, &self.explained_variance) else {
            return String::new();
        };
        format!("explained   {:.1} % of a total variance of {total:.4}\n", 100.0 * shares.iter().sum::<f64>())
    }

    fn warning(&self) -> String {
        let edge = self.edge();
        let buried = self.eigenvalues.iter().filter(|&&value| value <= edge).count();
        if buried == 0 {
            return String::new();
        }
        let of_what = if self.sparse.is_some() { " on as many features" } else { "" };
        format!(
            "warning     {buried} of them cannot be told from noise, which alone gives a variance of {edge:.5}{of_what}: \
             collect more reports, or ask for fewer components\n"
        )
    }

    fn mean_text(&self) -> String {
        let Some(mean) = &self.mean else { return String::new() };
        format!(
            "mean        {}  (encoded, noise {:.2e} per entry; \
             it makes the noise of the covariance {:.2} times as large)\n",
            largest_loadings(mean.estimate.values(), &self.feature_names),
            mean.estimate.noise_deviation(),
            mean.noise_factor
        )
    }

    fn sparse_text(&self, sparse: &SparseResult) -> String {
        let mut text = format!(
            "sparse      {} features with penalty {:.3e} ({}): {} after {} iterations, certified gap {:.1e}\n",
            sparse.support.len(),
            sparse.penalty,
            match sparse.penalty_choice {
                "cv" => "cross-validated",
                "value" => "as given",
                _ => "from the noise level",
            },
            sparse.status,
            sparse.iterations,
            sparse.relative_gap
        );
        let order = self.by_leverage();
        let named: Vec<String> = order
            .iter()
            .take(SHOWN_SUPPORT.min(sparse.support.len()))
            .map(|&row| format!("{} {:.2}", self.feature_names[row], self.leverages[row]))
            .collect();
        let more = if sparse.support.len() > SHOWN_SUPPORT { ", …" } else { "" };
        text += &format!("leverages   {}{more}\n", named.join(", "));
        let baselines = sparse.baselines.iter().flat_map(|baselines| {
            [("soft-thresholding", &baselines.soft_threshold), ("plain components", &baselines.pca)]
        });
        for (name, baseline) in baselines {
            let variances: Vec<String> =
                baseline.eigenvalues.iter().take(SHOWN).map(|value| format!("{value:.5}")).collect();
            let error = baseline.sin_theta_squared.map(|error| format!(", {error:.4} from the reference"));
            text += &format!(
                "beside it   {name}: variances {}{}, {} features, ||sin Theta||_F^2 = {:.4} from the sparse ones{}\n",
                variances.join(", "),
                if baseline.eigenvalues.len() > SHOWN { ", …" } else { "" },
                baseline.support.len(),
                baseline.distance,
                error.unwrap_or_default()
            );
        }
        if let Some(points) = &sparse.cross_validation {
            text += "folds       penalty      features  score      - best  (standard error)\n";
            let best = points.iter().find(|point| point.chosen).map_or(0.0, |point| point.mean_score);
            for point in points {
                text += &format!(
                    "            {:<11.4e}  {:>8.1}  {:<9.5} {:>9.1e}  ({:.1e}){}\n",
                    point.penalty,
                    point.mean_support,
                    point.mean_score,
                    point.mean_score - best,
                    point.standard_error,
                    if point.chosen { "  chosen" } else { "" }
                );
            }
        }
        text
    }

    fn path_text(&self) -> String {
        let Some(points) = &self.path else { return String::new() };
        let mut text = "path        penalty      features  objective    gap      variances\n".to_owned();
        for point in points {
            let variances: Vec<String> =
                point.eigenvalues.iter().take(SHOWN).map(|value| format!("{value:.5}")).collect();
            text += &format!(
                "            {:<11.4e}  {:>8}  {:<11.5}  {:<7.1e}  {}{}{}\n",
                point.penalty,
                point.support_size,
                point.objective,
                point.relative_gap,
                variances.join(" "),
                if point.eigenvalues.len() > SHOWN { " …" } else { "" },
                if point.status == "optimal" { String::new() } else { format!("  ({})", point.status) }
            );
        }
        text
    }

    fn reference_text(&self, error: f64, reference: &ReferenceResult) -> String {
        format!(
            "error       ||sin Theta||_F^2 = {error:.4} against the non-private components of {} records (0 is equal, {} is unrelated)\n\
             captured    {:.2} % of the variance, where {:.2} % is possible\n",
            grouped(reference.records),
            self.rank,
            100.0 * reference.captured_variance,
            100.0 * reference.largest_captured_variance
        )
    }
}

/// The features that matter most in a component, with their loadings.
fn largest_loadings(component: &[f64], names: &[String]) -> String {
    let order = descending(component);
    // A sparse component has no more to show.
    let nonzero = order.iter().filter(|&&index| component[index] != 0.0);
    let shown: Vec<String> =
        nonzero.take(SHOWN).map(|&index| format!("{:+.2} {}", component[index], names[index])).collect();
    shown.join("  ")
}
