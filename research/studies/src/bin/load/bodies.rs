//! Cheap requests with valid reports and fresh ids: payloads repeat, ids and checksums do not.

use std::error::Error;

use chacha20::ChaCha8Rng;
use clap::ValueEnum;
use ldp_pca::mechanism::{Calibration, MechanismSpec};
use ldp_pca::privacy::{Delta, Epsilon};
use ldp_pca::record::Bounding;
use ldp_pca::report::report_bytes;
use ldp_pca::schema::Schema;
use ldp_pca::task::{Folds, Task};
use rand::{Rng, SeedableRng};

/// The most bytes of payloads from which the requests draw.
const POOL_BYTES: usize = 4 << 20;

/// The position of the id in a report: after the magic, the version and the task's prefix.
const ID: std::ops::Range<usize> = 13..29;

/// The reports to send.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// One report of 35 bytes per request
    Compact,
    /// Many reports of 35 bytes per request
    Batched,
    /// One report with a number for each pair of features per request
    Dense,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Batched => "batched",
            Self::Dense => "dense",
        }
    }

    pub fn connections(self) -> usize {
        match self {
            Self::Compact => 768,
            Self::Batched => 16,
            Self::Dense => 64,
        }
    }

    pub fn task(self, features: Option<usize>) -> Result<Task, Box<dyn Error>> {
        let epsilon = Epsilon::new(1.0)?;
        let (usual, mechanism) = match self {
            Self::Compact | Self::Batched => (16, MechanismSpec::DoubleCap { epsilon, candidates: 64, cap: 8 }),
            Self::Dense => {
                let (delta, calibration) = (Delta::new(1e-6)?, Calibration::Analytic);
                (400, MechanismSpec::Gaussian { epsilon, delta, calibration })
            }
        };
        let schema = Schema::numeric(features.unwrap_or(usual))?;
        Ok(Task::new(schema, Bounding::UnitNorm, mechanism, Folds::new(1)?)?)
    }
}

/// The bodies that all connections send.
pub struct Bodies {
    head: Vec<u8>,
    /// Whole reports, one after the other.
    pool: Vec<u8>,
    report_bytes: usize,
    batch: usize,
}

impl Bodies {
    pub fn new(task: &Task, mode: Mode, batch: usize) -> Result<Self, Box<dyn Error>> {
        let batch = if mode == Mode::Batched { batch } else { 1 };
        let report_bytes = report_bytes(task);
        let head = format!(
            "POST /tasks/{}/reports HTTP/1.1\r\nHost: aggregator\r\nContent-Type: application/vnd.ldp-pca.reports\r\n\
             Content-Length: {}\r\n\r\n",
            task.digest(),
            batch * report_bytes
        );
        let mut rng = fresh_rng()?;
        let dimension = task.dimension();
        let record = task.bound((0..dimension).map(|feature| 1.0 / (1.0 + feature as f64)).collect())?;
        let reports = (POOL_BYTES / report_bytes).clamp(1, 4096);
        let mut pool = Vec::with_capacity(reports * report_bytes);
        for _ in 0..reports {
            pool.extend(task.randomize_with_rng(&record, None, &mut rng)?.to_bytes());
        }
        Ok(Self { head: head.into_bytes(), pool, report_bytes, batch })
    }

    /// The requests of one connection.
    pub fn requests(&self) -> Result<Requests<'_>, Box<dyn Error>> {
        let bytes = self.head.len() + self.batch * self.report_bytes;
        let mut request = Vec::with_capacity(bytes);
        request.extend(&self.head);
        let mut rng = fresh_rng()?;
        let reports = self.pool.len() / self.report_bytes;
        let first = rng.next_u32() as usize % reports;
        for place in 0..self.batch {
            let start = (first + place) % reports * self.report_bytes;
            request.extend(&self.pool[start..start + self.report_bytes]);
        }
        Ok(Requests { bodies: self, rng, request })
    }
}

/// The requests of one connection, one after the other in the same buffer.
pub struct Requests<'a> {
    bodies: &'a Bodies,
    rng: ChaCha8Rng,
    request: Vec<u8>,
}

impl Requests<'_> {
    /// Gives all reports of the request fresh ids.
    pub fn renew(&mut self) {
        for report in self.request[self.bodies.head.len()..].chunks_exact_mut(self.bodies.report_bytes) {
            self.rng.fill_bytes(&mut report[ID]);
            let (content, checksum) = report.split_at_mut(self.bodies.report_bytes - 4);
            checksum.copy_from_slice(&crc32fast::hash(content).to_le_bytes());
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.request
    }
}

fn fresh_rng() -> Result<ChaCha8Rng, Box<dyn Error>> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(ChaCha8Rng::from_seed(seed))
}
