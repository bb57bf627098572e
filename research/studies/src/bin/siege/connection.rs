//! Connections to the server, and one request on them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::answer::parse;

/// A connection, with or without TLS.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection from this address.
pub async fn connect(to: SocketAddr, from: Ipv4Addr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends one request. Returns the answer's status, the number of reports that it acknowledges, and its text.
pub async fn ask(stream: &mut dyn Stream, request: &[u8]) -> io::Result<(u16, u64, Vec<u8>)> {
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::Error::other("closed without an answer"));
        }
        answer.extend_from_slice(&buffer[..count]);
        if let Some((status, accepted)) = parse(&answer).map_err(|error| io::Error::other(error.to_string()))? {
            return Ok((status, accepted, answer));
        }
    }
}
