//! Numbers in sentences.

/// A number with thousands separators.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Numbers separated by commas: "0.5, 1, 2".
pub(super) fn listed<T: ToString>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// A row of a printed table: its name, and its other cells.
pub(super) fn labelled(name: &(impl ToString + ?Sized), cells: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    let mut row = vec![name.to_string()];
    row.extend(cells.into_iter().map(|cell| cell.to_string()));
    row
}

/// Owned copies of these texts.
pub(super) fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_separated_and_numbers_are_listed() {
        assert_eq!([0, 999, 1000, 1_000_000].map(super::grouped), ["0", "999", "1,000", "1,000,000"]);
        assert_eq!(super::listed(&[0.5, 1.0]), "0.5, 1");
    }
}
