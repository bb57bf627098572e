//! Frozen quantile table of the candidate coordinates. Written by scripts/tables.py; do not edit.

/// How often each magnitude 0, 1, 2, … occurs among the 2048 values round(30 Phi^-1((i + 1/2) / 4096)), i >= 2048.
pub(super) const MAGNITUDE_COUNTS: [u16; 111] = [
    27, 55, 54, 54, 54, 54, 53, 53, 53, 52, 51, 51, 51, 49, 49, 48, 47, 47, 45, 45, 43, 43, 42, 40, 40, 38, 38, 36, 35,
    34, 34, 31, 31, 30, 29, 27, 27, 25, 25, 23, 22, 22, 20, 20, 18, 18, 17, 16, 15, 14, 14, 13, 12, 11, 11, 10, 10, 9,
    8, 8, 7, 7, 7, 6, 5, 6, 4, 5, 4, 4, 4, 3, 3, 3, 2, 3, 2, 2, 2, 2, 1, 1, 2, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0,
    0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1,
];
