//! Work on several threads.

use core::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Works through `parts` on up to `threads` threads, the calling one among them. Where no more threads can be had, as in
/// WebAssembly, the calling one does it all.
pub(crate) fn for_each<T>(
    parts: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T> + Send>,
    threads: NonZeroUsize,
    work: impl Fn(T) + Sync,
) {
    let parts = parts.into_iter();
    let threads = threads.get().min(parts.len());
    let parts = Mutex::new(parts);
    let run = || {
        loop {
            // Taking a part leaves nothing half-made behind, so a panic in another thread does not matter here.
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            match part {
                Some(part) => work(part),
                None => break,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if thread::Builder::new().spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_worked_on_once() {
        for threads in [1, 2, 5] {
            let mut parts = vec![0; 100];
            for_each(parts.iter_mut(), NonZeroUsize::new(threads).unwrap(), |part| *part += 1);
            assert_eq!(parts, [1; 100]);
        }
        for_each(0..0, NonZeroUsize::MIN, |_: i32| unreachable!());
    }
}
