//! Numbers and counts as people read them.

pub use ldp_pca::internal::decimal::grouped;

/// "1 feature", "2,000 features".
pub fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{} {what}s", grouped(count)) }
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
