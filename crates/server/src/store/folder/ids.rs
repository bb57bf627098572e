//! The set of a task's reports, by their ids.
//!
//! A full hash table is copied into one of twice its size, and both exist meanwhile. So the ids are in many small
//! tables, which grow at different times.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::BuildHasher;

use crate::store::Mark;
use ldp_pca::report::ReportId;

/// The number of tables, a power of two.
const TABLES: usize = 64;

/// The ids of all reports, with their marks where these were seen since the start.
pub(super) struct Ids {
    tables: Vec<HashMap<ReportId, Option<Mark>>>,
    /// The secret that spreads the ids. Clients may choose theirs, and do not know it.
    key: u64,
}

impl Ids {
    /// An empty set.
    pub(super) fn new() -> Self {
        let tables = (0..TABLES).map(|_| HashMap::new()).collect();
        Self { tables, key: RandomState::new().hash_one(TABLES) }
    }

    /// Makes room for this many more.
    pub(super) fn reserve(&mut self, count: usize) {
        // They are spread evenly, but not to the last one.
        let each = if count == 0 { 0 } else { count / TABLES + count / TABLES / 32 + 64 };
        self.tables.iter_mut().for_each(|table| table.reserve(each));
    }

    /// Adds an id without a mark; returns whether it was not there.
    pub(super) fn insert(&mut self, id: ReportId) -> bool {
        let table = self.table(id);
        self.tables[table].insert(id, None).is_none()
    }

    /// All of them, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = ReportId> {
        self.tables.iter().flat_map(|table| table.keys().copied())
    }

    /// The place of an id.
    pub(super) fn entry(&mut self, id: ReportId) -> Entry<'_, ReportId, Option<Mark>> {
        let table = self.table(id);
        self.tables[table].entry(id)
    }

    pub(super) fn contains(&self, id: ReportId) -> bool {
        self.tables[self.table(id)].contains_key(&id)
    }

    /// Removes the id of a report that was not stored after all.
    pub(super) fn remove(&mut self, id: ReportId) {
        let table = self.table(id);
        self.tables[table].remove(&id);
    }

    fn table(&self, id: ReportId) -> usize {
        let halves = id.as_bytes().as_chunks::<8>().0.iter().map(|half| u64::from_le_bytes(*half));
        let mixed = halves.fold(self.key, |mixed, half| {
            let product = u128::from(mixed ^ half) * u128::from(self.key);
            (product >> 64) as u64 ^ product as u64
        });
        mixed as usize % TABLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids that differ in a few bits, as somebody's counter makes them, and random ones.
    #[test]
    fn ids_are_spread_over_the_tables() {
        let mut ids = Ids { key: 0x0123_4567_89ab_cdef, ..Ids::new() };
        let random = |number: u128| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        for make in [|number| number, |number| number << 64, |number: u128| number.swap_bytes(), random] {
            ids.tables.iter_mut().for_each(HashMap::clear);
            for number in 0..64_000 {
                let place = ids.entry(ReportId::new(make(number).to_le_bytes()));
                assert!(matches!(place, Entry::Vacant(_)));
                place.insert_entry(None);
            }
            // A thousand each, and 5 standard deviations.
            for table in &ids.tables {
                assert!((840..1160).contains(&table.len()), "{}", table.len());
            }
        }
        ids.remove(ReportId::new(random(7).to_le_bytes()));
        assert!(matches!(ids.entry(ReportId::new(random(7).to_le_bytes())), Entry::Vacant(_)));
        assert!(matches!(ids.entry(ReportId::new(random(8).to_le_bytes())), Entry::Occupied(_)));
    }
}
