//! The result of `recover` as text.

use ldp_pca::internal::mechanism::HostilePull;
use ldp_pca::internal::recovery::{
    FEWEST_REPLICATES, Fit, HeldOutAnswer, ReferenceAnswer, ReferenceComparison, SupportConditions,
};
use ldp_pca::prediction::Prediction;
use ldp_pca::recovery::{
    Answer, Confidence, CrossValidationPoint, Method, Part, PathPoint, SolverStatus, SparseAnswer, Unfinished,
};
use ldp_pca_page::{single_columns, ties};

use super::loadings::{SHOWN, descending, largest_loadings};
use super::other::changed;
use super::rank::{INDENT, tested};
use super::selection::selected;
use super::share::{SQUARES, Unit, percent};
use super::{RecoverResult, refined};
use crate::hostile::hostile_text;
use crate::output::{Decimal, first, fitted, fixed, grouped, of_structure, on_scale, plural, whole, wrote};
use crate::table::{Align, Table};

/// Components that are listed without details.
const LISTED: usize = 3;

/// Features named per support, and with their stability.
const SHOWN_SUPPORT: usize = 12;

/// Fewer folds than these leave out so many reports that what is held out says little of the components of all.
const FEW_FOLDS: usize = 5;

impl RecoverResult {
    /// What was found, how good it is, and warnings of wrong conclusions; in `details` everything that is known.
    pub(crate) fn text(&self, details: bool) -> String {
        let answer = &self.answer;
        let (found, trust, unit) = (&answer.found, &answer.trust, Unit::of(answer));
        let is_told = |pull: &&HostilePull| details || pull.reports > 1;
        let sections = [
            Some(components(answer, unit, details)),
            finds(answer, details),
            trust.compared.as_ref().map(|compared| reference(answer, compared, details)),
            trust.ordinary_pca.as_ref().filter(|_| details).map(|compared| ordinary(answer, compared)),
            warning(answer),
            Some(patterns(answer)),
            notice(answer),
            empty(answer),
            trust.rank_test.as_ref().and_then(|test| tested(test, &answer.asked, unit, details)),
            found.selection.as_ref().map(selected),
            trust.other.as_ref().map(|other| changed(other, answer, unit, details)),
            self.refined.as_ref().map(|facts| refined::text(facts, details)),
            mean(answer, details),
            explained(answer, unit, details),
            found.sparse.as_ref().map(|found| sparse(answer, found, unit, details)),
            thresholded(answer),
            trust.hostile.as_ref().filter(is_told).map(|pull| hostile_text(pull, Some(unit))),
            assumption(answer),
        ];
        let detailed = || {
            [
                noise(answer, unit),
                found.path.as_deref().map(|points| path(points, unit)),
                held_out(answer, unit),
                predicted(answer),
                trust.confidence.as_ref().map(|found| confidence(answer, found)),
            ]
        };
        let detailed = details.then(detailed).into_iter().flatten();
        let mut text: String = sections.into_iter().chain(detailed).flatten().collect();
        text.extend(answer.missing.unfinished.iter().map(|part| unfinished(answer, part)));
        let covariance = self.covariance.as_ref().map(|covariance| &covariance.output);
        let pictures = [&self.plot, &self.report].map(|target| wrote(target.as_ref()));
        text + &wrote(self.output.as_ref()) + &wrote(covariance) + &pictures.concat()
    }
}

fn components(answer: &Answer, unit: Unit, details: bool) -> String {
    let mut text = format!(
        "{} of {} from {} ({})\n{}about       {}\n",
        plural(answer.asked.rank as u64, "component"),
        plural(answer.asked.dimension as u64, "feature"),
        plural(answer.asked.records, "report"),
        answer.asked.method,
        family(answer, details).unwrap_or_default(),
        what_about(answer.asked.centred)
    );
    let components = &answer.found.components;
    let shown = if details { components.len() } else { components.len().min(LISTED) };
    for (index, component) in components[..shown].iter().enumerate() {
        let errors = answer.trust.confidence.as_ref().map(|found| &*found.loading_errors[index]);
        let (number, variance) = (index + 1, variance(answer, index, unit));
        let loadings = largest_loadings(component, errors, &answer.asked.feature_names);
        let line = fitted(&format!("  {number}. {variance}:  {loadings}"));
        // Without details a component has one line, whatever its names.
        text.extend(line.lines().take(if details { usize::MAX } else { 1 }).map(|line| format!("{line}\n")));
    }
    if shown < components.len() {
        text += &format!("  and {} more (--details)\n", components.len() - shown);
    }
    text
}

/// Which share of the structure the components find, as far as the noise alone tells.
fn finds(answer: &Answer, details: bool) -> Option<String> {
    let (buried, is_sparse) = (answer.buried(), answer.found.penalty().is_some());
    let scale = if details { "; 0 % is random, 100 % the truth" } else { "" };
    let (found, rest) = match buried {
        0 => ("", String::new()),
        1 => (" that stands out from the noise", "; what the other component has is not known".to_owned()),
        _ => (" that stands out from the noise", format!("; what the other {buried} components have is not known")),
    };
    let predicted = answer.trust.predicted.as_ref();
    let share = predicted.map(|predicted| predicted.share_found.map(|share| of_structure(share) + found));
    let interval = answer.trust.confidence.as_ref().and_then(|found| found.share_found.zip(Some(found.level)));
    let text = match (interval, share) {
        _ if answer.asked.rank == answer.asked.dimension => {
            "everything: as many components as features are the whole space".to_owned()
        }
        (None, None) if !is_sparse => return None,
        _ if buried == answer.asked.rank => "nothing that is known: no component stands out from the noise".to_owned(),
        (Some((interval, level)), _) => {
            let [lower, upper] = [whole(interval.lower), of_structure(interval.upper)];
            format!("between {lower} and {upper} with {:.0} % confidence{scale}", 100.0 * level)
        }
        // What is not known is in the warning, too.
        (None, Some(Some(share))) if !is_sparse && !details => format!("about {share}, as predicted"),
        (None, Some(Some(share))) if !is_sparse => format!("about {share}, as predicted{rest}{scale}"),
        (None, share) => {
            let of = if is_sparse { " of sparse components" } else { "" };
            let plain = share.flatten().map(|share| format!(" (plain ones find about {share})")).unwrap_or_default();
            format!("a share of the structure that is not predicted{of}{plain}: --bootstrap gives an interval")
        }
    };
    Some(format!("finds       {text}\n"))
}

/// What the estimate of a family is of; in `details` also a line for each of its tasks.
fn family(answer: &Answer, details: bool) -> Option<String> {
    let members = answer.asked.family.as_ref()?;
    let with_delta = members.iter().any(|member| member.delta > 0.0);
    let with_period = members.iter().any(|member| member.period.is_some());
    let heads = ["period", "epsilon", "delta", "reports", "weight"];
    let is_shown = |head: &&str| (with_delta || *head != "delta") && (with_period || *head != "period");
    let mut table = Table::new(heads.into_iter().filter(is_shown).map(|head| (head, Align::Right)).collect());
    for member in members {
        let mut cells = vec![];
        cells.extend(with_period.then(|| member.period.clone().unwrap_or_default()));
        cells.push(Decimal(member.epsilon).to_string());
        cells.extend(with_delta.then(|| Decimal(member.delta).to_string()));
        cells.extend([grouped(member.records), format!("{:.4}", member.weight)]);
        table.row(cells);
    }
    let periods = if with_period { "; the errors take all reports for those of different people" } else { "" };
    Some(format!(
        "family      {} tasks, weighted by the inverse variance of their noise\n{}{:INDENT$}people of a task with less \
         noise count more: an estimate of all people only if the choice of a task does not depend on the \
         record{periods}\n",
        members.len(),
        if details { table.text(INDENT) } else { String::new() },
        ""
    ))
}

/// The variance along a component, without the bias of the noise where its law is known.
fn variance(answer: &Answer, index: usize, unit: Unit) -> String {
    let variance = match answer.found.variances.as_ref().map(|variances| variances[index]) {
        Some(None) => return "noise".to_owned(),
        Some(Some(variance)) => variance,
        None => answer.found.eigenvalues[index],
    };
    let error = answer.trust.variance_errors.as_ref().and_then(|errors| errors[index]);
    let error = error.map(|error| format!(" ± {}", unit.of_variance(error))).unwrap_or_default();
    format!("{}{}{error}", if unit.is_share() { "" } else { "variance " }, unit.of_variance(variance))
}

/// What components are about, for a task with or without centring.
pub(crate) fn what_about(centred: bool) -> &'static str {
    if centred {
        "the estimated mean: components of the covariance"
    } else {
        "zero: components of second moments, not of the covariance"
    }
}

/// What the components hold together; in `details` also the total that shares are of.
fn explained(answer: &Answer, unit: Unit, details: bool) -> Option<String> {
    let Some(total) = answer.found.total_variance else {
        return Some(format!("variances   {SQUARES}\n"));
    };
    let total = fixed(total, 4);
    let error = answer.trust.total_variance_error.map(|error| format!(" ± {}", fixed(error, 4))).unwrap_or_default();
    let bound = if error.is_empty() { "" } else { " (a bound on its standard error)" };
    let what = if answer.asked.centred { "about the mean" } else { "about zero" };
    match &answer.found.explained_variance {
        Some(_) if unit.is_share() && !details => None,
        Some(shares) if unit.is_share() => Some(format!(
            "explained   {} of the total variance of the bounded records {what}, which is {total}{error}{bound} \
             {SQUARES}\n",
            percent(shares.iter().sum())
        )),
        _ => Some(format!(
            "variances   {SQUARES}: the total, {total}{error}{bound}, stands out from the noise too little to \
             give shares of it\n"
        )),
    }
}

/// What the components say beside their variance: which cannot be told from each other, and whether they are patterns
/// of several columns.
fn patterns(answer: &Answer) -> String {
    let ties = ties(answer, "component").into_iter().map(|tie| format!("ties        {tie}\n"));
    let none = single_columns(answer, "component").map(|none| format!("pattern     none: {none}\n"));
    ties.chain(none).collect()
}

/// How many records say nothing, where that stands out from the noise.
fn empty(answer: &Answer) -> Option<String> {
    let (share, error) = answer.empty()?;
    let [share, error] = [share, error].map(percent);
    let caveat =
        if answer.asked.centred { ": they can look like a component where the mean is far from zero" } else { "" };
    Some(format!("empty       {share} ± {error} of the records have only zeros and missing values{caveat}\n"))
}

/// The noise of one entry. About the directions of public records there is none in the entries.
fn noise(answer: &Answer, unit: Unit) -> Option<String> {
    let deviation = Some(answer.trust.noise_deviation).filter(|deviation| *deviation != 0.0)?;
    let of = if unit.is_share() { " of the total variance" } else { "" };
    let deviation = unit.of_variance(deviation);
    Some(format!("noise       ± {deviation}{of} in each off-diagonal entry of the estimate (one standard deviation)\n"))
}

/// What the components capture in reports that they were not found from, and what other methods do.
fn held_out(answer: &Answer, unit: Unit) -> Option<String> {
    let held_out = answer.trust.held_out.as_ref()?;
    let chosen = held_out.chosen()?;
    let (captured, folds) = (&chosen.captured, held_out.folds);
    let [value, lower, upper] = unit.of_variances([captured.value, captured.interval.lower, captured.interval.upper]);
    // Folds have about as many reports each.
    let share = 100.0 * (1.0 - 1.0 / folds as f64);
    let of = if unit.is_share() { " of the total variance" } else { "" };
    let advice = if folds < FEW_FOLDS { " (more folds, `task new --folds`, bring the two nearer)" } else { "" };
    let mut text = format!(
        "held out    {} of about {share:.0} % of the reports capture {value}{of} ({:.0} %: {lower} to {upper}) in the \
         other reports: found without one of {folds} folds and measured on it, the mean over the folds. The components \
         above are of all reports, and on average capture more{advice}\n",
        called(&chosen.fit),
        100.0 * held_out.level
    );
    let from_plain = |answer: &HeldOutAnswer| {
        let difference = answer.difference?;
        let [value, error] = [unit.signed(difference.value), unit.of_variance(difference.standard_error)];
        Some(format!("{} {value} ± {error}", called(&answer.fit)))
    };
    let best = |method: Method| {
        let of_method = held_out.answers.iter().filter(|answer| answer.fit.method == method);
        of_method.max_by(|a, b| a.captured.value.total_cmp(&b.captured.value)).and_then(from_plain)
    };
    let compared: Vec<String> = [Method::SoftThreshold, Method::Fantope].into_iter().filter_map(best).collect();
    if !compared.is_empty() {
        let (compared, what) = (compared.join(", "), unit.of_what());
        text += &format!("against     plain components: {compared} ({what}, ± one standard error)\n");
    }
    if held_out.answers.len() > 2 {
        let why = match chosen.difference {
            None => ": no other captures more by a standard error",
            Some(_) => " by these figures, so its own are a little too high",
        };
        text += &format!("chosen      {} of {} answers{why}\n", called(&chosen.fit), held_out.answers.len());
    }
    Some(text)
}

fn called(fit: &Fit) -> String {
    match fit.method {
        Method::SoftThreshold => format!("soft-thresholding (penalty factor {:.3})", fit.factor),
        Method::Fantope => format!("the Fantope program (penalty factor {:.3})", fit.factor),
        _ => "plain components".to_owned(),
    }
}

/// The features of a thresholded estimate.
fn thresholded(answer: &Answer) -> Option<String> {
    let found = answer.found.soft_threshold.as_ref()?;
    let what = if found.rows.len() < answer.asked.dimension {
        format!("sparse      {}", plural(found.rows.len() as u64, "feature"))
    } else {
        format!("shrunk      entries of the estimate; all {} features take part,", answer.asked.dimension)
    };
    Some(format!(
        "{what} with penalty {:.3e} {SQUARES} (chosen on reports held out), soft-thresholding\n{}",
        found.penalty,
        leverages(answer, found.rows.len())
    ))
}

/// So many features, by how much they take part.
fn leverages(answer: &Answer, count: usize) -> String {
    let order = descending(&answer.found.leverages).into_iter().take(count);
    let named = order.map(|row| format!("{} {:.2}", answer.asked.feature_names[row], answer.found.leverages[row]));
    format!("leverages   {}\n", first(named, SHOWN_SUPPORT))
}

fn warning(answer: &Answer) -> Option<String> {
    // The last of all directions has no other to be compared with.
    let least = usize::from(answer.asked.rank == answer.asked.dimension);
    let buried = Some(answer.buried()).filter(|buried| *buried > least)?;
    Some(format!("warning     {buried} of them cannot be told from noise: collect more reports, or ask for fewer\n"))
}

/// That the first component may be the mean, where it has the marks of one.
fn notice(answer: &Answer) -> Option<String> {
    let marks = Some(answer.marks_of_mean()).filter(|marks| !marks.is_empty())?;
    Some(format!(
        "notice      the first component {}: it may be the mean, which a task of `task new --centre` estimates; drop \
         id columns\n",
        marks.join(" and ")
    ))
}

fn mean(answer: &Answer, details: bool) -> Option<String> {
    let mean = answer.found.mean.as_ref()?;
    let values = largest_loadings(mean.estimate.values(), None, &answer.asked.feature_names);
    let deviation = mean.estimate.noise_deviation();
    if !details {
        return Some(format!("mean        {values}  (each ± {deviation:.2e})\n"));
    }
    Some(format!(
        "mean        {values}  (in units of the encoded features, each ± {deviation:.2e}, one standard deviation of \
         its noise; estimating it makes the noise of the covariance {:.2} times as large){}\n",
        mean.noise_factor,
        mean.share
            .map(|share| format!("; {:.0} % of the second moments about zero are the mean's", 100.0 * share))
            .unwrap_or_default()
    ))
}

fn sparse(answer: &Answer, sparse: &SparseAnswer, unit: Unit, details: bool) -> String {
    let SparseAnswer { support, penalty, iterations, relative_gap, .. } = sparse;
    let choice = match sparse.penalty_choice {
        "cv" => "cross-validated",
        "value" => "as given",
        "held-out" => "chosen on reports held out",
        _ => "from the noise level",
    };
    let mut text = format!(
        "sparse      {} with penalty {penalty:.3e} {SQUARES} ({choice}): {} after {}, certified gap \
         {relative_gap:.1e}\n",
        plural(support.len() as u64, "feature"),
        sparse.status,
        plural(*iterations as u64, "iteration")
    );
    if !details {
        return text;
    }
    text += &leverages(answer, support.len());
    text += &sparse.conditions.as_ref().map(|found| conditions(found, sparse.penalty)).unwrap_or_default();
    let baselines = sparse
        .baselines
        .iter()
        .flat_map(|baselines| [("soft-thresholding", &baselines.soft_threshold), ("plain components", &baselines.pca)]);
    for (name, baseline) in baselines {
        let error = baseline.sin_theta_squared.map(|error| format!(", {error:.4} from the reference"));
        text += &format!(
            "beside it   {name}: variances {}, {}, ||sin Theta||_F^2 = {:.4} from the sparse ones{}\n",
            first(baseline.eigenvalues.iter().map(|&value| unit.of_variance(value)), SHOWN),
            plural(baseline.support.len() as u64, "feature"),
            baseline.distance,
            error.unwrap_or_default()
        );
    }
    text + &sparse.cross_validation.as_deref().map(|points| folds(points, unit)).unwrap_or_default()
}

/// Whether the theorem on the support covers this one.
fn conditions(found: &SupportConditions, penalty: f64) -> String {
    let verdict = match (found.no_false_features, found.no_missed_features) {
        (true, true) => "met: a population of exactly these features would show them all, and no others",
        (true, false) => "met: a population of exactly these features would show no others; some may be missed",
        _ => "not met: features may be false or missed",
    };
    let number = |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{value:.2e}"));
    let [correlation, noise, least] = [found.correlation, found.noise_correlation, found.least_penalty].map(number);
    format!(
        "support     conditions of Wang & Xu's Theorem 5 {verdict}\n            \
         (checked on this estimate and its support, not on the population; populations with other features \
         are not ruled out: limited correlation {correlation}, below 1, of which about {noise} is of the noise; \
         penalty {penalty:.2e}, from {least} to below {:.2e})\n",
        found.most_penalty
    )
}

fn folds(points: &[CrossValidationPoint], unit: Unit) -> String {
    let mut text = "folds       penalty      features  captured    - best      (standard error)\n".to_owned();
    let best = points.iter().find(|point| point.chosen).map_or(0.0, |point| point.mean_score);
    for point in points {
        let (penalty, support) = (point.penalty.value(), point.mean_support);
        let scores = [point.mean_score, point.mean_score - best, point.standard_error];
        let ([score, below, error], mark) = (unit.of_variances(scores), if point.chosen { "  chosen" } else { "" });
        text += &format!("            {penalty:<11.4e}  {support:>8.1}  {score:<10}  {below:<10}  ({error}){mark}\n");
    }
    text
}

fn path(points: &[PathPoint], unit: Unit) -> String {
    let mut text = "path        penalty      features  objective   gap      variances\n".to_owned();
    for point in points {
        let stopped = Some(point.status).filter(|status| *status != SolverStatus::Optimal);
        text += &format!(
            "            {:<11.4e}  {:>8}  {:<10}  {:<7.1e}  {}{}\n",
            point.penalty.value(),
            point.support.len(),
            unit.of_variance(point.objective),
            point.relative_gap,
            first(point.variances.iter().map(|&value| unit.of_variance(value)), SHOWN),
            stopped.map(|status| format!("  ({status})")).unwrap_or_default()
        );
    }
    text
}

/// The predicted error, which is that of plain components.
fn predicted(answer: &Answer) -> Option<String> {
    let is_sparse = answer.found.penalty().is_some();
    let text = match &answer.trust.predicted {
        Some(Prediction { sin_theta_squared, uninformed, .. }) => {
            let rest = ", of plain components from these reports: no error is predicted of sparse ones, and \
                        --bootstrap gives an interval";
            on_scale(*sin_theta_squared, *uninformed) + if is_sparse { rest } else { "" }
        }
        None if is_sparse && answer.trust.confidence.is_none() => {
            "none: errors are predicted of plain components only; --bootstrap gives an interval".to_owned()
        }
        None => return None,
    };
    Some(format!("predicted   {text}\n"))
}

/// A part that is missing, and what that means.
fn unfinished(answer: &Answer, &Unfinished { part, done, of }: &Unfinished) -> String {
    let many = |what| plural(done, what);
    let (done, of) = (grouped(done), of.map(grouped).unwrap_or_default());
    let what = match part {
        Part::Rank if of.is_empty() && done == "0" => "the components, of which none was tested".to_owned(),
        Part::Rank if of.is_empty() => format!("{done} components tested, which all stand out"),
        Part::Rank => format!("{done} of {of} folds: what each component adds was not measured"),
        Part::HeldOut => {
            format!("{done} of {of} problems of the comparison on reports held out: nothing was compared")
        }
        Part::Penalty => format!("{done} of {of} problems of cross-validation: the penalty is that of `auto`"),
        Part::Solution => format!("{}: the gap is certified, and wider than the tolerance", many("iteration")),
        Part::Path => format!("{done} of {of} penalties of the path"),
        Part::Baselines => "none of the simpler methods beside the sparse one".to_owned(),
        Part::Bootstrap if answer.trust.confidence.is_some() => {
            format!("{done} of {of} replicates: the interval is of those")
        }
        Part::Bootstrap => format!("{done} of {of} replicates: there is no interval of fewer than {FEWEST_REPLICATES}"),
        Part::Reference => format!("{} of the reference: there is no comparison with it", many("record")),
        Part::Other => format!("{done} of {of} pairs of collections from one population: the p-value is of those"),
    };
    format!("unfinished  time was up after {what}\n")
}

fn confidence(answer: &Answer, confidence: &Confidence) -> String {
    let mut text = format!(
        "interval    ||sin Theta||_F^2 is within {:.4} and {:.4} with {:.0} % confidence ({} replicates; how often \
         such intervals hold is in docs/reference/inference.md)\n",
        confidence.interval.lower,
        confidence.interval.upper,
        100.0 * confidence.level,
        confidence.replicates
    );
    if let Some(rows) = answer.found.support() {
        let stability = |&row: &usize| {
            format!("{} {:.0} %", answer.asked.feature_names[row], 100.0 * confidence.support_stability[row])
        };
        text += &format!("stability   {}\n", first(rows.iter().map(stability), SHOWN_SUPPORT));
    }
    text
}

/// What the errors of variances, prediction and interval assume.
fn assumption(answer: &Answer) -> Option<String> {
    let trust = &answer.trust;
    let has_errors = trust.variance_errors.iter().flatten().any(Option::is_some);
    if !has_errors && trust.predicted.is_none() && trust.confidence.is_none() {
        return None;
    }
    let sparse = match answer.found.penalty() {
        Some(_) => ", and its components are as sparse as these, as dense as plain ones, or between",
        None => "",
    };
    // What the estimate of a family is of says what else is assumed.
    Some(format!("assumption  the population is isotropic except for a few components that stand well out{sparse}\n"))
}

/// The comparison with PCA of bounded records, the quantity that reports are about.
fn reference(answer: &Answer, compared: &ReferenceComparison, details: bool) -> String {
    let captured = captured(&compared.reference, "of the variance of the bounded records", details);
    let from = "PCA without privacy of the bounded records, of which there are";
    let records = grouped(compared.reference.records);
    let error = details.then(|| format!("error       {} from {from} {records}\n", distance(answer, compared)));
    format!("captured    {captured}\n{}", error.unwrap_or_default())
}

/// The comparison with PCA of the same records as they are, bounded by nothing.
fn ordinary(answer: &Answer, compared: &ReferenceComparison) -> String {
    let about = if answer.asked.centred { "their mean" } else { "zero" };
    let from = format!("ordinary PCA about {about} of the same records, encoded and not bounded");
    let captured = captured(&compared.reference, "of their variance", true);
    format!("ordinary    {} from {from}\n{:12}captured: {captured}\n", distance(answer, compared), "")
}

fn distance(answer: &Answer, compared: &ReferenceComparison) -> String {
    let (rank, dimension) = (answer.asked.rank as f64, answer.asked.dimension as f64);
    on_scale(compared.sin_theta_squared, rank * (1.0 - rank / dimension))
}

fn captured(reference: &ReferenceAnswer, of_what: &str, details: bool) -> String {
    let (share, largest) = (reference.captured_variance, reference.largest_captured_variance);
    if share.is_finite() {
        let found = reference.share_found.filter(|_| details).map(|share| format!(": {}", of_structure(share)));
        format!("{} {of_what}, where {} is possible{}", percent(share), percent(largest), found.unwrap_or_default())
    } else {
        format!("nothing {of_what}: they have none")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_single_columns_are_told() {
        let ties = |rank, ties| {
            let mut answer = Answer::default();
            (answer.asked.rank, answer.found.ties) = (rank, ties);
            patterns(&answer)
        };
        assert_eq!(
            ties(3, vec![[0, 1]]),
            "ties        components 1 and 2 cannot be told from each other: any rotation of them fits these reports as \
             well\n"
        );
        assert!(ties(6, vec![[0, 5]]).contains("among components 1 to 6, neighbours cannot be told apart, and"));
        assert!(
            ties(1, vec![[0, 1]]).contains("component 1 cannot be told from the next one, which was not asked for")
        );
        assert!(ties(3, vec![[1, 3]]).contains("among components 2 to 3 and the next one, which was not asked for, "));
        assert_eq!(ties(3, vec![]), "");
        let single = |variances: Vec<Option<f64>>| {
            let mut answer = Answer::default();
            answer.asked.rank = variances.len();
            (answer.found.variances, answer.found.single_columns) = (Some(variances), Some(true));
            patterns(&answer)
        };
        assert!(single(vec![Some(0.2), None]).contains("none: the component holds no more variance than one column"));
        assert!(single(vec![Some(0.2), Some(0.1)]).contains("the 2 components above the noise hold no more variance"));
    }
}
