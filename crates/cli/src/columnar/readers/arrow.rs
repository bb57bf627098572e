//! Batches of rows from Arrow's messages, in a stream or a file.
//!
//! A file is read by its footer, since not all writers begin it with the stream that the format describes.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read as _};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{Schema, SchemaRef};
use parquet::file::reader::{ChunkReader as _, Length as _};

use super::decoders::{JOINED, LARGEST, decoded};
use super::pages::Pages;

const CUT: &str = "the file ends in the middle: it was cut";
const DAMAGED: &str = "it is not a readable Arrow file: it is damaged";
/// The most bytes between the last batch of a file and its footer: a mark of the end, and what aligns it.
const MOST_BETWEEN: u64 = 64;
const TOO_LARGE: &str = "a batch of more than 1 GiB: write batches of fewer rows (max_chunksize of pyarrow)";

/// The messages after the schema.
pub(super) struct Messages {
    source: Source,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

enum Source {
    Stream(Box<dyn BufRead>),
    /// A file, and where its messages are.
    File(Pages, std::vec::IntoIter<Block>),
}

/// The head and the body of a message.
type Message = (Vec<u8>, Buffer);

impl Messages {
    /// Those of a stream.
    pub(super) fn in_stream(mut content: Box<dyn BufRead>) -> Result<Self, String> {
        let (head, _) = message(&mut content)?.ok_or(DAMAGED)?;
        let schema = decoded(|| schema_of(root_as_message(&head).ok().and_then(|head| head.header_as_schema())));
        Ok(Self::new(Source::Stream(content), schema.ok_or(DAMAGED)?))
    }

    /// Those of a file.
    pub(super) fn in_file(pages: Pages) -> Result<Self, String> {
        let start = pages.len().checked_sub(10).ok_or(CUT)?;
        let end = pages.get_bytes(start, 10).map_err(|error| error.to_string())?;
        let length = end[..].try_into().ok().and_then(|end| read_footer_length(end).ok()).ok_or(CUT)?;
        let start = start.checked_sub(length as u64).ok_or(DAMAGED)?;
        let footer = pages.get_bytes(start, length).map_err(|error| error.to_string())?;
        let (schema, blocks) = decoded(|| {
            let footer = root_as_footer(&footer).map_err(|_| ())?;
            // All dictionaries come before the batches that may need them.
            let blocks = [footer.dictionaries(), footer.recordBatches()].into_iter().flatten().flatten();
            Ok::<_, ()>((schema_of(footer.schema())?, blocks.copied().collect::<Vec<_>>()))
        })
        .ok_or(DAMAGED)?;
        let end = |block: &Block| {
            block.offset().saturating_add(block.metaDataLength().into()).saturating_add(block.bodyLength())
        };
        let end = blocks.iter().map(end).max().map_or(start, |end| u64::try_from(end).unwrap_or(0));
        if end.saturating_add(MOST_BETWEEN) < start {
            return Err(JOINED.to_owned());
        }
        Ok(Self::new(Source::File(pages, blocks.into_iter()), schema))
    }

    fn new(source: Source, schema: Schema) -> Self {
        Self { source, schema: Arc::new(schema), dictionaries: HashMap::new() }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next batch with rows, of the columns at these places. It is an error inside where it cannot be decoded.
    pub(super) fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Result<RecordBatch, ()>>, String> {
        loop {
            let Some((head, body)) = self.next()? else { return Ok(None) };
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

    /// The next message, or nothing after the last.
    fn next(&mut self) -> Result<Option<Message>, String> {
        match &mut self.source {
            Source::Stream(content) => {
                let next = message(content)?;
                if next.is_none() && !content.fill_buf().map_err(|error| error.to_string())?.is_empty() {
                    return Err("the file goes on after the end of its stream: give one stream".to_owned());
                }
                Ok(next)
            }
            Source::File(pages, blocks) => {
                let Some(block) = blocks.next() else { return Ok(None) };
                let start = u64::try_from(block.offset()).map_err(|_| DAMAGED)?;
                let head = u64::try_from(block.metaDataLength()).map_err(|_| DAMAGED)?;
                let body = u64::try_from(block.bodyLength()).map_err(|_| DAMAGED)?;
                if body > LARGEST {
                    return Err(TOO_LARGE.to_owned());
                }
                let bytes = pages.get_bytes(start, (head + body) as usize).map_err(|_| DAMAGED)?;
                message(&mut Cursor::new(bytes))?.ok_or_else(|| DAMAGED.to_owned()).map(Some)
            }
        }
    }
}

/// The message that comes next, or nothing where the end is marked.
fn message(content: &mut impl BufRead) -> Result<Option<Message>, String> {
    let mut word = exactly(content, 4)?;
    if word == [0xff; 4] {
        word = exactly(content, 4)?;
    }
    let length = word.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length == 0 {
        return Ok(None);
    }
    let head = exactly(content, length)?;
    let body = root_as_message(&head).ok().and_then(|message| u64::try_from(message.bodyLength()).ok());
    let body = body.ok_or(DAMAGED)?;
    if body > LARGEST {
        return Err(TOO_LARGE.to_owned());
    }
    let body = exactly(content, body as usize)?;
    Ok(Some((head, Buffer::from_vec(body))))
}

/// A schema whose numbers are in the order of this machine.
fn schema_of(schema: Option<arrow_ipc::Schema<'_>>) -> Result<Schema, ()> {
    let schema = schema.filter(|schema| schema.endianness().equals_to_target_endianness());
    try_fb_to_schema(schema.ok_or(())?).map_err(|_| ())
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
