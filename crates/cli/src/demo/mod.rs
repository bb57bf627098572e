//! The `demo` command: a whole collection on one machine.

mod relay;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chacha20::ChaCha12Rng;
use clap::Args;
use ldp_pca::mechanism::MechanismSpec;
use ldp_pca::privacy::Epsilon;
use ldp_pca::record::{BoundedRecord, Bounding};
use ldp_pca::recovery::{Answer, Rank};
use ldp_pca::report::{Report, report_bytes};
use ldp_pca::task::{Folds, Task};
use ldp_pca_server::{Server, ServerConfig, socket_address};
use ldp_pca_simulation::{LeisureSurvey, SecondMoment};
use rand::SeedableRng;
use serde::Deserialize;

use self::relay::Relaying;
use crate::aggregator::{Aggregator, token};
use crate::error::{CliError, InFile as _, Result};
use crate::output::{bar, fitted, plural, print_line};
use crate::parameters;
use crate::randomize::{BatchRandomizer, Ids};
use crate::records::{self, Opening, Reading};
use crate::recover::RecoverResult;
use crate::schema::inferred;
use crate::serve::{runtime, stopped};

/// Run a whole collection on this machine
///
/// Starts an aggregator, randomizes a population record by record, sends every report over HTTP, recovers the
/// components and compares them with those found without privacy. Then it serves the page until Ctrl-C.
#[derive(Args)]
pub(super) struct Demo {
    /// Your own records instead of the synthetic survey
    ///
    /// The schema is inferred from them, which a real collection must not do
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// A column of --records to leave out; may be repeated
    #[arg(long, value_name = "COLUMN", requires = "records")]
    ignore: Vec<String>,
    #[command(flatten)]
    opening: Opening,
    /// Number of synthetic records
    #[arg(long, value_parser = parameters::count(), default_value_t = 20_000, conflicts_with = "records")]
    population: u64,
    /// Privacy parameter epsilon, per report
    #[arg(long, value_parser = parameters::epsilon, default_value = "2", allow_negative_numbers = true)]
    epsilon: Epsilon,
    /// Number of components
    #[arg(long, value_parser = parameters::rank, default_value = "3")]
    rank: Rank,
    /// Address and port to listen on
    ///
    /// Where another program has the port, the demo takes the first one after it that nobody has
    #[arg(long, value_parser = socket_address, default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// A folder with the page to serve at /
    ///
    /// The page may be put there while the demo runs, which says when it is there
    #[arg(long)]
    www: Option<PathBuf>,
    /// Start a relay, too, which simulated users go on using
    ///
    /// Visitors can send their reports through it. On one machine, in batches of 10, it hides nobody
    #[arg(long, conflicts_with_all = ["records", "once"])]
    relay: bool,
    /// Stop once the components are printed
    #[arg(long)]
    once: bool,
}

/// The aggregator's answer.
#[derive(Deserialize)]
struct Recovery {
    records: u64,
    eigenvalues: Vec<f64>,
    variances: Option<Vec<Option<f64>>>,
    components: Vec<Vec<f64>>,
    noise_deviation: f64,
    noise_edge: f64,
}

/// Ports that are tried until one is free.
const PORTS: u16 = 100;

/// Reports sent in one request.
const PER_REQUEST: usize = 1024;

impl Demo {
    pub(super) fn run(self) -> Result<()> {
        let started = Instant::now();
        let schema = match &self.records {
            Some(path) => inferred(path, &self.opening, &self.ignore)?,
            None => LeisureSurvey::schema()?,
        };
        self.rank.check(schema.dimension()).map_err(CliError::usage)?;
        let task = Task::new(schema, Bounding::UnitNorm, MechanismSpec::double_cap(self.epsilon), Folds::new(1)?)?;

        // Removed at the end.
        let folder = tempfile::Builder::new().prefix("ldp-pca-demo-").tempdir().in_file(&std::env::temp_dir())?;
        let mut config = ServerConfig::new(folder.path());
        let admin = config.admin_token_file();
        config.listen = self.listen;
        config.fixed.ports = PORTS;
        config.www = self.www.clone();
        // The population is synthetic, or the operator's own.
        config.open_recovery = true;
        config.minimum_batch = 1;
        // By an id that it issued, the aggregator would recognize a report.
        config.issued_ids = !self.relay;
        let runtime = runtime()?;
        let server = runtime.block_on(Server::bind(config, vec![task.clone()])).map_err(CliError::failed)?;
        let address = format!("http://{}", server.local_addr());
        // The aggregator knows the relay's port before the relay starts, which needs the aggregator's keys.
        let port = self.relay.then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).transpose();
        let port = port.map_err(CliError::failed)?;
        if let Some(port) = &port {
            server.show_relay(port.local_addr().map_err(CliError::failed)?);
        }
        let (stop, stopping) = tokio::sync::oneshot::channel::<()>();
        // A dropped sender means the same as a message.
        let serving = runtime.spawn(server.serve(async { stopping.await.unwrap_or(()) }));
        print_line(format_args!("aggregator  {address}"))?;
        print_line(format_args!("task        {}", task.digest()))?;
        print_line(format_args!("guarantee   {}", task.guarantee()))?;
        let relaying = port.map(|port| Relaying::start(&runtime, port, &address)).transpose()?;

        let aggregator = Aggregator::local(&address, token(admin.as_deref())?);
        let mut collection = Participants {
            task: &task,
            randomizer: BatchRandomizer::new(&task, None, Ids::Issued(&aggregator)),
            reference: SecondMoment::of_task(&task),
            aggregator: &aggregator,
            sent: 0,
        };
        self.collect(&mut collection)?;
        let rest = collection.randomizer.rest()?;
        collection.send(&rest)?;
        print_line(format_args!(
            "collected   {} of {} bytes over HTTP, {:.1} s after the start",
            plural(collection.sent, "report"),
            report_bytes(&task),
            started.elapsed().as_secs_f64()
        ))?;
        let result = collection.recover(self.rank, &Aggregator::local(&address, None))?;
        print_line(format_args!("\n{}", fitted(&result.text(false)).trim_end()))?;
        if !self.once {
            let users = relaying.as_ref().map(|relaying| relaying.start_users(&task)).transpose()?;
            runtime.block_on(self.serve_on(&address))?;
            drop(users);
        }
        if let Some(relaying) = relaying {
            relaying.stop(&runtime)?;
        }
        // The server may have stopped by itself; then nobody receives the message.
        let _ = stop.send(());
        runtime.block_on(serving).map_err(CliError::failed)?.map_err(CliError::failed)
    }

    /// Serves until Ctrl-C, and says when the page is there.
    async fn serve_on(&self, address: &str) -> Result<()> {
        let stopped = stopped();
        tokio::pin!(stopped);
        print_line(format_args!("\nresults at {address}/tasks, in a browser"))?;
        print_line(format_args!("serving at {address}; Ctrl-C ends it"))?;
        if let Some(www) = &self.www {
            let page = www.join("index.html");
            while !page.is_file() {
                tokio::select! {
                    () = &mut stopped => return Ok(()),
                    () = tokio::time::sleep(Duration::from_millis(500)) => {}
                }
            }
            print_line(format_args!("page ready: {address}/"))?;
        }
        stopped.await;
        Ok(())
    }

    /// Randomizes the population and sends its reports.
    fn collect(&self, collection: &mut Participants<'_>) -> Result<()> {
        if let Some(path) = &self.records {
            let task = collection.task;
            let reading = Reading { opening: self.opening.clone(), strict: false };
            let add = |features| collection.add(task.bound(features)?);
            records::read(path, task.schema(), &reading, add)?.note_unread();
            return Ok(());
        }
        let progress = bar("collecting", self.population);
        // The population is synthetic and always the same; its reports are random as always.
        let mut rng = ChaCha12Rng::seed_from_u64(1);
        for _ in 0..self.population {
            let features = collection.task.schema().encode_numbers(&LeisureSurvey::answers(&mut rng));
            collection.add(collection.task.bound(features)?)?;
            progress.inc(1);
        }
        Ok(())
    }
}

/// A population on its way to the aggregator, and its sums without privacy.
struct Participants<'a> {
    task: &'a Task,
    randomizer: BatchRandomizer<'a>,
    reference: SecondMoment,
    /// With the token that buys more ids at once than a visitor gets.
    aggregator: &'a Aggregator,
    sent: u64,
}

impl Participants<'_> {
    fn add(&mut self, record: BoundedRecord) -> Result<()> {
        self.reference.add(&record);
        let reports = self.randomizer.add(record)?;
        self.send(&reports)
    }

    fn send(&mut self, reports: &[Report]) -> Result<()> {
        let task = self.task.digest();
        for reports in reports.chunks(PER_REQUEST) {
            let body: Vec<u8> = reports.iter().flat_map(Report::to_bytes).collect();
            self.aggregator.send_reports(task, &body)?.good()?;
            self.sent += reports.len() as u64;
        }
        Ok(())
    }

    /// Asks the aggregator for the components and compares them with the non-private ones.
    fn recover(self, rank: Rank, aggregator: &Aggregator) -> Result<RecoverResult> {
        let path = format!("/tasks/{}/recovery?rank={}", self.task.digest(), rank.value());
        let recovery: Recovery = aggregator.get(&path)?.good()?.document()?;
        let mut facts = Answer::default();
        facts.asked.centred = self.task.centring().is_some();
        facts.asked.records = recovery.records;
        facts.asked.dimension = self.task.dimension();
        facts.asked.feature_names = self.task.schema().feature_names();
        facts.trust.noise_deviation = recovery.noise_deviation;
        facts.trust.noise_edge = recovery.noise_edge;
        facts.found.variances = recovery.variances;
        let mut answer = facts.with_components(recovery.components, recovery.eigenvalues);
        let records = self.reference.records();
        answer.compare(&self.reference.reference(self.task), records)?;
        Ok(RecoverResult { answer, ..RecoverResult::default() })
    }
}
