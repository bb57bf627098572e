//! The server that is measured: one that runs, or one started for this.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::{Child, Command, Stdio};

use ldp_pca::task::Task;
use tempfile::TempDir;

use crate::Arguments;

/// Of /proc/PID/stat; Linux counts in hundredths on every architecture that it runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// Where requests go.
pub struct Target {
    pub address: SocketAddr,
    pub pid: Option<u32>,
    /// Stopped when this one ends.
    own: Option<(Child, TempDir)>,
}

impl Target {
    pub fn reach(arguments: &Arguments, task: &Task) -> Result<Self, Box<dyn Error>> {
        if let Some(url) = &arguments.url {
            let host = url.strip_prefix("http://").ok_or("--url is http://HOST:PORT")?.trim_end_matches('/');
            let address = host.to_socket_addrs()?.next().ok_or("the host has no address")?;
            return Ok(Self { address, pid: arguments.pid, own: None });
        }
        let program = match &arguments.server {
            Some(program) => program.clone(),
            None => std::env::current_exe()?.ancestors().nth(2).ok_or("this program has no folder")?.join("ldp-pca"),
        };
        let folder = match &arguments.folder {
            Some(folder) => tempfile::tempdir_in(folder)?,
            None => tempfile::tempdir()?,
        };
        let path = folder.path().join("task.json");
        fs::write(&path, task.to_json())?;
        // One address sends everything, and reports of its own making.
        let config = folder.path().join("config.toml");
        fs::write(
            &config,
            "issued_ids = false\nmax_client_connections = 16384\nmax_client_pending_bytes = 67108864\n",
        )?;
        let mut child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--task")
            .arg(&path)
            .arg("--config")
            .arg(&config)
            .args(&arguments.serve)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}; build it first", program.display()))?;
        let lines = BufReader::new(child.stdout.take().ok_or("the server has no output")?).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("listening on http://")?;
            address.parse().ok()
        });
        let address = address.ok_or("the server did not start: it says why above")?;
        Ok(Self { address, pid: Some(child.id()), own: Some((child, folder)) })
    }

    /// How many reports the server counts.
    pub fn records(&self, task: &Task) -> Result<u64, Box<dyn Error>> {
        let url = format!("http://{}/tasks/{}/status", self.address, task.digest());
        let status: serde_json::Value = ureq::get(url).call()?.body_mut().read_json()?;
        Ok(status["records"].as_u64().ok_or("the status has no count")?)
    }

    /// The memory that the server holds.
    pub fn resident_mib(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.own {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Seconds of processor time, of the system's work for them too.
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
