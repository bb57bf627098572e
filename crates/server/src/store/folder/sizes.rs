//! The amounts that the store writes, reads, sums and keeps at a time. Only its speed and the starts of pages depend on
//! them.

/// In bytes. Tests have smaller ones, so that a few reports reach all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The most bytes of a page's reports; only a single report may have more.
    pub(super) page: usize,
    /// Runs shorter than this on average are copied together before they are written.
    pub(super) worth_a_part: usize,
    /// The space reserved at a time is as large as the segment, within these bounds.
    pub(super) least_room: u64,
    pub(super) most_room: u64,
    /// The bytes searched at a time, at least one.
    pub(super) searched: usize,
    /// The bytes of a file set aside that are copied at a time, at least one.
    pub(super) copied: usize,
    /// Durable reports that may wait to be summed. Beyond them the writer waits, so that memory does not fill up.
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
