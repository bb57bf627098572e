//! HTTP by hand, for what a well-behaved client does not do.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};

use super::harness::*;

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

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends the head of a request: its method and path, and its fields but for the host, each on a line.
    pub fn begin(&mut self, head: &str) {
        self.try_begin(head).unwrap();
    }

    fn try_begin(&mut self, head: &str) -> io::Result<()> {
        let (request, fields) = head.split_once('\n').unwrap_or((head, ""));
        let fields: String = fields.lines().map(|field| format!("{field}\r\n")).collect();
        self.0.write_all(format!("{request} HTTP/1.1\r\nHost: test\r\n{fields}\r\n").as_bytes())
    }

    pub fn get(&mut self, path: &str) -> (u16, String) {
        self.try_get(path).unwrap()
    }

    /// The answer, if there is one.
    pub fn try_get(&mut self, path: &str) -> Option<(u16, String)> {
        self.try_begin(&format!("GET {path}")).ok()?;
        self.read_answer().ok()
    }

    /// Asks as a proxy does for somebody else.
    pub fn get_for(&mut self, client: &str, path: &str) -> u16 {
        self.status_of(&format!("GET {path}\nX-Forwarded-For: {client}"))
    }

    /// Sends a head, and reads that of the answer alone: an answer may go on, and that of a stream has no end.
    pub fn status_of(&mut self, head: &str) -> u16 {
        self.begin(head);
        let mut head = [0; 12];
        self.0.read_exact(&mut head).unwrap();
        str::from_utf8(&head[9..]).unwrap().parse().unwrap()
    }

    /// Announces reports, which are still to come.
    pub fn open_upload(&mut self, task: &Task, length: usize) {
        self.begin(&upload(task, length));
    }

    /// Announces reports, and sends all but the last byte. It may be refused before that.
    pub fn offer(&mut self, task: &Task, body: &[u8]) {
        self.open_upload(task, body.len());
        let _ = self.0.write_all(&body[..body.len() - 1]);
    }

    /// Announces reports, and sends all but the last 35 bytes when the server asks for them: then it has the request.
    pub fn begin_upload(&mut self, task: &Task, body: &[u8]) {
        self.begin(&format!("{}\nExpect: 100-continue", upload(task, body.len())));
        let mut told = [0; 25];
        self.0.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        self.send(&body[..body.len() - 35]);
    }

    pub fn upload(&mut self, task: &Task, body: &[u8]) -> io::Result<(u16, String)> {
        self.try_begin(&upload(task, body.len()))?;
        self.0.write_all(body)?;
        self.read_answer()
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

/// The head of a request with so many bytes of reports.
fn upload(task: &Task, length: usize) -> String {
    format!("POST {}\nContent-Type: {REPORTS}\nContent-Length: {length}", path(task, "/reports"))
}
