//! Checks a report as it arrives. A body is reports of one length laid end to end.
//!
//! A row is checked code by code: what no encoder writes must not reach an export. Values as `f32` have no codes: any finite
//! number passes, and one report can move a mean without bound (docs/collector.md says what to do).

use crate::collection::Collection;
use scumble::release::Report;
use serde::Serialize;

/// Names a report within its campaign and period.
pub type Id = [u8; ID_BYTES];
/// Bytes of an id.
pub const ID_BYTES: usize = 16;

/// Why one report was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// It is not a report.
    Format,
    /// It was made for another campaign.
    Campaign,
    /// Its period is closed, for good.
    PeriodClosed,
    /// Its period has not begun, or is not one of the campaign's.
    PeriodUnknown,
    /// Its row is not one that the campaign's mechanism can give.
    Row,
    /// Another report with the same id was taken before.
    Conflict,
}

impl Rejection {
    /// Every reason, for counting them.
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

/// Parses one report and checks it, at `now` (seconds since 1970).
pub fn decode<'a>(collection: &Collection, now: u64, bytes: &'a [u8]) -> Result<Report<'a>, Rejection> {
    let report = Report::parse(bytes).ok_or(Rejection::Format)?;
    if !collection.digest().starts_with(&report.campaign) {
        return Err(Rejection::Campaign);
    }
    if report.period < collection.open_from(now) {
        return Err(Rejection::PeriodClosed);
    }
    if !collection.campaign().terms.periods.is_open(report.period, now) {
        return Err(Rejection::PeriodUnknown);
    }
    if !collection.encoder().accepts(report.row) {
        return Err(Rejection::Row);
    }
    Ok(report)
}
