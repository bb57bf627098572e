//! The memory of a task's reports: one client sends reports until the task is full.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::bodies::{Bodies, Mode};
use crate::connection::{ask, connect};
use crate::server::Besieged;

/// The number of reports per request.
const BATCH: usize = 1000;

/// The most bytes that an id takes.
const ID_BYTES: f64 = 51.0;

/// The peak memory of a server with that many reports, in MiB, and the memory that docs/operate/limits.md states for
/// the ids.
pub async fn fill(program: Option<&Path>, reports: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let server = Besieged::start(program, false, &format!("max_task_records = {reports}\n"))?;
    let bodies = Bodies::new(&Mode::Batched.task(None)?, Mode::Batched, BATCH)?;
    let mut requests = bodies.requests()?;
    let mut stream = connect(server.address, Ipv4Addr::LOCALHOST).await?;
    let (mut accepted, mut full) = (0, false);
    while !full {
        requests.renew();
        let (status, counted, _) = ask(&mut stream, requests.bytes()).await?;
        accepted += counted;
        full = status == 403;
        if ![200, 403].contains(&status) {
            return Err(format!("reports are answered {status}").into());
        }
    }
    if accepted != reports as u64 {
        return Err(format!("a task with room for {reports} reports is full with {accepted}").into());
    }
    Ok((server.peak_mib(), reports as f64 * ID_BYTES / f64::from(1 << 20)))
}
