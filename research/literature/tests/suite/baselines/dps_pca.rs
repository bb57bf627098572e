//! DPS-PCA under audit: the result, and everything that a provider sends to a server that asks the worst questions.

use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::recovery::Rank;
use ldp_pca::subspace::Subspace;
use ldp_pca_dps::{NoiseSource, Provider, scale};
use ldp_pca_literature::baselines::dps_pca::{Bound, DpsPca, Noise};
use ldp_pca_literature::baselines::{BaselineError, MethodGuarantee, Outcome, Sample, Shape, SubspaceEstimator, Trust};
use nalgebra::DMatrix;
use rand::rand_core::CryptoRng;

use super::audit::{ALPHA, Audit, replaced, small};

fn method(e: f64, noise: Noise) -> DpsPca {
    DpsPca { rounds: 4, noise, ..DpsPca::new(Epsilon::new(e).unwrap(), Delta::new(0.01).unwrap()) }
}

/// The messages of one provider to a server that always asks with the first k axes. Its answer is one number: the sum
/// of those entries by whose means the two samples differ, as the slope of a line in the plane.
struct Messages(DpsPca);

impl SubspaceEstimator for Messages {
    fn name(&self) -> &'static str {
        "messages of DPS-PCA"
    }

    fn trust(&self) -> Trust {
        self.0.trust()
    }

    fn guarantee(&self, shape: Shape) -> Result<Option<MethodGuarantee>, BaselineError> {
        self.0.guarantee(shape)
    }

    fn estimate(&self, sample: &Sample, rank: Rank, rng: &mut dyn CryptoRng) -> Result<Outcome, BaselineError> {
        let provider = Provider::new(2, &mut sample.rows("a test")?, None)?;
        let scale = self.0.scale(2, rank)?.expect("there is noise");
        let basis = DMatrix::identity(2, rank.value());
        let source = NoiseSource::draw(rng);
        let mut sum = 0.0;
        for round in 1..=self.0.rounds {
            let message = provider.answer(&basis, scale, &mut source.of_round(round))?;
            let signs = if rank.value() == 1 { [1, 0, 0, 0] } else { [1, 0, 0, -1] };
            sum += message.iter().zip(signs).map(|(cell, sign)| (cell * sign) as f64 * scale.step()).sum::<f64>();
        }
        Ok(Outcome::new(Subspace::new(&DMatrix::from_column_slice(2, 1, &[1.0, sum]))?))
    }
}

fn slope(line: &Subspace) -> f64 {
    line.basis()[1] / line.basis()[0]
}

fn of_messages<'a>(messages: &'a Messages, pair: &'a [Sample; 2], rank: usize) -> Audit<'a> {
    Audit { rank, statistic: &slope, ..small(messages, pair) }
}

/// The server sees only the messages, and for these records one number has all their information. The audit detects
/// most of the claimed epsilon, so the method wastes little.
#[test]
fn messages_of_the_corrected_accounting_keep_their_claim_and_show_most_of_it() {
    let pair = replaced(2, 3);
    for (e, rank) in [(1.0, 1), (1.0, 2), (4.0, 1), (4.0, 2)] {
        let found = of_messages(&Messages(method(e, Noise::Corrected)), &pair, rank).keeps_its_claim(20_000, 20);
        assert!(found > 0.5 * e, "the audit sees {found} of {e}");
    }
}

#[test]
fn the_result_keeps_its_claim() {
    let pair = replaced(2, 3);
    for e in [0.5, 4.0] {
        small(&method(e, Noise::Corrected), &pair).keeps_its_claim(10_000, 21);
    }
    small(&DpsPca { providers: 3, ..method(4.0, Noise::Corrected) }, &pair).keeps_its_claim(10_000, 22);
}

/// The printed scale keeps its claim for records in the unit ball, and spends a fraction of it. For records of norm 4
/// the same noise is refuted, in agreement with the accounting, which proves nothing without an enforced bound.
#[test]
fn the_printed_scale_is_refuted_for_records_longer_than_one_and_not_for_others() {
    let pair = replaced(2, 3);
    let printed = method(0.9, Noise::Printed);
    let kept = of_messages(&Messages(printed), &pair, 2).keeps_its_claim(20_000, 23);
    let proved = of_messages(&Messages(printed), &pair, 2).claim().proved.unwrap().epsilon.value();
    assert!(kept <= proved && proved < 0.25, "{kept} of {proved}");

    let long = pair.map(|sample| {
        let rows = sample.rows("a test").unwrap().flatten().map(|value| 4.0 * value).collect();
        Sample::new(2, rows).unwrap()
    });
    let unbounded = Messages(DpsPca { bound: Bound::None, ..printed });
    let audit = of_messages(&unbounded, &long, 2);
    assert_eq!(audit.claim().proved, None);
    let found = audit.lower_bound(0.01, 20_000, 24, ALPHA);
    println!("printed scale, norm 4: at least {found:.3} of 0.9");
    assert!(found > 1.5, "{found}");
    // The epsilon that is proved for a bound of 4 holds.
    let bounded = Messages(DpsPca { bound: Bound::Require(4.0), ..printed });
    let real = of_messages(&bounded, &long, 2).claim().proved.unwrap().epsilon.value();
    assert!(found <= real, "{found} of {real}");
}

/// The harness can fail here too: with half of the noise that the corrected accounting needs.
#[test]
fn half_of_the_noise_is_caught() {
    let pair = replaced(2, 3);
    let e = Epsilon::new(1.0).unwrap();
    let messages = scale::Messages { dimension: 2, rank: Rank::new(2).unwrap(), rounds: 4 };
    let sigma = scale::corrected(e, Delta::new(0.01).unwrap(), messages, 1.0).unwrap();
    let fault = Messages(method(1.0, Noise::Given(0.5 * sigma)));
    let audit = of_messages(&fault, &pair, 2);
    let found = audit.lower_bound(0.01, 20_000, 25, ALPHA);
    assert!(found > 1.0, "{found}");
    // The accounting agrees: the epsilon that it proves for such noise is above the one that is found.
    assert!(audit.claim().proved.unwrap().epsilon.value() >= found);
}
