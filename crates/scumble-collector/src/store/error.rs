//! Why a store cannot be used, or failed.

use super::SCHEMA_VERSION;
use scumble::error::{Fault, Kind};
use std::path::PathBuf;
use thiserror::Error;

/// Why a store did not do what it was asked. Never holds anything of a report.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Written by a newer version.
    #[error("the store has schema {found}, but this version knows {SCHEMA_VERSION}: start it with a newer scumble")]
    Newer {
        /// Its version.
        found: i64,
    },
    /// Not one of ours.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Another collector writes to this file.
    #[error("another collector writes to this store: a file serves one collector, PostgreSQL serves several")]
    InUse,
    /// No room on the disk.
    #[error("the disk of the store is full")]
    Full,
    /// Anything else: it may pass.
    #[error("the store failed: {0}")]
    Failed(#[from] StoreFault),
}

impl Fault for StoreError {
    fn kind(&self) -> Kind {
        Kind::Run
    }
}

/// Why a store cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum Unfit {
    #[error("the store is not a sound SQLite file: restore it from a backup")]
    NotSound,
    #[error("{}: cannot be opened", path.display())]
    CannotOpen { path: PathBuf },
    #[error("this SQLite file is not the store of a collector")]
    NotAStore,
    #[error("the store's address is not a PostgreSQL address")]
    Address,
    #[error("the server has {setting} switched off: it can lose what it took")]
    LosesData { setting: &'static str },
    #[error("the store holds a block that is not a list of reports: restore a backup")]
    Block,
    #[error("the store holds an id that is not {bytes} bytes long")]
    Id { bytes: usize },
    #[error("the store holds a damaged export: restore a backup")]
    Export,
    #[error("the store holds a damaged token: remove the tokens")]
    Token,
    #[error("the store holds campaign {campaign}, which this version cannot read: {fault}")]
    Campaign { campaign: String, fault: String },
}

/// Why a store failed. Only the class of an error is reported: its text may quote values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)] // each variant is its own message
pub enum StoreFault {
    #[error("SQLite: {code:?}")]
    Sqlite { code: rusqlite::ErrorCode },
    #[error("SQLite: unexpected value")]
    SqliteValue,
    #[error("file beside the store: {kind}")]
    File { kind: std::io::ErrorKind },
    #[error("PostgreSQL: error {code}")]
    Postgres { code: String },
    #[error("PostgreSQL: no connection")]
    NoConnection,
    #[error("no pool of connections")]
    NoPool,
    #[error("no such campaign")]
    NoSuchCampaign,
    #[error("the store does not have the reports that the export records")]
    MissingReports,
}
