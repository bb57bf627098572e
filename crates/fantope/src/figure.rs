//! Numbers in the texts of errors.

/// The number in its fewest digits, with an exponent where it is far from 1: `0.25`, `1e-300`.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    let is_far = size.is_finite() && size > 0.0 && !(1e-8..1e16).contains(&size);
    if is_far { format!("{value:e}") } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FantopeError;

    #[test]
    fn figures_far_from_1_have_an_exponent() {
        let figures = [0.0, -0.25, 1e-8, 1001.0, 1e15, 1e-300, -1.5e200, f64::INFINITY].map(figure);
        assert_eq!(figures, ["0", "-0.25", "0.00000001", "1001", "1000000000000000", "1e-300", "-1.5e200", "inf"]);
        let error = FantopeError::InvalidPenalty(-1e-300).to_string();
        assert!(error.starts_with("penalty -1e-300 is"), "{error}");
    }
}
