//! Measures the time in which the crate decodes and sums a file of reports, as the reference for its bindings
//! (python/benches/overhead.py).
//!
//! usage: `cargo run --release -p ldp-pca-studies --bin kernel -- TASK REPORTS THREADS RUNS`
//!
//! Prints the seconds of each run, one per line. The file is in memory before the first run.

use std::error::Error;
use std::num::NonZeroUsize;
use std::time::Instant;

use ldp_pca::aggregate::Aggregate;
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::Task;

/// Reports that are decoded and summed at a time.
const BATCH: usize = 1 << 16;
const BATCH_BYTES: usize = 32 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, reports, threads, runs] = arguments.as_slice() else {
        return Err("give TASK REPORTS THREADS RUNS".into());
    };
    let task = Task::from_json(&std::fs::read_to_string(task)?)?;
    let bytes = std::fs::read(reports)?;
    let threads: NonZeroUsize = threads.parse()?;
    let rows: Vec<&[u8]> = bytes.chunks(report_bytes(&task)).collect();
    let size = (BATCH_BYTES / report_bytes(&task)).clamp(1, BATCH);
    for _ in 0..runs.parse::<usize>()? {
        let started = Instant::now();
        let mut sums = Aggregate::empty(&task);
        for part in rows.chunks(size) {
            let decoded = Report::many_from_bytes(part, &task, threads).into_iter().flatten();
            let reports = decoded.collect::<Result<Vec<Report>, _>>()?;
            sums.accumulate_with_threads(&task, &reports, threads)?;
        }
        println!("{}", started.elapsed().as_secs_f64());
        assert_eq!(sums.records(), rows.len() as u64);
    }
    Ok(())
}
