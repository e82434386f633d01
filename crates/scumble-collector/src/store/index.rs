//! Which ids a period has: a hash table in a file without a name, so that memory stays flat.
//!
//! SQLite holds the reports; this only answers "seen before?" and is built again from them after a start, so it is
//! neither durable nor shared. Ids are random, and a B-tree of random keys writes a page per report. Extendible hashing
//! reads one page and writes 16 bytes: a directory, in memory, points to pages of [`ENTRIES`] entries, and a full page
//! splits in two without touching the others.

use crate::report::Id;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PAGE_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 16;
const ENTRIES: usize = PAGE_BYTES / ENTRY_BYTES;

/// Two halves of a keyed hash: one finds the id, the other stands for the whole report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Print {
    /// Of the id.
    pub id: u64,
    /// Of id and row.
    pub whole: u64,
}

/// What the index says about a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Never.
    No,
    /// With the same bytes.
    Same,
    /// With other bytes.
    Other,
}

impl Seen {
    fn new(known: Option<u64>, print: Print) -> Self {
        known.map_or(Self::No, |whole| if whole == print.whole { Self::Same } else { Self::Other })
    }
}

struct Page {
    depth: u32,
    entries: usize,
}

/// See the module's documentation.
pub struct Index {
    file: File,
    key: [u8; 32],
    directory: Vec<u32>, // by the top `depth` bits of a print
    depth: u32,
    pages: Vec<Page>,
}

impl Index {
    /// An empty index whose file is in `folder`.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let mut key = [0; 32]; // nobody outside can aim at a page
        scumble::entropy::fill(&mut key).map_err(io::Error::other)?;
        let file = tempfile::tempfile_in(folder)?;
        Ok(Self { file, key, directory: vec![0], depth: 0, pages: vec![Page { depth: 0, entries: 0 }] })
    }

    /// The print of a report.
    pub fn print(&self, id: &Id, row: &[u8]) -> Print {
        let half = |hash: blake3::Hash| u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"));
        let mut whole = blake3::Hasher::new_keyed(&self.key);
        whole.update(id).update(row);
        Print { id: half(blake3::keyed_hash(&self.key, id)), whole: half(whole.finalize()) }
    }

    /// Was a report with this id seen, here or among those that wait?
    pub fn look_up(&self, print: Print, waiting: &HashMap<u64, u64>) -> io::Result<Seen> {
        if let Some(whole) = waiting.get(&print.id) {
            return Ok(Seen::new(Some(*whole), print));
        }
        let (number, mut room) = (self.directory[self.slot(print.id)], [0; PAGE_BYTES]);
        let known = self.load(number, &mut room)?.find(|known| known.id == print.id);
        Ok(Seen::new(known.map(|known| known.whole), print))
    }

    /// Adds a print that is not there yet.
    pub fn insert(&mut self, print: Print) -> io::Result<()> {
        loop {
            let number = self.directory[self.slot(print.id)];
            let page = &mut self.pages[number as usize];
            if page.entries < ENTRIES {
                let at = number as u64 * PAGE_BYTES as u64 + (page.entries * ENTRY_BYTES) as u64;
                self.file.write_all_at(&to_bytes(print), at)?;
                page.entries += 1;
                return Ok(());
            }
            self.split(print.id)?;
        }
    }

    fn slot(&self, hash: u64) -> usize {
        hash.checked_shr(64 - self.depth).unwrap_or(0) as usize
    }

    fn load<'a>(
        &self,
        number: u32,
        room: &'a mut [u8; PAGE_BYTES],
    ) -> io::Result<impl Iterator<Item = Print> + use<'a>> {
        let bytes = &mut room[..self.pages[number as usize].entries * ENTRY_BYTES];
        self.file.read_exact_at(bytes, number as u64 * PAGE_BYTES as u64)?;
        Ok(bytes.chunks_exact(ENTRY_BYTES).map(from_bytes))
    }

    /// Splits the full page that `hash` belongs to: the entries with the next bit set move to a new page.
    fn split(&mut self, hash: u64) -> io::Result<()> {
        let number = self.directory[self.slot(hash)];
        let depth = self.pages[number as usize].depth;
        let bit = 1 << (63 - depth);
        let mut room = [0; PAGE_BYTES];
        let (high, low): (Vec<_>, Vec<_>) = self.load(number, &mut room)?.partition(|print| print.id & bit != 0);
        let new = self.pages.len() as u32;
        for (page, entries) in [(new, &high), (number, &low)] {
            let bytes: Vec<u8> = entries.iter().flat_map(|&print| to_bytes(print)).collect();
            self.file.write_all_at(&bytes, page as u64 * PAGE_BYTES as u64)?;
        }
        self.pages[number as usize] = Page { depth: depth + 1, entries: low.len() };
        self.pages.push(Page { depth: depth + 1, entries: high.len() });
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&page| [page, page]).collect();
            self.depth += 1;
        }
        // The slots of the old page are neighbours; their upper half has the bit.
        let slots = 1 << (self.depth - depth);
        let first = self.slot(hash) / slots * slots;
        self.directory[first + slots / 2..first + slots].fill(new);
        Ok(())
    }
}

fn to_bytes(print: Print) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    bytes[..8].copy_from_slice(&print.id.to_le_bytes());
    bytes[8..].copy_from_slice(&print.whole.to_le_bytes());
    bytes
}

fn from_bytes(bytes: &[u8]) -> Print {
    let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Print { id: half(0), whole: half(8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index answers as a plain map does, through many splits and clustered prints.
    #[test]
    fn answers_as_a_map_does() {
        let mut index = Index::new(&std::env::temp_dir()).unwrap();
        let (mut model, none) = (HashMap::new(), HashMap::new());
        for i in 0..60_000u64 {
            let spread = if i % 3 == 0 { 0x0001_0000_0000_0001 } else { 0x9e37_79b9_7f4a_7c15 };
            let print = Print { id: i.wrapping_mul(spread), whole: i };
            let seen = index.look_up(print, &none).unwrap();
            assert_eq!(seen, Seen::new(model.get(&print.id).copied(), print));
            if seen == Seen::No {
                index.insert(print).unwrap();
                model.insert(print.id, i);
            }
        }
        for (&id, &whole) in &model {
            assert_eq!(index.look_up(Print { id, whole }, &none).unwrap(), Seen::Same);
            assert_eq!(index.look_up(Print { id, whole: whole + 1 }, &none).unwrap(), Seen::Other);
            assert_eq!(index.look_up(Print { id: id ^ 1 << 20, whole }, &none).unwrap(), {
                Seen::new(model.get(&(id ^ 1 << 20)).copied(), Print { id: id ^ 1 << 20, whole })
            });
        }
    }
}
