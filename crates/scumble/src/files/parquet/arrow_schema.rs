//! The Arrow schema of a release, as Arrow's own writers put it into a Parquet file's metadata: it tells readers that lists
//! have a fixed size. A Flatbuffers message in base64, built here so that Arrow need not be.

/// Where it is in a Parquet file's metadata.
pub(super) const KEY: &str = "ARROW:schema";

/// Types that a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// A signed integer of this many bits.
    Int(i32),
    Float32,
    Float64,
    Text,
    Bytes(i32),
    /// A list of this many numbers.
    List(i32, Number),
}

/// Types of the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Int(i32),
    Float32,
}

/// The schema of columns without nulls.
pub(super) fn encode(columns: &[(&str, Type)]) -> String {
    const SCHEMA: u8 = 1;
    const VERSION: i16 = 4; // the fifth
    let mut out = Flat(vec![0; 4]);
    let message = out.table(&[Slot::I16(VERSION), Slot::U8(SCHEMA), Slot::Place]);
    out.point(0, message.at);
    let schema = out.table(&[Slot::None, Slot::Place]);
    out.point(message.places[0], schema.at);
    out.vector(schema.places[0], columns, |out, (name, kind)| out.field(name, *kind));
    while !out.0.len().is_multiple_of(8) {
        out.0.push(0);
    }
    let length = (out.0.len() as u32).to_le_bytes();
    base64(&[&[0xFF; 4], &length[..], &out.0].concat())
}

/// A Flatbuffers message, written from front to back.
struct Flat(Vec<u8>);

/// A field of a table.
enum Slot {
    None,
    U8(u8),
    I16(i16),
    I32(i32),
    /// Filled in when what it points to has been written.
    Place,
}

/// A table that was written: where it is, and where its pointers are.
struct Table {
    at: usize,
    places: Vec<usize>,
}

impl Flat {
    fn align(&mut self, ahead: usize) {
        while !(self.0.len() + ahead).is_multiple_of(4) {
            self.0.push(0);
        }
    }

    /// Every field takes four bytes, which is more than some need and right for all.
    fn table(&mut self, slots: &[Slot]) -> Table {
        let head = 4 + 2 * slots.len();
        self.align(head);
        let start = self.0.len();
        let present = slots.iter().filter(|slot| !matches!(slot, Slot::None)).count();
        let mut offset = 4;
        self.0.extend((head as u16).to_le_bytes());
        self.0.extend((4 + 4 * present as u16).to_le_bytes());
        for slot in slots {
            let place = if matches!(slot, Slot::None) { 0 } else { offset };
            self.0.extend((place as u16).to_le_bytes());
            offset += if place > 0 { 4 } else { 0 };
        }
        let (at, mut places) = (self.0.len(), Vec::new());
        self.0.extend((at as i32 - start as i32).to_le_bytes());
        for slot in slots {
            let value = match slot {
                Slot::None => continue,
                Slot::U8(value) => u32::from(*value),
                Slot::I16(value) => *value as u16 as u32,
                Slot::I32(value) => *value as u32,
                Slot::Place => {
                    places.push(self.0.len());
                    0
                }
            };
            self.0.extend(value.to_le_bytes());
        }
        Table { at, places }
    }

    /// Makes the pointer at `place` point to `target`, which comes after it.
    fn point(&mut self, place: usize, target: usize) {
        self.0[place..place + 4].copy_from_slice(&((target - place) as u32).to_le_bytes());
    }

    fn vector<T>(&mut self, place: usize, items: &[T], mut write: impl FnMut(&mut Self, &T) -> usize) {
        self.align(0);
        self.point(place, self.0.len());
        self.0.extend((items.len() as u32).to_le_bytes());
        let start = self.0.len();
        self.0.resize(start + 4 * items.len(), 0);
        for (i, item) in items.iter().enumerate() {
            let target = write(self, item);
            self.point(start + 4 * i, target);
        }
    }

    fn field(&mut self, name: &str, kind: Type) -> usize {
        let code = match kind {
            Type::Int(_) => 2,
            Type::Float32 | Type::Float64 => 3,
            Type::Text => 5,
            Type::Bytes(_) => 15,
            Type::List(..) => 16,
        };
        let field = self.table(&[Slot::Place, Slot::None, Slot::U8(code), Slot::Place, Slot::None, Slot::Place]);
        self.align(0);
        self.point(field.places[0], self.0.len());
        self.0.extend((name.len() as u32).to_le_bytes());
        self.0.extend(name.as_bytes());
        self.0.push(0);
        let kind_table = match kind {
            Type::Int(bits) => self.table(&[Slot::I32(bits), Slot::U8(1)]),
            Type::Float32 => self.table(&[Slot::I16(1)]),
            Type::Float64 => self.table(&[Slot::I16(2)]),
            Type::Text => self.table(&[]),
            Type::Bytes(width) => self.table(&[Slot::I32(width)]),
            Type::List(length, _) => self.table(&[Slot::I32(length)]),
        };
        self.point(field.places[1], kind_table.at);
        let child: &[Type] = match kind {
            Type::List(_, Number::Int(bits)) => &[Type::Int(bits)],
            Type::List(_, Number::Float32) => &[Type::Float32],
            _ => &[],
        };
        self.vector(field.places[2], child, |out, kind| out.field("item", *kind));
        field.at
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |all, byte| all << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize] as char;
            out.push(if i <= three.len() { digit } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_the_standard() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
