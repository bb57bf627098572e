//! The hot loops for each kind of processor: summing, from report ids to sums of products, and randomizing, from an id
//! to the scores of its candidates.
//!
//! Of summing:
//!
//! 1. *Expansion.* The keystream blocks of the named candidates run 4, 8 or 16 at a time in the lanes of vectors, and
//!    12-bit numbers become table entries. These are brought to the candidates' common length.
//! 2. *Packing.* Coordinates of some reports, 16 at a time, become a panel of 64-byte cells, in the order in which
//!    the products want them.
//! 3. *Products.* The upper triangle of the sum of `z z^T` is computed in tiles of 16 × 16: the `i32` sums of a tile
//!    stay in registers over a thousand reports and more before they are added to the state.
//!
//! Of summing vectors of signs, which are the candidates of [`SignedCap`](crate::waves::SignedCap): the bits of
//! the keystream blocks are counted where they are.
//!
//! Of randomizing: the keystream blocks of one id are expanded in the same way, one candidate behind the other, and
//! multiplied with the record. Without wide vectors, and in WebAssembly, this goes block by block.
//!
//! [`Path`] names the variants. They differ in instructions, not in integers: no sum leaves its type, so every order
//! of summation gives the same.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod chacha;
mod portable;
mod products;
mod scores;
mod signs;
#[cfg(target_arch = "x86_64")]
mod wide;

use core::num::NonZeroUsize;

use super::signs::Signs;
use super::sphere::Sphere;
use super::table::PER_BLOCK;
use crate::identity::ReportId;

/// A variant of the hot loops that this machine can run.
///
/// | name | instructions | products in one |
/// |---|---|---|
/// | `portable` | those that the crate is compiled for | |
/// | `avx2` | AVX2 | 16, of 16-bit integers |
/// | `avx512` | AVX-512 F, BW, VBMI and VNNI | 64, of bytes |
#[derive(Clone, Copy, Debug)]
pub struct Path(Variant);

#[derive(Clone, Copy, Debug)]
enum Variant {
    Portable(portable::Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

/// What is done with the kernel of a path, whichever it is.
macro_rules! of_variant {
    ($path:ident, $kernel:ident => $work:expr) => {
        match $path.0 {
            Variant::Portable($kernel) => $work,
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2($kernel) => $work,
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512($kernel) => $work,
        }
    };
}

impl Path {
    /// All variants that this machine can run, the fastest last.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        [
            Some(Variant::Portable(portable::Portable)),
            #[cfg(target_arch = "x86_64")]
            avx2::Avx2::detect().map(Variant::Avx2),
            #[cfg(target_arch = "x86_64")]
            avx512::Avx512::detect().map(Variant::Avx512),
        ]
        .into_iter()
        .flatten()
        .map(Self)
    }

    /// The fastest variant that this machine can run.
    #[must_use]
    pub fn fastest() -> Self {
        Self::available().next_back().unwrap_or(Self(Variant::Portable(portable::Portable)))
    }

    /// The variant's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Variant::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512(_) => "avx512",
        }
    }

    /// The scores of the first `count` candidates of a key for a vector in integers, as
    /// [`Candidates::scores`](super::candidates::Candidates::scores) states them.
    pub(super) fn scores(self, key: &[u8; 32], u: &[i16], count: u32) -> Vec<u64> {
        let sphere = Sphere::new(u.len());
        match self.0 {
            Variant::Portable(_) => scores::scores(key, sphere, u, count),
            #[cfg(target_arch = "x86_64")]
            Variant::Avx2(kernel) => wide::scores(kernel, key, sphere, u, count),
            #[cfg(target_arch = "x86_64")]
            Variant::Avx512(kernel) => wide::scores(kernel, key, sphere, u, count),
        }
    }

    /// Adds `z z^T` of each report's candidate z, named by id and index, to `sums`: the upper triangle of a `rows` ×
    /// `rows` matrix, row by row. The work is shared by up to `threads` threads.
    ///
    /// # Panics
    /// If `sums` is shorter than the triangle.
    pub fn accumulate(
        self,
        task_key: &[u8; 16],
        rows: usize,
        reports: &[(ReportId, u32)],
        sums: &mut [i64],
        threads: NonZeroUsize,
    ) {
        of_variant!(self, kernel => products::accumulate(kernel, task_key, rows, reports, sums, threads));
    }

    /// Adds each report's vector of signs, named by id and index, to `sums`, one for each coordinate, a multiple of
    /// 512. The reports are shared by up to `threads` threads.
    ///
    /// # Panics
    /// For sums of another number.
    pub fn add_signs(self, task_key: &[u8; 16], reports: &[(ReportId, u32)], sums: &mut [i64], threads: NonZeroUsize) {
        if cfg!(target_family = "wasm") {
            // Slower, but less to download.
            return reports.iter().for_each(|(id, index)| Signs::new(task_key, *id, sums.len()).add(*index, sums));
        }
        of_variant!(self, kernel => signs::add(kernel, task_key, reports, sums, threads));
    }
}

/// Keystream blocks that are expanded together.
const LANES: usize = 16;

/// Coordinates of a panel; rows and columns of a tile.
const SIDE: usize = 16;

/// Reports that are packed together.
const QUAD: usize = 4;

/// Sums of products of 16 coordinates with 16.
#[repr(C, align(64))]
struct Tile([[i32; SIDE]; SIDE]);

/// The names of sixteen keystream blocks under one task, word by word.
#[derive(Default)]
#[repr(C, align(64))]
struct Lanes {
    /// The words of the report ids.
    id: [[u32; LANES]; 4],
    /// The block numbers, lower word first.
    position: [[u32; LANES]; 2],
}

impl Lanes {
    /// Names a block in one of the lanes.
    #[inline(always)]
    fn name(&mut self, lane: usize, id: &[u32; 4], position: u64) {
        self.id.iter_mut().zip(id).for_each(|(lanes, word)| lanes[lane] = *word);
        self.position[0][lane] = position as u32;
        self.position[1][lane] = (position >> 32) as u32;
    }
}

/// The words of half a key.
fn words(bytes: &[u8; 16]) -> [u32; 4] {
    let words = bytes.as_chunks().0;
    core::array::from_fn(|word| u32::from_le_bytes(words[word]))
}

/// The operations that differ between processors. Those with a body here have it in plain Rust, for every processor
/// without a faster one.
trait Kernel: Copy + Sync {
    /// Sixteen neighbouring coordinates of some reports: 64 bytes.
    type Cell: Copy + Default + Send + Sync;

    /// Cells of sixteen coordinates of four reports.
    const CELLS: usize;

    /// The coordinates of sixteen keystream blocks and, on request, the offsets of the scores of candidates that begin
    /// with them. `key` holds the words of the task's half of the key.
    fn expand(
        self,
        key: &[u32; 4],
        lanes: &Lanes,
        blocks: &mut [[i8; PER_BLOCK]; LANES],
        offsets: Option<&mut [i32; LANES]>,
    ) {
        portable::expand::<4>(key, lanes, blocks, offsets);
    }

    /// The words of sixteen keystream blocks.
    fn keystream(self, key: &[u32; 4], lanes: &Lanes, stream: &mut signs::Stream) {
        portable::keystream::<4>(key, lanes, stream);
    }

    /// See [`signs::count`].
    fn count(self, streams: &[signs::Stream; 2], counters: &mut signs::Counters) {
        signs::count(streams, counters);
    }

    /// See [`Sphere::normalize`].
    fn normalize(self, sphere: Sphere, entries: &mut [i8]) {
        sphere.normalize(entries);
    }

    /// The cells of sixteen coordinates of four reports.
    fn pack(rows: [&[i8; SIDE]; QUAD], cells: &mut [Self::Cell]);

    /// Adds to `tile` the products of the coordinates of two panels, summed over their reports. Tiles hold the sums of
    /// up to 65,536 reports.
    fn multiply(self, left: &[Self::Cell], right: &[Self::Cell], tile: &mut Tile);
}

#[cfg(test)]
mod tests {
    use super::super::candidates::Candidates;
    use super::super::table::LARGEST_MAGNITUDE;
    use super::*;
    use crate::mechanism::triangle;
    use crate::tests::random_id;
    use chacha20::ChaCha8Rng;
    use rand::{Rng, SeedableRng};

    const KEY: [u8; 16] = *b"a task's digest.";

    fn reports(count: usize, rng: &mut ChaCha8Rng) -> Vec<(ReportId, u32)> {
        // With more than one block to a candidate, some positions do not fit 32 bits.
        (0..count).map(|_| (random_id(rng), rng.next_u32())).collect()
    }

    /// One report after the other: all lanes, some of them, and more reports than the counters hold.
    #[test]
    fn every_path_adds_the_signs_of_the_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for (rows, counts) in [(2048, &[0usize, 1, 15, 16, 17, 31, 32, 33, 255, 4064, 4065, 9000][..]), (65_536, &[33])]
        {
            for &count in counts {
                let reports = reports(count, &mut rng);
                let mut expected = vec![5i64; rows];
                reports.iter().for_each(|(id, index)| Signs::new(&KEY, *id, rows).add(*index, &mut expected));
                for path in Path::available() {
                    for threads in [1, 3] {
                        let mut sums = vec![5; rows];
                        path.add_signs(&KEY, &reports, &mut sums, NonZeroUsize::new(threads).unwrap());
                        assert!(sums == expected, "{} rows {rows} reports {count} threads {threads}", path.name());
                    }
                }
            }
        }
    }

    fn by_definition(rows: usize, reports: &[(ReportId, u32)]) -> Vec<i64> {
        let mut sums = vec![0i64; triangle(rows)];
        for &(id, index) in reports {
            let candidate = Candidates::new(&KEY, id, rows).by_definition(&[], index).0;
            let mut sums = sums.iter_mut();
            for (row, &left) in candidate.iter().enumerate() {
                for (&right, sum) in candidate[row..].iter().zip(&mut sums) {
                    *sum += i64::from(left) * i64::from(right);
                }
            }
        }
        sums
    }

    /// Also beyond one slab, and beyond one block of slabs; two calls add up.
    #[test]
    fn every_path_gives_the_sums_of_the_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let few: &[usize] = &[0, 1, 2, 3, 4, 5, 16, 17, 70];
        let small = [1, 2, 15, 16, 17, 20, 21, 39, 40, 41, 79, 116, 400, 401, 530].map(|rows| (rows, few));
        for (rows, counts) in small.into_iter().chain([(3, &[2100][..]), (513, &[4100])]) {
            for &count in counts {
                let reports = reports(count, &mut rng);
                let expected = by_definition(rows, &reports);
                let (most, rest) = reports.split_at(count.min(4099));
                for path in Path::available() {
                    for threads in [1, 3] {
                        let mut sums = vec![0; triangle(rows)];
                        for part in [most, rest] {
                            path.accumulate(&KEY, rows, part, &mut sums, NonZeroUsize::new(threads).unwrap());
                        }
                        assert!(sums == expected, "{} rows {rows} reports {count} threads {threads}", path.name());
                    }
                }
            }
        }
    }

    #[test]
    fn every_path_gives_the_scores_of_the_definition() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for rows in [1, 5, 20, 21, 39, 40, 41, 79, 116, 400, 2100] {
            let u: Vec<i16> = (0..rows).map(|_| (rng.next_u32() % 1201) as i16 - 600).collect();
            let mut key = [0; 32];
            rng.fill_bytes(&mut key);
            let id = ReportId::new(*key.last_chunk().unwrap());
            for count in [1, 2, 15, 16, 17, 64, 259] {
                let candidates = || Candidates::new(key.first_chunk().unwrap(), id, rows);
                let of = |index| candidates().by_definition(&u, index).1;
                let expected: Vec<u64> = (0..count).map(of).collect();
                assert!(expected.iter().all(|&score| score < 1 << 47));
                for path in Path::available() {
                    let found = path.scores(&key, &u, count);
                    assert!(found == expected, "{} rows {rows} count {count}", path.name());
                }
            }
        }
    }

    fn extreme_products_are_exact<K: Kernel>(kernel: K) {
        let largest = LARGEST_MAGNITUDE as i8;
        let signs: [[i8; SIDE]; QUAD] =
            core::array::from_fn(|report| core::array::from_fn(|place| if place & 1 << report == 0 { -1 } else { 1 }));
        let rows = signs.map(|signs| signs.map(|sign| sign * largest));
        let mut cells = vec![K::Cell::default(); K::CELLS];
        K::pack(rows.each_ref(), &mut cells);
        let quads = 65_536 / QUAD;
        let panel: Vec<K::Cell> = (0..quads).flat_map(|_| cells.iter().copied()).collect();
        let mut tile = Tile([[0; SIDE]; SIDE]);
        kernel.multiply(&panel, &panel, &mut tile);
        for (left, row) in tile.0.iter().enumerate() {
            for (right, &sum) in row.iter().enumerate() {
                let product: i64 = rows.iter().map(|row| i64::from(row[left]) * i64::from(row[right])).sum();
                assert_eq!(i64::from(sum), product * quads as i64, "{left} {right}");
            }
        }
    }

    #[test]
    fn sums_of_the_largest_magnitudes_do_not_overflow() {
        for path in Path::available() {
            of_variant!(path, kernel => extreme_products_are_exact(kernel));
        }
    }

    #[test]
    fn every_path_has_a_name_of_its_own() {
        let names: Vec<&str> = Path::available().map(Path::name).collect();
        let known = ["portable", "avx2", "avx512"];
        assert!(known.iter().filter(|name| names.contains(name)).copied().eq(names.iter().copied()), "{names:?}");
        assert_eq!(names[0], "portable");
    }
}
