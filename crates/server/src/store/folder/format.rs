//! The formats of a folder.

/// The content of the file `format`.
pub(in super::super) const FORMAT: &str = "ldp-pca store 3";

/// Its content once a report was erased from the folder: releases that do not know of this would count it again. All
/// else is the same.
pub(super) const ERASED_FORMAT: &str = "ldp-pca store 4";

/// The age of a folder, according to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// No format yet: it is being created.
    New,
    /// Nobody can tell: the file is damaged or missing in a folder that is repaired.
    Unknown,
    /// This format.
    Current,
}
