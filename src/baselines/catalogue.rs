//! Every method of the crate for the same promise, in one order: what tables and charts run through.

use super::SubspaceEstimator;
use super::reference::{Pca, RandomSubspace};
use crate::privacy::{Delta, Epsilon};

/// All methods at `epsilon`, those that need one with `delta`, otherwise with the defaults of their documentation: the
/// two ends of the scale first, then from the trust that asks least to the one that asks most.
///
/// No method is refused here: one whose theorem excludes these parameters says so when it is asked for its guarantee.
#[must_use]
pub fn methods(epsilon: Epsilon, delta: Delta) -> Vec<Box<dyn SubspaceEstimator>> {
    let _ = (epsilon, delta);
    vec![Box::new(Pca), Box::new(RandomSubspace)]
}

/// A method's name as one types it: lower case, with hyphens for what is neither letter nor digit.
///
/// ```
/// use ldp_pca::baselines::catalogue::key;
/// assert_eq!([key("MOD-SULQ (Laplace)"), key("Cai, Xia & Zha")], ["mod-sulq-laplace", "cai-xia-zha"]);
/// ```
#[must_use]
pub fn key(name: &str) -> String {
    let words = name.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::baselines::Trust;

    fn all() -> Vec<Box<dyn SubspaceEstimator>> {
        methods(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap())
    }

    #[test]
    fn every_method_has_a_name_of_its_own_that_can_be_typed() {
        let methods = all();
        let keys: BTreeSet<String> = methods.iter().map(|method| key(method.name())).collect();
        assert_eq!(keys.len(), methods.len());
        assert!(keys.iter().all(|key| key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')));
    }

    #[test]
    fn methods_stand_by_trust_from_the_least_to_the_most() {
        let trusts: Vec<u8> = all()
            .iter()
            .skip(2)
            .map(|method| match method.trust() {
                Trust::Nobody | Trust::Local => 0,
                Trust::Providers => 1,
                Trust::Curator => 2,
                Trust::Everybody => 3,
            })
            .collect();
        assert!(trusts.is_sorted(), "{trusts:?}");
    }
}
