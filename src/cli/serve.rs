//! `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ldp_pca::server::{DatabaseAddress, Server, ServerConfig};

use super::error::{CliError, Result};
use super::files;
use super::output::{grouped, note};

/// Collect reports over HTTP
///
/// Everything acknowledged is on disk. Tasks that the folder already holds are served too. Ctrl-C stops it after the requests at hand.
#[derive(Args)]
pub(super) struct Serve {
    /// The folder that holds tasks and reports; made if it is not there
    #[arg(long)]
    data: PathBuf,
    /// A database that holds tasks and reports in place of the folder, as postgres://user@host/database; several aggregators may share it
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// A task to collect for; may be repeated
    #[arg(short, long)]
    task: Vec<PathBuf>,
    /// Address and port; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// A folder with the page to serve at /
    #[arg(long)]
    www: Option<PathBuf>,
    /// Recover nothing from fewer reports than this
    #[arg(long)]
    minimum_batch: Option<u64>,
}

impl Serve {
    pub(super) fn run(self) -> Result<()> {
        let tasks = self.task.iter().map(|path| files::task(path)).collect::<Result<Vec<_>>>()?;
        let mut config = ServerConfig::new(self.data);
        config.store = self.store.map(DatabaseAddress::new);
        config.listen = self.listen;
        config.www = self.www;
        if let Some(minimum_batch) = self.minimum_batch {
            config.minimum_batch = minimum_batch;
        }
        runtime()?.block_on(async {
            let server = Server::bind(config, tasks).await.map_err(|error| CliError::Failed(error.to_string()))?;
            // Programs read this line to learn the port.
            println!("listening on http://{}", server.local_addr());
            for task in server.tasks() {
                note(format!("task {}: {} reports so far", task.digest, grouped(task.records)));
                if task.cut_bytes > 0 {
                    note(format!("  cut {} bytes of a report that was never acknowledged", task.cut_bytes));
                }
                if task.damaged_reports > 0 {
                    note(format!(
                        "  warning: {} damaged reports are not counted: the disk lost what it had",
                        task.damaged_reports
                    ));
                }
            }
            server.serve(stopped()).await.map_err(|error| CliError::Failed(error.to_string()))
        })
    }
}

/// The runtime of the server.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Failed(format!("cannot start the server's threads: {error}")))
}

/// Waits for Ctrl-C or a termination signal.
pub(super) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without signals there is only the end of the process.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
