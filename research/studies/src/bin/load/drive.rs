//! All connections in one thread: sockets with readiness events, and the part of HTTP that answers need.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::answer::parse;
use crate::bodies::{Bodies, Requests};
use crate::target::Processor;

/// The load, and its duration.
pub struct Load {
    pub address: SocketAddr,
    pub connections: usize,
    pub warmup: Duration,
    pub duration: Duration,
    /// Requests per second at fixed times. `None` sends each request after the last answer.
    pub rate: Option<f64>,
}

/// The outcome of a load.
pub struct Outcome {
    /// The latencies of the answers in the measured time, in microseconds, sorted.
    pub latencies: Vec<u32>,
    /// Reports acknowledged in the measured time.
    pub accepted: u64,
    /// Reports acknowledged from the first request to the last.
    pub accepted_in_all: u64,
    /// Requests with another answer than 200, in the measured time.
    pub refused: u64,
    pub seconds: f64,
}

impl Outcome {
    pub fn quantile(&self, share: f64) -> Duration {
        let place = (share * self.latencies.len() as f64).ceil() as usize;
        let micros = self.latencies.get(place.saturating_sub(1)).copied().unwrap_or(0);
        Duration::from_micros(micros.into())
    }
}

struct Connection<'a> {
    stream: TcpStream,
    requests: Requests<'a>,
    /// The number of bytes written of the request.
    written: usize,
    /// The bytes of the answer read so far.
    answer: Vec<u8>,
    /// When the request was due.
    start: Option<Instant>,
}

/// Sends until the time is over, then waits for the outstanding answers.
pub fn run(
    load: &Load,
    bodies: &Bodies,
    processor: impl Fn() -> Processor,
) -> Result<(Outcome, Processor), Box<dyn Error>> {
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(load.connections);
    for place in 0..load.connections {
        let stream = std::net::TcpStream::connect(load.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(place), Interest::READABLE | Interest::WRITABLE)?;
        let requests = bodies.requests()?;
        connections.push(Connection { stream, requests, written: 0, answer: Vec::new(), start: None });
    }
    let mut outcome = Outcome { latencies: Vec::new(), accepted: 0, accepted_in_all: 0, refused: 0, seconds: 0.0 };
    let mut events = Events::with_capacity(1024);
    let mut free: Vec<usize> = (0..load.connections).collect();
    let pace = load.rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
    let begin = Instant::now();
    let (measure_from, end) = (begin + load.warmup, begin + load.warmup + load.duration);
    let (mut due, mut now, mut used) = (begin, begin, None);
    let mut buffer = vec![0; 64 << 10];
    loop {
        if used.is_none() && now >= measure_from {
            used = Some((processor(), now));
        }
        if now >= end {
            break;
        }
        while let Some(place) = free.pop_if(|_| due <= now) {
            connections[place].send(if pace.is_some() { due } else { now })?;
            due += pace.unwrap_or_default();
        }
        // The system's clock for this is coarse, so with fixed times the loop does not sleep.
        let patience = if pace.is_some() { Duration::ZERO } else { Duration::from_millis(100) };
        wait(&mut poll, &mut events, patience)?;
        now = Instant::now();
        for event in &events {
            let place = event.token().0;
            let Some(answer) = connections[place].advance(&mut buffer)? else { continue };
            outcome.accepted_in_all += answer.accepted;
            if used.is_some() {
                outcome.accepted += answer.accepted;
                outcome.refused += u64::from(answer.status != 200);
                outcome.latencies.push(u32::try_from((now - answer.start).as_micros()).unwrap_or(u32::MAX));
            }
            if pace.is_some() {
                free.push(place);
            } else {
                connections[place].send(now)?;
            }
        }
    }
    let (used, from) = used.ok_or("nothing was measured: the time is too short")?;
    outcome.seconds = (now - from).as_secs_f64();
    let used = processor().since(used);
    let mut open = connections.iter().filter(|connection| connection.start.is_some()).count();
    while open > 0 {
        wait(&mut poll, &mut events, Duration::from_secs(1))?;
        for event in &events {
            if let Some(answer) = connections[event.token().0].advance(&mut buffer)? {
                outcome.accepted_in_all += answer.accepted;
                open -= 1;
            }
        }
    }
    outcome.latencies.sort_unstable();
    Ok((outcome, used))
}

fn wait(poll: &mut Poll, events: &mut Events, patience: Duration) -> io::Result<()> {
    match poll.poll(events, Some(patience)) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        result => result,
    }
}

struct Answer {
    status: u16,
    accepted: u64,
    start: Instant,
}

impl Connection<'_> {
    /// Begins the next request.
    fn send(&mut self, start: Instant) -> io::Result<()> {
        self.requests.renew();
        self.written = 0;
        self.start = Some(start);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        while self.written < self.requests.bytes().len() {
            match self.stream.write(&self.requests.bytes()[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes the rest of the request and reads available bytes. Returns the answer once it is whole.
    fn advance(&mut self, buffer: &mut [u8]) -> Result<Option<Answer>, Box<dyn Error>> {
        let Some(start) = self.start else { return Ok(None) };
        self.write()?;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err("the server closed a connection before it answered".into()),
                Ok(bytes) => {
                    let whole = if self.answer.is_empty() {
                        &buffer[..bytes]
                    } else {
                        self.answer.extend(&buffer[..bytes]);
                        &self.answer
                    };
                    if let Some((status, accepted)) = parse(whole)? {
                        self.answer.clear();
                        // The server sends nothing more before the next request, so do not read again.
                        self.start = None;
                        return Ok(Some(Answer { status, accepted, start }));
                    }
                    if self.answer.is_empty() {
                        self.answer.extend(&buffer[..bytes]);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
