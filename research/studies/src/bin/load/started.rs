//! A server started for the measurement, in its own process and temporary folder.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ldp_pca::task::Task;
use tempfile::TempDir;

/// A server that ends when this value is dropped.
pub struct Started {
    pub address: SocketAddr,
    pub program: PathBuf,
    child: Child,
    folder: TempDir,
}

impl Started {
    /// Starts it with these settings and further arguments of `serve`. The default program is the one beside this one's
    /// folder.
    pub fn start(
        program: Option<&Path>,
        folder: TempDir,
        task: &Task,
        settings: &str,
        arguments: &[String],
        log: Stdio,
    ) -> Result<Self, Box<dyn Error>> {
        let program = match program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe()?.parent().ok_or("this program has no folder")?.join("ldp-pca"),
        };
        let (task_file, config) = (folder.path().join("task.json"), folder.path().join("config.toml"));
        fs::write(&task_file, task.to_json())?;
        fs::write(&config, settings)?;
        let mut child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path().join("data"))
            .arg("--task")
            .arg(&task_file)
            .arg("--config")
            .arg(&config)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}; build it first", program.display()))?;
        let lines = BufReader::new(child.stdout.take().ok_or("the server has no output")?).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let address = line.strip_prefix("listening on http://")?;
            address.parse().ok()
        });
        let address = address.ok_or("the server did not start: its message above says why")?;
        Ok(Self { address, program, child, folder })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The place of its reports.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Ends it now.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A figure of a process's memory, as `VmRSS`, in MiB.
pub fn memory_mib(pid: u32, figure: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}
