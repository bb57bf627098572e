//! The normal law's quantile function.

/// The number that the magnitude of a standard normal variable exceeds with probability `tail` in (0, 1]: Wichura's
/// algorithm AS 241 (1988), with a relative error of about 1e-16 in the deviate.
pub(super) fn magnitude_exceeded_with(tail: f64) -> f64 {
    // Half of the tail is on either side.
    let distance = 0.5 * (1.0 - tail);
    if distance <= 0.425 {
        let r = 0.180_625 - distance * distance;
        return distance * ratio(&CENTRAL, r);
    }
    let r = (-libm::log(0.5 * tail)).sqrt();
    if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) }
}

/// Coefficients of numerator and denominator, constant term first.
type Rational = ([f64; 8], [f64; 8]);

fn ratio((numerator, denominator): &Rational, r: f64) -> f64 {
    let polynomial = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, term| sum * r + term);
    polynomial(numerator) / polynomial(denominator)
}

const CENTRAL: Rational = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);

const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const FAR: Rational = (
    [
        6.657_904_643_501_104,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    /// `erfc` of the quantile is the tail again, up to a rounding of the quantile.
    #[test]
    fn it_inverts_the_tail() {
        for step in 1..=4000 {
            let tail = libm::exp(-0.01 * f64::from(step - 1));
            let found = magnitude_exceeded_with(tail);
            let back = libm::erfc(found * core::f64::consts::FRAC_1_SQRT_2);
            let tolerance = 1e-15 * (4.0 + found * found) * tail;
            assert!((back - tail).abs() < tolerance, "{tail}: {found} gives {back}");
        }
        assert_eq!(magnitude_exceeded_with(1.0), 0.0);
    }
}
