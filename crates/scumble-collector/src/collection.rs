//! A campaign as a collector sees it: which reports are taken when, and for how long they are kept.

use bytes::Bytes;
use scumble::campaign::Campaign;
use scumble::error::LibraryError;
use scumble::mechanism::{Beside, Mechanism};
use scumble::release::Encoder;
use std::fmt;

const SECONDS_PER_DAY: u64 = 86_400;

/// A campaign whose text, numbers and signature were checked, with what they describe.
#[derive(Clone)]
pub struct Collection {
    campaign: Campaign,
    mechanism: Mechanism,
    encoder: Encoder,
    digest: [u8; 32],
    text: String,
    file: Option<Bytes>,
}

/// Why a campaign is not collected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// The campaign does not hold.
    #[error(transparent)]
    Campaign(#[from] LibraryError),
    /// Nobody vouches for it.
    #[error("the campaign is not signed: no device takes it")]
    NotSigned,
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Collection({})", self.name())
    }
}

impl Collection {
    /// Reads a signed campaign, with the public file that it names.
    pub fn parse(text: &str, file: Option<&[u8]>) -> Result<Self, CollectionError> {
        let mut beside = Beside::default();
        file.map_or(Ok(()), |file| beside.add(file)).map_err(LibraryError::from)?;
        let (campaign, mechanism, encoder) = Campaign::parse_with(text, &beside)?;
        Self::new(campaign, mechanism, encoder)
    }

    /// Of a campaign that was read, with what it describes. Refuses one that is not signed.
    pub fn new(campaign: Campaign, mechanism: Mechanism, encoder: Encoder) -> Result<Self, CollectionError> {
        if campaign.signature.is_none() {
            return Err(CollectionError::NotSigned);
        }
        let (digest, text) = (campaign.digest_bytes(), campaign.to_json());
        let file = campaign.file().map(|(_, content)| content.into());
        Ok(Self { campaign, mechanism, encoder, digest, text, file })
    }

    /// The campaign.
    pub fn campaign(&self) -> &Campaign {
        &self.campaign
    }

    /// The mechanism that runs on the devices.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The encoder of its rows.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The campaign's digest.
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The digest in hexadecimal: the campaign's name.
    pub fn name(&self) -> String {
        self.digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text as it was signed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The public file that devices need besides the text.
    pub fn file(&self) -> Option<&Bytes> {
        self.file.as_ref()
    }

    /// The first period that is not closed at `now` (seconds since 1970): the one before the current one.
    pub fn open_from(&self, now: u64) -> u32 {
        let periods = &self.campaign.terms.periods;
        let begun = now.saturating_sub(periods.first) / periods.seconds;
        u32::try_from(begun.saturating_sub(1)).unwrap_or(u32::MAX).min(periods.count)
    }

    /// The periods that take reports at `now`: none, one or two.
    pub fn open_periods(&self, now: u64) -> Vec<u32> {
        let from = self.open_from(now);
        (from..from.saturating_add(2)).filter(|&period| self.campaign.terms.periods.is_open(period, now)).collect()
    }

    /// Reports of earlier periods are deleted at `now`.
    pub fn kept_from(&self, now: u64) -> u32 {
        let terms = &self.campaign.terms;
        let ended = now.saturating_sub(u64::from(terms.retention_days) * SECONDS_PER_DAY);
        let ended = ended.saturating_sub(terms.periods.first) / terms.periods.seconds;
        u32::try_from(ended).unwrap_or(u32::MAX).min(terms.periods.count)
    }
}
