//! Closed periods as an ordinary release.
//!
//! An export is recorded before it is read, so that a period is in exactly one, and a crash loses none: the first export
//! without a file is written next. Its rows are in the order of a keyed hash of their ids, with a secret key that is
//! drawn once and kept, so that writing it again gives the same file byte for byte and the order reveals nothing.

use crate::collection::Collection;
use crate::store::{CampaignKey, Export, Store, StoreError, StoreFault};
use scumble::campaign::Mode;
use scumble::certificate::{Certificate, SigningKey};
use scumble::entropy::{self, NoEntropy};
use scumble::error::{Fault, Kind};
use scumble::files::{ReleaseWriter, ReleasedBlock, WriteError};
use std::path::Path;

/// Rows that are sorted in memory at a time, in bytes.
const ROOM: u64 = 64 << 20;
/// Rows that are written at a time.
const BLOCK: usize = 4096;

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Nothing may be exported yet.
    #[error("no closed period of this campaign has at least {least} reports: nothing may be exported yet")]
    Nothing {
        /// The campaign's `min_reports`.
        least: u64,
    },
    /// All that could have been exported was kept for too long.
    #[error(
        "{over} reports were deleted: their retention is over. No other closed period of this campaign has at least {least} \
         reports: nothing may be exported"
    )]
    Over {
        /// Reports that were deleted.
        over: u64,
        /// The campaign's `min_reports`.
        least: u64,
    },
    /// No such export.
    #[error("there is no export number {0} of this campaign")]
    Unknown(i64),
    /// Recorded by an older version: rows of one device would pass for rows of several.
    #[error(
        "export {number} has {periods} periods of a sticky campaign, in which a device sends the same report again in \
         every period: its rows would count as those of {periods} people. A sticky campaign is exported one period at a \
         time; this export was recorded by an older version and is not written"
    )]
    SeveralPeriods {
        /// The export.
        number: i64,
        /// Its periods.
        periods: usize,
    },
    /// Too late.
    #[error("the reports of export {0} were deleted: their retention is over")]
    Deleted(i64),
    /// The system has no entropy.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Fault for ExportError {
    fn kind(&self) -> Kind {
        match self {
            Self::Nothing { .. } | Self::Over { .. } | Self::SeveralPeriods { .. } | Self::Deleted(_) => Kind::Refused,
            Self::Unknown(_) => Kind::Parameter,
            Self::Entropy(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Write(error) => error.kind(),
        }
    }
}

/// Writes an export at `now` (seconds since 1970): the one that is asked for, or the first that has no file yet, or a
/// new one of all that may be exported, or else the last one again. A new one of a sticky campaign has one period, the
/// first: a device that sends its report again in the next one must not count as two. Reports whose retention is over are
/// deleted before anything is chosen.
pub fn export(
    store: &mut dyn Store,
    key: CampaignKey,
    collection: &Collection,
    now: u64,
    wanted: Option<i64>,
    signer: Option<&SigningKey>,
    out: &Path,
) -> Result<Export, ExportError> {
    let export = choose(store, key, collection, now, wanted)?;
    let (k, encoding) = (collection.encoder().k(), collection.encoder().encoding());
    let files = collection.mechanism().parameters().beside();
    let mut writer = ReleaseWriter::create(out, k, encoding)?.with_beside(files)?;
    write_rows(store, &export, collection.encoder().bytes_per_row(), &mut writer)?;
    writer.finish(|hashes| {
        let certificate = Certificate::new(collection.mechanism(), collection.encoder(), export.rows, hashes.into());
        let certificate = certificate.collected(&collection.name());
        match signer {
            Some(signer) => certificate.signed(signer),
            None => certificate,
        }
        .to_json()
    })?;
    store.mark_written(export.number)?;
    Ok(export)
}

fn choose(
    store: &mut dyn Store,
    key: CampaignKey,
    collection: &Collection,
    now: u64,
    wanted: Option<i64>,
) -> Result<Export, ExportError> {
    let terms = &collection.campaign().terms;
    let most = match terms.longitudinal.mode {
        Mode::Once => usize::MAX,
        Mode::Sticky => 1,
    };
    // A collector that was stopped for long has not done this.
    store.close(key, collection.open_from(now))?;
    let over = store.delete(key, collection.kept_from(now))?;
    let mut recorded = store.exports(key)?;
    let chosen = match wanted {
        Some(number) => {
            let export = recorded.into_iter().find(|export| export.number == number);
            let export = export.ok_or(ExportError::Unknown(number))?;
            let periods = export.periods.len();
            if periods > most {
                return Err(ExportError::SeveralPeriods { number, periods });
            }
            export
        }
        None => {
            recorded.retain(|export| export.periods.len() <= most);
            match recorded.iter().find(|export| !export.written && !export.deleted) {
                Some(unfinished) => unfinished.clone(),
                None => {
                    let least = terms.min_reports.into();
                    let new = store.record_export(key, least, most, draw_key()?)?;
                    let nothing =
                        if over > 0 { ExportError::Over { over, least } } else { ExportError::Nothing { least } };
                    new.or_else(|| recorded.last().cloned()).ok_or(nothing)?
                }
            }
        }
    };
    if chosen.deleted { Err(ExportError::Deleted(chosen.number)) } else { Ok(chosen) }
}

fn draw_key() -> Result<[u8; 32], ExportError> {
    let mut key = [0; 32];
    entropy::fill(&mut key)?;
    Ok(key)
}

/// Writes the rows by the keyed hash of their ids. The hashes are cut into ranges, and each pass over the store sorts
/// those of one range, so that memory is bounded whatever the number of rows.
fn write_rows(
    store: &mut dyn Store,
    export: &Export,
    row_bytes: usize,
    writer: &mut ReleaseWriter,
) -> Result<(), ExportError> {
    let bytes = export.rows.saturating_mul(row_bytes as u64 + 64);
    let passes = bytes.div_ceil(ROOM).max(1);
    let mut written = 0;
    for pass in 0..passes {
        let mut rows = Vec::new();
        store.read(export, &mut |id, row| {
            let hash = *blake3::keyed_hash(&export.order, id).as_bytes();
            let place = u64::from_be_bytes(*hash.first_chunk().expect("32 bytes"));
            let of = (u128::from(place) * u128::from(passes)) >> 64; // which range
            if of as u64 == pass {
                rows.push((*hash.first_chunk::<16>().expect("32 bytes"), row.to_vec()));
            }
            Ok(())
        })?;
        rows.sort_unstable();
        for block in rows.chunks(BLOCK) {
            let bytes = block.iter().flat_map(|(_, row)| row).copied().collect::<Vec<u8>>();
            writer.write(ReleasedBlock { rows: block.len(), bytes: &bytes, ids: None, labels: None })?;
        }
        written += rows.len() as u64;
    }
    if written != export.rows {
        return Err(StoreError::from(StoreFault::MissingReports).into());
    }
    Ok(())
}
