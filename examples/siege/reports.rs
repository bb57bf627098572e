//! What a task's reports take: as many as it may have, from one client, until it is full.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::answer::parse;
use crate::bodies::{Bodies, Mode};
use crate::server::Besieged;

/// Reports of one request.
const BATCH: usize = 1000;

/// What an id takes at the most.
const ID_BYTES: f64 = 51.0;

/// The most memory that a server with so many reports held, in MiB, and what docs/limits.md says of the ids alone.
pub fn fill(program: Option<&Path>, reports: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let server = Besieged::start(program, false, &format!("max_task_records = {reports}\n"))?;
    let bodies = Bodies::new(&Mode::Batched.task(None)?, Mode::Batched, BATCH)?;
    let mut requests = bodies.requests()?;
    let mut stream = TcpStream::connect(server.address)?;
    let (mut accepted, mut full) = (0, false);
    while !full {
        requests.renew();
        stream.write_all(requests.bytes())?;
        let (status, counted) = answer(&mut stream)?;
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

fn answer(stream: &mut TcpStream) -> Result<(u16, u64), Box<dyn Error>> {
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer)?;
        answer.extend_from_slice(&buffer[..count]);
        match parse(&answer)? {
            Some(parsed) => return Ok(parsed),
            None if count == 0 => return Err("the server closed the connection".into()),
            None => {}
        }
    }
}
