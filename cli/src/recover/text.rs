//! The result of `recover` as text.

use ldp_pca::prediction::Prediction;
use ldp_pca::recovery::{
    Answer, Confidence, PathPoint, ReferenceComparison, ScoredPenalty, SolverStatus, SparseAnswer,
};

use super::denoising::CovarianceResult;
use super::result::{RecoverResult, descending};
use crate::hostile::hostile_text;
use crate::output::{first, grouped, wrote};

/// Features named per component, per support, and with their stability.
const SHOWN: usize = 5;
const SHOWN_SUPPORT: usize = 12;

impl RecoverResult {
    pub(crate) fn text(&self) -> String {
        let answer = &self.answer;
        let mut text = components(answer) + &explained(answer) + &warning(answer);
        text += &answer.hostile.as_ref().map(hostile_text).unwrap_or_default();
        text += &mean(answer);
        if let Some(found) = &answer.sparse {
            text += &sparse(answer, found);
        }
        text += &answer.path.as_deref().map(path).unwrap_or_default();
        if let (Some(prediction), None) = (&answer.predicted, &answer.sparse) {
            text += &predicted(prediction);
        }
        text += &answer.confidence.as_ref().map(|found| confidence(answer, found)).unwrap_or_default();
        text += &self.compared.as_ref().map(|compared| reference(answer.rank, compared)).unwrap_or_default();
        let covariance = self.covariance.as_ref();
        text += &covariance.map(CovarianceResult::text).unwrap_or_default();
        let covariance = covariance.map(|covariance| covariance.output.as_path());
        text + &wrote(self.output.as_deref()) + &wrote(covariance) + &wrote(self.plot.as_deref())
    }
}

fn components(answer: &Answer) -> String {
    let mut text = format!(
        "{} components of {} features from {} reports ({}, noise {:.2e} per entry)\n",
        answer.rank,
        answer.dimension,
        grouped(answer.records),
        answer.method.name(),
        answer.noise_deviation
    );
    for (index, (component, value)) in answer.components.iter().zip(&answer.eigenvalues).enumerate() {
        let share = answer.explained_variance.as_ref().map(|shares| format!(" ({:.1} %)", 100.0 * shares[index]));
        text += &format!(
            "  {}. variance {value:.5}{}:  {}\n",
            index + 1,
            share.unwrap_or_default(),
            largest_loadings(component, &answer.feature_names)
        );
    }
    text
}

fn explained(answer: &Answer) -> String {
    let (Some(total), Some(shares)) = (answer.total_variance, &answer.explained_variance) else {
        return String::new();
    };
    format!("explained   {:.1} % of a total variance of {total:.4}\n", 100.0 * shares.iter().sum::<f64>())
}

fn warning(answer: &Answer) -> String {
    let edge = answer.edge();
    let buried = answer.eigenvalues.iter().filter(|&&value| value <= edge).count();
    if buried == 0 {
        return String::new();
    }
    let of_what = if answer.sparse.is_some() { " on as many features" } else { "" };
    format!(
        "warning     {buried} of them cannot be distinguished from noise, which alone gives a variance of \
         {edge:.5}{of_what}: collect more reports, or ask for fewer components\n"
    )
}

fn mean(answer: &Answer) -> String {
    let Some(mean) = &answer.mean else { return String::new() };
    format!(
        "mean        {}  (encoded, noise {:.2e} per entry; \
         it makes the noise of the covariance {:.2} times as large)\n",
        largest_loadings(mean.estimate.values(), &answer.feature_names),
        mean.estimate.noise_deviation(),
        mean.noise_factor
    )
}

fn sparse(answer: &Answer, sparse: &SparseAnswer) -> String {
    let mut text = format!(
        "sparse      {} features with penalty {:.3e} ({}): {} after {} iterations, certified gap {:.1e}\n",
        sparse.support.len(),
        sparse.penalty,
        match sparse.penalty_choice {
            "cv" => "cross-validated",
            "value" => "as given",
            _ => "from the noise level",
        },
        sparse.status.name(),
        sparse.iterations,
        sparse.relative_gap
    );
    let order = descending(&answer.leverages).into_iter().take(sparse.support.len());
    let named = order.map(|row| format!("{} {:.2}", answer.feature_names[row], answer.leverages[row]));
    text += &format!("leverages   {}\n", first(named, SHOWN_SUPPORT));
    let baselines = sparse
        .baselines
        .iter()
        .flat_map(|baselines| [("soft-thresholding", &baselines.soft_threshold), ("plain components", &baselines.pca)]);
    for (name, baseline) in baselines {
        let error = baseline.sin_theta_squared.map(|error| format!(", {error:.4} from the reference"));
        text += &format!(
            "beside it   {name}: variances {}, {} features, ||sin Theta||_F^2 = {:.4} from the sparse ones{}\n",
            first(baseline.eigenvalues.iter().map(|value| format!("{value:.5}")), SHOWN),
            baseline.support.len(),
            baseline.distance,
            error.unwrap_or_default()
        );
    }
    text + &sparse.cross_validation.as_deref().map(folds).unwrap_or_default()
}

fn folds(scored: &[ScoredPenalty]) -> String {
    let mut text = "folds       penalty      features  score      - best  (standard error)\n".to_owned();
    let best = scored.iter().find(|scored| scored.chosen).map_or(0.0, |scored| scored.point.mean_score);
    for ScoredPenalty { point, chosen } in scored {
        text += &format!(
            "            {:<11.4e}  {:>8.1}  {:<9.5} {:>9.1e}  ({:.1e}){}\n",
            point.penalty.value(),
            point.mean_support,
            point.mean_score,
            point.mean_score - best,
            point.standard_error,
            if *chosen { "  chosen" } else { "" }
        );
    }
    text
}

fn path(points: &[PathPoint]) -> String {
    let mut text = "path        penalty      features  objective    gap      variances\n".to_owned();
    for point in points {
        text += &format!(
            "            {:<11.4e}  {:>8}  {:<11.5}  {:<7.1e}  {}{}{}\n",
            point.penalty.value(),
            point.support.len(),
            point.objective,
            point.relative_gap,
            point.variances.iter().take(SHOWN).map(|value| format!("{value:.5}")).collect::<Vec<_>>().join(" "),
            if point.variances.len() > SHOWN { " …" } else { "" },
            if point.status == SolverStatus::Optimal { String::new() } else { format!("  ({})", point.status.name()) }
        );
    }
    text
}

fn predicted(prediction: &Prediction) -> String {
    format!(
        "predicted   ||sin Theta||_F^2 = {:.4} (0 is exact, {:.2} is a guess)\n",
        prediction.sin_theta_squared, prediction.uninformed
    )
}

fn confidence(answer: &Answer, confidence: &Confidence) -> String {
    let mut text = format!(
        "interval    ||sin Theta||_F^2 is within {:.4} and {:.4} with {:.0} % confidence ({} replicates)\n",
        confidence.interval.lower,
        confidence.interval.upper,
        100.0 * confidence.level,
        confidence.replicates
    );
    if let Some(SparseAnswer { rows, .. }) = &answer.sparse {
        let stability =
            |&row: &usize| format!("{} {:.0} %", answer.feature_names[row], 100.0 * confidence.support_stability[row]);
        text += &format!("stability   {}\n", first(rows.iter().map(stability), SHOWN_SUPPORT));
    }
    text
}

fn reference(rank: usize, ReferenceComparison { sin_theta_squared, reference }: &ReferenceComparison) -> String {
    format!(
        "error       ||sin Theta||_F^2 = {sin_theta_squared:.4} against the non-private components of {} records (0 is \
            equal, {rank} is unrelated)\n\
         captured    {:.2} % of the variance, where {:.2} % is possible\n",
        grouped(reference.records),
        100.0 * reference.captured_variance,
        100.0 * reference.largest_captured_variance
    )
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
