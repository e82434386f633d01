//! The ledger: how much of which budget is spent, in a SQLite file that several processes may share.
//!
//! A release is **reserved** before any noise is drawn, in one transaction that reads what was spent and refuses what
//! would go over budget; it is **recorded**, with its certificate's digest, before the output gets its name. So no
//! release can exist without its entry, and a crash at any moment leaves an entry that counts as spent. Only a run that
//! fails before it has an output **cancels** its entry.
//!
//! One account per data set: its first use fixes budget, unit and beta. What protects less than the account keeps is
//! refused; what protects more is charged as it is ([`Loss::charged`]).
//!
//! Sticky releases: a row's noise is a function of key, id, content and mechanism, so all releases of one (key,
//! mechanism), a **stream**, together show each row once for every content that it ever had. Between two histories in
//! which the same rows change at the same times, a row with c contents is c runs of the mechanism. The charge is
//! therefore the epsilon of one run times the largest c over all rows, and a further release adds what it raises that
//! maximum by: nothing if nothing changed. (WHEN a row changed can be seen, and is not protected.) The ledger knows rows
//! by a keyed hash of the id, contents by a keyed hash of the row on the grid.

use super::account::{Account, Entry};
use super::error::{LedgerError, OverBudget, StorageError};
use super::names;
use super::statement::{STATEMENT_SCHEMA, Statement};
use crate::accounting::{Budget, Loss, Neighbours};
use crate::certificate::Certificate;
use crate::error::LibraryError;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};
use scumble_core::mechanism::Mechanism;
use scumble_core::release::Fingerprint;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `scum`, so that other programs' files are not taken for ledgers.
const APPLICATION: i64 = 0x7363_756d;
const VERSION: i64 = 1;

/// How long to wait for another process.
const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "
    CREATE TABLE account (
        dataset TEXT PRIMARY KEY,
        unit TEXT NOT NULL,
        beta REAL, -- NULL: any distance
        budget_epsilon REAL NOT NULL,
        budget_delta REAL NOT NULL,
        opened_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
    ) STRICT;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        dataset TEXT NOT NULL REFERENCES account,
        state TEXT NOT NULL CHECK (state IN ('reserved', 'recorded', 'cancelled')),
        reserved_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
        mechanism TEXT NOT NULL,
        epsilon REAL NOT NULL, -- charged, in the account's unit
        delta REAL NOT NULL,
        mu REAL,
        distance REAL,
        times INTEGER NOT NULL CHECK (times >= 0), -- runs charged; 0 for a sticky release that shows nothing new
        stream BLOB, -- of a sticky release
        rows INTEGER,
        certificate TEXT -- its digest
    ) STRICT;
    CREATE INDEX entry_dataset ON entry (dataset);
    CREATE TABLE shown (
        stream BLOB NOT NULL,
        row BLOB NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (stream, row, content)
    ) STRICT, WITHOUT ROWID;
";

/// A reserved place in an account. It counts as spent unless it is cancelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    id: i64,
    sticky: bool,
    /// Runs of the mechanism that were charged; 0 for a sticky release that shows nothing new.
    pub times: u64,
}

/// An open ledger.
#[derive(Debug)]
pub struct Ledger {
    db: Connection,
    path: PathBuf,
}

impl Ledger {
    /// Opens a ledger, and makes it if there is none; true if it was made.
    pub fn open_or_create(path: &Path) -> Result<(Self, bool), LedgerError> {
        let mut options = std::fs::OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = match options.write(true).create_new(true).open(path) {
            Ok(_) => true, // an empty file is an empty database
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(error) => {
                let (path, message) = (path.to_owned(), error.to_string());
                return Err(StorageError::System { path, message }.into());
            }
        };
        Ok((Self::connect(path)?, made))
    }

    /// Opens a ledger that exists.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        match std::fs::metadata(path) {
            Ok(_) => Self::connect(path),
            Err(error) => Err(StorageError::Missing { path: path.to_owned(), message: error.to_string() }.into()),
        }
    }

    fn connect(path: &Path) -> Result<Self, LedgerError> {
        let fault = |error: rusqlite::Error| storage(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).map_err(fault)?;
        db.busy_timeout(PATIENCE).map_err(fault)?;
        db.pragma_update(None, "trusted_schema", false).map_err(fault)?;
        patiently(|| db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))).map_err(fault)?;
        db.pragma_update(None, "synchronous", "full").map_err(fault)?; // an entry is on disk before noise is drawn
        db.pragma_update(None, "foreign_keys", true).map_err(fault)?;
        let transaction = begin(&db).map_err(fault)?;
        let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let (application, version) = (number("application_id").map_err(fault)?, number("user_version").map_err(fault)?);
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fault)?;
        match (application, version, tables) {
            (APPLICATION, VERSION, _) => {}
            (0, 0, 0) => {
                transaction.execute_batch(SCHEMA).map_err(fault)?;
                transaction.pragma_update(None, "application_id", APPLICATION).map_err(fault)?;
                transaction.pragma_update(None, "user_version", VERSION).map_err(fault)?;
            }
            (APPLICATION, found, _) => {
                return Err(StorageError::Version { path: path.to_owned(), found, known: VERSION }.into());
            }
            _ => return Err(StorageError::NotALedger { path: path.to_owned() }.into()),
        }
        transaction.commit().map_err(fault)?;
        Ok(Self { db, path: path.to_owned() })
    }

    /// Opens an account before its first use.
    pub fn open_account(&mut self, dataset: &str, budget: Budget, neighbours: Neighbours) -> Result<(), LedgerError> {
        self.in_transaction(|transaction| {
            let dataset = &known_name(transaction, dataset)?;
            let account = account(transaction, dataset)?.map_or_else(
                || new_account(transaction, dataset, Some(budget), neighbours),
                |account| same_budget(account, Some(budget)),
            )?;
            if account.neighbours != neighbours {
                let (dataset, kept) = (dataset.clone(), account.neighbours);
                return Err(LedgerError::OtherNeighbours { dataset, kept }.into());
            }
            Ok(())
        })
    }

    /// The name under which the ledger keeps a data set, or would: spellings that differ in case, blanks, width or
    /// invisible characters are one. Refuses a name that looks like another.
    pub fn name(&mut self, dataset: &str) -> Result<String, LedgerError> {
        self.in_transaction(|transaction| known_name(transaction, dataset))
    }

    /// Reserves what a release with fresh noise costs. The budget may be left out after the first use.
    pub fn reserve(
        &mut self,
        dataset: &str,
        budget: Option<Budget>,
        mechanism: &Mechanism,
    ) -> Result<Reservation, LedgerError> {
        self.in_transaction(|transaction| {
            let dataset = &known_name(transaction, dataset)?;
            charge(transaction, dataset, budget, mechanism, None, 1)
        })
    }

    /// Reserves what a sticky release costs: nothing if these rows show nothing new.
    pub(crate) fn reserve_sticky(
        &mut self,
        dataset: &str,
        budget: Option<Budget>,
        mechanism: &Mechanism,
        stream: &[u8; 32],
        rows: &[Fingerprint],
    ) -> Result<Reservation, LedgerError> {
        self.in_transaction(|transaction| {
            let dataset = &known_name(transaction, dataset)?;
            let mut insert = transaction.prepare("INSERT OR IGNORE INTO shown VALUES (?1, ?2, ?3)")?;
            for Fingerprint { row, content } in rows {
                insert.execute(params![stream, row, content])?;
            }
            let before: i64 = transaction.query_row(
                "SELECT coalesce(sum(times), 0) FROM entry WHERE stream = ?1 AND dataset = ?2 AND state <> 'cancelled'",
                params![stream, dataset],
                |row| row.get(0),
            )?;
            let now: i64 = transaction.query_row(
                "SELECT coalesce(max(contents), 0) FROM (SELECT count(*) AS contents FROM shown WHERE stream = ?1 \
                 GROUP BY row)",
                [stream],
                |row| row.get(0),
            )?;
            charge(transaction, dataset, budget, mechanism, Some(stream), (now - before).max(0) as u64)
        })
    }

    /// Records the certificate of a release that is complete but has no name yet.
    pub fn record(&mut self, reservation: &Reservation, certificate: &Certificate) -> Result<(), LedgerError> {
        self.in_transaction(|transaction| {
            let changed = transaction.execute(
                "UPDATE entry SET state = 'recorded', certificate = ?2, rows = ?3 WHERE id = ?1 AND state = 'reserved'",
                params![reservation.id, certificate.digest, certificate.rows as i64],
            )?;
            if changed != 1 {
                return Err(LedgerError::from(StorageError::NoReservation).into());
            }
            Ok(())
        })
    }

    /// Gives back what a release reserved or recorded that has ended without an output. Sticky rows stay paid for: the
    /// next attempt costs nothing.
    pub fn cancel(&mut self, reservation: &Reservation) -> Result<(), LedgerError> {
        if reservation.sticky {
            return Ok(());
        }
        self.in_transaction(|transaction| {
            let cancel = "UPDATE entry SET state = 'cancelled' WHERE id = ?1";
            transaction.execute(cancel, [reservation.id])?;
            Ok(())
        })
    }

    /// All accounts, in the order of their names, as one consistent picture.
    pub fn accounts(&mut self) -> Result<Vec<Account>, LedgerError> {
        self.in_transaction(|transaction| {
            let mut names = transaction.prepare("SELECT dataset FROM account ORDER BY dataset")?;
            let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            let mut accounts = Vec::new();
            for name in names {
                let mut account = account(transaction, &name)?.expect("named above");
                account.add_up();
                accounts.push(account);
            }
            Ok(accounts)
        })
    }

    /// Everything that may be shown to anyone.
    pub fn statement(&mut self) -> Result<Statement, LedgerError> {
        Ok(Statement { schema: STATEMENT_SCHEMA.into(), accounts: self.accounts()? })
    }

    /// Runs SQLite's own check of the file.
    pub fn check(&self) -> Result<(), LedgerError> {
        let found: String = self
            .db
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|error| storage(&self.path, &error))?;
        match found.as_str() {
            "ok" => Ok(()),
            _ => Err(StorageError::Damaged { path: self.path.clone() }.into()),
        }
    }

    /// One writer at a time; on an error nothing has happened.
    fn in_transaction<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, LedgerError> {
        let Self { db, path } = &*self;
        let run = || -> Result<T, Fault> {
            let transaction = begin(db)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|fault| match fault {
            Fault::Sqlite(error) => storage(path, &error),
            Fault::Ledger(error) => error,
        })
    }
}

/// What can go wrong inside a transaction.
enum Fault {
    Sqlite(rusqlite::Error),
    Ledger(LedgerError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<LibraryError> for Fault {
    fn from(error: LibraryError) -> Self {
        Self::Ledger(error.into())
    }
}

fn storage(path: &Path, error: &rusqlite::Error) -> LedgerError {
    StorageError::System { path: path.to_owned(), message: error.to_string().replace('\n', " ") }.into()
}

/// Waits where SQLite itself does not: while another process makes the file, or takes its lock on the way out.
fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let start = Instant::now();
    loop {
        match work() {
            Err(error) if is_busy(&error) && start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            outcome => return outcome,
        }
    }
}

fn begin(db: &Connection) -> rusqlite::Result<Transaction<'_>> {
    patiently(|| Transaction::new_unchecked(db, TransactionBehavior::Immediate))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The name of the account that `asked` means: one that is there, else the normal spelling of a new one.
fn known_name(transaction: &Transaction<'_>, asked: &str) -> Result<String, Fault> {
    let normal = names::normal(asked)?;
    let mut all = transaction.prepare("SELECT dataset FROM account ORDER BY dataset")?;
    let all: Vec<String> = all.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let spelled = |name: &String| names::normal(name).unwrap_or_else(|_| name.clone());
    if let Some(same) =
        all.iter().find(|name| **name == asked).or_else(|| all.iter().find(|name| spelled(name) == normal))
    {
        return Ok(same.clone());
    }
    match all.iter().find(|name| names::skeleton(&spelled(name)) == names::skeleton(&normal)) {
        Some(other) => Err(LedgerError::Resembles { asked: normal, other: other.clone() }.into()),
        None => Ok(normal),
    }
}

/// Most runs of one entry.
const MOST_RUNS: u64 = 1 << 20;

/// An account with its entries, not added up.
fn account(transaction: &Transaction<'_>, dataset: &str) -> Result<Option<Account>, Fault> {
    let found = transaction.query_row("SELECT * FROM account WHERE dataset = ?1", [dataset], Account::from_row);
    let Some(mut account) = found.optional()? else { return Ok(None) };
    let mut entries = transaction.prepare("SELECT * FROM entry WHERE dataset = ?1 ORDER BY id")?;
    account.entries = entries.query_map([dataset], Entry::from_row)?.collect::<Result<_, _>>()?;
    // A ledger has no checksum, and adding up takes time.
    match account.entries.iter().all(|entry| entry.is_sane() && entry.times <= MOST_RUNS) {
        true => Ok(Some(account)),
        false => Err(LedgerError::Altered { dataset: dataset.to_owned() }.into()),
    }
}

fn new_account(
    transaction: &Transaction<'_>,
    dataset: &str,
    budget: Option<Budget>,
    neighbours: Neighbours,
) -> Result<Account, Fault> {
    let Some(Budget { epsilon, delta }) = budget else {
        return Err(LedgerError::NoBudget { dataset: dataset.into() }.into());
    };
    transaction.execute(
        "INSERT INTO account (dataset, unit, beta, budget_epsilon, budget_delta) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![dataset, neighbours.unit.to_string(), neighbours.beta, epsilon, delta],
    )?;
    Ok(account(transaction, dataset)?.expect("made above"))
}

/// A budget is fixed by the first use: one that could be raised would not be a budget.
fn same_budget(account: Account, budget: Option<Budget>) -> Result<Account, Fault> {
    match budget.filter(|budget| *budget != account.budget) {
        None => Ok(account),
        Some(asked) => Err(LedgerError::OtherBudget { dataset: account.dataset, kept: account.budget, asked }.into()),
    }
}

/// Refuses, or makes the entry.
fn charge(
    transaction: &Transaction<'_>,
    dataset: &str,
    budget: Option<Budget>,
    mechanism: &Mechanism,
    stream: Option<&[u8; 32]>,
    times: u64,
) -> Result<Reservation, Fault> {
    let (neighbours, _) = Loss::of(mechanism)?;
    let account = match account(transaction, dataset)? {
        Some(account) => same_budget(account, budget)?,
        None => new_account(transaction, dataset, budget, neighbours)?,
    };
    let Some(loss) = Loss::charged(mechanism, &account.neighbours)? else {
        let (kept, released) = (account.neighbours.unit, neighbours.unit);
        return Err(LedgerError::ProtectsLess { dataset: dataset.into(), kept, released }.into());
    };
    if loss.delta > 0.0 && account.budget.delta == 0.0 {
        return Err(LedgerError::NoDelta { dataset: dataset.into(), delta: loss.delta }.into());
    }
    let before = account.losses();
    let all: Vec<Loss> = before.iter().copied().chain(std::iter::repeat_n(loss, times as usize)).collect();
    if times > 0 && !account.budget.covers(&all) {
        return Err(LedgerError::OverBudget(Box::new(OverBudget {
            spent: account.budget.spent(&before),
            left: account.budget.left(&before),
            releases: account.releases(),
            unit: account.neighbours.unit,
            budget: account.budget,
            dataset: account.dataset,
            asked: loss,
            times,
        }))
        .into());
    }
    transaction.execute(
        "INSERT INTO entry (dataset, state, mechanism, epsilon, delta, mu, distance, times, stream) \
         VALUES (?1, 'reserved', ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            dataset,
            mechanism.id().as_str(),
            loss.epsilon,
            loss.delta,
            loss.gaussian.map(|gaussian| gaussian.mu),
            loss.gaussian.map(|gaussian| gaussian.distance),
            times as i64,
            stream,
        ],
    )?;
    Ok(Reservation { id: transaction.last_insert_rowid(), sticky: stream.is_some(), times })
}
