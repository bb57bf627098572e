//! A stand-in without the feature `tls`: there is no certificate.

use std::convert::Infallible;
use std::io;

use tokio::net::TcpStream;

use crate::config::TlsFiles;

/// Nothing of this kind exists.
#[derive(Clone)]
pub(crate) struct Tls(Infallible);

impl Tls {
    pub(crate) fn load(_: &TlsFiles) -> Result<Self, String> {
        Err("this build has no TLS: build it with the feature `tls`, or leave the certificate to a proxy before the \
            server"
            .into())
    }

    pub(super) async fn follow_hangups(self) {
        match self.0 {}
    }

    pub(super) async fn shake_hands(&self, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }
}
