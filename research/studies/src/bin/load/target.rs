//! The measured server: a running one, or one started for the measurement.

use std::error::Error;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::Stdio;

use ldp_pca::task::Task;

use crate::Arguments;
use crate::started::{Started, memory_mib};

/// The ticks per second in /proc/PID/stat; Linux counts in hundredths on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// The target of the requests.
pub struct Target {
    pub address: SocketAddr,
    pub pid: Option<u32>,
    /// The server that is stopped when this program ends.
    _own: Option<Started>,
}

impl Target {
    pub fn reach(arguments: &Arguments, task: &Task) -> Result<Self, Box<dyn Error>> {
        if let Some(url) = &arguments.url {
            let host = url.strip_prefix("http://").ok_or("--url is http://HOST:PORT")?.trim_end_matches('/');
            let address = host.to_socket_addrs()?.next().ok_or("the host has no address")?;
            return Ok(Self { address, pid: arguments.pid, _own: None });
        }
        let folder = match &arguments.folder {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        };
        // One address sends all reports, with its own ids. Its shares are 16384 connections, a sixteenth of them, and
        // 64 MiB of the bytes that wait, a quarter.
        let settings = "issued_ids = false\nmax_connections = 262144\nmax_pending_bytes = 268435456\n";
        let (program, further) = (arguments.server.as_deref(), &arguments.serve);
        let own = Started::start(program, folder, task, settings, further, Stdio::inherit())?;
        Ok(Self { address: own.address, pid: Some(own.pid()), _own: Some(own) })
    }

    /// The number of reports that the server counts.
    pub fn records(&self, task: &Task) -> Result<u64, Box<dyn Error>> {
        let url = format!("http://{}/tasks/{}/status", self.address, task.digest());
        let status: serde_json::Value = ureq::get(url).call()?.body_mut().read_json()?;
        Ok(status["records"].as_u64().ok_or("the status has no count")?)
    }

    /// The memory that the server holds.
    pub fn resident_mib(&self) -> Option<f64> {
        memory_mib(self.pid?, "VmRSS")
    }
}

/// Seconds of processor time, including the system's work for the process.
#[derive(Clone, Copy)]
pub struct Processor {
    pub server: Option<f64>,
    pub own: f64,
}

impl Processor {
    pub fn now(server: Option<u32>) -> Self {
        let server = server.and_then(|pid| used(&pid.to_string()));
        Self { server, own: used("self").unwrap_or(f64::NAN) }
    }

    pub fn since(self, earlier: Self) -> Self {
        let server = self.server.zip(earlier.server).map(|(now, earlier)| now - earlier);
        Self { server, own: self.own - earlier.own }
    }
}

fn used(process: &str) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may have spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}
