//! Work on all cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use ldp_pca::internal::parallel::for_each;

/// The results of `work` for 0 to `count - 1`, in order. The next free core takes the next one. After a failure no more
/// are started, because the others would fail in the same way.
pub fn on_all_cores<T: Send, E: Send>(count: usize, work: impl Fn(usize) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let threads = available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count);
    for_each(0..threads.get().min(count), threads, |_| {
        while let Some(index) = take() {
            let result = work(index);
            if result.is_err() {
                next.fetch_max(count, Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
