//! Reading, releasing and writing at the same time, with a few batches in memory at once.

use crate::exit::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use scumble::io::{Batch, Column, IdCheck, ReleaseWriter, ReleasedBlock, Source};
use scumble::release::{Certificate, ReleaseError, Releaser, SigningKey};
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

/// Releases every row of the input into a new file, complete with its certificate or not at all. Labels go out only
/// where they were asked for.
pub fn release(
    input: &Path,
    source: Box<dyn Source>,
    releaser: &Releaser,
    out: &Path,
    with_labels: bool,
    sign: Option<&SigningKey>,
) -> Result<Certificate, Failure> {
    let writer = ReleaseWriter::create(out, releaser.encoder().k(), releaser.encoder().encoding())?;
    let writer = stream(input, source, releaser, writer, with_labels)?;
    let hashes = writer.hashes();
    let mut certificate = releaser.certificate(hashes.rows, hashes.into());
    if let Some(key) = sign {
        certificate = certificate.signed(key);
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
) -> Result<ReleaseWriter, Failure> {
    let width = releaser.encoder().bytes_per_row();
    let row_bytes = if source.is_sparse() { width } else { width.max(4 * source.dim()) };
    let rows = (BATCH_BYTES / row_bytes.max(1)).clamp(1, 1 << 16);
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
        let released = transform(input, incoming, releaser, with_labels, blocks, &progress);
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
    blocks: SyncSender<Block>,
    progress: &ProgressBar,
) -> Result<(), Failure> {
    for batch in batches {
        let (rows, mut bytes) = (batch.rows().len(), Vec::new());
        let first = batch.first_row();
        let id = |i: usize| (first + i as u64).to_le_bytes().to_vec();
        releaser.release(batch.rows(), first, id, &mut bytes).map_err(|error| fault(input, &error))?;
        let labels = batch.labels().filter(|_| with_labels).cloned();
        if blocks.send(Block { rows, bytes, ids: batch.ids().cloned(), labels }).is_err() {
            break; // the writer has failed and says why
        }
        progress.inc(rows as u64);
    }
    Ok(())
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
