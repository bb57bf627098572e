//! A session of data providers, its coordinator in a process of its own, and requests to it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::http::{Answer, ask};
use crate::support::{Folder, Run};

pub(crate) const DIMENSION: usize = 12;
pub(crate) const PROVIDERS: usize = 3;

/// Starts a session of so many rounds in this folder.
pub(crate) fn start(folder: &Folder, data: &str, rounds: u32) -> Run {
    folder.run(&format!(
        "dps-pca start --dimension {DIMENSION} --rank 2 --kept-rows 6 --rounds {rounds} --providers {PROVIDERS} \
         --epsilon 1 --delta 1e-6 --start 7 --data {data} --json"
    ))
}

/// The real program, which is killed in the end.
pub(crate) struct Coordinator {
    child: Child,
    pub(crate) url: String,
}

impl Coordinator {
    /// On a free port.
    pub(crate) fn start(data: &Path) -> Self {
        Self::start_at("127.0.0.1:0", data)
    }

    pub(crate) fn start_at(address: &str, data: &Path) -> Self {
        let mut command = command(data);
        command.args(["--listen", address]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    /// What it says where it does not start.
    pub(crate) fn refusal(data: &Path) -> String {
        let output = command(data).args(["--listen", "127.0.0.1:0"]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// Any request, with a token or without.
    pub(crate) fn request(&self, method: &str, path: &str, token: Option<&str>, body: &[u8]) -> Answer {
        ask(token, method, &format!("{}{path}", self.url), body)
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(["dps-pca", "coordinate", "--data"]).arg(data);
    command
}
