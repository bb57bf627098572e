//! Privacy parameters and guarantees: what is guaranteed, about whom, and against which change.
//!
//! Values that make no sense cannot be constructed, through serde included. Arithmetic on them rounds against us:
//! a computed noise scale is never smaller, and a reported epsilon or delta never lower, than the real number.

pub mod amplification;
pub(crate) mod calibration;
pub mod composition;
pub mod filter;
pub(crate) mod renyi;
pub mod tradeoff;
pub(crate) mod variation;

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::decimal::{self, Decimal, Json};

/// A number whose constructor checks it, for serde too; the error that refuses it has its name.
macro_rules! checked_number {
    ($(#[$about:meta])* $name:ident: |$value:ident| $holds:expr, $what:literal, $error:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "f64")]
        pub struct $name(f64);

        impl $name {
            #[doc = concat!("Checks that the number is ", $what, ".")]
            ///
            /// # Errors
            #[doc = concat!("[`", stringify!($error), "::", stringify!($name), "`] otherwise.")]
            pub fn new($value: f64) -> Result<Self, $error> {
                if $holds { Ok(Self($value)) } else { Err($error::$name($value)) }
            }

            /// The number itself.
            #[must_use]
            pub fn value(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = $error;

            fn try_from(value: f64) -> Result<Self, $error> {
                Self::new(value)
            }
        }
    };
}
pub(crate) use checked_number;

checked_number! {
    /// A privacy loss bound epsilon: finite and greater than zero.
    ///
    /// ```
    /// use ldp_pca::privacy::Epsilon;
    /// assert_eq!(Epsilon::new(2.0)?.value(), 2.0);
    /// assert!(Epsilon::new(0.0).is_err());
    /// assert!(Epsilon::new(f64::INFINITY).is_err());
    /// # Ok::<(), ldp_pca::privacy::PrivacyError>(())
    /// ```
    Epsilon: |value| value.is_finite() && value > 0.0, "finite and greater than zero", PrivacyError
}

checked_number! {
    /// Delta, which a guarantee adds to every probability: `P[x in E] <= e^epsilon P[y in E] + delta`. Inside (0, 1).
    ///
    /// It is not the probability that the privacy loss exceeds epsilon, which may be larger: see [`tradeoff`].
    ///
    /// ```
    /// use ldp_pca::privacy::Delta;
    /// assert_eq!(Delta::new(1e-6)?.value(), 1e-6);
    /// assert!(Delta::new(0.0).is_err());
    /// assert!(Delta::new(1.0).is_err());
    /// # Ok::<(), ldp_pca::privacy::PrivacyError>(())
    /// ```
    Delta: |value| value > 0.0 && value < 1.0, "inside (0, 1)", PrivacyError
}

impl Delta {
    /// The default for a mechanism with a delta: 1e-6.
    pub const USUAL: Self = Self(1e-6);
}

checked_number! {
    /// The parameter rho of zero-concentrated differential privacy (Bun & Steinke 2016): finite and greater than zero.
    ///
    /// A mechanism has it when its Renyi divergence of every order alpha > 1 is at most `alpha rho`.
    ///
    /// ```
    /// use ldp_pca::privacy::Rho;
    /// assert_eq!(Rho::new(0.5)?.value(), 0.5);
    /// assert!(Rho::new(0.0).is_err());
    /// # Ok::<(), ldp_pca::privacy::PrivacyError>(())
    /// ```
    Rho: |value| value.is_finite() && value > 0.0, "finite and greater than zero", PrivacyError
}

/// The text of a bound.
macro_rules! display_rounded_up {
    ($($name:ident),+) => {$(
        /// With a precision, as in `{:.6}`, rounded up: no text claims more privacy than the number.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                shown_up(self.0, f)
            }
        }
    )+};
}

display_rounded_up!(Epsilon, Delta, Rho);

/// Writes a positive number, never as less than it is.
fn shown_up(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(places) = f.precision() else { return f.pad(&Decimal(value).to_string()) };
    let too_low = decimal::parse(&format!("{value:.places$}")).is_some_and(|shown| shown < value);
    // It was rounded down, by up to half a unit of the last place: with three quarters more it is rounded to the next.
    let up = if too_low { value + 0.75 * libm::pow(0.1, places as f64) } else { value };
    fmt::Display::fmt(&up, f)
}

/// The change of the input that the guarantee is about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Neighbouring {
    /// Any record in place of any other: the relation of the local model. Nothing about the record is assumed.
    AnyTwoRecords,
}

/// The unit that one application of the guarantee covers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unit {
    /// One record randomized into one report. A person who sends several reports spends the budget several times.
    OneReport,
}

/// A differential-privacy guarantee with its relation and its unit, without which it means nothing.
///
/// For any two records x, y and every set E of reports, `P[x in E] <= e^epsilon P[y in E] + delta`. `delta` is `None`
/// for pure differential privacy (delta = 0). The relation is any record in place of any other, and the unit one record
/// randomized into one report, in every guarantee: text and JSON say so.
///
/// ```
/// use ldp_pca::{Epsilon, Guarantee};
/// let guarantee = Guarantee::local(Epsilon::new(2.0)?, None);
/// assert_eq!(
///     guarantee.to_string(),
///     "(2, 0)-local differential privacy: any two records, one record in one report"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarantee {
    /// How much likelier an event may become: by a factor of at most `e^epsilon`, plus delta.
    pub epsilon: Epsilon,
    /// The additional probability; `None` (written 0) for none.
    #[serde(with = "delta_or_zero")]
    pub delta: Option<Delta>,
    /// The change of the input that is hidden.
    neighbouring: Neighbouring,
    /// The unit that is covered once.
    unit: Unit,
}

impl Guarantee {
    /// The local guarantee of one report: any two records, epsilon, and delta (`None`: pure).
    #[must_use]
    pub fn local(epsilon: Epsilon, delta: Option<Delta>) -> Self {
        Self { epsilon, delta, neighbouring: Neighbouring::AnyTwoRecords, unit: Unit::OneReport }
    }

    /// Delta as a number, 0 for a pure guarantee.
    #[must_use]
    pub fn delta_value(&self) -> f64 {
        self.delta.map_or(0.0, Delta::value)
    }

    /// The JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        let (epsilon, delta) = (Json(self.epsilon.value()), Json(self.delta_value()));
        format!(r#"{{"epsilon":{epsilon},"delta":{delta},"neighbouring":"any-two-records","unit":"one-report"}}"#)
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({}, {})-local differential privacy: any two records, one record in one report",
            self.epsilon,
            Decimal(self.delta_value())
        )
    }
}

mod delta_or_zero {
    use super::Delta;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
    pub(super) fn serialize<S: Serializer>(delta: &Option<Delta>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(delta.map_or(0.0, Delta::value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Delta>, D::Error> {
        match f64::deserialize(deserializer)? {
            0.0 => Ok(None),
            value => Delta::new(value).map(Some).map_err(D::Error::custom),
        }
    }
}

/// Errors of privacy parameters.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// Epsilon is not a finite number above zero.
    #[error("epsilon is {}: it must be a finite number greater than 0 (common choices are 0.5 to 8)", Decimal(*.0))]
    Epsilon(f64),
    /// Delta is not inside (0, 1).
    #[error("delta is {}: it must be greater than 0 and less than 1 (common choices are 1e-6 or less)", Decimal(*.0))]
    Delta(f64),
    /// A noise scale or a sensitivity is not a finite number above zero.
    #[error("{name} is {}: it must be a finite number greater than 0", Decimal(*value))]
    Scale {
        /// The quantity.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// Rho is not a finite number above zero.
    #[error("rho is {}: it must be a finite number greater than 0", Decimal(*.0))]
    Rho(f64),
    /// A total variation is not inside [0, 1).
    #[error("the total variation is {}: it must be at least 0 and less than 1", Decimal(*.0))]
    TotalVariation(f64),
    /// The numbers of candidates and of likelier candidates of a cap mechanism do not fit.
    #[error("{cap} likelier ones of {candidates} candidates: there must be at least 1, and fewer than candidates")]
    Cap {
        /// J.
        candidates: u32,
        /// L.
        cap: u32,
    },
    /// No finite epsilon holds with this delta, 0 where none is allowed.
    #[error(
        "no finite epsilon holds with delta {}: raise delta, or the noise, or lower the number of \
            reports", Decimal(*.0)
    )]
    NoFiniteEpsilon(f64),
    /// No reports, or more than can be counted.
    #[error("{0} reports: there must be at least 1 and at most 2^53")]
    Reports(u64),
    /// No finite noise scale reaches the target in double precision.
    #[error(
        "no representable noise scale gives ({}, {})-differential privacy: raise epsilon or delta",
        Decimal(*epsilon), Decimal(*delta)
    )]
    Unreachable {
        /// The target epsilon.
        epsilon: f64,
        /// The target delta.
        delta: f64,
    },
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::path::Path;
    use std::sync::LazyLock;

    use super::composition::PrivacyLoss;
    use super::filter::Budget;
    use super::*;

    pub(crate) fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    pub(crate) fn delta(value: f64) -> Delta {
        Delta::new(value).unwrap()
    }

    /// A case of `tests/vectors/accounting/composition.json`, which JavaScript reads, too.
    #[derive(Deserialize)]
    pub(crate) struct Case {
        pub(crate) name: String,
        pub(crate) delta: f64,
        pub(crate) parts: Vec<Repeated>,
        /// Epsilon with delta 0.
        pub(crate) pure: Option<f64>,
        pub(crate) methods: HashMap<String, Option<f64>>,
        /// The sum of all guarantees, rounded up.
        pub(crate) sums: Stated,
        pub(crate) filter: Filtered,
    }

    #[derive(Deserialize)]
    pub(crate) struct Repeated {
        pub(crate) reports: u64,
        pub(crate) loss: PrivacyLoss,
        pub(crate) guarantee: Stated,
    }

    #[derive(Clone, Copy, Deserialize)]
    pub(crate) struct Stated {
        pub(crate) epsilon: f64,
        pub(crate) delta: f64,
    }

    #[derive(Deserialize)]
    pub(crate) struct Filtered {
        pub(crate) budget: Budget,
        pub(crate) spent: Option<f64>,
    }

    pub(crate) fn composition_cases() -> Vec<Case> {
        #[derive(Deserialize)]
        struct Document {
            version: u32,
            cases: Vec<Case>,
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/accounting/composition.json");
        let Document { version, cases } = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert!(version == 1 && cases.len() >= 16);
        cases
    }

    /// The cases of a section of tests/vectors/accounting/margins.json, computed with 100 digits by
    /// tests/independent/margins.py.
    pub(crate) fn cases(section: &str) -> &'static [Vec<f64>] {
        static SECTIONS: LazyLock<HashMap<String, Vec<Vec<f64>>>> = LazyLock::new(|| {
            serde_json::from_str(include_str!("../../tests/vectors/accounting/margins.json")).unwrap()
        });
        &SECTIONS[section]
    }

    /// Such cases as inputs and the two doubles around the true result.
    pub(crate) fn known(section: &str) -> Vec<(&'static [f64], [f64; 2])> {
        let split = |case: &'static Vec<f64>| {
            let (inputs, truth) = case.split_last_chunk::<2>().unwrap();
            (inputs, *truth)
        };
        cases(section).iter().map(split).collect()
    }

    /// Checks that a number that was rounded up is not below the true one, and at most `above` above it.
    #[track_caller]
    pub(crate) fn assert_rounded_up(found: f64, [_, truth]: [f64; 2], above: f64, inputs: &[f64]) {
        assert!(found >= truth, "{inputs:?}: {found:e} is below {truth:e} by {:e}", 1.0 - found / truth);
        assert!(found <= truth + above, "{inputs:?}: {found:e} is above {truth:e} by {:e}", found / truth - 1.0);
    }

    #[test]
    fn parameters_outside_their_range_cannot_be_constructed() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Epsilon::new(bad).is_err(), "epsilon {bad}");
            assert!(Rho::new(bad).is_err(), "rho {bad}");
            assert!(Delta::new(bad).is_err(), "delta {bad}");
        }
        assert!(Delta::new(1.0).is_err());
        assert_eq!((epsilon(0.5).value(), delta(0.25).value(), Rho::new(2.0).unwrap().value()), (0.5, 0.25, 2.0));
        assert_eq!(serde_json::to_string(&epsilon(0.5)).unwrap(), "0.5");
        assert!(serde_json::from_str::<Epsilon>("-1").is_err());
        assert!(serde_json::from_str::<Rho>("0").is_err());
        assert!(serde_json::from_str::<Delta>("1.5").is_err());
        let message = Epsilon::new(-1.0).unwrap_err().to_string();
        assert!(message.contains("-1") && message.contains("greater than 0"), "{message}");
    }

    #[test]
    fn numbers_are_never_shown_as_less_than_they_are() {
        for (value, places, text) in [
            (0.123_456_4, 6, "0.123457"),
            (0.123_456, 6, "0.123456"),
            (0.123_456_000_000_000_02, 6, "0.123457"),
            (0.25, 1, "0.3"),
            (0.35, 1, "0.4"),
            (1e-12, 3, "0.001"),
            (0.999_96, 4, "1.0000"),
            (0.5, 0, "1"),
        ] {
            assert_eq!(format!("{:.places$}", epsilon(value)), text, "{value}");
            assert_eq!(format!("{:.places$}", delta(value)), text, "{value}");
            assert_eq!(format!("{:.places$}", Rho::new(value).unwrap()), text, "{value}");
            assert_eq!(epsilon(value).to_string(), Decimal(value).to_string());
        }
        assert_eq!(format!("{:>9.2}", epsilon(2.001)), "     2.01");
        assert_eq!(format!("{:.1}", epsilon(1e22)), "10000000000000000000000.0");
    }

    #[test]
    fn a_guarantee_survives_json_and_names_its_relation() {
        let pure = Guarantee::local(Epsilon::new(2.0).unwrap(), None);
        let approximate = Guarantee::local(Epsilon::new(0.5).unwrap(), Some(Delta::new(1e-6).unwrap()));
        for guarantee in [pure, approximate] {
            let text = serde_json::to_string(&guarantee).unwrap();
            assert_eq!(guarantee.to_json(), text);
            assert!(text.contains("any-two-records") && text.contains("one-report"), "{text}");
            assert_eq!(serde_json::from_str::<Guarantee>(&text).unwrap(), guarantee);
        }
        assert!(pure.to_string().starts_with("(2, 0)-local differential privacy: any two records"));
    }
}
