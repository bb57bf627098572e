//! The attackers: many connections that each misbehave in one way for as long as the server allows, and then reconnect.

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio::time::{sleep, sleep_until};

use crate::bodies::Mode;

/// The wait before a connection is opened again.
const AGAIN: Duration = Duration::from_secs(5);

/// Bytes per second of all attackers together.
const BANDWIDTH: f64 = 100e6;

/// The number of bytes sent at a time.
const PART: usize = 64 << 10;

/// The largest body that the server accepts by default.
const BODY: usize = 8 << 20;

/// The size of a refused body; the connection is idle afterwards.
const IDLE_BODY: usize = 40_000;

/// The number of requests for components, so that no two are the same.
static PENALTIES: AtomicU64 = AtomicU64::new(1);

/// The behaviour of a hostile connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// A head, a byte a second
    SlowHead,
    /// A body, a byte a second
    SlowBody,
    /// A head that announces 8 MiB, and no body
    PromisedBody,
    /// 8 MiB without the last byte
    LastByte,
    /// Requests whose answers are never read
    UnreadAnswers,
    /// Nothing
    Silence,
    /// Half a body, then the end of the stream
    HalfClosed,
    /// 8 MiB in a body that is refused
    RefusedBody,
    /// One refused body of 40 KB, then nothing
    IdleAfter,
    /// Streams of events
    Streams,
    /// Requests for sparse components, each with another penalty
    Recoveries,
    /// The beginning of a TLS handshake
    Handshake,
}

impl Way {
    /// The behaviours of this build: the last one needs the feature `tls`.
    pub fn all() -> Vec<Self> {
        let tls = cfg!(feature = "tls");
        Self::value_variants().iter().copied().filter(|way| tls || *way != Self::Handshake).collect()
    }

    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// The attackers' process. It ends when this is dropped.
pub struct Attack(Child);

impl Attack {
    pub fn start(address: SocketAddr, way: Way, connections: usize, networks: usize) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--attack", &address.to_string(), "--way", &way.name()])
            .args(["--connections", &connections.to_string(), "--networks", &networks.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        // It signals when every attacker has tried once.
        let mut ready = [0];
        if let Some(output) = &mut child.stdout {
            io::Read::read_exact(output, &mut ready)?;
        }
        Ok(Self(child))
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Attacks until it is killed.
pub async fn run(address: SocketAddr, way: Way, connections: usize, networks: usize) -> Result<(), Box<dyn Error>> {
    let _ = rustix::process::nice(10);
    ldp_pca_server::raise_file_limit();
    let task = Mode::Compact.task(None)?.digest().to_string();
    let task: Arc<str> = format!("/tasks/{task}").into();
    let (bandwidth, first) = (Arc::new(Bandwidth(Mutex::new(Instant::now()))), Arc::new(()));
    for place in 0..connections {
        let from = Ipv4Addr::new(127, 9, u8::try_from(place % networks)?, 1);
        let (task, bandwidth) = (Arc::clone(&task), Arc::clone(&bandwidth));
        let mut first = Some(Arc::clone(&first));
        tokio::spawn(async move {
            loop {
                if let Ok(stream) = connect(address, from, way).await {
                    first.take();
                    // However it ends.
                    let _ = attack(way, stream, &task, &bandwidth).await;
                }
                first.take();
                // Attackers do not start at the same time.
                sleep(AGAIN.mul_f64(0.5 + (place * 7919 % 1000) as f64 / 1000.0)).await;
            }
        });
    }
    while Arc::strong_count(&first) > 1 {
        sleep(Duration::from_millis(20)).await;
    }
    println!("!");
    std::future::pending().await
}

async fn connect(address: SocketAddr, from: Ipv4Addr, way: Way) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    if way == Way::UnreadAnswers {
        // The system's buffer for it is soon full.
        socket.set_recv_buffer_size(4096)?;
    }
    socket.connect(address).await
}

async fn attack(way: Way, mut stream: TcpStream, task: &str, bandwidth: &Bandwidth) -> io::Result<()> {
    let head = format!("POST {task}/reports HTTP/1.1\r\nHost: aggregator\r\n");
    let question = |what: &str| format!("GET {what} HTTP/1.1\r\nHost: aggregator\r\n\r\n").into_bytes();
    let announced = |length: usize, media_type: &str| {
        format!("{head}Content-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n").into_bytes()
    };
    let upload = announced(BODY, "application/octet-stream");
    match way {
        Way::SlowHead => {
            stream.write_all(head.as_bytes()).await?;
            drip(&mut stream).await?;
        }
        Way::SlowBody => {
            stream.write_all(&upload).await?;
            drip(&mut stream).await?;
        }
        Way::PromisedBody => stream.write_all(&upload).await?,
        Way::LastByte => {
            stream.write_all(&upload).await?;
            bandwidth.send(&mut stream, BODY - 1).await?;
        }
        Way::UnreadAnswers => loop {
            stream.write_all(&question("/metrics")).await?;
        },
        Way::Silence => {}
        Way::HalfClosed => {
            stream.write_all(&upload).await?;
            bandwidth.send(&mut stream, PART).await?;
            stream.shutdown().await?;
        }
        Way::RefusedBody => {
            stream.write_all(&announced(BODY, "text/html")).await?;
            bandwidth.send(&mut stream, BODY).await?;
        }
        Way::IdleAfter => {
            stream.write_all(&announced(IDLE_BODY, "text/html")).await?;
            bandwidth.send(&mut stream, IDLE_BODY).await?;
        }
        Way::Streams => stream.write_all(&question(&format!("{task}/events"))).await?,
        Way::Recoveries => loop {
            let penalty = PENALTIES.fetch_add(1, Relaxed) as f64 * 1e-9;
            stream.write_all(&question(&format!("{task}/recovery?rank=2&penalty={penalty:.9}"))).await?;
            if stream.read(&mut [0; 1 << 14]).await? == 0 {
                return Ok(());
            }
            sleep(AGAIN).await;
        },
        Way::Handshake => stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await?,
    }
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// One byte per second, until the server closes the connection.
async fn drip(stream: &mut TcpStream) -> io::Result<()> {
    loop {
        sleep(Duration::from_secs(1)).await;
        stream.write_all(b"x").await?;
        let mut closed = [0; 512];
        match stream.try_read(&mut closed) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => return Ok(()),
        }
    }
}

/// The line that all share: until when it is taken.
struct Bandwidth(Mutex<Instant>);

impl Bandwidth {
    async fn send(&self, stream: &mut TcpStream, mut bytes: usize) -> io::Result<()> {
        let part = [0; PART];
        while bytes > 0 {
            let count = bytes.min(PART);
            let free = {
                let mut free = self.0.lock().await;
                *free = (*free).max(Instant::now()) + Duration::from_secs_f64(count as f64 / BANDWIDTH);
                *free
            };
            sleep_until(free.into()).await;
            stream.write_all(&part[..count]).await?;
            bytes -= count;
        }
        Ok(())
    }
}
