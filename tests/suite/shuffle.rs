//! The bound for shuffled batches against the mechanism's own output law: every multiset of reports, with its
//! probability for either record.
//!
//! Candidates are the same for every report here. That is a law of ids, too (one that has a single id), so the bound
//! must hold, and with caps that are apart as far as can be it is the worst. Two tests have several ids.

use std::collections::BTreeMap;

use ldp_pca::internal::privacy::renyi::Cap;
use ldp_pca::privacy::amplification::{Blanket, batch_delta, batch_epsilon};

use crate::support::{delta, epsilon};

/// Summing a million probabilities is right to this.
const ROUNDING: f64 = 1e-9;

const LOCAL: [f64; 7] = [0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0];

fn printed(local: f64, candidates: u32, cap: u32, reports: u64, at: f64) -> f64 {
    let blanket = Blanket::from(Cap::new(epsilon(local), candidates, cap).unwrap());
    batch_delta(blanket, reports, epsilon(at)).unwrap()
}

/// What is printed where nothing is known of the randomizer but its epsilon.
fn of_every_randomizer(local: f64, reports: u64, at: f64) -> f64 {
    batch_delta(Blanket::from(epsilon(local)), reports, epsilon(at)).unwrap()
}

/// The law of one report, index by index: the mechanism's integer weights over their sum.
fn report(local: f64, candidates: u32, members: impl Fn(u32) -> bool) -> Vec<f64> {
    let (inside, outside) = ((local.exp() * 4_294_967_296.0).floor(), 4_294_967_296.0);
    let weights: Vec<f64> = (0..candidates).map(|j| if members(j) { inside } else { outside }).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// The uniform law, the mean of those of all caps.
fn nothing(candidates: u32) -> Vec<f64> {
    vec![1.0 / f64::from(candidates); candidates as usize]
}

/// `sum (P - e^epsilon Q)_+` over all multisets of a report from `pair.0` (for P) or `pair.1` (for Q) and one from each
/// of `others`, at several epsilons.
///
/// Indices to which no law gives different probabilities are one outcome: given how many reports there are of each such
/// class, every report's index is uniform in its class, whatever its sender, so that the counts are all there is to
/// see.
fn enumerated(pair: (&[f64], &[f64]), others: &[&[f64]], epsilons: &[f64], classes: bool) -> Vec<f64> {
    let mut laws = [&[pair.0, pair.1], others].concat();
    laws.sort_by_key(|law| law.as_ptr());
    laws.dedup_by_key(|law| law.as_ptr());
    let mut class_of: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
    let class: Vec<usize> = (0..pair.0.len())
        .map(|j| {
            let mut key: Vec<u64> = laws.iter().map(|law| law[j].to_bits()).collect();
            if !classes {
                key.push(j as u64);
            }
            let next = class_of.len();
            *class_of.entry(key).or_insert(next)
        })
        .collect();
    let of_class = |law: &[f64]| {
        let mut sums = vec![0.0; class_of.len()];
        for (&class, p) in class.iter().zip(law) {
            sums[class] += p;
        }
        sums
    };
    let mut batch = BTreeMap::from([(vec![0u32; class_of.len()], 1.0)]);
    let with = |batch: &BTreeMap<Vec<u32>, f64>, law: &[f64]| {
        let (mut next, law): (BTreeMap<Vec<u32>, f64>, _) = (BTreeMap::new(), of_class(law));
        for (counts, p) in batch {
            for (class, q) in law.iter().enumerate() {
                let mut counts = counts.clone();
                counts[class] += 1;
                *next.entry(counts).or_insert(0.0) += p * q;
            }
        }
        next
    };
    for law in others {
        batch = with(&batch, law);
    }
    let (first, second) = (with(&batch, pair.0), with(&batch, pair.1));
    let at = |epsilon: f64| first.iter().map(|(counts, p)| (p - epsilon.exp() * second[counts]).max(0.0)).sum();
    epsilons.iter().map(|&epsilon| at(epsilon)).collect()
}

/// The largest quotient of real by printed delta, which is at most 1.
struct Largest(f64, u32);

impl Largest {
    fn hold(&mut self, real: f64, printed: f64, label: &str) {
        assert!(real <= printed * (1.0 + ROUNDING) + 1e-15, "{label}: {real:e} is there, {printed:e} is printed");
        if printed > 1e-12 {
            self.0 = self.0.max(real / printed);
            self.1 += 1;
        }
    }
}

#[test]
fn small_batches_keep_what_is_printed_for_every_overlap_and_every_other_record() {
    let mut largest = Largest(0.0, 0);
    for (candidates, cap, most) in [
        (2, 1, 30),
        (3, 1, 30),
        (3, 2, 30),
        (4, 1, 10),
        (4, 2, 10),
        (5, 3, 10),
        (5, 4, 10),
        (7, 2, 10),
        (64, 13, 18),
        (64, 40, 10),
        (256, 9, 10),
        (1024, 8, 10),
        (4096, 7, 18),
    ] {
        for reports in [2, 3, 5, 10, 18, 30].into_iter().filter(|&n| n <= most) {
            for local in LOCAL {
                let epsilons: Vec<f64> = [0.02, 0.1, 0.3, 0.6, 0.9].iter().map(|part| part * local).collect();
                let caps = |start: u32| {
                    report(local, candidates, |j| (j + candidates - start % candidates) % candidates < cap)
                };
                let bounds: Vec<f64> =
                    epsilons.iter().map(|&at| printed(local, candidates, cap, reports, at)).collect();
                let any: Vec<f64> = epsilons.iter().map(|&at| of_every_randomizer(local, reports, at)).collect();
                // The second cap begins where the first one ends, or earlier; the third where the second one ends.
                let apart = cap.min(candidates - cap);
                let shifts = if reports <= 5 { vec![apart, apart.div_ceil(2)] } else { vec![apart] };
                for shift in shifts {
                    let (a, b, c, null) = (caps(0), caps(shift), caps(shift + cap), nothing(candidates));
                    let half = (reports as usize - 1) / 2;
                    let others: [(&str, Vec<&[f64]>); 6] = [
                        ("first", vec![&a; reports as usize - 1]),
                        ("second", vec![&b; reports as usize - 1]),
                        ("third", vec![&c; reports as usize - 1]),
                        ("nothing", vec![&null; reports as usize - 1]),
                        (
                            "third and nothing",
                            [vec![&c[..]; half], vec![&null[..]; reports as usize - 1 - half]].concat(),
                        ),
                        ("first and second", [vec![&a[..]; half], vec![&b[..]; reports as usize - 1 - half]].concat()),
                    ];
                    for (name, others) in &others {
                        for (which, pair) in
                            [("caps", (&a, &b)), ("cap, nothing", (&a, &null)), ("nothing, cap", (&null, &a))]
                        {
                            let real = enumerated((pair.0, pair.1), others, &epsilons, true);
                            for (((real, &bound), any), at) in real.into_iter().zip(&bounds).zip(&any).zip(&epsilons) {
                                let label = format!(
                                    "J {candidates} L {cap} n {reports} eps0 {local} eps {at} apart {shift} {which} \
                                        others {name}"
                                );
                                largest.hold(real, bound, &label);
                                assert!(
                                    real <= any * (1.0 + ROUNDING) + 1e-15,
                                    "{label}: {any:e} for every randomizer"
                                );
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{} batches: real delta is at most {:.4} of the printed one", largest.1, largest.0);
    assert!(largest.0 > 0.98, "the bound is met with equality by some batches: {}", largest.0);
}

#[test]
fn classes_of_indices_are_all_there_is_to_see() {
    for (local, candidates, cap, shift) in [(1.0, 5, 2, 2), (3.0, 5, 3, 1), (0.5, 4, 1, 1)] {
        let caps = |start: u32| report(local, candidates, |j| (start..start + cap).contains(&j));
        let (a, b, null) = (caps(0), caps(shift), nothing(candidates));
        let others = [&b[..], &null, &a, &null, &null];
        let at = |classes| enumerated((&a, &b), &others, &[0.05, 0.4], classes);
        for (all, few) in at(false).into_iter().zip(at(true)) {
            assert!((all - few).abs() < 1e-14, "{all} {few}");
        }
    }
}

fn log_factorials(n: u32) -> Vec<f64> {
    let mut logs = vec![0.0];
    for k in 1..=n {
        logs.push(logs[k as usize - 1] + f64::from(k).ln());
    }
    logs
}

fn binomial(logs: &[f64], n: u32, k: u32, p: f64) -> f64 {
    let ways = logs[n as usize] - logs[k as usize] - logs[(n - k) as usize];
    (ways + f64::from(k) * p.ln() + f64::from(n - k) * (-p).ln_1p()).exp()
}

/// A lower bound on the real delta, for disjoint caps of the two records and of all others.
///
/// All others have one law r. So `P(counts) = M(counts) (1/n) sum_k counts_k P_k / r_k` with the multinomial law M of n
/// reports from r, and delta is `(1/n) E[((e - e^eps) a - (e^eps e - 1) b - (e^eps - 1) (rest + c / e))_+]`, where a, b
/// and c of n such reports are in the three caps, with probabilities L/N, L/N and L e/N. Terms that are left out make
/// it smaller; so does, by Jensen's inequality, the mean of c in place of c, where there are too many to sum.
fn really_there(local: f64, candidates: u32, cap: u32, reports: u32, at: f64) -> f64 {
    assert!(3 * cap <= candidates);
    let (e, up, n) = (local.exp(), at.exp(), f64::from(reports));
    let p = f64::from(cap) / (f64::from(cap) * e + f64::from(candidates - cap));
    let third = p * e / (1.0 - 2.0 * p);
    let logs = log_factorials(reports);
    let window = |n: u32, p: f64| {
        let (mean, width) = (f64::from(n) * p, 9.0 * (f64::from(n) * p * (1.0 - p)).sqrt() + 12.0);
        ((mean - width).max(0.0) as u32)..=((mean + width) as u32).min(n)
    };
    let excess = |a: u32, b: u32, c: f64| {
        let rest = n - f64::from(a) - f64::from(b) - c;
        ((e - up) * f64::from(a) - (up * e - 1.0) * f64::from(b) - (up - 1.0) * (rest + c / e)).max(0.0)
    };
    let (wide, one) = (window(reports, third).count(), window(reports, p).count());
    let mut sum = 0.0;
    for b in window(reports, p) {
        let of_b = binomial(&logs, reports, b, p);
        for a in window(reports - b, p / (1.0 - p)) {
            let left = reports - a - b;
            // Nothing is in excess even where all others are in the third cap.
            if excess(a, b, f64::from(left)) == 0.0 {
                continue;
            }
            let given = if one * one * wide > 3_000_000 {
                excess(a, b, f64::from(left) * third)
            } else {
                window(left, third).map(|c| binomial(&logs, left, c, third) * excess(a, b, f64::from(c))).sum()
            };
            sum += of_b * binomial(&logs, reports - b, a, p / (1.0 - p)) * given;
        }
    }
    sum / n
}

/// Of 30 reports it is the sum over all multisets.
#[test]
fn large_batches_keep_what_is_printed() {
    let caps = |start: u32| report(8.0, 4096, |j| (start..start + 7).contains(&j));
    let (a, b, c) = (caps(0), caps(7), caps(14));
    let (all, few) = (enumerated((&a, &b), &[&c[..]; 29], &[7.0569], true)[0], really_there(8.0, 4096, 7, 30, 7.0569));
    assert!((all / few - 1.0).abs() < 1e-6, "{all} {few}");
    let mut largest = Largest(0.0, 0);
    for local in LOCAL {
        for (candidates, cap) in [(64, 17), (128, 16), (256, 9), (1024, 8), (4096, 7)] {
            for reports in [2u32, 10, 100, 1_000, 10_000] {
                let blanket = Blanket::from(Cap::new(epsilon(local), candidates, cap).unwrap());
                for target in [1e-3, 1e-6, 1e-9] {
                    let at = batch_epsilon(blanket, reports.into(), delta(target)).unwrap().value();
                    if at >= local {
                        continue;
                    }
                    let real = really_there(local, candidates, cap, reports, at);
                    let bound = printed(local, candidates, cap, reports.into(), at);
                    let label = format!("eps0 {local} J {candidates} L {cap} n {reports} eps {at}");
                    assert!(bound <= target, "{label}");
                    largest.hold(real, bound, &label);
                    let any = of_every_randomizer(local, reports.into(), at);
                    assert!(real <= any, "{label}: {real:e} is there, {any:e} for every randomizer");
                }
            }
        }
    }
    println!("{} batches: real delta is at most {:.4} of the printed one", largest.1, largest.0);
    assert!(largest.1 > 300);
}

/// Two ids with caps that are apart differently. First everybody draws an id, so that a report has 2 J values; then
/// four ids are dealt out, each to one person, every way being equally likely.
#[test]
fn ids_that_nobody_can_tell_the_owners_of_hide_them() {
    let mut largest = Largest(0.0, 0);
    for local in LOCAL {
        for part in [0.02, 0.2, 0.6] {
            let (at, candidates, cap) = (part * local, 4u32, 1u32);
            let law = |only: u32| report(local, candidates, |j| j == only);
            let both =
                |first: &[f64], second: &[f64]| -> Vec<f64> { first.iter().chain(second).map(|p| 0.5 * p).collect() };
            for (one, other, rest) in [((0, 0), (1, 1), (2, 2)), ((0, 3), (1, 3), (2, 1)), ((0, 0), (1, 1), (1, 0))] {
                let of = |(first, second): (u32, u32)| both(&law(first), &law(second));
                let real = enumerated((&of(one), &of(other)), &[&of(rest)[..]; 4], &[at], false)[0];
                let bound = printed(local, candidates, cap, 5, at);
                largest.hold(real, bound, &format!("drawn: eps0 {local} eps {at} {one:?} {other:?} {rest:?}"));
            }
            // The cap of a person's record for each of four ids; the last person is the one in question.
            let people: [[u32; 4]; 5] = [[2, 2, 2, 2], [2, 0, 2, 1], [3, 3, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]];
            let batch = |last: usize| -> Vec<f64> {
                let mut sums = vec![0.0; 256];
                for dealt in permutations(4) {
                    for (outcome, sum) in sums.iter_mut().enumerate() {
                        let index = |id: usize| outcome >> (2 * id) & 3;
                        let of = |(person, &id): (usize, &usize)| {
                            law(people[if person == 3 { last } else { person }][id])[index(id)]
                        };
                        *sum += dealt.iter().enumerate().map(of).product::<f64>() / 24.0;
                    }
                }
                sums
            };
            let (first, second) = (batch(3), batch(4));
            let real = first.iter().zip(&second).map(|(p, q)| (p - at.exp() * q).max(0.0)).sum();
            largest.hold(real, printed(local, candidates, cap, 4, at), &format!("dealt: eps0 {local} eps {at}"));
        }
    }
    println!("ids: real delta is at most {:.4} of the printed one", largest.0);
    assert!(largest.0 > 0.5 && largest.1 > 60);
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = permutations(n - 1);
    shorter.iter().flat_map(|short| (0..n).map(|at| [&short[..at], &[n - 1], &short[at..]].concat())).collect()
}
