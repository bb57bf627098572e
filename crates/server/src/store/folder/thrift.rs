//! The part of Thrift's compact protocol that Parquet's headers need.
//!
//! A struct is a sequence of fields, each with its type and the distance of its number from that of the field before,
//! and ends with a zero byte. Integers are zigzag varints. Reading skips what it does not know, and never goes beyond
//! the bytes that it is given.

/// Structs within structs beyond which bytes are refused.
const DEEPEST: u8 = 16;

/// The types of fields and of list elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldType {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    List = 9,
    Struct = 12,
}

/// Writes structs, field by field in ascending order.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    /// The number of the last field, of each struct that is open.
    open: Vec<i16>,
    last: i16,
}

impl Writer {
    pub(super) fn i32(&mut self, field: i16, value: i32) {
        self.field(field, FieldType::I32);
        self.integer(value.into());
    }

    pub(super) fn i64(&mut self, field: i16, value: u64) {
        self.field(field, FieldType::I64);
        self.integer(value.cast_signed());
    }

    pub(super) fn text(&mut self, field: i16, text: &str) {
        self.field(field, FieldType::Binary);
        self.element(text);
    }

    /// A list of `count` elements, which follow.
    pub(super) fn list(&mut self, field: i16, kind: FieldType, count: u8) {
        debug_assert!(count < 15, "longer lists are headed otherwise");
        self.field(field, FieldType::List);
        self.bytes.push(count << 4 | kind as u8);
    }

    /// An element of a list of texts.
    pub(super) fn element(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// An element of a list of integers.
    pub(super) fn integer(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63).cast_unsigned());
    }

    /// A struct as a field; [`end`](Self::end) ends it.
    pub(super) fn begin(&mut self, field: i16) {
        self.field(field, FieldType::Struct);
        self.begin_element();
    }

    /// A struct as an element of a list.
    pub(super) fn begin_element(&mut self) {
        self.open.push(self.last);
        self.last = 0;
    }

    pub(super) fn end(&mut self) {
        self.bytes.push(0);
        self.last = self.open.pop().unwrap_or(0);
    }

    /// The bytes of the outermost struct.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn field(&mut self, number: i16, kind: FieldType) {
        let distance = number - self.last;
        debug_assert!((1..16).contains(&distance), "fields are written in ascending order");
        self.bytes.push((distance as u8) << 4 | kind as u8);
        self.last = number;
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// Reads structs. `None` from any of its methods means that the bytes are not a struct.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    depth: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, depth: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Passes each field of a struct, its number and type, to `read`, which reads it, or returns `false` to skip it.
    pub(super) fn fields(&mut self, mut read: impl FnMut(&mut Self, i16, u8) -> Option<bool>) -> Option<()> {
        self.depth = self.depth.checked_add(1).filter(|depth| *depth <= DEEPEST)?;
        let mut number = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                self.depth -= 1;
                return Some(());
            }
            let kind = head & 0x0f;
            number = match head >> 4 {
                0 => i16::try_from(self.integer()?).ok()?,
                distance => number.checked_add(distance.into())?,
            };
            if !read(self, number, kind)? {
                self.skip(kind)?;
            }
        }
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    pub(super) fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let end = self.position.checked_add(length)?;
        let bytes = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        core::str::from_utf8(self.binary()?).ok()
    }

    /// The number and the type of a list's elements, which follow.
    pub(super) fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        // Every element takes a byte at least.
        (count <= (self.bytes.len() - self.position) as u64).then_some((count, head & 0x0f))
    }

    fn skip(&mut self, kind: u8) -> Option<()> {
        match kind {
            // Booleans as fields are in their type.
            1 | 2 => {}
            3 => _ = self.byte()?,
            4..=6 => _ = self.varint()?,
            7 => {
                self.bytes.get(self.position..self.position.checked_add(8)?)?;
                self.position += 8;
            }
            8 => _ = self.binary()?,
            9 | 10 => {
                let (count, kind) = self.list()?;
                self.depth = self.depth.checked_add(1).filter(|depth| *depth <= DEEPEST)?;
                for _ in 0..count {
                    // Booleans as elements are a byte each.
                    if matches!(kind, 1 | 2) { self.byte().map(|_| ()) } else { self.skip(kind) }?;
                }
                self.depth -= 1;
            }
            12 => self.fields(|_, _, _| Some(false))?,
            // Parquet has no maps.
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            // The tenth byte has room for one bit.
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of a field, followed by its content.
    const CONTENTS: [(u8, &[u8]); 16] = [
        (1, &[]),
        (2, &[]),
        (3, &[0x80]),
        (4, &[0xff, 0x01]),
        (5, &[0x0e]),
        (6, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        (7, &[1, 2, 3, 4, 5, 6, 7, 8]),
        (8, &[3, b'a', b'b', b'c']),
        // Two texts; two booleans of either name; sixteen bytes; no texts; two lists; two structs.
        (9, &[0x28, 1, b'a', 2, b'b', b'c']),
        (9, &[0x21, 1, 2]),
        (10, &[0x22, 0, 0]),
        (9, &[0xf3, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        (9, &[0x08]),
        (9, &[0x29, 0x13, 5, 0x15, 6]),
        (9, &[0x2c, 0x15, 2, 0, 0]),
        (12, &[0x18, 1, b'a', 0]),
    ];

    /// The numbers and types of the fields of a struct, and where it ends. No field is read.
    fn skipped(bytes: &[u8]) -> Option<(Vec<(i16, u8)>, usize)> {
        let (mut reader, mut fields) = (Reader::new(bytes), Vec::new());
        reader.fields(|_, number, kind| {
            fields.push((number, kind));
            Some(false)
        })?;
        Some((fields, reader.position()))
    }

    /// `inner` in so many structs, or in so many lists of one element.
    fn nested(kind: FieldType, depth: usize) -> Vec<u8> {
        match kind {
            FieldType::List => [vec![0x19; depth], vec![0x03, 0]].concat(),
            _ => [vec![0x1c; depth], vec![0; depth + 1]].concat(),
        }
    }

    #[test]
    fn what_is_not_known_is_skipped_to_its_end() {
        for (kind, content) in CONTENTS {
            // Behind it are a field that is read, and bytes of somebody else's.
            let bytes = [&[0x10 | kind], content, &[0x35, 0x0d, 0, 0x15, 0]].concat();
            let mut read = Vec::new();
            let mut reader = Reader::new(&bytes);
            let fields = reader.fields(|reader, number, kind| {
                let known = number == 4;
                read.push((number, kind, if known { reader.integer()? } else { 0 }));
                Some(known)
            });
            assert_eq!(fields, Some(()), "type {kind}: {content:?}");
            assert_eq!(read, [(1, kind, 0), (4, 5, -7)], "type {kind}: {content:?}");
            assert_eq!(reader.position(), bytes.len() - 2);
            for length in 0..bytes.len() - 2 {
                assert_eq!(skipped(&bytes[..length]), None, "type {kind}: {length} bytes of {content:?}");
            }
        }
        for kind in [0, 11, 13, 14, 15] {
            assert_eq!(skipped(&[&[0x10 | kind][..], &[0; 20]].concat()), None, "there is no type {kind}");
        }
    }

    #[test]
    fn structs_and_lists_are_read_as_deep_as_they_may_be_however_many_there_are() {
        let most = usize::from(DEEPEST) - 1;
        for kind in [FieldType::Struct, FieldType::List] {
            let inner = nested(kind, most);
            assert_eq!(skipped(&inner), Some((vec![(1, kind as u8)], inner.len())));
            assert_eq!(skipped(&nested(kind, most + 1)), None);
            // One after the other.
            let many = [inner[..inner.len() - 1].repeat(40), vec![0]].concat();
            assert_eq!(skipped(&many).unwrap().0.len(), 40);
        }
        assert_eq!(skipped(&[0x1c; 100_000]), None);
    }

    #[test]
    fn the_number_of_a_field_is_a_distance_or_written_out() {
        assert_eq!(
            skipped(&[0xf1, 0xf1, 0x02, 0xd0, 0x0f, 0x11, 0]),
            Some((vec![(15, 1), (30, 1), (1000, 2), (1001, 1)], 7))
        );
        assert_eq!(skipped(&[0x01, 0x03, 0x11, 0]), Some((vec![(-2, 1), (-1, 1)], 4)));
        // The largest number, and one beyond it.
        assert_eq!(skipped(&[0x01, 0xfe, 0xff, 0x03, 0]), Some((vec![(i16::MAX, 1)], 5)));
        assert_eq!(skipped(&[0x01, 0x80, 0x80, 0x04, 0]), None);
        assert_eq!(skipped(&[0x01, 0xfe, 0xff, 0x03, 0x11, 0]), None);
    }

    #[test]
    fn integers_survive_their_bytes() {
        for value in [0, -1, 1, -2, 63, -64, 64, -65, 8191, 8192, 1 << 40, i64::MAX, i64::MIN] {
            let mut writer = Writer::default();
            writer.integer(value);
            let mut reader = Reader::new(&writer.bytes);
            assert_eq!((reader.integer(), reader.position()), (Some(value), writer.bytes.len()));
        }
        let ten = |last: u8| [&[0xff; 9][..], &[last]].concat();
        assert_eq!(Reader::new(&ten(1)).varint(), Some(u64::MAX));
        assert_eq!(Reader::new(&ten(0)).varint(), Some(u64::MAX >> 1));
        for last in [2, 3, 0x7f, 0x80, 0x81, 0xff] {
            assert_eq!(Reader::new(&[&ten(last)[..], &[0]].concat()).varint(), None, "{last:#x}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        for (bytes, found) in [
            (&[0x33, 0, 0, 0][..], Some((3, 3))),
            (&[0x33, 0, 0], None),
            (&[0x0c], Some((0, 12))),
            (&[0x33], None),
            (&[0xf8, 2, 0, 0], Some((2, 8))),
            (&[0xf8, 3, 0, 0], None),
            (&[0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0], None),
        ] {
            assert_eq!(Reader::new(bytes).list(), found, "{bytes:?}");
        }
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0];
        for (bytes, found) in
            [(&[2, b'a', b'b', b'c'][..], Some("ab")), (&[0], Some("")), (&[2, b'a'], None), (&most, None)]
        {
            assert_eq!(Reader::new(bytes).text(), found, "{bytes:?}");
        }
        assert_eq!(Reader::new(&[2, 0xff, 0xfe]).text(), None);
        assert_eq!(Reader::new(&[2, 0xff, 0xfe]).binary(), Some(&[0xff, 0xfe][..]));
    }
}
