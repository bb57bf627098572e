//! Sums of outer products of many vectors of few coordinates, block by block.

use nalgebra::DMatrix;

/// Rows of a tile, and columns of one: its 32 sums are eight registers of four.
const TILE: (usize, usize) = (4, 8);

/// Vectors of a block: with 40 coordinates two blocks fit a first-level cache.
const BLOCK: usize = 64;

/// Some vectors, one after the other, each filled up with zeros to whole tiles.
pub(super) struct Block {
    dimension: usize,
    stride: usize,
    pub(super) count: usize,
    values: Vec<f32>,
}

impl Block {
    pub(super) fn new(dimension: usize) -> Self {
        let stride = dimension.next_multiple_of(TILE.1);
        Self { dimension, stride, count: 0, values: vec![0.0; BLOCK * stride] }
    }

    /// Vectors of so many coordinates, in blocks: `fill` writes each vector in double precision, `take` has each block.
    pub(super) fn each(dimension: usize, count: u64, mut fill: impl FnMut(&mut [f64]), mut take: impl FnMut(&Self)) {
        let (mut block, mut vector, mut left) = (Self::new(dimension), vec![0.0; dimension], count);
        while left > 0 {
            block.count = left.min(BLOCK as u64) as usize;
            for single in block.vectors_mut() {
                fill(&mut vector);
                single.iter_mut().zip(&vector).for_each(|(single, double)| *single = *double as f32);
            }
            take(&block);
            left -= block.len();
        }
    }

    /// The number of vectors.
    pub(super) fn len(&self) -> u64 {
        self.count as u64
    }

    pub(super) fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.stride).take(self.count).map(|vector| &vector[..self.dimension])
    }

    pub(super) fn vectors_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let dimension = self.dimension;
        self.values.chunks_exact_mut(self.stride).take(self.count).map(move |vector| &mut vector[..dimension])
    }
}

/// The sum of `v v^T`, d × d, on and above the diagonal. Products are summed in single precision within a block and in
/// double precision over the blocks, which is a relative error of some 1e-7: simulated collections scatter by 1e-3.
pub(super) struct OuterProducts {
    dimension: usize,
    /// The tiles with entries on or above the diagonal, column of tiles by column of tiles.
    tiles: Vec<[[f64; TILE.1]; TILE.0]>,
}

impl OuterProducts {
    pub(super) fn new(dimension: usize) -> Self {
        Self { dimension, tiles: vec![Default::default(); places(dimension).count()] }
    }

    /// Adds the vectors of a block of the same dimension.
    pub(super) fn add(&mut self, block: &Block) {
        let values = &block.values[..block.count * block.stride];
        for (tile, (row, column)) in self.tiles.iter_mut().zip(places(self.dimension)) {
            let mut sums = [[0f32; TILE.1]; TILE.0];
            for vector in values.chunks_exact(block.stride) {
                let (left, right) = (&vector[row..row + TILE.0], &vector[column..column + TILE.1]);
                for (sums, left) in sums.iter_mut().zip(left) {
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum += left * right;
                    }
                }
            }
            for (total, sum) in tile.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                *total += f64::from(*sum);
            }
        }
    }

    /// The sum over `count`.
    pub(super) fn mean(&self, count: u64) -> DMatrix<f64> {
        let mut mean = DMatrix::zeros(self.dimension, self.dimension);
        for (tile, (first_row, first_column)) in self.tiles.iter().zip(places(self.dimension)) {
            for (sums, row) in tile.iter().zip(first_row..) {
                for (sum, column) in sums.iter().zip(first_column..self.dimension).filter(|(_, column)| *column >= row)
                {
                    let value = sum / count as f64;
                    mean[(row, column)] = value;
                    mean[(column, row)] = value;
                }
            }
        }
        mean
    }
}

/// First row and first column of each tile.
fn places(dimension: usize) -> impl Iterator<Item = (usize, usize)> {
    let columns = (0..dimension).step_by(TILE.1);
    columns.flat_map(|column| (0..column + TILE.1).step_by(TILE.0).map(move |row| (row, column)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::DVector;

    #[test]
    fn sums_are_those_of_the_definition() {
        for (dimension, count) in [(1, 1), (3, 64), (8, 65), (9, 200), (13, 128), (40, 129)] {
            let mut products = OuterProducts::new(dimension);
            let (mut expected, mut number) = (DMatrix::zeros(dimension, dimension), 0u32);
            let fill = |vector: &mut [f64]| {
                for value in &mut *vector {
                    number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *value = f64::from(number >> 8) / f64::from(1 << 24) - 0.5;
                }
                let vector = DVector::from_column_slice(vector);
                expected += &vector * vector.transpose() / count as f64;
            };
            Block::each(dimension, count, fill, |block| products.add(block));
            let found = products.mean(count);
            assert!((&found - expected).amax() < 1e-7, "{dimension} {count}");
            assert_eq!(found, found.transpose());
        }
    }
}
