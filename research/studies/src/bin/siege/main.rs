//! Tests service under attack: whether good clients are served beside hostile ones. The server and the sockets are
//! real, and the attackers have their own process.
//!
//! ```text
//! cargo build --release -p ldp-pca-cli && cargo run --release -p ldp-pca-studies --bin siege
//! cargo run -p ldp-pca-studies --bin siege -- --short                      # a minute of it, as `make test` runs it
//! cargo run -p ldp-pca-studies --bin siege -- --way slow-body --connections 1000 --networks 1
//! ```
//!
//! Prints a line for each way of attack and number of connections. A good client at another address sends a hundred
//! reports per second, half of them on new connections: first alone, then beside the attack. The line has the share of
//! its uploads that were acknowledged, the time within which 99 of 100 were acknowledged, as a multiple of the time
//! without an attack, and the server's peak memory.
//!
//! Assumptions: attackers have 100 MB/s in all and reconnect 5 s after they were closed or refused. They run at a lower
//! priority than the server, because real attackers are not on the same machine. Linux only.

#[allow(dead_code, reason = "the load generator's; one of its two users needs less of it")]
#[path = "../load/bodies.rs"]
mod bodies;

#[path = "../load/answer.rs"]
mod answer;
#[path = "../load/started.rs"]
mod started;

mod attack;
mod connection;
mod good;
mod reports;
mod server;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use attack::{Attack, Way};
use good::Good;
use server::Besieged;

/// Attack a server, and measure the service of good clients
#[derive(Parser)]
struct Arguments {
    /// Run for a minute: count answers, without a limit on times
    #[arg(long)]
    short: bool,
    /// Only this way of attack
    #[arg(long)]
    way: Option<Way>,
    /// Only this number of hostile connections
    #[arg(long)]
    connections: Option<usize>,
    /// Number of networks of the hostile connections
    #[arg(long, requires = "connections")]
    networks: Option<usize>,
    /// Seconds of measurement for each line
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Seed of the good client's reports
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The server program [default: ldp-pca beside this one's folder]
    #[arg(long)]
    server: Option<PathBuf>,
    /// Write the results as JSON, one object per line
    #[arg(long)]
    json: bool,
    /// Run as the attacker on this address (the program starts itself with this option)
    #[arg(long, hide = true, requires = "way")]
    attack: Option<std::net::SocketAddr>,
}

/// One line of the table.
struct Line {
    way: Way,
    connections: usize,
    networks: usize,
    alone: Good,
    besieged: Good,
    /// Peak memory in MiB.
    memory: f64,
    /// Whether the line is from the short run, which does not check times.
    short: bool,
}

/// The least share of answers for a good client, beside an attack from one address and from many networks.
const FROM_ONE: f64 = 0.999;
const FROM_MANY: f64 = 0.99;

/// The memory of a server without connections, and of the reports that may wait for the disk. The buffer for reports
/// grows by doubling (docs/operate/limits.md).
const SERVER_MIB: f64 = 32.0;
const PENDING_MIB: f64 = 144.0;

/// The memory of durable reports until they are summed.
const REPORTS_MIB: f64 = 64.0;

/// The memory of a connection between requests, and during one.
const IDLE_KIB: f64 = 16.0;
const BUSY_KIB: f64 = 96.0;

/// The additional memory of each of the first connections, and the number of these connections.
const AMONG_FEW_KIB: f64 = 64.0;
const FEW: usize = 256;

/// The largest factor by which the time of 99 of 100 answers may grow.
const SLOWER: f64 = 5.0;

/// The most measurements of a line.
const ATTEMPTS: usize = 3;

impl Line {
    fn slower(&self) -> f64 {
        self.besieged.quantile(0.99).as_secs_f64() / self.alone.quantile(0.99).as_secs_f64()
    }

    fn is_served(&self) -> bool {
        self.besieged.share() >= if self.networks == 1 { FROM_ONE } else { FROM_MANY }
    }

    /// The memory in MiB that docs/operate/limits.md allows: the server itself, the bytes that may wait, and an amount
    /// for each connection. One client has at most its share of the connections.
    fn most_memory(&self) -> f64 {
        let connections = self.connections.min(if self.networks == 1 { 1024 } else { 16_384 });
        let held = match self.way {
            Way::Silence | Way::Handshake | Way::IdleAfter => connections as f64 * IDLE_KIB,
            _ => connections as f64 * BUSY_KIB + connections.min(FEW) as f64 * AMONG_FEW_KIB,
        };
        SERVER_MIB + PENDING_MIB + held / 1024.0
    }

    /// In a short run the allocator still holds some memory that was freed and not yet used again.
    fn is_small(&self) -> bool {
        self.memory <= self.most_memory() * if self.short { 1.5 } else { 1.0 }
    }

    fn is_late(&self) -> bool {
        let in_time = self.networks > 1 || self.slower() <= SLOWER;
        !self.short && !in_time
    }

    fn is_good(&self) -> bool {
        self.is_served() && self.is_small() && !self.is_late()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    if let (Some(address), Some(way)) = (arguments.attack, arguments.way) {
        let (connections, networks) = (arguments.connections.unwrap_or(1), arguments.networks.unwrap_or(1));
        return runtime.block_on(attack::run(address, way, connections, networks));
    }
    let ways: Vec<Way> = match arguments.way {
        Some(way) => vec![way],
        None => Way::all(),
    };
    let sizes: Vec<(usize, usize)> = match (arguments.connections, arguments.short) {
        (Some(connections), _) => vec![(connections, arguments.networks.unwrap_or(1))],
        (None, true) => vec![(2000, 1), (2000, 100)],
        (None, false) => vec![(8, 1), (64, 1), (1000, 1), (17_500, 1), (17_500, 100)],
    };
    let seconds = if arguments.short { arguments.seconds.min(1.5) } else { arguments.seconds };
    let measured = Duration::from_secs_f64(seconds);
    if !arguments.json {
        println!(
            "{:<20} {:>11} {:>8}  {:>9} {:>9} {:>9} {:>7} {:>9} {:>10}",
            "attack", "connections", "networks", "answered", "alone 99%", "then 99%", "times", "memory", "of at most"
        );
    }
    let mut missed = 0;
    for way in ways {
        let server = Besieged::start(arguments.server.as_deref(), way == Way::Handshake, "")?;
        // Work that is done only once is done before the measurement.
        runtime.block_on(good::run(&server, Duration::from_secs_f64(0.5), arguments.seed))?;
        let good = || runtime.block_on(good::run(&server, measured, arguments.seed));
        let mut alone = good()?;
        for &(connections, networks) in &sizes {
            let besiege = |alone: Good| -> Result<Line, Box<dyn Error>> {
                let _attack = Attack::start(server.address, way, connections, networks)?;
                std::thread::sleep(Duration::from_secs_f64((seconds / 4.0).max(1.0)));
                server.forget_peak();
                let besieged = good()?;
                Ok(Line {
                    way,
                    connections,
                    networks,
                    alone,
                    besieged,
                    memory: server.peak_mib(),
                    short: arguments.short,
                })
            };
            let mut line = besiege(alone.clone())?;
            // Another process on this machine can make one answer in a hundred slow, so a late line is measured again.
            for _ in 1..ATTEMPTS {
                if !(line.is_served() && line.is_small() && line.is_late()) {
                    break;
                }
                print(&line, arguments.json);
                alone = good()?;
                line = besiege(alone.clone())?;
            }
            missed += usize::from(!line.is_good());
            print(&line, arguments.json);
        }
        server.count_is_what_was_acknowledged()?;
    }
    if arguments.way.is_none() {
        let reports = if arguments.short { 1_000_000 } else { 10_000_000 };
        let (memory, ids) = runtime.block_on(reports::fill(arguments.server.as_deref(), reports))?;
        let most = SERVER_MIB + REPORTS_MIB + ids;
        missed += usize::from(memory > most);
        print_reports(reports, memory, most, arguments.json);
    }
    if missed > 0 {
        return Err(format!("{missed} lines are outside the limits").into());
    }
    Ok(())
}

fn print_reports(reports: usize, memory: f64, most: f64, json: bool) {
    if json {
        println!(
            "{}",
            serde_json::json!({"reports": reports, "memory_mib": memory, "most_mib": most, "good": memory <= most})
        );
        return;
    }
    let mark = if memory > most { "  MISSED" } else { "" };
    println!("{reports:>32} reports in one task {memory:>46.0} MiB {most:>6.0} MiB{mark}");
}

fn print(line: &Line, json: bool) {
    let (Line { way, connections, networks, alone, besieged, memory, .. }, good) = (line, line.is_good());
    let milliseconds = |good: &Good| good.quantile(0.99).as_secs_f64() * 1e3;
    let (way, share, slower) = (way.name(), besieged.share(), line.slower());
    let (alone, then) = (milliseconds(alone), milliseconds(besieged));
    if json {
        println!(
            "{}",
            serde_json::json!({"attack": way, "connections": connections, "networks": networks, "answered": share,
                "asked": besieged.asked, "failures": besieged.failures, "alone_ms": alone, "besieged_ms": then,
                "memory_mib": memory, "most_mib": line.most_memory(), "good": good})
        );
        return;
    }
    let most = line.most_memory();
    let mark = if good { "" } else { "  MISSED" };
    println!(
        "{way:<20} {connections:>11} {networks:>8}  {:>7.2} % {alone:>6.1} ms {then:>6.1} ms {slower:>7.1} \
            {memory:>5.0} MiB {most:>6.0} MiB{mark}",
        share * 100.0
    );
    for (why, count) in &besieged.failures {
        println!("    {count} times: {why}");
    }
}
