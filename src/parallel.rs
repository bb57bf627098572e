//! Work on several threads.

use core::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Works through `parts` on up to `threads` threads, including the calling one. Where there are no further threads, as
/// in WebAssembly, the calling one does everything.
pub fn for_each<T>(
    parts: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T> + Send>,
    threads: NonZeroUsize,
    work: impl Fn(T) + Sync,
) {
    for_each_with(parts, threads, || (), |(), part| work(part), |()| ());
}

/// [`for_each`] with a state per thread: `start` makes it, it accompanies the thread's parts, and it ends in `finish`.
pub(crate) fn for_each_with<T, S>(
    parts: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T> + Send>,
    threads: NonZeroUsize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
    finish: impl Fn(S) + Sync,
) {
    let parts = parts.into_iter();
    let threads = threads.get().min(parts.len());
    let parts = Mutex::new(parts);
    // Taking a part leaves nothing incomplete behind, so a panic in another thread does not matter here.
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        let Some(first) = next() else { return };
        let mut own = start();
        work(&mut own, first);
        while let Some(part) = next() {
            work(&mut own, part);
        }
        finish(own);
    };
    thread::scope(|scope| {
        let spawned = (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, run).ok());
        let others: Vec<_> = spawned.collect();
        run();
        // The scope itself would not say what a thread panicked with.
        others.into_iter().for_each(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
    });
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn a_panic_of_another_thread_is_told_as_it_is() {
        let told = catch_unwind(|| {
            // Each of the two threads has one of the parts.
            let (caller, both) = (thread::current().id(), Barrier::new(2));
            for_each(0..2, NonZeroUsize::new(2).unwrap(), |_: i32| {
                both.wait();
                assert!(thread::current().id() == caller, "what the other says");
            });
        });
        assert_eq!(told.unwrap_err().downcast_ref::<&str>(), Some(&"what the other says"));
    }

    #[test]
    fn every_part_is_worked_on_once() {
        for threads in [1, 2, 5, 1000] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let mut parts = vec![0; 100];
            for_each(parts.iter_mut(), threads, |part| *part += 1);
            assert_eq!(parts, [1; 100]);
            let total = Mutex::new(0);
            let add = |own: &mut i32, part| *own += part;
            for_each_with(0..100, threads, || 0, add, |own| *total.lock().unwrap() += own);
            assert_eq!(total.into_inner().unwrap(), 4950);
        }
        for_each(0..0, NonZeroUsize::MIN, |_: i32| unreachable!());
    }
}
