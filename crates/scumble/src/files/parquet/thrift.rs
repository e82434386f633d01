//! Thrift's compact protocol, as far as Parquet's footers and page headers need it.
//!
//! Lengths and counts come from the file: none is believed beyond the bytes that are there.

/// What is wrong with the bytes of a file, in a few words. Never holds a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged(pub(super) &'static str);

/// The outcome of decoding bytes.
pub(super) type Result<T> = std::result::Result<T, Damaged>;

/// The bytes end inside a structure; the only fault that more bytes could mend.
pub(super) const CUT_SHORT: Damaged = Damaged("a structure is cut short");

/// The deepest nesting of structures; Parquet's own go less than ten deep.
const DEEPEST: usize = 32;

/// Types on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn new(code: u8) -> Result<Self> {
        Ok(match code {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            _ => return Err(Damaged("a field has an unknown type")),
        })
    }
}

/// Bytes that are being decoded.
#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, depth: 0 }
    }

    /// Bytes that have not been decoded.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(CUT_SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged("a number is too long"))
    }

    fn zigzag(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Every field of a structure; `field` decodes or skips it.
    pub(super) fn fields(&mut self, mut field: impl FnMut(&mut Self, i16, Kind) -> Result<()>) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Damaged("structures are nested too deeply"));
        }
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                self.depth -= 1;
                return Ok(());
            }
            id = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).map_err(|_| Damaged("a field's number is too large"))?,
                step => id.checked_add(i16::from(step)).ok_or(Damaged("a field's number is too large"))?,
            };
            field(self, id, Kind::new(head & 0x0F)?)?;
        }
    }

    /// Every element of a list.
    pub(super) fn list(&mut self, kind: Kind, mut element: impl FnMut(&mut Self, Kind) -> Result<()>) -> Result<()> {
        expect(kind, Kind::List)?;
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        if count > self.rest.len() as u64 {
            return Err(CUT_SHORT);
        }
        let kind = Kind::new(head & 0x0F)?;
        (0..count).try_for_each(|_| element(self, kind))
    }

    pub(super) fn boolean(&mut self, kind: Kind) -> Result<bool> {
        match kind {
            Kind::True => Ok(true),
            Kind::False => Ok(false),
            _ => Err(Damaged("a field has another type")),
        }
    }

    pub(super) fn integer(&mut self, kind: Kind) -> Result<i64> {
        match kind {
            Kind::Byte => Ok(i64::from(self.byte()? as i8)),
            Kind::Integer => self.zigzag(),
            _ => Err(Damaged("a field has another type")),
        }
    }

    /// A count or a place: never negative.
    pub(super) fn size(&mut self, kind: Kind) -> Result<u64> {
        u64::try_from(self.integer(kind)?).map_err(|_| Damaged("a size is negative"))
    }

    pub(super) fn text(&mut self, kind: Kind) -> Result<String> {
        expect(kind, Kind::Binary)?;
        let bytes = self.binary()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Damaged("a name is not UTF-8"))
    }

    fn binary(&mut self) -> Result<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length).map_err(|_| CUT_SHORT)?)
    }

    /// Passes over a field that nobody needs.
    pub(super) fn skip(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::True | Kind::False => Ok(()),
            Kind::Byte => self.byte().map(drop),
            Kind::Integer => self.varint().map(drop),
            Kind::Double => self.take(8).map(drop),
            Kind::Binary => self.binary().map(drop),
            Kind::List => self.list(kind, Self::skip_element),
            Kind::Map => {
                let count = self.varint()?;
                if count > self.rest.len() as u64 {
                    return Err(CUT_SHORT);
                }
                let kinds = if count == 0 { 0x11 } else { self.byte()? };
                let (key, value) = (Kind::new(kinds >> 4)?, Kind::new(kinds & 0x0F)?);
                (0..count).try_for_each(|_| self.skip_element(key).and_then(|()| self.skip_element(value)))
            }
            Kind::Struct => self.fields(Self::skip_field),
        }
    }

    fn skip_field(&mut self, _: i16, kind: Kind) -> Result<()> {
        self.skip(kind)
    }

    /// Booleans take a byte inside a list and none as a field.
    fn skip_element(&mut self, kind: Kind) -> Result<()> {
        match kind {
            Kind::True | Kind::False => self.byte().map(drop),
            Kind::List | Kind::Map => {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(Damaged("structures are nested too deeply"));
                }
                let skipped = self.skip(kind);
                self.depth -= 1;
                skipped
            }
            _ => self.skip(kind),
        }
    }
}

fn expect(kind: Kind, wanted: Kind) -> Result<()> {
    if kind == wanted { Ok(()) } else { Err(Damaged("a field has another type")) }
}

/// Bytes that are being encoded: one structure, field by field in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    id: i16,
}

impl Output {
    /// Ends the structure.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn head(&mut self, id: i16, code: u8) {
        let step = id - self.id;
        assert!((1..16).contains(&step), "fields are written in order");
        self.bytes.push((step as u8) << 4 | code);
        self.id = id;
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn zigzag(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    pub(super) fn boolean(mut self, id: i16, value: bool) -> Self {
        self.head(id, if value { 1 } else { 2 });
        self
    }

    pub(super) fn byte(mut self, id: i16, value: i8) -> Self {
        self.head(id, 3);
        self.bytes.push(value as u8);
        self
    }

    pub(super) fn i32(mut self, id: i16, value: i32) -> Self {
        self.head(id, 5);
        self.zigzag(value.into());
        self
    }

    pub(super) fn i64(mut self, id: i16, value: i64) -> Self {
        self.head(id, 6);
        self.zigzag(value);
        self
    }

    pub(super) fn binary(mut self, id: i16, value: &[u8]) -> Self {
        self.head(id, 8);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A structure inside this one.
    pub(super) fn structure(mut self, id: i16, inner: Self) -> Self {
        self.head(id, 12);
        self.bytes.extend(inner.finish());
        self
    }

    pub(super) fn structures(self, id: i16, inner: impl IntoIterator<Item = Self>) -> Self {
        self.list(id, 12, inner.into_iter().map(Self::finish).collect())
    }

    pub(super) fn texts(self, id: i16, texts: &[&str]) -> Self {
        let text = |text: &&str| {
            let mut element = Self::default();
            element.varint(text.len() as u64);
            element.bytes.extend_from_slice(text.as_bytes());
            element.bytes
        };
        self.list(id, 8, texts.iter().map(text).collect())
    }

    pub(super) fn i32s(self, id: i16, values: &[i32]) -> Self {
        let number = |value: &i32| {
            let mut element = Self::default();
            element.zigzag((*value).into());
            element.bytes
        };
        self.list(id, 5, values.iter().map(number).collect())
    }

    fn list(mut self, id: i16, code: u8, elements: Vec<Vec<u8>>) -> Self {
        self.head(id, 9);
        match elements.len() {
            count @ 0..15 => self.bytes.push((count as u8) << 4 | code),
            count => {
                self.bytes.push(0xF0 | code);
                self.varint(count as u64);
            }
        }
        self.bytes.extend(elements.concat());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_the_rest_is_skipped() {
        let many: Vec<i32> = (-20..20).collect();
        let bytes = Output::default()
            .boolean(1, true)
            .byte(2, -3)
            .i32(3, i32::MIN)
            .i64(4, i64::MAX)
            .binary(6, "é".as_bytes())
            .structure(7, Output::default().i32(1, 5).boolean(2, false))
            .structures(8, [Output::default(), Output::default().texts(9, &["a", "b"])])
            .i32s(20, &many)
            .finish();
        let mut found = Vec::new();
        let mut input = Input::new(&bytes);
        let all = input.fields(|input, id, kind| {
            match id {
                1 => assert!(input.boolean(kind)?),
                2..=4 => found.push(input.integer(kind)?),
                6 => assert_eq!(input.text(kind)?, "é"),
                20 => input.list(kind, |input, kind| {
                    found.push(input.integer(kind)?);
                    Ok(())
                })?,
                _ => input.skip(kind)?,
            }
            Ok(())
        });
        assert_eq!((all, input.left()), (Ok(()), 0));
        let numbers = [-3, i64::from(i32::MIN), i64::MAX].into_iter().chain((-20..20).map(i64::from));
        assert!(found.into_iter().eq(numbers));
        for cut in 0..bytes.len() {
            assert_eq!(Input::new(&bytes[..cut]).skip(Kind::Struct), Err(CUT_SHORT));
        }
    }

    #[test]
    fn hostile_bytes_end_in_an_error() {
        assert!(Input::new(&[0x1C; 1000]).skip(Kind::Struct).is_err()); // structures without end
        assert!(Input::new(&[0x19; 1000]).skip(Kind::Struct).is_err()); // lists without end
        assert!(Input::new(&[0xF9, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]).skip(Kind::List).is_err());
        assert!(Input::new(&[0xFF; 12]).varint().is_err());
        assert!(
            Input::new(&[0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]).skip(Kind::Struct).is_err()
        );
    }
}
