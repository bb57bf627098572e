//! TLS by rustls.

use std::io;
use std::path::Path;
use std::sync::{Arc, RwLock};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig as TlsConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::TlsFiles;
use crate::locks::{read_lock, write_lock};

/// A certificate and its key, which can be changed while serving.
#[derive(Clone)]
pub(crate) struct Tls {
    files: TlsFiles,
    current: Arc<RwLock<TlsAcceptor>>,
}

impl Tls {
    /// Reads the files.
    pub(crate) fn load(files: &TlsFiles) -> Result<Self, String> {
        Ok(Self { files: files.clone(), current: Arc::new(RwLock::new(acceptor(files)?)) })
    }

    /// Reads the files again at every SIGHUP, for connections from then on. If they are invalid, the previous ones
    /// stay.
    pub(super) async fn follow_hangups(self) {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
            while hangups.recv().await.is_some() {
                match acceptor(&self.files) {
                    Ok(acceptor) => *write_lock(&self.current) = acceptor,
                    Err(error) => tracing::error!(%error, "the certificate is not changed"),
                }
            }
        }
    }

    pub(super) async fn shake_hands(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = read_lock(&self.current).clone();
        acceptor.accept(stream).await
    }
}

fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, String> {
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    // A file without any is read without an error.
    let chain = chain.and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) });
    let no_pem = |path: &Path, expected: &str, error: pem::Error| {
        format!("{}: {error}; it must be {expected} in PEM", path.display())
    };
    let expected = "the server's certificate and those that it is derived from";
    let chain = chain.map_err(|error| no_pem(certificate, expected, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| no_pem(key, "a private key", error))?;
    let mut config = TlsConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| {
            let (certificate, key) = (certificate.display(), key.display());
            format!("{certificate} and {key}: {error}; the key must be that of the first certificate")
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
