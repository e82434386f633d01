//! One released row on its way from a device to a collector: a fixed header, then the row's encoded bytes.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `scr1` |
//! | 4..12 | the first 8 bytes of the campaign's digest |
//! | 12..16 | the period, little-endian |
//! | 16..32 | the report's id |
//! | 32.. | the row |
//!
//! No time, no device name, no version of the software: all reports of a campaign have the same length.

/// The start of every report: format and version.
pub const MAGIC: [u8; 4] = *b"scr1";
/// Bytes before the row.
pub const HEADER: usize = 32;

/// A report, read or about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// The first 8 bytes of the campaign's digest.
    pub campaign: [u8; 8],
    /// The period for which it was made, counted from 0.
    pub period: u32,
    /// The same for a retry, unrelated for anything else.
    pub id: [u8; 16],
    /// The encoded row.
    pub row: &'a [u8],
}

impl<'a> Report<'a> {
    /// Reads a report; `None` when it does not begin as one. The row's length is for the campaign to check.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, row) = bytes.split_at_checked(HEADER)?;
        let part = |from: usize| header[from..].first_chunk().copied();
        if !header.starts_with(&MAGIC) {
            return None;
        }
        Some(Self {
            campaign: *header[4..].first_chunk()?,
            period: u32::from_le_bytes(part(12)?),
            id: *header[16..].first_chunk()?,
            row,
        })
    }

    /// The report as it is sent.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + self.row.len());
        bytes.extend(MAGIC);
        bytes.extend(self.campaign);
        bytes.extend(self.period.to_le_bytes());
        bytes.extend(self.id);
        bytes.extend(self.row);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_read_back_and_lie_as_documented() {
        let report = Report { campaign: [1, 2, 3, 4, 5, 6, 7, 8], period: 0x0102_0304, id: [9; 16], row: &[7, 8] };
        let bytes = report.to_bytes();
        assert_eq!(bytes[..16], *b"scr1\x01\x02\x03\x04\x05\x06\x07\x08\x04\x03\x02\x01");
        assert_eq!(bytes[16..], [[9; 16].as_slice(), &[7, 8]].concat());
        assert_eq!(Report::parse(&bytes), Some(report));
        assert_eq!(Report::parse(&bytes[..HEADER - 1]), None);
        assert_eq!(Report::parse(&[b"scr2", &bytes[4..]].concat()), None);
    }
}
