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

/// A server in its own process, and the requests of good clients.
pub struct Besieged {
    pub address: SocketAddr,
    pub bodies: Bodies,
    server: Started,
    dresser: Dresser,
    acknowledged: AtomicU64,
}

impl Besieged {
    /// Starts it with `settings` in addition to its own.
    pub fn start(program: Option<&Path>, tls: bool, settings: &str) -> Result<Self, Box<dyn Error>> {
        let task = Mode::Compact.task(None)?;
        let folder = tempfile::tempdir()?;
        // Good clients choose the ids of their reports, and anybody may request components.
        let mut settings = format!("issued_ids = false\nopen_recovery = true\n{settings}");
        let dresser = Dresser::new(tls, folder.path(), &mut settings)?;
        let quiet = ["--log-level".to_owned(), "error".to_owned()];
        let server = Started::start(program, folder, &task, &settings, &quiet, Stdio::null())?;
        let bodies = Bodies::new(&task, Mode::Compact, 1)?;
        Ok(Self { address: server.address, bodies, server, dresser, acknowledged: AtomicU64::new(0) })
    }

    /// The stream in the server's protocol.
    pub async fn dress(&self, stream: TcpStream) -> io::Result<Box<dyn Stream>> {
        self.dresser.dress(stream).await
    }

    pub fn dresser(&self) -> Dresser {
        self.dresser.clone()
    }

    pub fn acknowledge(&self, reports: u64) {
        self.acknowledged.fetch_add(reports, Relaxed);
    }

    /// Resets the peak of memory.
    pub fn forget_peak(&self) {
        // If the system does not allow this, the peak is that of all attacks so far.
        let _ = fs::write(format!("/proc/{}/clear_refs", self.server.pid()), "5");
    }

    /// The server's peak memory.
    pub fn peak_mib(&self) -> f64 {
        memory_mib(self.server.pid(), "VmHWM").unwrap_or(f64::NAN)
    }

    /// Stops the server, and checks that it has stored at least the reports that it acknowledged.
    pub fn count_is_what_was_acknowledged(mut self) -> Result<(), Box<dyn Error>> {
        self.server.kill();
        let told = Command::new(&self.server.program)
            .args(["store", "verify", "--json"])
            .arg(self.server.data())
            .stderr(Stdio::null())
            .output()?;
        let told: serde_json::Value = serde_json::from_slice(&told.stdout)?;
        let records = told["tasks"][0]["reports"].as_u64().ok_or("store verify reported no task")?;
        let acknowledged = self.acknowledged.load(Relaxed);
        if records < acknowledged {
            return Err(format!("{acknowledged} reports were acknowledged, and {records} are stored").into());
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

    /// Wraps streams in TLS if the server uses it.
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
