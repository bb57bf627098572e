//! Batches of rows from Arrow's messages, in a stream or a file.
//!
//! A file is read as the stream in it: its footer says where the messages are, which their order says too.

use std::collections::HashMap;
use std::io::{BufRead, Read as _};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::{Schema, SchemaRef};

use super::decoders::{LARGEST, decoded};

/// What a file of messages starts and ends with.
const MAGIC: &[u8] = b"ARROW1";

const CUT: &str = "the file ends in the middle: it was cut";
const DAMAGED: &str = "it is not a readable Arrow file: it is damaged";

/// The messages after the first, which is the schema.
pub(super) struct Messages {
    content: Box<dyn BufRead>,
    in_file: bool,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

/// The head and the body of a message.
type Message = (Vec<u8>, Buffer);

impl Messages {
    pub(super) fn new(mut content: Box<dyn BufRead>, in_file: bool) -> Result<Self, String> {
        if in_file {
            // The magic, and two bytes to align what follows.
            exactly(&mut content, MAGIC.len() + 2)?;
        }
        let mut start = exactly(&mut content, 4)?;
        // Some writers align by 64 bytes instead of the eight that the format asks for.
        for _ in 0..14 {
            if in_file && start == [0; 4] {
                start = exactly(&mut content, 4)?;
            }
        }
        let mut messages = Self { content, in_file, schema: Arc::new(Schema::empty()), dictionaries: HashMap::new() };
        let (head, _) = messages.message(start)?.ok_or(DAMAGED)?;
        let schema = decoded(|| {
            let message = root_as_message(&head).map_err(|_| ())?;
            let schema = message.header_as_schema().filter(|schema| schema.endianness().equals_to_target_endianness());
            try_fb_to_schema(schema.ok_or(())?).map_err(|_| ())
        });
        messages.schema = Arc::new(schema.ok_or(DAMAGED)?);
        Ok(messages)
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next batch with rows, of the columns at these places. It is an error inside where it cannot be decoded.
    pub(super) fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Result<RecordBatch, ()>>, String> {
        loop {
            let start = exactly(&mut self.content, 4)?;
            let Some((head, body)) = self.message(start)? else { return Ok(None) };
            match decoded(|| self.decode(&head, &body, columns)) {
                None => return Ok(Some(Err(()))),
                Some(Some(batch)) if batch.num_rows() > 0 => return Ok(Some(Ok(batch))),
                Some(_) => {}
            }
        }
    }

    /// The batch of a message, unless it is of another kind.
    fn decode(&mut self, head: &[u8], body: &Buffer, columns: &[usize]) -> Result<Option<RecordBatch>, ()> {
        let message = root_as_message(head).map_err(|_| ())?;
        let version = message.version();
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().filter(|batch| plausible(*batch, body)).ok_or(())?;
                let (schema, dictionaries) = (self.schema.clone(), &self.dictionaries);
                read_record_batch(body, batch, schema, dictionaries, Some(columns), &version).map(Some)
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch().ok_or(())?;
                batch.data().filter(|values| plausible(*values, body)).ok_or(())?;
                read_dictionary(body, batch, &self.schema, &mut self.dictionaries, &version).map(|()| None)
            }
            MessageHeader::NONE => Ok(None),
            _ => return Err(()),
        }
        .map_err(|_| ())
    }

    /// The message that starts with this word, or nothing after the last.
    fn message(&mut self, mut word: Vec<u8>) -> Result<Option<Message>, String> {
        let content = &mut self.content;
        if word == [0xff; 4] {
            word = exactly(content, 4)?;
        }
        let length = word.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length == 0 {
            let mut rest = Vec::new();
            content.by_ref().take(LARGEST).read_to_end(&mut rest).map_err(|error| error.to_string())?;
            return match self.in_file {
                true if !rest.ends_with(MAGIC) => Err(CUT.to_owned()),
                false if !rest.is_empty() => {
                    Err("the file goes on after the end of its stream: give one stream".into())
                }
                _ => Ok(None),
            };
        }
        let head = exactly(content, length)?;
        let body = root_as_message(&head).ok().and_then(|message| u64::try_from(message.bodyLength()).ok());
        match body {
            None => Err(DAMAGED.to_owned()),
            Some(length) if length > LARGEST => {
                Err("a batch of more than 1 GiB: write batches of fewer rows (max_chunksize of pyarrow)".to_owned())
            }
            Some(length) => {
                let body = exactly(content, length as usize)?;
                Ok(Some((head, Buffer::from_vec(body))))
            }
        }
    }
}

/// This many bytes. Memory is taken as they come, since a length may promise anything.
fn exactly(content: &mut impl BufRead, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    content.by_ref().take(length as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() < length { Err(CUT.to_owned()) } else { Ok(bytes) }
}

/// Whether the buffers of a batch are in its body, and claim no more than [`LARGEST`] unpacked.
fn plausible(batch: arrow_ipc::RecordBatch<'_>, body: &[u8]) -> bool {
    let compressed = batch.compression().is_some();
    let mut total = 0;
    let fits = batch.buffers().into_iter().flatten().all(|buffer| {
        let start = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let end = start.zip(length).and_then(|(start, length)| start.checked_add(length));
        let Some(bytes) = start.zip(end).and_then(|(start, end)| body.get(start..end)) else { return false };
        // A packed buffer starts with its length; -1 means that it is not packed.
        if compressed && let Some(length) = bytes.first_chunk() {
            total += u64::try_from(i64::from_le_bytes(*length)).unwrap_or(0);
        }
        total <= LARGEST
    });
    fits && u64::try_from(batch.length()).is_ok_and(|rows| rows <= LARGEST)
}
