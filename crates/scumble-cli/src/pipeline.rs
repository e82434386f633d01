//! Reading, releasing and writing at the same time, with a few batches in memory at once.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use scumble::certificate::{Certificate, SigningKey};
use scumble::columns::Column;
use scumble::files::{Batch, IdCheck, ReleaseWriter, ReleasedBlock, Source};
use scumble::ledger::{Ledger, Reservation};
use scumble::release::{Fingerprint, ReleaseError, Releaser, Worker};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// About this many bytes of input or output make a batch: they stay near the core that has read them.
const BATCH_BYTES: usize = 1 << 20;

/// Released rows on their way to the writer.
struct Block {
    rows: usize,
    bytes: Vec<u8>,
    ids: Option<Column>,
    labels: Option<Column>,
}

/// Who vouches for a release and who pays for it.
#[derive(Default)]
pub struct Trust<'a> {
    /// Signs the certificate.
    pub sign: Option<&'a SigningKey>,
    /// Was reserved.
    pub charge: Option<Charge<'a>>,
}

/// What a ledger has reserved for a release.
pub struct Charge<'a> {
    /// The ledger.
    pub ledger: &'a mut Ledger,
    /// The entry.
    pub reservation: Reservation,
    /// The rows that were paid for, of a sticky release.
    pub rows: Option<Vec<Fingerprint>>,
}

/// Releases every row of the input into a new file, complete with its certificate or not at all. Labels go out only
/// where they were asked for.
pub fn release(
    input: &Path,
    source: Box<dyn Source>,
    releaser: &Releaser,
    out: &Path,
    with_labels: bool,
    trust: Trust<'_>,
) -> Result<Certificate, Failure> {
    let Trust { sign, mut charge } = trust;
    let expected = charge.as_mut().and_then(|charge| charge.rows.take());
    let written = ReleaseWriter::create(out, releaser.encoder().k(), releaser.encoder().encoding())
        .map_err(Failure::from)
        .and_then(|writer| stream(input, source, releaser, writer, with_labels, expected));
    let writer = match written {
        Ok(writer) => writer,
        Err(failure) => {
            if let Some(Charge { ledger, reservation, .. }) = charge {
                ledger.cancel(&reservation)?; // no output was left: nothing is spent
            }
            return Err(failure);
        }
    };
    let hashes = writer.hashes();
    let mut certificate = Certificate::of(&releaser, hashes.rows, hashes.into());
    if let Some(key) = sign {
        certificate = certificate.signed(key);
    }
    if let Some(Charge { ledger, reservation, .. }) = charge {
        ledger.record(&reservation, &certificate)?; // before the output has a name: none is without its entry
    }
    writer.finish(|_| certificate.to_json())?;
    Ok(certificate)
}

/// Where the block of a batch is waited for.
type Turn = Receiver<Result<Block, Failure>>;

/// The input, for one worker at a time.
struct Feed<'a> {
    input: &'a Path,
    source: Box<dyn Source>,
    rows: usize,
    check: IdCheck,
    ended: bool,
}

impl Feed<'_> {
    /// The next batch, until the input ends or fails.
    fn next(&mut self) -> Option<Result<Batch, Failure>> {
        if self.ended {
            return None;
        }
        let batch = self.read().transpose();
        self.ended = !matches!(batch, Some(Ok(_)));
        batch
    }

    fn read(&mut self) -> Result<Option<Batch>, Failure> {
        let batch = self.source.next_batch(self.rows)?;
        if let Some((batch, ids)) = batch.as_ref().and_then(|batch| Some((batch, batch.ids()?))) {
            self.check.add(self.input, ids, batch.first_row())?;
        }
        Ok(batch)
    }
}

/// Gives the writer back unfinished: on a failure it is dropped, and with it everything that was written.
///
/// Each worker reads a batch and releases it itself, while it is in its core's cache.
fn stream(
    input: &Path,
    source: Box<dyn Source>,
    releaser: &Releaser,
    mut writer: ReleaseWriter,
    with_labels: bool,
    expected: Option<Vec<Fingerprint>>,
) -> Result<ReleaseWriter, Failure> {
    let (workers, expected) = (rayon::current_num_threads(), expected.as_deref());
    let progress = progress(source.rows_hint());
    let rows = batch_rows(source.as_ref(), releaser);
    let feed = Mutex::new(Feed { input, source, rows, check: IdCheck::new(), ended: false });
    let (turns, outgoing) = sync_channel::<Turn>(2 * workers);
    let work = |turns: SyncSender<Turn>| {
        let mut worker = releaser.worker();
        loop {
            let (done, turn) = sync_channel(1);
            let batch = {
                let Ok(mut feed) = feed.lock() else { break }; // another worker has panicked
                let Some(batch) = feed.next() else { break };
                if turns.send(turn).is_err() {
                    break; // writing has failed and says why
                }
                batch
            };
            let block = batch.and_then(|batch| {
                let worker = worker.as_mut().map_err(|error| Failure::error(error.to_string()))?;
                transform(input, batch, releaser, worker, with_labels, expected)
            });
            progress.inc(block.as_ref().map_or(0, |block| block.rows as u64));
            let _ = done.send(block); // nobody waits after an earlier failure
        }
    };
    let written = thread::scope(|scope| {
        for _ in 0..workers {
            let turns = turns.clone();
            scope.spawn(move || work(turns));
        }
        drop(turns);
        write(&mut writer, outgoing)
    });
    progress.finish_and_clear();
    written?;
    if expected.is_some_and(|paid| paid.len() as u64 != writer.hashes().rows) {
        return Err(Failure::error(changed(input)));
    }
    Ok(writer)
}

/// The wall: a private batch in, a released block out.
fn transform(
    input: &Path,
    batch: Batch,
    releaser: &Releaser,
    worker: &mut Worker<'_>,
    with_labels: bool,
    expected: Option<&[Fingerprint]>,
) -> Result<Block, Failure> {
    let (first, rows) = (batch.first_row(), batch.rows().len());
    if let Some(paid) = expected {
        let found = batch_fingerprints(input, &batch, releaser)?;
        let paid = paid.get(first as usize..).and_then(|paid| paid.get(..rows));
        if paid != Some(&found) {
            return Err(Failure::error(changed(input)));
        }
    }
    let (id, mut bytes) = (row_id(input, &batch, releaser)?, Vec::new());
    worker.release(batch.rows(), first, id, &mut bytes).map_err(|error| fault(input, &error))?;
    let labels = batch.labels().filter(|_| with_labels).cloned();
    Ok(Block { rows, bytes, ids: batch.ids().cloned(), labels })
}

/// Writes blocks in the order of their turns, up to the first that has failed.
fn write(writer: &mut ReleaseWriter, turns: Receiver<Turn>) -> Result<(), Failure> {
    for turn in turns {
        let Ok(block) = turn.recv() else { break }; // its thread has panicked
        let Block { rows, bytes, ids, labels } = block?;
        writer.write(ReleasedBlock { rows, bytes: &bytes, ids: ids.as_ref(), labels: labels.as_ref() })?;
    }
    Ok(())
}

/// What a sticky release would show, without showing it.
pub fn fingerprints(
    input: &Path,
    mut source: Box<dyn Source>,
    releaser: &Releaser,
) -> Result<Vec<Fingerprint>, Failure> {
    let rows = batch_rows(source.as_ref(), releaser);
    let mut all = Vec::new();
    while let Some(batch) = source.next_batch(rows)? {
        all.extend(batch_fingerprints(input, &batch, releaser)?);
    }
    Ok(all)
}

fn batch_fingerprints(input: &Path, batch: &Batch, releaser: &Releaser) -> Result<Vec<Fingerprint>, Failure> {
    let id = row_id(input, batch, releaser)?;
    releaser.fingerprints(batch.rows(), batch.first_row(), id).map_err(|error| fault(input, &error))
}

/// The name of a row for keyed noise: its id as text, so that a table keeps its noise when it moves to another format.
fn row_id<'a>(
    input: &Path,
    batch: &'a Batch,
    releaser: &Releaser,
) -> Result<impl Fn(usize) -> Vec<u8> + Sync + use<'a>, Failure> {
    let ids = batch.ids();
    if releaser.keyed_noise().is_some() && ids.is_none() {
        let reason =
            "a sticky release needs row ids, to know a row again when others come and go: name their column with";
        return Err(Failure::refused(format!("{}: refused: {reason} --id", input.display())));
    }
    Ok(move |i: usize| ids.map(|ids| ids.text(i).into_bytes()).unwrap_or_default())
}

fn changed(input: &Path) -> String {
    format!("{}: changed while it was read; try again when nothing writes to it", input.display())
}

/// Rows that make a batch of about the right size.
fn batch_rows(source: &dyn Source, releaser: &Releaser) -> usize {
    let width = releaser.encoder().bytes_per_row();
    let row_bytes = if source.is_sparse() { width } else { width.max(4 * source.dim()) };
    (BATCH_BYTES / row_bytes.max(1)).clamp(1, 1 << 16)
}

fn fault(input: &Path, error: &ReleaseError) -> Failure {
    match error {
        ReleaseError::Data(error) => Failure::error(format!("{}: {error}", input.display())),
        ReleaseError::NoEntropy(error) => Failure::error(error.to_string()),
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress(rows: Option<u64>) -> ProgressBar {
    let (bar, template) = match rows {
        Some(rows) => (ProgressBar::new(rows), "{bar:40} {human_pos}/{human_len} rows, {per_sec}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} rows, {per_sec}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a fixed template"))
}
