//! Sums of candidates themselves, from reports.

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use super::super::sphere::Sphere;
use super::super::table::LARGEST_MAGNITUDE;
use super::products::expand;
use super::{Kernel, LANES, PER_BLOCK, words};
use crate::identity::ReportId;
use crate::parallel::for_each_with;

/// Reports whose sums stay in 16 bits.
const BATCH: usize = 256;

const _: () = assert!(BATCH as u32 * LARGEST_MAGNITUDE <= i16::MAX as u32 && BATCH.is_multiple_of(LANES));

/// Reports that a thread takes at a time.
const SHARE: usize = 16 * BATCH;

/// See [`Path::add_vectors`](super::Path::add_vectors).
pub(super) fn add<K: Kernel>(
    kernel: K,
    task_key: &[u8; 16],
    reports: &[(ReportId, u32)],
    sums: &mut [i64],
    threads: NonZeroUsize,
) {
    let (key, rows) = (words(task_key), sums.len());
    let (blocks, sphere) = (rows.div_ceil(PER_BLOCK), Sphere::new(rows));
    let total = Mutex::new(sums);
    for_each_with(
        reports.chunks(SHARE),
        threads,
        || (vec![[0; PER_BLOCK]; LANES * blocks], vec![0i16; rows], vec![0i64; rows]),
        |(candidates, small, own), share| {
            for batch in share.chunks(BATCH) {
                for reports in batch.chunks(LANES) {
                    expand(kernel, &key, reports, blocks, candidates);
                    for candidate in candidates.chunks_exact_mut(blocks).take(reports.len()) {
                        let entries = candidate.as_flattened_mut();
                        kernel.normalize(sphere, entries);
                        small.iter_mut().zip(&*entries).for_each(|(sum, &z)| *sum += i16::from(z));
                    }
                }
                for (own, small) in own.iter_mut().zip(&mut *small) {
                    *own += i64::from(core::mem::take(small));
                }
            }
        },
        |(_, _, own)| {
            // Nothing in here panics, and integers that were added stay added.
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        },
    );
}
