//! The error after a second wave of other people, who refine what the first wave found, and whether it pays.
//!
//! The *model*: a few components on an isotropic bulk, records of one length that are elliptical, so that `E[b | a] =
//! 0` for their parts along the components and across them. The first wave leaves component i a squared sine `e_i`, as
//! predicted. A second wave of n reports of a signed cap of the gain g estimates the tangent to each direction
//! of the bulk with the variance
//!
//! ```text
//! t_i = ((c / (w_i g))^2 + lambda_i b) / (n r_i^2 (lambda_i - b)^2),     r_i what the clip c leaves of the products
//! ```
//!
//! and the two are weighted by the inverse of their variances, as [`FirstWave::refine`](super::FirstWave::refine)
//! does. Towards components beyond the rank that are not part of the bulk the same holds with their own distance.

use std::sync::Arc;

use serde::Serialize;

use super::clipping::{Block, CLIPS, Clip, gap};
use super::refinement::Refinement;
use super::signed_cap::SignedCap;
use crate::identity::TaskDigest;
use crate::law::NoiseLaw;
use crate::mechanism::cap::gain::best_signed_cap;
use crate::mechanism::{DoubleCap, Mechanism};
use crate::prediction::{Planner, PredictionError, Spectrum, predict};
use crate::privacy::Epsilon;
use crate::record::Bounding;
use crate::recovery::Rank;

/// The shares of the first wave that are tried.
const SHARES: [f64; 5] = [0.3, 0.4, 0.5, 0.6, 0.7];
/// The largest error of a component after the first wave from which a second wave can start.
pub(super) const MOST_FIRST_ERROR: f64 = 0.2;
/// The least gain for which a second wave is worth its trouble.
pub(super) const LEAST_GAIN: f64 = 1.2;
/// The least estimated gain for which a second wave is worth its trouble, once the first wave is over. Estimates of a
/// gain of 1.2 vary by some 0.05, and what was planned is not to be refused for that. It still is above 1.
const LEAST_ESTIMATED_GAIN: f64 = 1.1;

/// The prediction for two waves, or for one about the directions of a public sample, which then has the place of the
/// first wave: `share` is 0, and `one_wave` is that of the second wave's people.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TwoWaves {
    /// The first wave's share of the people.
    pub share: f64,
    /// The people of each wave.
    pub records: [u64; 2],
    /// The error after the first wave.
    pub first_wave: f64,
    /// The error of each component after the second.
    pub per_component: Vec<f64>,
    /// The error of the whole subspace after the second wave.
    pub sin_theta_squared: f64,
    /// The error of the whole subspace after the second wave where records are not elliptical, with a tenth of what the
    /// clip could do to them at worst. It is no bound: the tenth is from one population, KDD Cup 99.
    pub not_elliptical: f64,
    /// The error of one wave of all people.
    pub one_wave: f64,
    /// How many times smaller that of two waves is.
    pub gain: f64,
    /// The clip, in units of the root of the share of the variance that is across the components.
    pub clip_factor: f64,
    /// The share of records that the clip shortens.
    pub clipped: f64,
    /// Why two waves are not advised, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<WaveRefusal>,
}

/// Why two waves are not advised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WaveRefusal {
    /// The first wave finds too little.
    #[error(
        "the first wave leaves an error of {error:.2} in its weakest component, and a second wave needs at most \
         {most}: ask more people, or all of them in one wave"
    )]
    FirstWave {
        /// The error of its weakest component.
        error: f64,
        /// The most.
        most: f64,
    },
    /// The directions of a public sample are too far off.
    #[error(
        "the weakest component of the sample is off by {error:.2}, and a wave about it needs at most {most}: ask \
         everybody in one wave of the task itself"
    )]
    Sample {
        /// The error of its weakest component.
        error: f64,
        /// The most.
        most: f64,
    },
    /// A public sample is better without the wave.
    #[error(
        "the sample alone is predicted to be off by {alone:.4}, and after the wave by {after:.4}: take its components \
         as they are, ask more people, or state how far it is off if that is more"
    )]
    SampleAlone {
        /// The error of the sample.
        alone: f64,
        /// The error after the wave.
        after: f64,
    },
    /// There is little to gain.
    #[error(
        "if records are not elliptical, the error of one wave of everybody would be {gain:.2} times that of the \
         refinement, and below {least} times{} it is not worth it: ask everybody in one wave", margin(*least)
    )]
    Gain {
        /// The predicted gain for records that are not elliptical.
        gain: f64,
        /// The least.
        least: f64,
    },
}

/// How the least gain of an estimate differs from that of a plan, in words.
fn margin(least: f64) -> String {
    if least < LEAST_GAIN { format!(" (by this estimate; a plan asks for {LEAST_GAIN})") } else { String::new() }
}

impl WaveRefusal {
    /// The number of waves that is advised, in words.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        if matches!(self, Self::SampleAlone { .. }) { "no wave" } else { "one wave" }
    }
}

/// A signed cap for the second wave of so many features and components, with the recommended J and L. Its directions
/// are a placeholder: its gain does not depend on them.
fn signed_cap(dimension: usize, rank: Rank, epsilon: Epsilon) -> Result<SignedCap, PredictionError> {
    let refinement = Refinement::along_axes(TaskDigest::new([0; 32]), dimension, rank.value())?;
    let candidates = DoubleCap::recommended_candidates(epsilon);
    Ok(SignedCap::new(Arc::new(refinement), epsilon, candidates, best_signed_cap(candidates, epsilon))?)
}

/// The collection that is to be split into two waves, as [`Waves::new`] makes it.
#[derive(Clone, Debug)]
pub struct Waves<'a> {
    /// The true spectrum, in the units of the encoded features.
    spectrum: &'a Spectrum,
    /// The number of components.
    rank: Rank,
    /// The law of the first wave's estimate; its number of reports does not matter.
    law: NoiseLaw,
    bounding: Bounding,
    block: Block,
    /// The mechanism of the second wave, with the recommended J and L and some directions.
    pub signed: SignedCap,
    /// All people.
    records: u64,
    /// Whether the spectrum is that of a first wave's estimate.
    is_estimated: bool,
}

impl<'a> Waves<'a> {
    /// The planner's collection, of `records` people, in waves. Of a task, the spectrum is what a first wave estimated,
    /// and a smaller gain is enough for a second one: estimates vary.
    ///
    /// # Errors
    /// [`PredictionError::OneWave`] for another mechanism than double-cap, and with centring;
    /// [`PredictionError::Refinement`] for more components than a second wave has; as [`Planner::predict`].
    pub fn new(planner: &'a Planner, epsilon: Epsilon, records: u64) -> Result<Self, PredictionError> {
        if planner.centring().is_some() || !matches!(planner.mechanism(epsilon)?, Mechanism::DoubleCap(_)) {
            return Err(PredictionError::OneWave);
        }
        let &Planner { ref spectrum, rank, bounding, .. } = planner;
        let scale = bounding.covariance_scale();
        let signals = spectrum.signals().iter().map(|signal| signal / scale).collect();
        Ok(Self {
            spectrum,
            rank,
            law: planner.law(epsilon, records)?,
            bounding,
            block: Block::new(signals, spectrum.bulk() / scale, rank.value(), spectrum.dimension()),
            signed: signed_cap(spectrum.dimension(), rank, epsilon)?,
            records,
            is_estimated: planner.own.is_some(),
        })
    }

    /// The best of a few shares, among those whose first wave finds enough if there are any.
    ///
    /// # Errors
    /// [`PredictionError`].
    pub fn best(&self) -> Result<TwoWaves, PredictionError> {
        let weak = |waves: &TwoWaves| matches!(waves.refused, Some(WaveRefusal::FirstWave { .. }));
        let (one_wave, clips) = (self.one_wave(self.records.max(2))?, self.clips());
        let mut best = self.split(self.waves_at(SHARES[0]), &clips, one_wave, LEAST_GAIN)?;
        for share in &SHARES[1..] {
            let found = self.split(self.waves_at(*share), &clips, one_wave, LEAST_GAIN)?;
            if (weak(&found), found.sin_theta_squared) < (weak(&best), best.sin_theta_squared) {
                best = found;
            }
        }
        Ok(best)
    }

    /// A first wave of `first` people, which may be over, and a second one of `second`.
    ///
    /// # Errors
    /// [`PredictionError`].
    pub fn after(&self, first: u64, second: u64) -> Result<TwoWaves, PredictionError> {
        // What was planned keeps a margin once the first wave is over.
        let least_gain = if self.is_estimated { LEAST_ESTIMATED_GAIN } else { LEAST_GAIN };
        self.split([first, second], &self.clips(), self.one_wave(first.saturating_add(second))?, least_gain)
    }

    /// All people in one wave about the directions of a public sample of `public` records. Its components are off by
    /// these squared sines, to every side alike; the clip is chosen for the squared sine `each`.
    ///
    /// # Errors
    /// [`PredictionError::Noise`] for a sample without records; [`PredictionError::Fantope`].
    pub fn about_sample(&self, public: u64, errors: &[f64], each: f64) -> Result<TwoWaves, PredictionError> {
        let (sample, records) = (self.law_of_sample(public)?, self.records.max(1));
        let one_wave = self.one_wave(records)?;
        let refine = |errors: &[f64], kappa| {
            let start = Start { errors, law: &sample, even: true, one_wave, least_gain: LEAST_GAIN };
            self.refined(&start, records, &self.block.clipped(kappa, errors))
        };
        let assumed = vec![each; errors.len()];
        let error = |kappa: &f64| refine(&assumed, *kappa).not_elliptical;
        let kappa = CLIPS.into_iter().min_by(|one, other| error(one).total_cmp(&error(other))).unwrap_or(1.0);
        let found = refine(errors, kappa);
        let (alone, after) = (found.first_wave, found.sin_theta_squared);
        // Nobody has to be asked for an error that is there already.
        let is_enough = alone <= after && alone <= one_wave;
        let refused = if is_enough { Some(WaveRefusal::SampleAlone { alone, after }) } else { found.refused };
        Ok(TwoWaves { records: [public, records], refused, ..found })
    }

    /// The squared sines of the components of a public sample of `public` records of the same population.
    ///
    /// # Errors
    /// [`PredictionError::Noise`] for a sample without records; [`PredictionError::Fantope`].
    pub(crate) fn errors_of_sample(&self, public: u64) -> Result<Vec<f64>, PredictionError> {
        Ok(predict(self.spectrum, self.rank, &self.law_of_sample(public)?)?.per_component)
    }

    /// That of the second moments of so many public records.
    fn law_of_sample(&self, records: u64) -> Result<NoiseLaw, PredictionError> {
        Ok(NoiseLaw::of_records(self.spectrum.dimension(), self.bounding, records)?)
    }

    /// The people of each wave with this share in the first.
    fn waves_at(&self, share: f64) -> [u64; 2] {
        let first = ((self.records as f64 * share).round() as u64).clamp(1, self.records.max(2) - 1);
        [first, self.records.saturating_sub(first).max(1)]
    }

    /// The clips that are tried, however the people are split. Each is taken to leave what it leaves of right
    /// directions.
    fn clips(&self) -> [Clip; CLIPS.len()] {
        let sines = vec![0.0; self.rank.value()];
        CLIPS.map(|kappa| self.block.clipped(kappa, &sines))
    }

    fn split(
        &self,
        [first, second]: [u64; 2],
        clips: &[Clip; CLIPS.len()],
        one_wave: f64,
        least_gain: f64,
    ) -> Result<TwoWaves, PredictionError> {
        let law = self.law.with_records(first)?;
        let errors = predict(self.spectrum, self.rank, &law)?.per_component;
        let start = Start { errors: &errors, law: &law, even: false, one_wave, least_gain };
        let refine = |clip: &Clip| self.refined(&start, second, clip);
        let safe = |one: TwoWaves, other: TwoWaves| if other.not_elliptical < one.not_elliptical { other } else { one };
        let [narrowest, wider @ ..] = clips;
        let found = wider.iter().map(refine).fold(refine(narrowest), safe);
        let share = first as f64 / first.saturating_add(second) as f64;
        Ok(TwoWaves { share, records: [first, second], ..found })
    }

    /// The error of one wave of so many people.
    fn one_wave(&self, all: u64) -> Result<f64, PredictionError> {
        Ok(predict(self.spectrum, self.rank, &self.law.with_records(all)?)?.sin_theta_squared)
    }

    /// The prediction without the people of each wave.
    fn refined(&self, start: &Start<'_>, second: u64, clip: &Clip) -> TwoWaves {
        let &Start { errors, law, even, one_wave, least_gain } = start;
        let (k, d, scale) = (self.rank.value(), self.spectrum.dimension(), self.bounding.covariance_scale());
        let &Block { ref signals, ref leading, bulk, directions, ref weights, .. } = &self.block;
        let &Clip { kappa, width, ref left } = clip;
        let bulk_law = law.bulk(self.spectrum.bulk(), directions);
        let (per_component, not_elliptical): (Vec<f64>, Vec<f64>) = (0..k)
            .map(|index| {
                let (gap, factor) = (gap(leading[index], bulk), left.with_bulk[index]);
                // Of an entry of the clipped cross block.
                let entry = ((width / (weights[index] * self.signed.gain())).powi(2) + leading[index] * bulk)
                    / second.max(1) as f64;
                let before = errors[index];
                let further: Vec<f64> = (k..signals.len())
                    .map(|other| {
                        if even {
                            return before / (d - k) as f64;
                        }
                        let apart = (leading[index] - signals[other]).max(1e-3 * leading[index]);
                        let noise = law.cross_variance(leading[index] * scale, signals[other] * scale);
                        (noise / (apart * scale).powi(2)).min(0.5)
                    })
                    .collect();
                let in_bulk = (before - further.iter().sum::<f64>()).max(0.0);
                let cosine = (1.0 - in_bulk).max(0.1);
                let own = entry / (factor * gap).powi(2);
                let known = in_bulk * cosine / (d - k) as f64;
                let weight = known / (known + own).max(f64::MIN_POSITIVE);
                let mut noise = weight * weight * own * directions as f64 / cosine;
                let mut kept = (1.0 - weight).powi(2) * in_bulk;
                if even {
                    // The weight follows from the wave itself, at the price of the noise of one direction.
                    noise += (1.0 - weight) * own / cosine;
                    // The components of a sample are also mixed, the stronger ones into the weaker. This is of second
                    // order; the factor of 1 is an empirical one.
                    let mixed = |other: usize| (leading[other] / leading[index] - 1.0).powi(2) * errors[other];
                    kept += before * (0..k).map(mixed).sum::<f64>() / (d - k) as f64;
                }
                // The eigenvalue, by which the cross block is divided, is uncertain itself.
                let spread = 2.0 * law.cross_variance(leading[index] * scale, leading[index] * scale);
                kept += weight * weight * in_bulk * spread / (gap * scale).powi(2);
                for (other, share) in further.into_iter().enumerate() {
                    // The first wave knows a part of that component's direction. The rest counts as bulk.
                    let found = bulk_law.cos_squared(signals[k + other] * scale);
                    let apart = (leading[index] - signals[k + other]).max(0.2 * gap);
                    let beside = left.with_further[index][other];
                    let turned = weight * (found + (1.0 - found) * (beside * apart) / (factor * gap));
                    // The second term is an empirical one of second order: both components are turned at once.
                    kept += (1.0 - turned).powi(2) * share + if even { 0.0 } else { 1.5 * share * before };
                    noise += (weight * weight * found * entry / (beside * apart).powi(2)).min(0.5);
                }
                let misfit = left.misfit(index, gap) * weight * weight;
                let after = (kept.min(before) + noise / (1.0 + noise)).min(1.0 - k as f64 / d as f64);
                (after, after + misfit)
            })
            .unzip();
        let (sin_theta_squared, not_elliptical): (f64, f64) = (per_component.iter().sum(), not_elliptical.iter().sum());
        let gain = |after: f64| one_wave / after.max(f64::MIN_POSITIVE);
        let (error, most) = (errors.iter().copied().fold(0.0, f64::max), MOST_FIRST_ERROR);
        let surely_gained = gain(not_elliptical);
        let refused = if error > most {
            Some(if even { WaveRefusal::Sample { error, most } } else { WaveRefusal::FirstWave { error, most } })
        } else {
            (surely_gained < least_gain).then_some(WaveRefusal::Gain { gain: surely_gained, least: least_gain })
        };
        TwoWaves {
            share: 0.0,
            records: [0, 0],
            first_wave: errors.iter().sum(),
            per_component,
            sin_theta_squared,
            not_elliptical,
            one_wave,
            gain: gain(sin_theta_squared),
            clip_factor: kappa,
            clipped: left.share,
            refused,
        }
    }
}

/// What a wave starts from.
struct Start<'a> {
    /// The squared sine of each component.
    errors: &'a [f64],
    /// That of the second moments which it was found in.
    law: &'a NoiseLaw,
    /// Whether the components are turned to every side alike, not as the law says.
    even: bool,
    /// The error of one wave of all people.
    one_wave: f64,
    /// How many times smaller that of two waves must be.
    least_gain: f64,
}
