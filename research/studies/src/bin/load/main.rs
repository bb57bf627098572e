//! A load generator in a process of its own: it measures how many reports a server accepts.
//!
//! ```text
//! cargo build --release -p ldp-pca-cli && cargo run --release -p ldp-pca-studies --bin load -- compact
//! cargo run --release -p ldp-pca-studies --bin load -- batched --connections 16
//! cargo run --release -p ldp-pca-studies --bin load -- dense --connections 48 --seconds 20 --json
//! cargo run --release -p ldp-pca-studies --bin load -- compact --url http://127.0.0.1:8080 --pid "$(pidof ldp-pca)"
//! ```
//!
//! Each connection sends its next request after the answer to the last one (no pipelining). With `--rate`, requests
//! start at fixed times instead, and latency counts from the time at which the request was due. Every report is valid
//! and has a fresh id. Afterwards the server's count is compared with the acknowledged reports. Linux only: processor
//! times come from /proc.

mod answer;
mod bodies;
mod drive;
#[allow(dead_code, reason = "shared with the siege, which asks for more of it")]
mod started;
mod target;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bodies::Mode;
use clap::Parser;
use drive::{Load, Outcome};
use target::{Processor, Target};

/// Send reports to a server as fast as it accepts them, and report the rate
#[derive(Parser)]
pub(crate) struct Arguments {
    /// One compact report per request, many of them, or one dense report of d (d + 1) / 2 bytes
    #[arg(value_enum)]
    mode: Mode,
    /// Features of the records [default: 16 for compact reports, 400 for dense ones]
    #[arg(long)]
    features: Option<usize>,
    /// Connections [default: 768, batched 16, dense 64]
    #[arg(long)]
    connections: Option<usize>,
    /// Reports in each request of the mode batched
    #[arg(long, default_value_t = 1000)]
    batch: usize,
    /// Seconds of measurement
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Seconds of warm-up before the measurement
    #[arg(long, default_value_t = 2.0)]
    warmup: f64,
    /// Requests per second, at fixed times [default: each follows the last answer]
    #[arg(long)]
    rate: Option<f64>,
    /// A running server with the same task [default: starts one in a temporary folder]
    #[arg(long)]
    url: Option<String>,
    /// The process of the server at --url, to measure its processor time
    #[arg(long, requires = "url")]
    pid: Option<u32>,
    /// The program to start [default: ldp-pca beside this one's folder]
    #[arg(long)]
    server: Option<PathBuf>,
    /// Where to create the temporary folder
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Write the task, for a server that you start by hand, and stop
    #[arg(long)]
    write_task: Option<PathBuf>,
    /// Write the result as JSON
    #[arg(long)]
    json: bool,
    /// Further arguments of `serve`
    #[arg(last = true)]
    serve: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let task = arguments.mode.task(arguments.features)?;
    if let Some(path) = &arguments.write_task {
        return Ok(std::fs::write(path, task.to_json())?);
    }
    let target = Target::reach(&arguments, &task)?;
    let before = target.records(&task)?;
    let load = Load {
        address: target.address,
        connections: arguments.connections.unwrap_or(arguments.mode.connections()),
        warmup: Duration::from_secs_f64(arguments.warmup),
        duration: Duration::from_secs_f64(arguments.seconds),
        rate: arguments.rate,
    };
    let bodies = bodies::Bodies::new(&task, arguments.mode, arguments.batch)?;
    let (outcome, processor) = drive::run(&load, &bodies, || Processor::now(target.pid))?;
    let counted = target.records(&task)? - before;
    if counted != outcome.accepted_in_all {
        let acknowledged = outcome.accepted_in_all;
        return Err(format!("the server acknowledged {acknowledged} reports and counts {counted}").into());
    }
    print(&arguments, &load, &outcome, &processor, target.resident_mib());
    Ok(())
}

/// The measurements.
fn print(arguments: &Arguments, load: &Load, outcome: &Outcome, processor: &Processor, resident: Option<f64>) {
    let seconds = outcome.seconds;
    let requests = outcome.latencies.len() as f64;
    let micros = |time: Option<f64>| time.map(|time| time / requests * 1e6);
    let (server, own) = (micros(processor.server), micros(Some(processor.own)));
    let [half, most, longest] = [0.5, 0.99, 1.0].map(|share| outcome.quantile(share).as_secs_f64() * 1e3);
    let (request_rate, report_rate) = (requests / seconds, outcome.accepted as f64 / seconds);
    if arguments.json {
        let line = serde_json::json!({
            "mode": arguments.mode.name(), "connections": load.connections, "rate": load.rate, "seconds": seconds,
            "requests": requests, "requests_per_second": request_rate, "reports_per_second": report_rate,
            "refused": outcome.refused, "p50_ms": half, "p99_ms": most, "max_ms": longest,
            "server_cpu_us_per_request": server, "load_cpu_us_per_request": own, "server_resident_mib": resident,
        });
        println!("{line}");
        return;
    }
    let known = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.1}"));
    println!("{}, {} connections, {seconds:.1} s", arguments.mode.name(), load.connections);
    println!("  {request_rate:.0} requests/s, {report_rate:.0} reports/s acknowledged, {} refused", outcome.refused);
    println!("  latency: half under {half:.2} ms, 99 % under {most:.2} ms, all under {longest:.2} ms");
    println!("  processor per request: server {} us, this program {} us", known(server), known(own));
    println!("  the server holds {} MiB; its count is what it acknowledged", known(resident));
}
