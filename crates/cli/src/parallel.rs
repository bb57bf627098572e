//! Work on all cores.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// The results of `work` for 0 to `count - 1`, in order. The next free core takes the next one. After a failure no more
/// are started, because the others would fail in the same way.
pub fn on_all_cores<T: Send, E: Send>(count: usize, work: impl Fn(usize) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count);
    let worker = || {
        let mut done = vec![];
        while let Some(index) = take() {
            let result = work(index);
            if result.is_err() {
                next.fetch_max(count, Ordering::Relaxed);
            }
            done.push((index, result));
        }
        done
    };
    let threads = available_parallelism().map_or(1, usize::from).min(count);
    let mut done: Vec<_> = scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
