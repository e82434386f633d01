//! Reading, releasing and writing at the same time, with a few batches in memory at once.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use scumble::io::{Batch, Column, IdCheck, ReleaseWriter, ReleasedBlock, Source};
use scumble::privacy::{Ledger, Reservation};
use scumble::release::{Certificate, Fingerprint, ReleaseError, Releaser, SigningKey};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// About this many bytes of input or output make a batch.
const BATCH_BYTES: usize = 4 << 20;

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
    let mut certificate = releaser.certificate(hashes.rows, hashes.into());
    if let Some(key) = sign {
        certificate = certificate.signed(key);
    }
    if let Some(Charge { ledger, reservation, .. }) = charge {
        ledger.record(&reservation, &certificate)?; // before the output has a name: none is without its entry
    }
    writer.finish(|_| certificate.to_json())?;
    Ok(certificate)
}

/// Gives the writer back unfinished: on a failure it is dropped, and with it everything that was written.
fn stream(
    input: &Path,
    mut source: Box<dyn Source>,
    releaser: &Releaser,
    mut writer: ReleaseWriter,
    with_labels: bool,
    expected: Option<Vec<Fingerprint>>,
) -> Result<ReleaseWriter, Failure> {
    let rows = batch_rows(source.as_ref(), releaser);
    let progress = progress(source.rows_hint());
    let (batches, incoming) = sync_channel(1);
    let (blocks, outgoing) = sync_channel::<Block>(1);
    let (read, released, written) = thread::scope(|scope| {
        let reader = scope.spawn(move || read(input, source.as_mut(), rows, &batches));
        let writer = scope.spawn(move || -> Result<ReleaseWriter, Failure> {
            for Block { rows, bytes, ids, labels } in outgoing {
                writer.write(ReleasedBlock { rows, bytes: &bytes, ids: ids.as_ref(), labels: labels.as_ref() })?;
            }
            Ok(writer)
        });
        let released = transform(input, incoming, releaser, with_labels, expected.as_deref(), blocks, &progress);
        (joined(reader), released, joined(writer))
    });
    progress.finish_and_clear();
    read?;
    released?;
    written
}

/// Reads batches until the input or the demand for them ends.
fn read(input: &Path, source: &mut dyn Source, rows: usize, batches: &SyncSender<Batch>) -> Result<(), Failure> {
    let mut check = IdCheck::new();
    while let Some(batch) = source.next_batch(rows)? {
        if let Some(ids) = batch.ids() {
            check.add(input, ids, batch.first_row())?;
        }
        if batches.send(batch).is_err() {
            break; // a later stage has failed and says why
        }
    }
    Ok(())
}

/// The wall: private batches in, released blocks out, on all cores.
fn transform(
    input: &Path,
    batches: Receiver<Batch>,
    releaser: &Releaser,
    with_labels: bool,
    mut expected: Option<&[Fingerprint]>,
    blocks: SyncSender<Block>,
    progress: &ProgressBar,
) -> Result<(), Failure> {
    for batch in batches {
        let (rows, mut bytes) = (batch.rows().len(), Vec::new());
        let first = batch.first_row();
        if let Some(paid) = expected {
            let found = batch_fingerprints(input, &batch, releaser)?;
            let rest = paid.strip_prefix(found.as_slice());
            expected = Some(rest.ok_or_else(|| Failure::error(changed(input)))?);
        }
        let id = row_id(input, &batch, releaser)?;
        releaser.release(batch.rows(), first, id, &mut bytes).map_err(|error| fault(input, &error))?;
        let labels = batch.labels().filter(|_| with_labels).cloned();
        if blocks.send(Block { rows, bytes, ids: batch.ids().cloned(), labels }).is_err() {
            break; // the writer has failed and says why
        }
        progress.inc(rows as u64);
    }
    match expected {
        Some([_, ..]) => Err(Failure::error(changed(input))),
        _ => Ok(()),
    }
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

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A bar on a terminal, nothing elsewhere.
fn progress(rows: Option<u64>) -> ProgressBar {
    let (bar, template) = match rows {
        Some(rows) => (ProgressBar::new(rows), "{bar:40} {human_pos}/{human_len} rows, {per_sec}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {human_pos} rows, {per_sec}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a fixed template"))
}
