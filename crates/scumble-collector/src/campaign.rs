//! What the collector needs to know of a campaign.

use scumble::release::Encoder;
use sha2::{Digest, Sha256};
use std::fmt;

/// Equal spans of time, numbered: period `n` begins at second `n * seconds` since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// Seconds in one.
    pub seconds: u64,
    /// Number of the first.
    pub first: u32,
    /// Number of the last.
    pub last: u32,
}

/// A campaign, its text checked.
#[derive(Clone)]
pub struct Campaign {
    digest: [u8; 32],
    text: String,
    encoder: Encoder,
    periods: Periods,
    min_reports: u64,
    retention: u32,
}

impl fmt::Debug for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Campaign({})", self.name())
    }
}

impl Campaign {
    /// From its parts; `retention` is in periods after the one in which a report's period closes.
    pub fn new(text: String, encoder: Encoder, periods: Periods, min_reports: u64, retention: u32) -> Self {
        Self { digest: Sha256::digest(&text).into(), text, encoder, periods, min_reports, retention }
    }

    /// SHA-256 of its text.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The digest in hexadecimal: its name.
    pub fn name(&self) -> String {
        self.digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text as it was signed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes of a released row.
    pub fn row_bytes(&self) -> usize {
        self.encoder.bytes_per_row()
    }

    /// Bytes of a report.
    pub fn report_bytes(&self) -> usize {
        crate::report::HEADER_BYTES + self.row_bytes()
    }

    /// No period with fewer reports is exported.
    pub fn min_reports(&self) -> u64 {
        self.min_reports
    }

    /// The first period that is still open at `now`: the one before the current one.
    pub fn open_from(&self, now: u64) -> u32 {
        let current = now / self.periods.seconds;
        let open = u32::try_from(current.saturating_sub(1)).unwrap_or(u32::MAX);
        open.max(self.periods.first)
    }

    /// Has this period of the campaign begun at `now`?
    pub fn has_begun(&self, period: u32, now: u64) -> bool {
        let Periods { seconds, first, last } = self.periods;
        (first..=last).contains(&period) && u64::from(period) <= now / seconds
    }

    /// The periods that take reports at `now`: none, one or two.
    pub fn open_periods(&self, now: u64) -> Vec<u32> {
        let from = self.open_from(now);
        [from, from.saturating_add(1)].into_iter().filter(|&period| self.has_begun(period, now)).collect()
    }

    /// Reports of earlier periods are deleted at `now`.
    pub fn kept_from(&self, now: u64) -> u32 {
        self.open_from(now).saturating_sub(self.retention)
    }

    /// Can a device have sent this row?
    pub fn is_row(&self, row: &[u8]) -> bool {
        self.encoder.accepts(row)
    }
}
