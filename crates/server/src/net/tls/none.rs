//! A stand-in without the feature `tls`: there is no certificate.

use std::convert::Infallible;
use std::io;

use tokio::net::TcpStream;

use super::TlsError;
use crate::config::TlsFiles;

/// Nothing of this kind exists.
#[derive(Clone)]
pub(crate) struct Tls(Infallible);

impl Tls {
    pub(crate) fn load(_: &TlsFiles) -> Result<Self, TlsError> {
        Err(TlsError::NotBuilt)
    }

    pub(in super::super) async fn follow_hangups(self) {
        match self.0 {}
    }

    pub(in super::super) async fn shake_hands(&self, _: TcpStream) -> io::Result<TcpStream> {
        match self.0 {}
    }
}
