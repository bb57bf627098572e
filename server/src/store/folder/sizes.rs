//! How much the store writes, reads, sums and keeps at a time. All that depends on it is how fast it is, and where
//! pages begin.

/// In bytes. Tests have smaller ones, so that a few reports come to all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// A page's reports may have so many; only a single report has more.
    pub(super) page: usize,
    /// Runs shorter than this on average are copied together before they are written.
    pub(super) worth_a_part: usize,
    /// Room that is taken at a time is as much as the segment has, between these bounds.
    pub(super) least_room: u64,
    pub(super) most_room: u64,
    /// So many are searched at a time, at least one.
    pub(super) searched: usize,
    /// So many of a file that is set aside are copied at a time, at least one.
    pub(super) copied: usize,
    /// Durable reports that may wait to be summed. Beyond them the writer waits, or memory would fill up.
    pub(super) backlog: usize,
    /// Reports that are summed together.
    pub(super) summed: usize,
    /// A value of SQLite may have a gigabyte; a snapshot may have more, and is in parts.
    pub(super) snapshot_part: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            page: 8 << 20,
            worth_a_part: 4096,
            least_room: 256 << 10,
            most_room: 32 << 20,
            searched: 1 << 20,
            copied: 1 << 20,
            backlog: 64 << 20,
            summed: 8 << 20,
            snapshot_part: 16 << 20,
        }
    }
}
