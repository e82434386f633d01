//! A release of rows that come block by block and stay in memory, with the protocol of a file's: rows of a sticky release
//! are looked at, paid for, and compared when they are released; for persons with many rows, the first ones stay.

use super::JobError;
use super::persons::{Persons, Ranking, retain_rows};
use crate::certificate::{PersonStatement, SigningKey};
use crate::columns::{Column, Name};
use crate::release::Release;
use scumble_core::release::{Fingerprint, ReleaseError, Releaser};
use scumble_core::vectors::Rows;

/// Gathers released rows.
#[derive(Debug)]
pub struct Gather {
    releaser: Releaser,
    ids: Option<Column>,
    chosen: Option<Chosen>,
    bytes: Vec<u8>,
    rows: usize,
    /// What a sticky release of the rows that were looked at will show.
    looked_at: Vec<Fingerprint>,
}

/// Which rows stay, for persons with several.
#[derive(Debug)]
struct Chosen {
    keep: Vec<bool>,
    statement: PersonStatement,
}

/// Whose row each is, the most rows of a person that leave, and the delta for all of them together.
#[derive(Debug, Clone)]
pub struct PersonsOf {
    /// Whose row each is.
    pub persons: Column,
    /// The most rows of a person that leave.
    pub rows: usize,
    /// For all of them together.
    pub delta: Option<f64>,
}

/// Row `start + i` for keyed noise: its id as text. Fresh noise reads no id.
pub fn row_names<'a>(ids: Option<&'a Column>, start: usize) -> impl Fn(usize) -> Name<'a> + Sync {
    move |i| ids.map_or(Name::default(), |ids| ids.name(start + i))
}

impl Gather {
    /// An empty release, for rows with these ids.
    pub fn new(releaser: Releaser, ids: Option<Column>) -> Self {
        Self { releaser, ids, chosen: None, bytes: Vec::new(), rows: 0, looked_at: Vec::new() }
    }

    /// Lets at most this many rows of a person stay.
    pub fn for_persons(mut self, of: &PersonsOf) -> Result<Self, JobError> {
        let statement = PersonStatement::new(self.releaser.mechanism(), of.rows, of.delta)?;
        let persons = Persons::among(&of.persons, self.ids.as_ref(), of.rows, Ranking::of(&self.releaser)?);
        self.chosen = Some(Chosen { keep: persons.pass().keep(&of.persons, self.ids.as_ref()), statement });
        Ok(self)
    }

    /// The releaser.
    pub fn releaser(&self) -> &Releaser {
        &self.releaser
    }

    /// Rows that were released so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows that were looked at so far.
    pub fn looked_at(&self) -> usize {
        self.looked_at.len()
    }

    /// How many rows stay of those whose persons were given: for the operator only.
    pub fn staying(&self) -> Option<usize> {
        self.chosen.as_ref().map(|chosen| chosen.keep.iter().filter(|keep| **keep).count())
    }

    /// Takes note of what a sticky release of the next rows will show.
    pub fn look(&mut self, rows: Rows<'_>) -> Result<(), ReleaseError> {
        let first = self.looked_at.len();
        let names = row_names(self.ids.as_ref(), first);
        self.looked_at.extend(self.releaser.fingerprints(rows, first as u64, names)?);
        Ok(())
    }

    /// What a sticky release of the rows that were looked at will show of those that stay, for a ledger.
    pub fn shown(&self) -> Option<Vec<Fingerprint>> {
        let stays = |at: usize| self.chosen.as_ref().is_none_or(|chosen| chosen.keep[at]);
        let staying = self.looked_at.iter().enumerate().filter(|(at, _)| stays(*at));
        self.releaser.keyed_noise().map(|_| staying.map(|(_, print)| *print).collect())
    }

    /// Makes room for a block of this many more rows.
    pub fn make_room(&mut self, rows: usize) {
        let more = rows * self.releaser.encoder().bytes_per_row();
        if self.bytes.is_empty() {
            self.bytes = vec![0; more]; // zero pages come for free, and from each worker's own core
        } else {
            self.bytes.resize(self.bytes.len() + more, 0);
        }
    }

    /// Releases the next rows, for which there is room, and keeps what was released. What was looked at was paid for: what
    /// is released must be the same.
    ///
    /// # Panics
    /// If there is no room.
    pub fn add(&mut self, rows: Rows<'_>) -> Result<(), ReleaseError> {
        let (width, first) = (self.releaser.encoder().bytes_per_row(), self.rows);
        let end = first + rows.len();
        let paid = match self.looked_at.is_empty() {
            true => None,
            false => Some(self.looked_at.get(first..end).ok_or(ReleaseError::Unpaid { row: first as u64 })?),
        };
        let names = row_names(self.ids.as_ref(), first);
        let out = &mut self.bytes[first * width..end * width];
        self.releaser.release_paid(rows, first as u64, names, paid, out)?;
        self.rows = end;
        Ok(())
    }

    /// The release of all rows that were added and stay.
    pub fn finish(&mut self, mut labels: Option<Column>, sign: Option<&SigningKey>) -> Release {
        let (mut bytes, mut ids) = (std::mem::take(&mut self.bytes), self.ids.take());
        let chosen = self.chosen.take();
        if let Some(Chosen { keep, .. }) = &chosen {
            retain_rows(&mut bytes, self.releaser.encoder().bytes_per_row(), keep);
            [&mut ids, &mut labels].into_iter().flatten().for_each(|column| *column = column.filter(keep));
        }
        let mut release = Release::new(&self.releaser, bytes, ids, labels);
        if let Some(Chosen { statement, .. }) = chosen {
            release = release.for_persons(statement);
        }
        match sign {
            Some(key) => release.signed(key),
            None => release,
        }
    }
}
