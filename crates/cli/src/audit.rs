//! The `audit` command: a test of a randomizer's guarantee.

use std::time::Instant;

use clap::Args;
use ldp_pca::mechanism::LocalRandomizer;
use ldp_pca::privacy::Guarantee;
use ldp_pca::record::Bounding;
use ldp_pca::task::TaskMechanism;
use ldp_pca_simulation::audit::{self, AuditError, Confidence, Finding, Job, Randomizer, Tally};
use serde::Serialize;

use super::error::{CliError, Result};
use super::output::{Decimal, Details, Format, bar, fixed_down, grouped, plural};
use super::parallel::on_all_cores;
use super::parameters::{self, MechanismArguments};

/// Test a randomizer's guarantee on worst-case pairs of records
///
/// Randomizes pairs of records many times, looks for events that distinguish them, and bounds epsilon from below with
/// 99 % confidence (Clopper and Pearson). A bound above the claim refutes the claim, and so does a payload that the
/// mechanism cannot make: the exit code is 1. A bound below the claim proves nothing.
#[derive(Args)]
pub(super) struct Audit {
    #[command(flatten)]
    mechanism: MechanismArguments,
    /// Number of features, d
    #[arg(long, default_value_t = 4)]
    dimension: usize,
    /// How records are bounded: unit-norm, or clip:R
    ///
    /// That brings them into the unit ball; R is a radius
    #[arg(long, value_parser = parameters::bounding, default_value = "unit-norm")]
    bounding: Bounding,
    /// Reports of each record of each pair
    ///
    /// One half chooses the event, the other half judges it
    #[arg(long, default_value_t = 200_000)]
    trials: u64,
    /// Seed of the randomizer under test
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    details: Details,
    #[command(flatten)]
    format: Format,
}

/// The probability that the bound on epsilon is not too high.
const CONFIDENCE: f64 = 0.99;

#[derive(Serialize)]
struct AuditResult {
    #[serde(flatten)]
    finding: Finding,
    trials: u64,
    /// The bound on epsilon from these trials at the delta that the paper's scale is computed from, where the mechanism
    /// has another.
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<PaperClaim>,
    /// The claim, with its neighbouring relation and unit.
    guarantee: Guarantee,
    dimension: usize,
    seed: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct PaperClaim {
    delta: f64,
    epsilon_lower_bound: f64,
    exceeded: bool,
}

impl Audit {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let family = self.mechanism.family()?;
        let mechanism: TaskMechanism = family.build(self.mechanism.epsilon, self.dimension, self.bounding)?.into();
        let audit = audit::Audit::new(&mechanism, self.bounding)?;
        let jobs = audit.jobs(self.trials)?;
        let tally = self.tally(&audit, &jobs, &mechanism)?;
        let guarantee = mechanism.guarantee();
        let confidence = Confidence::new(CONFIDENCE)?;
        let conclude = |delta| audit.conclude(&tally, delta, confidence);
        let finding = conclude(guarantee.delta_value())?;
        let of_paper = parameters::printed_delta(family).map(|delta| conclude(delta.value())).transpose()?;
        let paper = of_paper.map(|Finding { delta, epsilon_lower_bound, .. }| PaperClaim {
            delta,
            epsilon_lower_bound,
            exceeded: epsilon_lower_bound > finding.epsilon_claimed,
        });
        let result = AuditResult {
            finding,
            trials: self.trials,
            paper,
            guarantee,
            dimension: self.dimension,
            seed: self.seed,
            seconds: started.elapsed().as_secs_f64(),
        };
        self.format.print(&result, |result| result.text(self.details.wanted))?;
        let Finding { passed, epsilon_lower_bound, epsilon_claimed, malformed, .. } = result.finding;
        if passed {
            return Ok(());
        }
        Err(if malformed.is_empty() {
            CliError::failed(format_args!(
                "epsilon is at least {} with confidence {CONFIDENCE}, and {} is claimed: the claim is refuted",
                fixed_down(epsilon_lower_bound, 4),
                Decimal(epsilon_claimed)
            ))
        } else {
            CliError::failed("the randomizer made payloads that the mechanism cannot make, or none at all")
        })
    }

    /// All jobs, over the available cores. Each has its own random stream and counts add in any order, so the result
    /// does not depend on the number of cores.
    fn tally(&self, audit: &audit::Audit, jobs: &[Job], mechanism: &TaskMechanism) -> Result<Tally> {
        let progress = bar("auditing", jobs.iter().map(|job| job.reports()).sum());
        // A few parts: each keeps its own tally.
        let parts: Vec<&[Job]> = jobs.chunks(jobs.len().div_ceil(64)).collect();
        let tallies = on_all_cores(parts.len(), |part| {
            let mut tally = audit.empty_tally();
            let shipped: &Randomizer<'_> =
                &|record, task_key, id, rng| mechanism.randomize_with_rng(record, task_key, id, rng).map(Some);
            for &job in parts[part] {
                audit.observe(job, self.seed, shipped, &mut tally)?;
                progress.inc(job.reports());
            }
            Ok::<_, AuditError>(tally)
        })?;
        let mut total = audit.empty_tally();
        tallies.iter().try_for_each(|tally| total.merge(tally))?;
        Ok(total)
    }
}

impl AuditResult {
    /// The verdict, and what it rests on: the event that tells most, and in `details` all.
    fn text(&self, details: bool) -> String {
        let Finding { passed, epsilon_lower_bound, delta, malformed, events, not_shown, .. } = &self.finding;
        let verdict = if *passed { "is not refuted" } else { "is refuted" };
        let (bound, delta) = (fixed_down(*epsilon_lower_bound, 4), Decimal(*delta));
        let mut text = format!(
            "found           epsilon >= {bound} at delta {delta}, with confidence {CONFIDENCE}: the claim {verdict}\n\
             claimed         {}\n",
            self.guarantee
        );
        text.extend(self.paper.as_ref().map(|PaperClaim { epsilon_lower_bound, delta, exceeded }| {
            let verdict = if *exceeded { "that claim is refuted" } else { "not refuted by so many trials" };
            let found = format!("epsilon >= {} at delta {}", fixed_down(*epsilon_lower_bound, 4), Decimal(*delta));
            format!("paper           {found}, which its scale is computed from: {verdict}\n")
        }));
        let most = events.iter().max_by(|one, other| one.epsilon_lower_bound.total_cmp(&other.epsilon_lower_bound));
        for event in if details { &events[..] } else { most.map(std::slice::from_ref).unwrap_or_default() } {
            let name = format!("{}{}", event.pair, if event.reversed { ", reversed" } else { "" });
            let [count, trials] = [event.count, event.trials].map(grouped);
            let [other, of_other] = [event.count_other, event.trials_other].map(grouped);
            let bound = fixed_down(event.epsilon_lower_bound, 4);
            text += &format!("  {name:34} {count} of {trials} against {other} of {of_other}: epsilon >= {bound}\n");
        }
        for malformed in malformed {
            let [length, bytes, refused] =
                [malformed.of_another_length, malformed.of_right_length, malformed.refused].map(grouped);
            text += &format!(
                "malformed       {}, record {}: {length} payloads of another length, {bytes} that cannot be, {refused} \
                 refusals\n",
                malformed.pair,
                malformed.record + 1
            );
        }
        text + &format!(
            "not shown       {}\ntrials          {} of each record, {}, {:.1} s\n",
            not_shown.join("; "),
            grouped(self.trials),
            plural(self.dimension as u64, "feature"),
            self.seconds
        )
    }
}
