//! The reports per second of a relay: how many it takes, keeps, shuffles and sends on.
//!
//! ```text
//! cargo build --release -p ldp-pca-cli && cargo run --release -p ldp-pca-studies --bin relay_load
//! ```
//!
//! The relay runs on one core, the first. Devices send over connections that are kept, each its next report after the
//! 202 of the last one. The gateway is this program: it answers at once, and opens nothing. Linux only: processor times
//! come from /proc, and `taskset` chooses the core.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use ldp_pca_server::{SealingKey, sealed_length};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Send reports through a relay as fast as it takes them, and report the rate
#[derive(Parser)]
struct Arguments {
    /// Reports in all
    #[arg(long, default_value_t = 100_000)]
    reports: u64,
    /// Reports in a batch
    #[arg(long, default_value_t = 10_000)]
    batch: u64,
    /// Connections of devices
    #[arg(long, default_value_t = 256)]
    connections: u64,
    /// Where to create the temporary folder
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The program to start [default: ldp-pca beside this one]
    #[arg(long)]
    relay: Option<PathBuf>,
}

/// A key configuration for the curve's base point, whose secret key is 1.
const KEYS: &[u8] = b"\0\x4a\x01\0\x10\x04\
    \x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40\xf2\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\
    \xd8\x98\xc2\x96\x4f\xe3\x42\xe2\xfe\x1a\x7f\x9b\x8e\xe7\xeb\x4a\x7c\x0f\x9e\x16\x2b\xce\x33\x57\x6b\x31\x5e\xce\
    \xcb\xb6\x40\x68\x37\xbf\x51\xf5\0\x04\0\x01\0\x01";

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let gateway = listener.local_addr()?;
    let arrived = Arc::new(AtomicU64::new(0));
    tokio::spawn(answer(listener, Arc::clone(&arrived)));
    let beside = std::env::current_exe()?.with_file_name("ldp-pca");
    let program = arguments.relay.unwrap_or(beside);
    let parent = arguments.folder.unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::tempdir_in(parent)?;
    let mut child = Command::new("taskset")
        .args(["-c", "0"])
        .arg(program)
        .args(["relay", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path().join("relay"))
        .args(["--gateway", &format!("http://{gateway}"), "--batch", &arguments.batch.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let relay: SocketAddr =
        line.trim().strip_prefix("listening on http://").ok_or("the relay does not start")?.parse()?;
    let (start, header) = (Instant::now(), SealingKey::read(KEYS)?.header());
    let each = arguments.reports / arguments.connections;
    let mut devices = JoinSet::new();
    (0..arguments.connections).for_each(|device| drop(devices.spawn(send(relay, header, device, each))));
    while let Some(device) = devices.join_next().await {
        device??;
    }
    let (acknowledged, count) = (start.elapsed().as_secs_f64(), each * arguments.connections);
    // What is left does not fill a batch.
    while arrived.load(Ordering::Relaxed) + arguments.batch <= count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (seconds, released) = (start.elapsed().as_secs_f64(), arrived.load(Ordering::Relaxed));
    let processor = processor_seconds(child.id())?;
    child.kill()?;
    child.wait()?;
    let count = count as f64;
    println!("{count} reports acknowledged in {acknowledged:.1} s: {:.0} a second", count / acknowledged);
    println!("{released} of them released after {seconds:.1} s: {:.0} a second", released as f64 / seconds);
    println!("the relay used {processor:.1} s of one core: {:.0} reports a second of its time", count / processor);
    Ok(())
}

/// One device after another on a connection.
async fn send(relay: SocketAddr, header: [u8; 7], device: u64, reports: u64) -> Result<(), Failure> {
    let stream = TcpStream::connect(relay).await?;
    stream.set_nodelay(true)?;
    let mut stream = tokio::io::BufStream::new(stream);
    let length = sealed_length(256);
    let mut request = format!("POST /reports HTTP/1.1\r\nhost: relay\r\ncontent-length: {length}\r\n\r\n").into_bytes();
    let body = request.len();
    request.resize(body + length, 7);
    request[body..body + header.len()].copy_from_slice(&header);
    for report in 0..reports {
        let name = (device << 40 | report).to_le_bytes();
        request[body + 20..body + 28].copy_from_slice(&name);
        stream.write_all(&request).await?;
        stream.flush().await?;
        let status = head(&mut stream).await?.0;
        if !status.contains(" 202 ") {
            return Err(format!("the relay answers {status}").into());
        }
    }
    Ok(())
}

/// The gateway.
async fn answer(listener: TcpListener, arrived: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let arrived = Arc::clone(&arrived);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mut stream = tokio::io::BufStream::new(stream);
            while let Ok((first, length)) = head(&mut stream).await {
                let mut body = vec![0; length];
                let (media_type, content) = if first.starts_with("GET") {
                    ("application/ohttp-keys", KEYS)
                } else {
                    ("message/ohttp-res", &[0; 64][..])
                };
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
                    content.len()
                );
                let read = stream.read_exact(&mut body).await.is_ok();
                let whole = [head.as_bytes(), content].concat();
                if !read || stream.write_all(&whole).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                arrived.fetch_add(u64::from(length > 0), Ordering::Relaxed);
            }
        });
    }
}

/// The first line of a head, and the length of the body after it.
async fn head(stream: &mut tokio::io::BufStream<TcpStream>) -> Result<(String, usize), Failure> {
    let (mut first, mut length, mut line) = (String::new(), 0, String::new());
    if stream.read_line(&mut first).await? == 0 {
        return Err("the connection ended".into());
    }
    while stream.read_line(&mut line).await? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        line.clear();
    }
    Ok((first, length))
}

/// The processor time of a process so far, in user and system.
fn processor_seconds(pid: u32) -> Result<f64, Failure> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no stat")?.1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}
