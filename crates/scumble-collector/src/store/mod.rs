//! Where reports are kept: one trait, two implementations, the same tests for both.
//!
//! A store is used by one thread at a time and its calls block. What it promises:
//! - [`Store::append`] returns after the reports are durable, and not before.
//! - A report is kept once however often it is sent: id and period name it within its campaign.
//! - [`Store::close`] is final. No report of a closed period is taken, whatever the clock says later.
//! - An export is recorded, with the periods in it and the key of its order, before any of it is read. A period is in
//!   at most one export.

mod error;
mod index;
pub mod postgres;
pub mod sqlite;

pub use error::{StoreError, StoreFault, Unfit};

use crate::report::Id;
use bytes::Bytes;
use std::fmt;

/// The schema that this version reads and writes. An older one is brought up to date, a newer one refused.
pub const SCHEMA_VERSION: i64 = 3;

/// A campaign's number within one store.
pub type CampaignKey = i32;

/// A campaign as it is kept: all of it is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Its key.
    pub key: CampaignKey,
    /// Its digest: its name.
    pub digest: String,
    /// The signed text.
    pub text: String,
    /// The public file that it names.
    pub file: Option<Vec<u8>>,
}

/// A report that is to be kept.
#[derive(Clone)]
pub struct Report {
    /// Its campaign.
    pub campaign: CampaignKey,
    /// Its period.
    pub period: u32,
    /// Its id.
    pub id: Id,
    /// The released row.
    pub row: Bytes,
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Report({} bytes)", self.row.len())
    }
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Kept; durable.
    Accepted,
    /// The same bytes were kept before; durable.
    Duplicate,
    /// Other bytes were kept under its id: not taken.
    Conflict,
    /// Its period is closed: not taken.
    Closed,
}

/// A recorded export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its number within the store, from 1.
    pub number: i64,
    /// Its campaign.
    pub campaign: CampaignKey,
    /// Its periods, ascending.
    pub periods: Vec<u32>,
    /// Reports in it.
    pub rows: u64,
    /// The key of its order.
    pub order: [u8; 32],
    /// True once a file was written.
    pub written: bool,
    /// True once its reports are deleted: it cannot be written again.
    pub deleted: bool,
}

/// How many reports a period has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodCount {
    /// The period.
    pub period: u32,
    /// Its reports.
    pub reports: u64,
    /// True once it is closed.
    pub closed: bool,
    /// The export that it is in.
    pub export: Option<i64>,
}

/// Opens a store, once per writer: `postgres://..` or a SQLite file.
pub fn open(location: &str) -> Result<Vec<Box<dyn Store>>, StoreError> {
    const WRITERS: usize = 4; // transactions that wait for PostgreSQL's disk at one time
    if location.starts_with("postgres://") || location.starts_with("postgresql://") {
        let store = postgres::PostgresStore::open(location, WRITERS)?;
        return Ok((0..WRITERS).map(|_| Box::new(store.clone()) as Box<dyn Store>).collect());
    }
    Ok(vec![Box::new(sqlite::SqliteStore::open(location.as_ref())?)])
}

/// What is done with one report while an export is read.
pub type Each<'a> = dyn FnMut(&Id, &[u8]) -> Result<(), StoreError> + 'a;

/// See the module's documentation.
pub trait Store: Send {
    /// Keeps a campaign's text and public file under its digest; the same one again gives the same key.
    fn add_campaign(&mut self, digest: &str, text: &str, file: Option<&[u8]>) -> Result<CampaignKey, StoreError>;

    /// Every campaign.
    fn campaigns(&mut self) -> Result<Vec<Published>, StoreError>;

    /// Prepares to take reports of these periods, which may take long after a crash.
    fn prepare(&mut self, campaign: CampaignKey, periods: &[u32]) -> Result<(), StoreError>;

    /// Keeps reports. On success every outcome is durable; on failure none of them was acknowledged.
    fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError>;

    /// Closes every period below `before`, for good.
    fn close(&mut self, campaign: CampaignKey, before: u32) -> Result<(), StoreError>;

    /// The periods that have reports, ascending.
    fn periods(&mut self, campaign: CampaignKey) -> Result<Vec<PeriodCount>, StoreError>;

    /// Records an export of the closed periods that have at least `least` reports and are in none yet, if there are any:
    /// the first `most` of them.
    fn record_export(
        &mut self,
        campaign: CampaignKey,
        least: u64,
        most: usize,
        order: [u8; 32],
    ) -> Result<Option<Export>, StoreError>;

    /// Every recorded export, oldest first.
    fn exports(&mut self, campaign: CampaignKey) -> Result<Vec<Export>, StoreError>;

    /// Notes that a file of the export was written.
    fn mark_written(&mut self, export: i64) -> Result<(), StoreError>;

    /// Shows every report of an export, in any order.
    fn read(&mut self, export: &Export, each: &mut Each<'_>) -> Result<(), StoreError>;

    /// Deletes the reports of closed periods below `before`; gives how many.
    fn delete(&mut self, campaign: CampaignKey, before: u32) -> Result<u64, StoreError>;

    /// SHA-256 of every token of a campaign. Without any, anyone may send.
    fn tokens(&mut self, campaign: CampaignKey) -> Result<Vec<[u8; 32]>, StoreError>;

    /// Adds the hash of a token.
    fn add_token(&mut self, campaign: CampaignKey, hash: [u8; 32]) -> Result<(), StoreError>;

    /// Removes every token of a campaign; gives how many.
    fn remove_tokens(&mut self, campaign: CampaignKey) -> Result<u64, StoreError>;

    /// Writes durably and changes nothing: can reports be taken?
    fn probe(&mut self) -> Result<(), StoreError>;
}
