//! Numbers and counts as people read them.

pub use ldp_pca::internal::decimal::{Decimal, grouped, plural};

/// The number with so many digits after the point. With an exponent, and so many digits in all, where fewer than half
/// of these would count, or more than ten digits stood before the point.
pub fn fixed(value: f64, places: usize) -> String {
    let size = value.abs();
    let is_far = size.is_finite() && size > 0.0 && !(10f64.powi(-1 - (places / 2) as i32)..1e10).contains(&size);
    if is_far { format!("{value:.*e}", places - 1) } else { format!("{value:.places$}") }
}

/// [`fixed`], and never above the value.
pub fn fixed_down(value: f64, places: usize) -> String {
    fixed_towards(value, places, -1.0)
}

/// [`fixed`], and never below the value.
pub fn fixed_up(value: f64, places: usize) -> String {
    fixed_towards(value, places, 1.0)
}

/// Rounded in the direction of this sign.
fn fixed_towards(value: f64, places: usize, sign: f64) -> String {
    let text = fixed(value, places);
    if text.parse().is_ok_and(|written: f64| (written - value) * sign >= 0.0) {
        return text;
    }
    // The other neighbour is nearest from three quarters of a unit of the last digit on.
    let exact = if text.contains('e') { format!("{value:e}") } else { text };
    let exponent = exact.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let last = exponent.map_or(0, |exponent| exponent + 1) - places as i32;
    let neighbour = value + sign * 0.75 * 10f64.powi(last);
    // The neighbour of a number without an exponent has none either.
    if exponent.is_some() { fixed(neighbour, places) } else { format!("{neighbour:.places$}") }
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

/// A loading with its sign and two decimals: a minus sign rather than a hyphen, and none before 0.
pub fn signed(loading: f64) -> String {
    if loading.abs() < 0.005 { "0.00".to_owned() } else { format!("{loading:+.2}").replace('-', "−") }
}

/// A share in whole percent, without the sign of percent. What is below all is not shown as all.
pub fn whole_percent(share: f64) -> String {
    let percent = 100.0 * share;
    if (99.0..100.0).contains(&percent) {
        format!("{:.1}", (10.0 * percent).floor() / 10.0)
    } else {
        // Adding zero turns −0 into 0.
        format!("{:.0}", percent.round() + 0.0)
    }
}

/// The first `most` entries, with an ellipsis where there are more.
pub fn first<T: ToString>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut items = items.into_iter();
    let mut shown: Vec<String> = items.by_ref().take(most).map(|item| item.to_string()).collect();
    shown.extend(items.next().map(|_| "…".to_owned()));
    shown.join(", ")
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
    fn bounds_are_rounded_to_the_side_that_holds() {
        for (value, places, down, up) in [
            (18.416_919_936_227, 9, "18.416919936", "18.416919937"),
            (-18.416_919_936_227, 9, "-18.416919937", "-18.416919936"),
            (0.999_96, 4, "0.9999", "1.0000"),
            (0.5, 4, "0.5000", "0.5000"),
            (0.001_06, 4, "0.0010", "0.0011"),
            (1.234_56e-7, 4, "1.234e-7", "1.235e-7"),
            (9.999_9e-7, 4, "9.999e-7", "1.000e-6"),
            (1.234_56e154, 4, "1.234e154", "1.235e154"),
            (0.0, 4, "0.0000", "0.0000"),
            (f64::INFINITY, 4, "inf", "inf"),
        ] {
            assert_eq!([fixed_down(value, places), fixed_up(value, places)], [down, up], "{value}");
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
