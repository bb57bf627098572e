//! The formats of a folder.

/// What the file `format` says.
pub(in super::super) const FORMAT: &str = "ldp-pca store 3";

/// What it said before; a start goes on with such a folder and makes it one of this format.
pub(super) const OLD_FORMAT: &str = "ldp-pca store 2";

/// What a folder says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Nothing: it is being made.
    New,
    /// The format before this one, or a start that was brought to this one and did not come to its end.
    Old,
    /// This format.
    Current,
}
