//! Sums from reports, block by block: candidates packed into panels of 16 coordinates, and the panels' products in
//! tiles.

use core::num::NonZeroUsize;

use super::super::sphere::Sphere;
use super::{Kernel, LANES, Lanes, PER_BLOCK, QUAD, SIDE, Tile, words};
use crate::identity::ReportId;
use crate::parallel::for_each;

/// Reports of a slab. Not a power of two, so that panels do not compete for the same lines of a cache.
const SLAB: usize = 1008;

/// Slabs whose products are added up before they go into the sums, where the sums do not fit a cache.
const SLABS: usize = 4;

/// Rows up to which the sums do.
const CACHED_ROWS: usize = 512;

/// Panels of rows that meet a panel of columns while it is in the second-level cache.
const BAND: usize = 4;

// The limit of a tile.
const _: () = assert!(SLAB * SLABS <= 65_536);

/// See [`Path::accumulate`](super::Path::accumulate).
pub(super) fn accumulate<K: Kernel>(
    kernel: K,
    task_key: &[u8; 16],
    rows: usize,
    reports: &[(ReportId, u32)],
    sums: &mut [i64],
    threads: NonZeroUsize,
) {
    let key = words(task_key);
    let at_once = if rows <= CACHED_ROWS { 1 } else { SLABS };
    let mut slabs: Vec<Slab<K::Cell>> =
        (0..reports.len().div_ceil(SLAB).min(at_once)).map(|_| Slab::default()).collect();
    for block in reports.chunks(at_once * SLAB) {
        let slabs = &mut slabs[..block.len().div_ceil(SLAB)];
        for_each(slabs.iter_mut().zip(block.chunks(SLAB)), threads, |(slab, reports)| {
            slab.fill(kernel, &key, rows, reports);
        });
        let slabs = &*slabs;
        for_each(bands(rows, sums), threads, |band: Band<'_>| band.add_products(kernel, rows, slabs));
    }
}

/// The candidates of some reports, panel by panel.
#[derive(Default)]
struct Slab<C> {
    cells: Vec<C>,
    /// Cells of a panel.
    length: usize,
}

impl<C: Copy + Default> Slab<C> {
    fn fill<K: Kernel<Cell = C>>(&mut self, kernel: K, key: &[u32; 4], rows: usize, reports: &[(ReportId, u32)]) {
        let panels = rows.div_ceil(SIDE);
        let (blocks, sphere) = (rows.div_ceil(PER_BLOCK), Sphere::new(rows));
        self.length = reports.len().div_ceil(QUAD) * K::CELLS;
        self.cells.resize(panels * self.length, C::default());
        // Sixteen reports at a time, whose blocks fill the lanes whatever their number.
        let mut candidates = vec![[0; PER_BLOCK]; LANES * blocks];
        for (reports, first) in reports.chunks(LANES).zip((0..).step_by(LANES / QUAD * K::CELLS)) {
            expand(kernel, key, reports, blocks, &mut candidates);
            for candidate in candidates.chunks_exact_mut(blocks).take(reports.len()) {
                kernel.normalize(sphere, candidate.as_flattened_mut());
            }
            // Cells packed after the last report must not count.
            candidates[reports.len() * blocks..].fill([0; PER_BLOCK]);
            let quads = candidates.chunks_exact(QUAD * blocks).take(reports.len().div_ceil(QUAD));
            for (quad, place) in quads.zip((first..).step_by(K::CELLS)) {
                let rows: [&[i8]; QUAD] =
                    core::array::from_fn(|row| quad[row * blocks..(row + 1) * blocks].as_flattened());
                self.pack::<K>(rows, panels, place);
            }
        }
    }

    /// Puts four reports into cells `place` and following of every panel.
    fn pack<K: Kernel<Cell = C>>(&mut self, rows: [&[i8]; QUAD], panels: usize, place: usize) {
        let rows = rows.map(<[i8]>::as_chunks::<SIDE>);
        let [first, second, third, fourth] = rows.map(|(whole, _)| whole);
        let places = self.cells[place..].chunks_mut(self.length).take(panels);
        let wholes = first.iter().zip(second).zip(third.iter().zip(fourth));
        for (cells, ((first, second), (third, fourth))) in places.zip(wholes) {
            K::pack([first, second, third, fourth], &mut cells[..K::CELLS]);
        }
        if panels > first.len() {
            let padded = rows.map(|(_, rest)| core::array::from_fn(|index| rest.get(index).copied().unwrap_or(0)));
            let place = first.len() * self.length + place;
            K::pack(padded.each_ref(), &mut self.cells[place..place + K::CELLS]);
        }
    }

    fn panel(&self, index: usize) -> &[C] {
        &self.cells[index * self.length..(index + 1) * self.length]
    }
}

/// The candidates of up to 16 reports, keystream block by keystream block.
pub(super) fn expand<K: Kernel>(
    kernel: K,
    key: &[u32; 4],
    reports: &[(ReportId, u32)],
    blocks: usize,
    candidates: &mut [[i8; PER_BLOCK]],
) {
    let mut lanes = Lanes::default();
    let mut outs = candidates.as_chunks_mut().0.iter_mut();
    let mut lane = 0;
    for (id, index) in reports {
        let id = words(id.as_bytes());
        let start = u64::from(*index) * blocks as u64;
        for position in start..start + blocks as u64 {
            lanes.name(lane, &id, position);
            lane += 1;
            if lane == LANES {
                lane = 0;
                outs.next().into_iter().for_each(|out| kernel.expand(key, &lanes, out, None));
            }
        }
    }
    if lane > 0 {
        outs.next().into_iter().for_each(|out| kernel.expand(key, &lanes, out, None));
    }
}

/// Some rows of the upper triangle.
struct Band<'a> {
    /// Its first panel of rows.
    first: usize,
    /// One behind its last.
    end: usize,
    sums: &'a mut [i64],
}

/// The upper triangle, [`BAND`] panels of rows at a time.
fn bands(rows: usize, mut sums: &mut [i64]) -> Vec<Band<'_>> {
    let panels = rows.div_ceil(SIDE);
    (0..panels)
        .step_by(BAND)
        .map(|first| {
            let end = (first + BAND).min(panels);
            let entries = diagonal(rows, (end * SIDE).min(rows)) - diagonal(rows, first * SIDE);
            let (part, rest) = core::mem::take(&mut sums).split_at_mut(entries);
            sums = rest;
            Band { first, end, sums: part }
        })
        .collect()
}

/// The place of a row's diagonal entry in the upper triangle.
fn diagonal(rows: usize, row: usize) -> usize {
    row * rows - row * row.saturating_sub(1) / 2
}

impl Band<'_> {
    fn add_products<K: Kernel>(mut self, kernel: K, rows: usize, slabs: &[Slab<K::Cell>]) {
        for column in self.first..rows.div_ceil(SIDE) {
            for row in self.first..self.end.min(column + 1) {
                let mut tile = Tile([[0; SIDE]; SIDE]);
                for slab in slabs {
                    kernel.multiply(slab.panel(row), slab.panel(column), &mut tile);
                }
                self.add_tile(rows, row, column, &tile);
            }
        }
    }

    /// Adds the part of two panels' tile that is in the upper triangle.
    fn add_tile(&mut self, rows: usize, row: usize, column: usize, tile: &Tile) {
        let start = diagonal(rows, self.first * SIDE);
        let columns = column * SIDE..rows.min(column * SIDE + SIDE);
        for (row, products) in (row * SIDE..rows).zip(&tile.0) {
            let from = columns.start.max(row);
            if from < columns.end {
                let place = diagonal(rows, row) - start + from - row;
                let sums = &mut self.sums[place..place + columns.end - from];
                for (sum, &product) in sums.iter_mut().zip(&products[from - columns.start..]) {
                    *sum += i64::from(product);
                }
            }
        }
    }
}
