//! Numbers in sentences.

pub(super) use ldp_pca::internal::decimal::grouped;

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
    fn numbers_are_listed() {
        assert_eq!(super::listed(&[0.5, 1.0]), "0.5, 1");
    }
}
