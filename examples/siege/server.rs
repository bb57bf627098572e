//! The server that is besieged, with every limit at its default.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::bodies::{Bodies, Mode};
use crate::good::Stream;

/// A server in a process of its own, and what good clients send to it.
pub struct Besieged {
    pub address: SocketAddr,
    pub bodies: Bodies,
    child: Child,
    folder: TempDir,
    dresser: Dresser,
    acknowledged: AtomicU64,
    program: PathBuf,
}

impl Besieged {
    pub fn start(program: Option<&Path>, tls: bool) -> Result<Self, Box<dyn Error>> {
        let program = match program {
            Some(program) => program.to_owned(),
            None => std::env::current_exe()?.ancestors().nth(2).ok_or("this program has no folder")?.join("ldp-pca"),
        };
        let task = Mode::Compact.task(None)?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("task.json");
        fs::write(&path, task.to_json())?;
        // The reports of good clients have ids of their own.
        let mut settings = String::from("issued_ids = false\n");
        let dresser = Dresser::new(tls, folder.path(), &mut settings)?;
        let config = folder.path().join("config.toml");
        fs::write(&config, settings)?;
        let mut child = Command::new(&program)
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"])
            .arg(folder.path().join("data"))
            .arg("--task")
            .arg(&path)
            .arg("--config")
            .arg(&config)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}; build it first", program.display()))?;
        let lines = BufReader::new(child.stdout.take().ok_or("the server has no output")?).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let (_, address) = line.strip_prefix("listening on ")?.split_once("://")?;
            address.parse().ok()
        });
        let address = address.ok_or("the server did not start")?;
        let bodies = Bodies::new(&task, Mode::Compact, 1)?;
        Ok(Self { address, bodies, child, folder, dresser, acknowledged: AtomicU64::new(0), program })
    }

    /// The stream as the server speaks.
    pub async fn dress(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
        self.dresser.dress(stream).await
    }

    pub fn dresser(&self) -> Dresser {
        self.dresser.clone()
    }

    pub fn acknowledge(&self, reports: u64) {
        self.acknowledged.fetch_add(reports, Relaxed);
    }

    /// From now on the peak is a new one.
    pub fn forget_peak(&self) {
        // Where the system does not let us, the peak is of all attacks so far.
        let _ = fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    /// The most memory that the server held.
    pub fn peak_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kibibytes.unwrap_or(f64::NAN) / 1024.0
    }

    /// Stops it, and reads what it has: at least what it acknowledged, and no more than was asked.
    pub fn count_is_what_was_acknowledged(mut self) -> Result<(), Box<dyn Error>> {
        self.child.kill()?;
        self.child.wait()?;
        let told = Command::new(&self.program)
            .args(["store", "verify", "--json"])
            .arg(self.folder.path().join("data"))
            .stderr(Stdio::null())
            .output()?;
        let told: serde_json::Value = serde_json::from_slice(&told.stdout)?;
        let records = told["tasks"][0]["reports"].as_u64().ok_or("store verify told of no task")?;
        let acknowledged = self.acknowledged.load(Relaxed);
        if records < acknowledged {
            return Err(format!("{acknowledged} reports were acknowledged, and {records} are there").into());
        }
        Ok(())
    }
}

impl Drop for Besieged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(not(feature = "tls"))]
mod dress {
    use super::*;

    /// Leaves streams as they are.
    #[derive(Clone)]
    pub struct Dresser;

    impl Dresser {
        pub fn new(tls: bool, _: &Path, _: &mut String) -> Result<Self, Box<dyn Error>> {
            if tls { Err("unfinished handshakes need a build with --features tls".into()) } else { Ok(Self) }
        }

        pub async fn dress(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
            Ok(Box::new(stream))
        }
    }
}

#[cfg(feature = "tls")]
mod dress {
    use std::sync::Arc;

    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::*;

    /// Makes TLS of streams where the server speaks it.
    #[derive(Clone)]
    pub struct Dresser(Option<TlsConnector>);

    impl Dresser {
        /// With a certificate made by openssl.
        pub fn new(tls: bool, folder: &Path, settings: &mut String) -> Result<Self, Box<dyn Error>> {
            if !tls {
                return Ok(Self(None));
            }
            let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
            let made = Command::new("openssl")
                .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
                .args(["-subj", "/CN=siege", "-addext", "subjectAltName=IP:127.0.0.1"])
                .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
                .arg(&key)
                .arg("-out")
                .arg(&certificate)
                .output()?;
            if !made.status.success() {
                return Err("openssl made no certificate".into());
            }
            *settings += &format!("tls = {{ certificate = {certificate:?}, key = {key:?} }}\n");
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_file(&certificate)?)?;
            let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
            Ok(Self(Some(TlsConnector::from(Arc::new(config)))))
        }

        pub async fn dress(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
            let Some(connector) = &self.0 else { return Ok(Box::new(stream)) };
            let name = ServerName::IpAddress(std::net::IpAddr::from([127, 0, 0, 1]).into());
            Ok(Box::new(connector.connect(name, stream).await?))
        }
    }
}

pub use dress::Dresser;
