//! HTTP by hand, for what a well-behaved client does not do.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use ldp_pca::task::Task;

use super::harness::{REPORTS, path};

/// A connection that stays open.
pub struct Wire(TcpStream);

impl Wire {
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap()
    }

    pub fn try_connect(address: SocketAddr) -> io::Result<Self> {
        Self::new(TcpStream::connect(address)?)
    }

    /// From another address of this machine: Linux has all of 127.0.0.0/8.
    pub fn connect_from(from: &str, address: SocketAddr) -> Self {
        let from: IpAddr = from.parse().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let connected = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4()?;
            socket.bind(SocketAddr::new(from, 0))?;
            socket.connect(address).await?.into_std()
        });
        let stream = connected.unwrap();
        stream.set_nonblocking(false).unwrap();
        Self::new(stream).unwrap()
    }

    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self(stream))
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        &mut self.0
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub fn get(&mut self, path: &str) -> (u16, String) {
        self.try_get(path).unwrap()
    }

    /// The answer, if there is one.
    pub fn try_get(&mut self, path: &str) -> Option<(u16, String)> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        self.0.write_all(request.as_bytes()).ok()?;
        self.read_answer().ok()
    }

    /// Asks as a proxy does for somebody else, and reads the head of the answer alone: that of a stream has no end.
    pub fn get_for(&mut self, client: &str, path: &str) -> u16 {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: {client}\r\n\r\n").as_bytes());
        self.read_status()
    }

    /// The status of an answer that may go on.
    pub fn read_status(&mut self) -> u16 {
        let mut head = [0; 12];
        self.0.read_exact(&mut head).unwrap();
        std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
    }

    /// Announces reports, which are still to come.
    pub fn open_upload(&mut self, task: &Task, length: usize) {
        self.try_open_upload(task, length).unwrap();
    }

    /// Announces reports, and waits until the server asks for them: then it has the request.
    pub fn begin_upload(&mut self, task: &Task, length: usize) {
        let path = path(task, "/reports");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {REPORTS}\r\nContent-Length: {length}\r\nExpect: \
                100-continue\r\n\r\n"
        );
        self.send(head.as_bytes());
        let mut told = [0; 25];
        self.0.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    }

    pub fn upload(&mut self, task: &Task, body: &[u8]) -> io::Result<(u16, String)> {
        self.try_open_upload(task, body.len())?;
        self.0.write_all(body)?;
        self.read_answer()
    }

    fn try_open_upload(&mut self, task: &Task, length: usize) -> io::Result<()> {
        let path = path(task, "/reports");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: {REPORTS}\r\nContent-Length: {length}\r\n\r\n"
        );
        self.0.write_all(head.as_bytes())
    }

    /// The status and the body of the next answer.
    pub fn read_answer(&mut self) -> io::Result<(u16, String)> {
        let mut answer = Vec::new();
        loop {
            let mut piece = [0; 4096];
            let bytes = self.0.read(&mut piece)?;
            answer.extend(&piece[..bytes]);
            let text = String::from_utf8_lossy(&answer);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
                if body.len() >= length.unwrap_or(0) {
                    return Ok((head[9..12].parse().unwrap(), body.to_owned()));
                }
            }
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
