//! The good client: reports at fixed times, half of them on new connections, each sent once.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::{sleep_until, timeout};

use crate::connection::{Stream, ask, connect};
use crate::server::Besieged;

/// Requests per second.
const RATE: f64 = 100.0;

/// The number of connections that are kept open.
const KEPT: usize = 4;

/// After a longer wait a request counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(20);

const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 7, 7, 7);

/// The outcomes of the good client's requests.
#[derive(Clone, Default)]
pub struct Good {
    pub asked: usize,
    /// The times of acknowledged requests, sorted.
    times: Vec<Duration>,
    /// The reasons why the others were not acknowledged.
    pub failures: BTreeMap<String, usize>,
}

impl Good {
    pub fn share(&self) -> f64 {
        self.times.len() as f64 / self.asked as f64
    }

    pub fn quantile(&self, share: f64) -> Duration {
        let place = (share * self.times.len() as f64).ceil() as usize;
        self.times.get(place.saturating_sub(1)).copied().unwrap_or(PATIENCE)
    }
}

/// Sends for this long, and waits for the answers.
pub async fn run(server: &Besieged, duration: Duration, seed: u64) -> Result<Good, Box<dyn Error>> {
    let mut kept = Vec::new();
    for _ in 0..KEPT {
        kept.push(Arc::new(Mutex::new(server.dress(connect(server.address, ADDRESS).await?).await?)));
    }
    let mut requests = server.bodies.requests()?;
    let start = Instant::now();
    let count = (duration.as_secs_f64() * RATE) as usize;
    let mut tasks = Vec::with_capacity(count);
    for place in 0..count {
        // A seed shifts the times a little, so that they do not coincide with the server's timers.
        let shift = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(place as u64 * 0x5851_f42d) >> 16) % 1000;
        let due = start + Duration::from_secs_f64((place as f64 + shift as f64 / 1000.0) / RATE);
        sleep_until(due.into()).await;
        requests.renew();
        let request = requests.bytes().to_vec();
        let kept = (place % 2 == 0).then(|| Arc::clone(&kept[place / 2 % KEPT]));
        let (address, dresser) = (server.address, server.dresser());
        tasks.push(tokio::spawn(async move {
            let sent = async {
                match kept {
                    Some(stream) => send(&mut *stream.lock().await, &request).await,
                    None => {
                        let stream = connect(address, ADDRESS).await?;
                        send(&mut dresser.dress(stream).await?, &request).await
                    }
                }
            };
            let sent = timeout(PATIENCE, sent).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            sent.map(|()| due.elapsed()).map_err(|error| error.to_string())
        }));
    }
    let mut good = Good { asked: count, ..Good::default() };
    for task in tasks {
        match task.await? {
            Ok(time) => good.times.push(time),
            Err(why) => *good.failures.entry(why).or_default() += 1,
        }
    }
    good.times.sort_unstable();
    server.acknowledge(good.times.len() as u64);
    Ok(good)
}

/// One request, and whether its report was counted.
async fn send(stream: &mut dyn Stream, request: &[u8]) -> io::Result<()> {
    let (status, accepted, answer) = ask(stream, request).await?;
    if (status, accepted) == (200, 1) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&answer);
    let problem = text.split("urn:ldp-pca:problem:").nth(1).and_then(|rest| rest.split('"').next());
    Err(io::Error::other(format!("{status} {}", problem.unwrap_or(""))))
}
