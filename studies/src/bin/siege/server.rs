//! The attacked server, with every limit at its default.

use std::error::Error;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::net::TcpStream;

use crate::bodies::{Bodies, Mode};
use crate::connection::Stream;
use crate::started::{Started, memory_mib};

/// A server in a process of its own, and what good clients send to it.
pub struct Besieged {
    pub address: SocketAddr,
    pub bodies: Bodies,
    server: Started,
    dresser: Dresser,
    acknowledged: AtomicU64,
}

impl Besieged {
    /// With `settings` beside its own.
    pub fn start(program: Option<&Path>, tls: bool, settings: &str) -> Result<Self, Box<dyn Error>> {
        let task = Mode::Compact.task(None)?;
        let folder = tempfile::tempdir()?;
        // The reports of good clients have ids of their own, and anybody may ask for components.
        let mut settings = format!("issued_ids = false\nopen_recovery = true\n{settings}");
        let dresser = Dresser::new(tls, folder.path(), &mut settings)?;
        let quiet = ["--log-level".to_owned(), "error".to_owned()];
        let server = Started::start(program, folder, &task, &settings, &quiet, Stdio::null())?;
        let bodies = Bodies::new(&task, Mode::Compact, 1)?;
        Ok(Self { address: server.address, bodies, server, dresser, acknowledged: AtomicU64::new(0) })
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
        let _ = fs::write(format!("/proc/{}/clear_refs", self.server.pid()), "5");
    }

    /// The most memory that the server held.
    pub fn peak_mib(&self) -> f64 {
        memory_mib(self.server.pid(), "VmHWM").unwrap_or(f64::NAN)
    }

    /// Stops it, and reads what it has: at least what it acknowledged, and no more than was asked.
    pub fn count_is_what_was_acknowledged(mut self) -> Result<(), Box<dyn Error>> {
        self.server.kill();
        let told = Command::new(&self.server.program)
            .args(["store", "verify", "--json"])
            .arg(self.server.data())
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
