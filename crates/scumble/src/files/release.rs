//! The whole protocol of a release, once: reserve, release, record, publish.
//!
//! Rows are read, released and written at the same time, with a few batches in memory at once. Every check that needs no
//! rows comes before the charge. The charge is on disk before any noise is drawn, and the entry names the certificate
//! before the output has its name: no release is without its entry. A run that ends without an output gives back what it
//! had reserved. After the output has its name nothing here can fail.

use super::atomic::folder;
use super::columns::IdCheck;
use super::error::{ReadError, WriteError};
use super::gather::row_names;
use super::persons::{Pass, Persons, Ranking, retain_rows};
use super::writer::{ReleaseWriter, ReleasedBlock};
use super::{Batch, Piece, ReadOptions, Source, open, read_all};
use crate::certificate::{Certificate, PersonStatement, SigningKey};
use crate::columns::{Column, Name};
use crate::error::{DataError, Fault, Kind, LibraryError};
use crate::ledger::{Budget, Charge, Ledger, LedgerError};
use scumble_core::entropy::NoEntropy;
use scumble_core::parallel;
use scumble_core::release::{Fingerprint, ReleaseError, Releaser, Worker};
use scumble_core::vectors::TableHash;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// About this many bytes of input or output make a batch: they stay near the core that has read them.
const BATCH_BYTES: usize = 1 << 20;

/// A release to be made: every field but the mechanism, which [`release`] makes when it knows the dimension.
#[derive(Default)]
pub struct Job<'a> {
    /// The file with the private rows.
    pub input: PathBuf,
    /// How to read it. Ids and labels go out only where a column of them is named; a column of persons never does.
    pub reading: ReadOptions,
    /// The most rows of a person that leave; goes with a column of persons.
    pub persons: Option<RowsPerPerson>,
    /// The file to write: `.parquet` or `.npy`. One that exists is never replaced.
    pub out: PathBuf,
    /// The public rows by which the mechanism was chosen, if any: they must not be the input itself.
    pub public_sample: Option<&'a Path>,
    /// Signs the certificate.
    pub sign: Option<&'a SigningKey>,
    /// Who pays.
    pub account: Option<AccountOf<'a>>,
    /// Called with the rows done so far and, where it is known, their number. `Break` stops the run: no output is left.
    pub progress: Option<&'a Progress<'a>>,
    /// Called with what the operator should hear, and nobody else.
    pub aside: Option<&'a (dyn Fn(Aside) + Sync)>,
}

/// A bound on the rows of a person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowsPerPerson {
    /// At most this many rows of each person leave.
    pub rows: usize,
    /// Failure probability at which their loss together is stated; if not given, that of the mechanism's promise.
    pub delta: Option<f64>,
}

/// What only the operator should hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// Nobody said whether the first line of a text table is a header: it was read as one, or not.
    Header(bool),
    /// This many rows are left out, because their persons have more than may leave.
    LeftOut(u64),
}

/// See [`Job::progress`].
pub type Progress<'a> = dyn Fn(u64, Option<u64>) -> ControlFlow<()> + Sync + 'a;

impl Job<'_> {
    fn say(&self, aside: Aside) {
        if let Some(listener) = self.aside {
            listener(aside);
        }
    }

    /// Which rows of each person stay, and what is promised to a person.
    fn choose(&self, releaser: &Releaser) -> Result<Option<(Persons, PersonStatement)>, JobError> {
        let RowsPerPerson { rows, delta } = match (self.persons, &self.reading.person) {
            (None, None) => return Ok(None),
            (Some(bound), Some(_)) => bound,
            _ => return Err(JobError::PersonsWithoutRows),
        };
        let statement = PersonStatement::new(releaser.mechanism(), rows, delta)?;
        let persons = Persons::choose(&self.input, &self.reading, rows, Ranking::of(releaser)?)?;
        self.say(Aside::LeftOut(persons.dropped()));
        Ok(Some((persons, statement)))
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Job({} to {})", self.input.display(), self.out.display())
    }
}

/// The account that a release is charged to.
#[derive(Debug, Clone, Copy)]
pub struct AccountOf<'a> {
    /// The ledger; created if there is none.
    pub ledger: &'a Path,
    /// The data set.
    pub dataset: &'a str,
    /// Its budget: needed at the first use, and fixed then.
    pub budget: Option<Budget>,
}

/// Why there is no release. Nothing was written. Nothing is spent, but rows of a sticky release stay paid for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A public number is wrong, or the request would not be private.
    #[error(transparent)]
    Parameter(#[from] LibraryError),
    /// The input cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A row cannot be released.
    #[error("{}: {error}", path.display())]
    Row {
        /// The input.
        path: PathBuf,
        /// Where, and what.
        error: DataError,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The ledger refused, or cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// No secret randomness.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// Noise from a kept key needs row ids.
    #[error("refused: a sticky release needs row ids, to know a row again when others come and go")]
    StickyNeedsIds,
    /// A part of a release has noise of the job's key, by the ids of its rows.
    #[error("a part of a release needs the key of its job and the ids of its rows")]
    PartWithoutKey,
    /// Public structure was learned from the rows that are to be released.
    #[error(
        "refused: the {structure} were learned from the very rows that would be released. Instead: learn them from a \
         public sample of other rows"
    )]
    LearnedFromInput {
        /// What was learned.
        structure: &'static str,
    },
    /// Whose rows, but not how many; or how many, but not whose.
    #[error("a column of persons and the most rows of a person go together: give both, or none")]
    PersonsWithoutRows,
    /// The caller stopped it while watching the progress.
    #[error("stopped; nothing was written")]
    Stopped,
    /// The input is not what was paid for.
    #[error("{}: changed while it was read; try again when nothing writes to it", .0.display())]
    Changed(PathBuf),
    /// The output would be its own input.
    #[error("{}: input and output are the same file; choose another output", .0.display())]
    SameFile(PathBuf),
    /// The output would become a part of its own input.
    #[error("{}: the output would lie inside the input folder; choose another output", .0.display())]
    InsideInput(PathBuf),
}

impl Fault for JobError {
    fn kind(&self) -> Kind {
        match self {
            Self::Parameter(error) => error.kind(),
            Self::Read(error) => error.kind(),
            Self::Row { error, .. } => error.kind(),
            Self::Write(error) => error.kind(),
            Self::Ledger(error) => error.kind(),
            Self::StickyNeedsIds | Self::LearnedFromInput { .. } => Kind::NotPrivate,
            Self::PersonsWithoutRows => Kind::Parameter,
            Self::SameFile(_) | Self::InsideInput(_) => Kind::File,
            Self::NoEntropy(_) | Self::PartWithoutKey | Self::Changed(_) => Kind::Run,
            Self::Stopped => Kind::Stopped,
        }
    }
}

/// Releases every row of the input into a new file, complete with its certificate or not at all.
///
/// `releaser` makes the mechanism with its noise for rows of a given number of attributes; it reads no rows.
pub fn release<E: From<JobError>>(
    job: &Job<'_>,
    releaser: impl FnOnce(usize) -> Result<Releaser, E>,
) -> Result<Certificate, E> {
    check_places(&job.input, &job.out)?;
    let source = open(&job.input, &job.reading).map_err(JobError::from)?;
    if let (Some(header), None) = (source.header(), job.reading.header) {
        job.say(Aside::Header(header));
    }
    let releaser = releaser(source.dim())?;
    Ok(run(job, source, &releaser)?)
}

fn run(job: &Job<'_>, source: Box<dyn Source>, releaser: &Releaser) -> Result<Certificate, JobError> {
    let sticky = releaser.keyed_noise().is_some();
    check_sample(job, source.as_ref(), releaser)?;
    let mut writer = ReleaseWriter::create(&job.out, releaser.encoder().k(), releaser.encoder().encoding())?
        .with_beside(releaser.mechanism().parameters().beside())?;
    let chosen = job.choose(releaser)?;
    let (persons, statement) = (chosen.as_ref().map(|(persons, _)| persons), chosen.as_ref().map(|(_, words)| words));
    // What a sticky release costs depends on which rows are new: that needs a look at them.
    let paid = match job.account {
        Some(_) if sticky => Some(fingerprints(job, releaser, persons)?),
        _ => None,
    };
    let mut charge = match job.account {
        Some(AccountOf { ledger, dataset, budget }) => {
            let (ledger, _) = Ledger::open_or_create(ledger)?;
            Some(Charge::reserve(ledger, dataset, budget, releaser, paid.as_deref())?)
        }
        None => None,
    };
    // From here on every way out but the last gives the charge back.
    let written = stream(job, source, releaser, persons, paid.as_deref(), &mut |block| writer.write(block))?;
    if paid.is_some_and(|paid| paid.len() as u64 != written) {
        return Err(JobError::Changed(job.input.clone()));
    }
    let hashes = writer.hashes();
    let mut certificate = Certificate::of(releaser, hashes.rows, hashes.into());
    if let Some(statement) = statement {
        certificate = certificate.for_persons(statement.clone());
    }
    if let Some(key) = job.sign {
        certificate = certificate.signed(key);
    }
    if let Some(charge) = &mut charge {
        charge.record(&certificate)?;
    }
    writer.finish(|_| certificate.to_json())?;
    if let Some(charge) = &mut charge {
        charge.keep();
    }
    Ok(certificate)
}

/// Refuses public structure that was learned from the very table that is released. That can be known where the numbers
/// of rows are equal or not yet known: then both are hashed.
fn check_sample(job: &Job<'_>, source: &dyn Source, releaser: &Releaser) -> Result<(), JobError> {
    let mut samples = releaser.mechanism().parameters().samples();
    if let Some(path) = job.public_sample {
        let reading = ReadOptions { format: None, id: None, label: None, person: None, ..job.reading.clone() };
        let public = read_all(path, &ReadOptions { dim: Some(source.dim()), ..reading })?;
        let mut hash = TableHash::default();
        hash.update(public.rows());
        samples.push(("mechanism and its numbers", public.rows().len() as u64, hash.finish()));
    }
    let may_be = |rows: u64| source.rows_hint().is_none_or(|hint| hint == rows);
    if !samples.iter().any(|(_, rows, _)| may_be(*rows)) {
        return Ok(());
    }
    let (mut hash, mut again) = (TableHash::default(), open(&job.input, &job.reading)?);
    while let Some(batch) = again.next_batch(batch_rows(source, releaser))? {
        hash.update(batch.rows());
    }
    let found = hash.finish();
    match samples.into_iter().find(|(_, _, sha256)| *sha256 == found) {
        Some((structure, ..)) => Err(JobError::LearnedFromInput { structure }),
        None => Ok(()),
    }
}

/// The output must be another place than the input.
fn check_places(input: &Path, out: &Path) -> Result<(), JobError> {
    let (Ok(from), Ok(to)) = (input.canonicalize(), folder(out).canonicalize()) else { return Ok(()) };
    let target = out.file_name().map_or(to.clone(), |name| to.join(name));
    if target == from {
        Err(JobError::SameFile(out.to_owned()))
    } else if from.is_dir() && target.starts_with(&from) {
        Err(JobError::InsideInput(out.to_owned()))
    } else {
        Ok(())
    }
}

/// Released rows on their way to the writer.
struct ReleasedRows {
    rows: usize,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
}

/// Space for released rows, reused: new pages cost more than what is written into them.
#[derive(Default)]
struct Rooms(Mutex<Vec<Vec<u8>>>);

impl Rooms {
    fn take(&self) -> Vec<u8> {
        self.0.lock().ok().and_then(|mut rooms| rooms.pop()).unwrap_or_default()
    }

    fn give(&self, room: Vec<u8>) {
        if let Ok(mut rooms) = self.0.lock() {
            rooms.push(room);
        }
    }
}

/// Where the block of a batch is waited for.
type Turn = Receiver<Result<ReleasedRows, JobError>>;

/// A piece or a batch, with those of its rows that stay, their number, and how many stay before them.
struct Taken<T> {
    rows: T,
    keep: Option<Vec<bool>>,
    len: usize,
    before: usize,
}

impl Taken<Piece> {
    fn decode(self) -> Result<Taken<Batch>, ReadError> {
        let Self { rows, keep, len, before } = self;
        Ok(Taken { rows: rows.decode()?, keep, len, before })
    }
}

/// The input, for one worker at a time.
struct Feed<'a> {
    input: &'a Path,
    source: Box<dyn Source>,
    rows: usize,
    check: IdCheck,
    pass: Option<Pass<'a>>,
    before: usize,
    ended: bool,
}

impl<'a> Feed<'a> {
    fn new(job: &'a Job<'_>, source: Box<dyn Source>, releaser: &Releaser, persons: Option<&'a Persons>) -> Self {
        let rows = batch_rows(source.as_ref(), releaser);
        let pass = persons.map(Persons::pass);
        Self { input: &job.input, source, rows, check: IdCheck::new(), pass, before: 0, ended: false }
    }

    /// The next rows, until the input ends or fails.
    fn next(&mut self) -> Option<Result<Taken<Piece>, JobError>> {
        if self.ended {
            return None;
        }
        let piece = self.read().transpose();
        self.ended = !matches!(piece, Some(Ok(_)));
        piece
    }

    fn read(&mut self) -> Result<Option<Taken<Piece>>, JobError> {
        let changed = || JobError::Changed(self.input.to_owned());
        let Some(piece) = self.source.next_piece(self.rows)? else {
            // Rows were chosen by the persons of another pass: they must have been the same.
            return if self.pass.as_ref().is_none_or(Pass::is_whole) { Ok(None) } else { Err(changed()) };
        };
        if let Some(ids) = piece.ids() {
            self.check.add(self.input, ids, piece.first_row())?;
        }
        let keep = match (&mut self.pass, piece.persons()) {
            (None, _) => None,
            (Some(pass), Some(persons)) => Some(pass.keep(persons, piece.ids())),
            (Some(_), None) => return Err(changed()),
        };
        let len = keep.as_ref().map_or(piece.len(), |keep| keep.iter().filter(|keep| **keep).count());
        let before = self.before;
        self.before += len;
        Ok(Some(Taken { rows: piece, keep, len, before }))
    }
}

/// Where released blocks go.
type Put<'a> = dyn FnMut(ReleasedBlock<'_>) -> Result<(), WriteError> + 'a;

/// Releases all rows of the source, hands them to `put` in their order, and gives their number.
///
/// Each worker decodes the rows that it has taken and releases them itself, while they are in its core's cache.
pub(super) fn stream(
    job: &Job<'_>,
    source: Box<dyn Source>,
    releaser: &Releaser,
    persons: Option<&Persons>,
    paid: Option<&[Fingerprint]>,
    put: &mut Put<'_>,
) -> Result<u64, JobError> {
    let workers = parallel::threads();
    let all = source.rows_hint();
    let feed = Mutex::new(Feed::new(job, source, releaser, persons));
    let (turns, outgoing) = sync_channel::<Turn>(2 * workers);
    let rooms = Rooms::default();
    let work = |turns: SyncSender<Turn>| {
        let mut worker = releaser.worker();
        loop {
            let (done, turn) = sync_channel(1);
            let piece = {
                let Ok(mut feed) = feed.lock() else { break }; // another worker has panicked
                let Some(piece) = feed.next() else { break };
                if turns.send(turn).is_err() {
                    break; // writing has failed and says why
                }
                piece
            };
            let block = piece.and_then(|piece| {
                let worker = worker.as_mut().map_err(|error| *error)?;
                transform(job, piece.decode()?, releaser, worker, paid, rooms.take())
            });
            let _ = done.send(block); // nobody waits after an earlier failure
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            let turns = turns.clone();
            scope.spawn(move || parallel::alone(|| work(turns))); // a thread of the pool may be waiting for it
        }
        drop(turns);
        write(job, put, outgoing, all, &rooms)
    })
}

/// The wall: a private batch in, a released block out.
fn transform(
    job: &Job<'_>,
    taken: Taken<Batch>,
    releaser: &Releaser,
    worker: &mut Worker<'_>,
    paid: Option<&[Fingerprint]>,
    mut bytes: Vec<u8>,
) -> Result<ReleasedRows, JobError> {
    let rows = taken.len;
    // The batch is ours alone: what is compared here is what is released below.
    if let Some(paid) = paid {
        let found = batch_fingerprints(job, &taken, releaser)?;
        let paid = paid.get(taken.before..).and_then(|paid| paid.get(..rows));
        if paid != Some(&found) {
            return Err(JobError::Changed(job.input.clone()));
        }
    }
    let Taken { rows: batch, keep, .. } = taken;
    let id = row_id(&batch, releaser)?;
    worker.release(batch.rows(), batch.first_row(), id, &mut bytes).map_err(|error| fault(job, error))?;
    let Some(keep) = keep else {
        return Ok(ReleasedRows { rows, bytes, ids: batch.ids().cloned(), labels: batch.labels().cloned() });
    };
    retain_rows(&mut bytes, releaser.encoder().bytes_per_row(), &keep);
    let [ids, labels] = [batch.ids(), batch.labels()].map(|column| column.map(|column| column.filter(&keep)));
    Ok(ReleasedRows { rows, bytes, ids, labels })
}

/// Writes blocks in the order of their turns, up to the first that has failed.
fn write(
    job: &Job<'_>,
    put: &mut Put<'_>,
    turns: Receiver<Turn>,
    all: Option<u64>,
    rooms: &Rooms,
) -> Result<u64, JobError> {
    let mut written = 0;
    for turn in turns {
        let Ok(block) = turn.recv() else { break }; // its thread has panicked
        let ReleasedRows { rows, bytes, ids, labels } = block?;
        put(ReleasedBlock { rows, bytes: &bytes, ids: ids.as_ref(), labels: labels.as_ref() })?;
        rooms.give(bytes);
        written += rows as u64;
        if job.progress.is_some_and(|progress| progress(written, all).is_break()) {
            return Err(JobError::Stopped);
        }
    }
    Ok(written)
}

/// What a sticky release would show, without showing it.
fn fingerprints(job: &Job<'_>, releaser: &Releaser, persons: Option<&Persons>) -> Result<Vec<Fingerprint>, JobError> {
    let mut feed = Feed::new(job, open(&job.input, &job.reading)?, releaser, persons);
    let mut all = Vec::new();
    while let Some(taken) = feed.next() {
        all.extend(batch_fingerprints(job, &taken?.decode()?, releaser)?);
    }
    Ok(all)
}

/// Those of the rows that stay.
fn batch_fingerprints(job: &Job<'_>, taken: &Taken<Batch>, releaser: &Releaser) -> Result<Vec<Fingerprint>, JobError> {
    let (batch, id) = (&taken.rows, row_id(&taken.rows, releaser)?);
    let all = releaser.fingerprints(batch.rows(), batch.first_row(), id).map_err(|error| fault(job, error))?;
    Ok(match &taken.keep {
        Some(keep) => all.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(row, _)| row).collect(),
        None => all,
    })
}

/// The name of a row for keyed noise: its id as text, so that a table keeps its noise when it moves to another format.
fn row_id<'a>(batch: &'a Batch, releaser: &Releaser) -> Result<impl Fn(usize) -> Name<'a> + Sync + use<'a>, JobError> {
    if releaser.keyed_noise().is_some() && batch.ids().is_none() {
        return Err(JobError::StickyNeedsIds);
    }
    Ok(row_names(batch.ids(), 0))
}

/// Rows that make a batch of about the right size.
fn batch_rows(source: &dyn Source, releaser: &Releaser) -> usize {
    let width = releaser.encoder().bytes_per_row();
    let row_bytes = if source.is_sparse() { width } else { width.max(4 * source.dim()) };
    (BATCH_BYTES / row_bytes.max(1)).clamp(1, 1 << 16)
}

fn fault(job: &Job<'_>, error: ReleaseError) -> JobError {
    match error {
        ReleaseError::Data(error) => JobError::Row { path: job.input.clone(), error },
        ReleaseError::NoEntropy(error) => error.into(),
        ReleaseError::Unpaid { .. } => JobError::Changed(job.input.clone()),
    }
}
