//! Bisection: a number that is found by halving an interval.

/// A number at which `enough` holds, as it does at `inside`, next to one between it and `outside` at which it does not:
/// by so many halvings.
#[must_use]
pub fn bisect(mut outside: f64, mut inside: f64, steps: u32, enough: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..steps {
        let middle = 0.5 * (outside + inside);
        if enough(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}
