//! A campaign: the public, signed, immutable description of one collection from devices.
//!
//! Its text is canonical JSON. Everything that is promised in it is a function of [`Parameters`], so
//! [`Campaign::check`] recomputes all of it and compares, as a device does for itself. Its name is the SHA-256 of its
//! text without the signature: pinning the name pins every word and every number.

mod file;
mod terms;
mod words;

pub use file::{CampaignFileError, read_campaign, write_campaign};
pub use terms::{Input, Layout, Longitudinal, Mode, Periods, Terms};

use crate::certificate::{Certificate, GuaranteeStatement, PublicKey, Signature, SigningKey, hex};
use crate::error::{CampaignError, LibraryError, NotPrivate};
use crate::files::{Check, Outcome};
use scumble_core::mechanism::{Beside, Mechanism, MechanismId, Parameters};
use scumble_core::projection::Projection;
use scumble_core::release::{Encoder, EncodingStatement, REPORT_HEADER, Report};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version of the schema. A change of meaning gets a new number.
pub const SCHEMA: &str = "scumble-campaign/1";
/// The longest text that is read: a forger must not keep a device busy.
pub const LONGEST: usize = 1 << 18;
/// The largest public file that a campaign may name: every device loads it.
pub const LARGEST_FILE: usize = 1 << 26;

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// [`SCHEMA`].
    pub schema: String,
    /// What the organiser decides.
    pub terms: Terms,
    /// What is promised, for one content of one slot.
    pub guarantee: GuaranteeStatement,
    /// What a person should know, derived from the numbers.
    pub notice: Vec<String>,
    /// Version of the projection's expansion (docs/projection-format.md).
    pub projection_version: u32,
    /// log2 of the grid step.
    pub grid_exponent: i32,
    /// The integers of the perturbation.
    pub noise: Value,
    /// How to read a row.
    pub encoding: EncodingStatement,
    /// Bytes per report, header and row.
    pub report_length: usize,
    /// Everything that fixes the mechanism.
    pub parameters: Parameters,
    /// Who vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl Campaign {
    /// The campaign of a mechanism. Refuses mechanisms that no device may run.
    pub fn new(mechanism: &Mechanism, encoder: &Encoder, terms: Terms) -> Result<Self, LibraryError> {
        admissible(mechanism)?;
        terms.check().map_err(CampaignError::from)?;
        Ok(Self {
            schema: SCHEMA.into(),
            guarantee: GuaranteeStatement::new(mechanism),
            notice: words::notice(mechanism, encoder, &terms),
            terms,
            projection_version: Projection::VERSION,
            grid_exponent: mechanism.grid().exponent(),
            noise: serde_json::to_value(mechanism.perturbation().facts()).expect("facts are JSON values"),
            encoding: encoder.statement(),
            report_length: REPORT_HEADER + encoder.bytes_per_row(),
            parameters: mechanism.parameters().clone(),
            signature: None,
        })
    }

    /// The same, signed. An existing signature is replaced; the name stays the same.
    pub fn signed(mut self, key: &SigningKey) -> Self {
        self.signature = Some(key.sign(&self.digest()));
        self
    }

    /// The one text form: indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a campaign has only JSON values") + "\n"
    }

    /// Reads a campaign and re-checks it; what its numbers describe comes with it.
    pub fn parse(text: &str) -> Result<(Self, Mechanism, Encoder), LibraryError> {
        Self::parse_with(text, &Beside::default())
    }

    /// The same with the public file that it names by its hash.
    pub fn parse_with(text: &str, beside: &Beside) -> Result<(Self, Mechanism, Encoder), LibraryError> {
        if text.len() > LONGEST {
            return Err(CampaignError::TooLong { most: LONGEST }.into());
        }
        let mut campaign: Self =
            serde_json::from_str(text).map_err(|error| CampaignError::Text { fault: error.to_string() })?;
        if campaign.to_json() != text {
            return Err(CampaignError::NotCanonical.into());
        }
        campaign.parameters.attach(beside);
        let (mechanism, encoder) = campaign.check()?;
        Ok((campaign, mechanism, encoder))
    }

    /// Recomputes every number and every sentence, and compares; checks the signature if there is one.
    pub fn check(&self) -> Result<(Mechanism, Encoder), LibraryError> {
        if self.schema != SCHEMA {
            return Err(CampaignError::Schema { found: self.schema.clone(), known: SCHEMA }.into());
        }
        self.signer()?;
        let mechanism = Mechanism::new(self.parameters.clone())?;
        let encoder = Encoder::new(&mechanism, Some(self.encoding.name.parse()?))?;
        let derived =
            Self { signature: self.signature.clone(), ..Self::new(&mechanism, &encoder, self.terms.clone())? };
        if let Some(field) = first_difference(self, &derived) {
            return Err(CampaignError::Field { field }.into());
        }
        Ok((mechanism, encoder))
    }

    /// Who signed it, if anyone; an error when the signature does not hold.
    pub fn signer(&self) -> Result<Option<PublicKey>, LibraryError> {
        let signer = self.signature.as_ref().map(|signature| signature.check(&self.digest())).transpose();
        signer.map_err(|_| CampaignError::Signature.into())
    }

    /// Is it the campaign that is trusted: signed with this key, named by this digest? Says who signed it.
    pub fn check_trust(
        &self,
        key: Option<&PublicKey>,
        digest: Option<&str>,
    ) -> Result<Option<PublicKey>, LibraryError> {
        let signer = self.signer()?;
        match (&signer, key) {
            (Some(signer), Some(key)) if signer != key => Err(CampaignError::OtherSigner.into()),
            (None, Some(_)) => Err(CampaignError::NotSigned.into()),
            _ if digest.is_some_and(|digest| digest != self.digest()) => Err(CampaignError::OtherDigest.into()),
            _ => Ok(signer),
        }
    }

    /// Its name: SHA-256 of its text without the signature.
    pub fn digest_bytes(&self) -> [u8; 32] {
        let bare = Self { signature: None, ..self.clone() };
        Sha256::digest(bare.to_json()).into()
    }

    /// The name in 64 hexadecimal digits.
    pub fn digest(&self) -> String {
        hex(&self.digest_bytes())
    }

    /// Was this release collected for this campaign, with its mechanism and its encoding?
    pub fn check_release(&self, certificate: &Certificate) -> Result<(), CampaignError> {
        match &certificate.campaign {
            None => Err(CampaignError::NotCollected),
            Some(campaign) if *campaign != self.digest() => {
                Err(CampaignError::OtherCampaign { campaign: campaign.clone() })
            }
            _ if certificate.parameters != self.parameters => Err(CampaignError::OtherParameters),
            _ if certificate.encoding != self.encoding => Err(CampaignError::OtherEncoding),
            _ => Ok(()),
        }
    }

    /// A release says for which campaign it was collected; a campaign that is given must be that one.
    pub fn check_collected(given: Option<&Self>, certificate: &Certificate) -> Option<Check> {
        let named = certificate.campaign.as_deref();
        let (outcome, detail) = match (given.map(|campaign| campaign.check_release(certificate)), named) {
            (None, None) => return None,
            (None, Some(named)) => {
                (Outcome::Ok, format!("{named}, noise drawn on each device: give ‹campaign› to check"))
            }
            (Some(Ok(())), _) => {
                (Outcome::Ok, format!("{}, as given; noise drawn on each device", named.unwrap_or_default()))
            }
            (Some(Err(error)), _) => (Outcome::Failed, error.to_string()),
        };
        Some(Check::new("campaign", outcome, detail))
    }

    /// The public file that every device needs besides this text, and what it is: large bins, components, or a book.
    pub fn file(&self) -> Option<(&'static str, Vec<u8>)> {
        self.parameters.beside().pop() // `admissible` refuses a second
    }

    /// Reads a report of this campaign: `None` for another's, for a wrong length, or for a period that it lacks.
    pub fn report<'a>(&self, bytes: &'a [u8]) -> Option<Report<'a>> {
        let report = Report::parse(bytes)?;
        let ours = bytes.len() == self.report_length && report.period < self.terms.periods.count;
        (ours && self.digest_bytes().starts_with(&report.campaign)).then_some(report)
    }
}

/// Refuses mechanisms whose promise does not hold row by row on a device.
fn admissible(mechanism: &Mechanism) -> Result<(), LibraryError> {
    let id = mechanism.id();
    if mechanism.promise().guarantee().is_none() {
        return Err(NotPrivate::Campaign { mechanism: id }.into());
    }
    if id == MechanismId::DpSignrpRr && mechanism.parameters().delta.is_some() {
        return Err(NotPrivate::SignrpOnDevices.into());
    }
    mechanism.parameters().check_for_devices()?;
    match &mechanism.parameters().beside()[..] {
        [] => Ok(()),
        [(_, content)] if content.len() <= LARGEST_FILE => Ok(()),
        [(name, content)] => Err(CampaignError::FileTooLarge { name, bytes: content.len(), most: LARGEST_FILE }.into()),
        _ => Err(CampaignError::Files.into()),
    }
}

/// The first field in which two campaigns differ.
fn first_difference(stated: &Campaign, derived: &Campaign) -> Option<String> {
    if stated == derived {
        return None;
    }
    let fields = |campaign| match serde_json::to_value(campaign) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (stated, derived) = (fields(stated), fields(derived));
    let field = stated.iter().find(|(key, value)| derived.get(*key) != Some(value)).map(|(key, _)| key.clone());
    Some(field.unwrap_or_else(|| "a field".into()))
}

#[cfg(test)]
mod tests;
