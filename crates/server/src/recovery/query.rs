//! The query of a request for components.

use std::ops::RangeInclusive;

use crate::problem::{Problem, Reason, excerpt};
use crate::request::Parameters;
use ldp_pca::internal::waves::OF_FIRST_WAVE;
use ldp_pca::recovery::{HeldOutUse, Penalty, PenaltyChoice, Question, Rank, When};

/// The number of penalties that a path may have.
const POINTS: RangeInclusive<usize> = 2..=1000;

/// Reads the question out of a query: `rank` once, where it is `needed`; `penalty` at most once, and with it `path` and
/// `baselines`, or else `method`; and `held_out`. Or `refined` instead of them: whether components of both waves are
/// asked for.
pub(crate) fn read_question(query: Parameters, dimension: usize, needed: bool) -> Result<(Question, bool), Problem> {
    let remedy = format!(
        "ask for ?rank=k with k from 1 to {dimension} or auto, and &penalty=auto or a number for sparse ones, which \
         may have &path=20, so many penalties more, and &baselines=true, simpler methods beside them; or for \
         &method=auto, the method that captures most in reports held out; &held_out=true adds what components capture \
         there; &refined=true alone gives those of both waves"
    );
    let bad = |what: &str| Reason::BadQuery.because(format!("{what}: {remedy}"));
    let parameters = query.map_err(|error| bad(&error.to_string()))?.0;
    let (mut rank, mut penalty, mut path, mut baselines) = (None, None, None, None);
    let (mut method, mut held_out, mut refined) = (None, None, None);
    for (name, value) in &parameters {
        let twice = match name.as_str() {
            "rank" => rank.replace(read_rank(value, dimension)?).is_some(),
            "penalty" => penalty.replace(read_penalty(value)?).is_some(),
            "path" => path.replace(read_path(value)?).is_some(),
            "baselines" => baselines.replace(read_flag(name, value)?).is_some(),
            "method" => method.replace(read_method(value)?).is_some(),
            "held_out" => held_out.replace(read_flag(name, value)?).is_some(),
            "refined" => refined.replace(read_flag(name, value)?).is_some(),
            _ => return Err(bad(&format!("the query has '{}'", excerpt(name)))),
        };
        if twice {
            return Err(bad(&format!("the query has '{name}' twice")));
        }
    }
    if needed && rank.is_none() {
        return Err(bad("the query has no 'rank'"));
    }
    let rank = rank.flatten();
    let refined = refined == Some(true);
    let other = || parameters.iter().find(|(name, _)| !["rank", "refined"].contains(&name.as_str()));
    if refined && rank.is_none() {
        return Err(bad("the query has 'refined' without a 'rank' that is a number"));
    }
    if refined && let Some((name, _)) = other() {
        return Err(bad(&format!("the query has 'refined' and '{name}', and {OF_FIRST_WAVE}")));
    }
    let baselines = if baselines == Some(true) { When::Always } else { When::Never };
    if penalty.is_none() && (path.is_some() || baselines != When::Never) {
        return Err(bad(
            "the query has 'path' or 'baselines' but no 'penalty', without which components are not sparse",
        ));
    }
    if penalty.is_some() && method.is_some() {
        return Err(bad("the query has 'method' and 'penalty', which chooses the method"));
    }
    let held_out = match (method, held_out) {
        (Some(choice), _) => choice,
        (None, Some(true)) => HeldOutUse::Measure,
        (None, _) => HeldOutUse::Nothing,
    };
    let first = Rank::new(1).map_err(Problem::internal)?;
    let (find_rank, given) = (rank.is_none(), Question::new(rank.unwrap_or(first)));
    Ok((Question { find_rank, penalty, path, baselines, held_out, ..given }, refined))
}

/// The number of components; none where a test is to find it.
fn read_rank(value: &str, dimension: usize) -> Result<Option<Rank>, Problem> {
    if value == "auto" {
        return Ok(None);
    }
    let rank = value.parse().ok().and_then(|rank| Rank::new(rank).ok()).filter(|rank| rank.check(dimension).is_ok());
    let must = format!("auto or a whole number from 1 to {dimension}, the number of features");
    rank.map(Some).ok_or_else(|| no_value(Reason::BadRank, "rank", value, &must))
}

fn read_penalty(value: &str) -> Result<PenaltyChoice, Problem> {
    if value == "auto" {
        return Ok(PenaltyChoice::default());
    }
    let penalty = value.parse().ok().and_then(|value| Penalty::new(value).ok());
    let must = "auto or a finite number from 0 on, in the units of the covariance";
    penalty.map(PenaltyChoice::Value).ok_or_else(|| no_value(Reason::BadPenalty, "penalty", value, must))
}

fn read_path(value: &str) -> Result<usize, Problem> {
    let must = format!("a number of penalties from {} to {}", POINTS.start(), POINTS.end());
    let points = value.parse().ok().filter(|points| POINTS.contains(points));
    points.ok_or_else(|| no_value(Reason::BadQuery, "path", value, &must))
}

fn read_method(value: &str) -> Result<HeldOutUse, Problem> {
    let must = "auto; without it components are plain ones";
    if value == "auto" { Ok(HeldOutUse::Choose) } else { Err(no_value(Reason::BadQuery, "method", value, must)) }
}

fn read_flag(name: &str, value: &str) -> Result<bool, Problem> {
    value.parse().map_err(|_| no_value(Reason::BadQuery, name, value, "true or false"))
}

/// The refusal of a parameter's value.
fn no_value(reason: Reason, name: &str, value: &str, must: &str) -> Problem {
    reason.because(format!("{name} is '{}': it must be {must}", excerpt(value)))
}
