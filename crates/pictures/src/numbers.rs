//! Numbers and counts as people read them.

pub use ldp_pca::internal::decimal::{Decimal, grouped, plural};

/// The number with so many digits after the point. With an exponent, and so many digits in all, where fewer than half
/// of these would count, or more than ten digits stood before the point.
pub fn fixed(value: f64, places: usize) -> String {
    let size = value.abs();
    let is_far = size.is_finite() && size > 0.0 && !(10f64.powi(-1 - (places / 2) as i32)..1e10).contains(&size);
    if is_far { format!("{value:.*e}", places - 1) } else { format!("{value:.places$}") }
}

/// The number with three digits, or all before the point where these are more, rounded in this way.
pub fn three_digits(value: f64, rounding: fn(f64) -> f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..=9).contains(&magnitude) {
        let unit = 10f64.powi(magnitude - 2);
        return format!("{:.2e}", rounding(value / unit) * unit);
    }
    let digits = (2 - magnitude).max(0);
    let unit = 10f64.powi(digits);
    format!("{:.*}", digits as usize, rounding(value * unit) / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_after_the_point_give_way_to_digits_that_count() {
        for (value, places, text) in [
            (18.416_919_936_2, 9, "18.416919936"),
            (1.120_119_633_9e-11, 9, "1.12011963e-11"),
            (1.469_438_403_1e154, 9, "1.46943840e154"),
            (-5.123_49e-7, 4, "-5.123e-7"),
            (0.000_012_345_678_9, 9, "0.000012346"),
            (0.000_007_51, 9, "7.51000000e-6"),
            (1e-320, 4, "1.000e-320"),
            (0.001, 4, "0.0010"),
            (0.000_96, 4, "9.600e-4"),
            (9_999_999_999.0, 2, "9999999999.00"),
            (0.0, 4, "0.0000"),
            (f64::INFINITY, 4, "inf"),
        ] {
            assert_eq!(fixed(value, places), text, "{value}");
        }
    }

    #[test]
    fn three_digits_are_rounded_as_asked() {
        for (value, low, near, high) in [
            (59.4604, "59.4", "59.5", "59.5"),
            (0.123_51, "0.123", "0.124", "0.124"),
            (2070.2, "2070", "2070", "2071"),
            (1.501e-9, "1.50e-9", "1.50e-9", "1.51e-9"),
            (0.0, "0", "0", "0"),
            (f64::INFINITY, "inf", "inf", "inf"),
        ] {
            let found = [f64::floor, f64::round, f64::ceil].map(|rounding| three_digits(value, rounding));
            assert_eq!(found, [low, near, high], "{value}");
        }
    }
}
