//! One report as it arrives: `scr1`, 8 bytes of the campaign's digest, period (u32), id (16 bytes), the released row.
//!
//! Every report of a campaign has the same length, so a body is reports laid end to end. A row is checked code by code:
//! what no encoder writes must not reach an export.

use crate::campaign::Campaign;
use serde::Serialize;

/// The first bytes of every report, format 1.
pub const MAGIC: [u8; 4] = *b"scr1";
/// Bytes before the row.
pub const HEADER_BYTES: usize = 32;
/// Bytes of an id.
pub const ID_BYTES: usize = 16;

/// Names a report within its campaign and period. Prints nothing.
pub type Id = [u8; ID_BYTES];

/// Why one report was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// It does not begin with [`MAGIC`].
    Format,
    /// It was made for another campaign.
    Campaign,
    /// Its period is closed, for good.
    PeriodClosed,
    /// Its period has not begun, or is not one of the campaign's.
    PeriodUnknown,
    /// Its row is none that the campaign's mechanism can give.
    Row,
    /// Another report with the same id was taken before.
    Conflict,
}

impl Rejection {
    /// Every reason, for whoever counts them.
    pub const ALL: [Self; 6] =
        [Self::Format, Self::Campaign, Self::PeriodClosed, Self::PeriodUnknown, Self::Row, Self::Conflict];

    /// The word for it on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Campaign => "campaign",
            Self::PeriodClosed => "period-closed",
            Self::PeriodUnknown => "period-unknown",
            Self::Row => "row",
            Self::Conflict => "conflict",
        }
    }
}

/// The fields of a report, checked.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    /// Its period.
    pub period: u32,
    /// Its id.
    pub id: Id,
    /// The released row.
    pub row: &'a [u8],
}

/// Takes apart one report of the right length, at `now` (seconds since 1970).
pub fn decode<'a>(campaign: &Campaign, now: u64, bytes: &'a [u8]) -> Result<Fields<'a>, Rejection> {
    let (header, row) = bytes.split_at_checked(HEADER_BYTES).ok_or(Rejection::Format)?;
    if header[..4] != MAGIC || row.len() != campaign.row_bytes() {
        return Err(Rejection::Format);
    }
    if header[4..12] != campaign.digest()[..8] {
        return Err(Rejection::Campaign);
    }
    let period = u32::from_le_bytes(header[12..16].try_into().expect("four bytes"));
    if period < campaign.open_from(now) {
        return Err(Rejection::PeriodClosed);
    }
    if !campaign.has_begun(period, now) {
        return Err(Rejection::PeriodUnknown);
    }
    if !campaign.is_row(row) {
        return Err(Rejection::Row);
    }
    Ok(Fields { period, id: header[16..32].try_into().expect("sixteen bytes"), row })
}
