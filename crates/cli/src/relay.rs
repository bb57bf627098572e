//! The `relay` command: sealed reports, shuffled.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ldp_pca_server::{LogConfig, LogFormat, RelayConfig, keep_files_private, raise_file_limit, socket_address};

use super::aggregator;
use super::error::{CliError, Result};
use super::output::{note, plural};
use super::serve::{ended, failed, log_format, on_hangup, runtime, say_listening, start_log, stopped};

/// Pass sealed reports on to an aggregator, in shuffled batches
///
/// A relay sees who sends, and only the aggregator can open what is sent. If they do not work together, the aggregator
/// learns which reports a batch has, and not whose each is (docs/privacy/threat-model.md). Run one for each task, away
/// from the aggregator. It acknowledges a report when it is on the disk, and keeps neither address nor time. Fewer
/// reports than --batch are never sent. Ctrl-C stops it; what waits is sent after the next start.
#[derive(Args)]
pub(super) struct Relay {
    /// The folder that holds what waits; created if missing
    #[arg(long)]
    data: PathBuf,
    /// The aggregator
    #[arg(long, value_name = "URL", value_parser = aggregator::url)]
    gateway: String,
    /// The fewest reports that are sent together, in random order
    ///
    /// The honest ones, which are the N of account --shuffled and plan --batch, and those of people who may not be
    /// honest
    #[arg(long, value_name = "N")]
    batch: u64,
    /// Address and port; 0 takes any free one
    ///
    /// As 0.0.0.0:8090 or localhost:8090
    #[arg(long, value_parser = socket_address, default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// The length that reports are padded to
    ///
    /// Those of the task, before they are sealed: 256 for compact ones
    #[arg(long, default_value_t = 256)]
    bytes: usize,
    /// Reports that may wait at the same time
    ///
    /// More are refused until the aggregator takes some
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_waiting: u64,
    /// The form of the log on standard error, which has no times
    #[arg(long, value_name = "pretty|json", value_parser = log_format)]
    log_format: Option<LogFormat>,
}

impl Relay {
    pub(super) fn run(self) -> Result<()> {
        let log = LogConfig { format: self.log_format.unwrap_or_default(), ..LogConfig::default() };
        start_log(&log, false)?;
        ended(log.format, self.serve(log.format))
    }

    fn serve(self, log: LogFormat) -> Result<()> {
        raise_file_limit();
        keep_files_private();
        let config = RelayConfig {
            listen: self.listen,
            bytes: self.bytes,
            max_waiting: self.max_waiting,
            ..RelayConfig::new(self.data, self.gateway, self.batch)
        };
        if let Some(problem) = config.problem() {
            let options = "--batch, --bytes, --max-waiting; `ldp-pca account --shuffled` says what a batch promises";
            return Err(CliError::Usage(format!("{problem} ({options})")));
        }
        runtime()?.block_on(async {
            let _hangups = on_hangup(false);
            let relay = ldp_pca_server::Relay::bind(config, None).await.map_err(failed)?;
            say_listening(log, relay.local_addr());
            if log == LogFormat::Pretty && relay.waiting() > 0 {
                note(format_args!("{} of an earlier run", plural(relay.waiting(), "report")));
            }
            relay.serve(stopped()).await.map_err(failed)
        })
    }
}
