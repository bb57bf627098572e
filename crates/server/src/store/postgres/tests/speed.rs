//! Time of a commit. Not a test: run it alone, on an idle machine, with `--ignored --nocapture`.

use std::time::Instant;

use super::*;

#[test]
#[ignore = "it measures"]
fn commits_take_so_long() {
    let task = compact();
    let Some((_cluster, [aggregator])) = start(&task) else { return };
    let reports = reports(&task, 20, 404_000);
    let (single, large) = reports.split_at(4_000);
    for part in single.chunks(1_000) {
        let start = Instant::now();
        part.iter().for_each(|report| assert_eq!(aggregator.commit(&task, slice::from_ref(report)), committed(1, 0)));
        println!("{:.1} us a commit of one report", start.elapsed().as_secs_f64() * 1e6 / 1_000.0);
    }
    for part in large.chunks(100_000) {
        let start = Instant::now();
        thread::scope(|scope| {
            for part in part.chunks(25_000) {
                let (aggregator, task) = (&aggregator, &task);
                scope.spawn(move || {
                    for batch in part.chunks(100) {
                        aggregator.commit(task, batch).unwrap();
                    }
                });
            }
        });
        println!("{:.0} reports a second in batches of 100 from four clients", 1e5 / start.elapsed().as_secs_f64());
    }
}
