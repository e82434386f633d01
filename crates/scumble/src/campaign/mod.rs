//! A campaign: the public, signed, immutable description of one collection from devices.
//!
//! Its text is canonical JSON. Everything that is promised in it is a function of [`Parameters`], so
//! [`Campaign::check`] recomputes all of it and compares, as a device does for itself. Its name is the SHA-256 of its
//! text without the signature: who pins the name pins every word and every number.

mod terms;
mod words;

pub use terms::{Input, Layout, Longitudinal, Mode, Periods, Terms};

use crate::certificate::{Certificate, GuaranteeStatement, PublicKey, Signature, SigningKey, hex};
use crate::files::{Check, Outcome};
use scumble_core::error::ParameterError;
use scumble_core::mechanism::{Mechanism, MechanismId, Parameters};
use scumble_core::projection::Projection;
use scumble_core::release::{Encoder, EncodingStatement, REPORT_HEADER, Report};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version of the schema. A change of meaning gets a new number.
pub const SCHEMA: &str = "scumble-campaign/1";
/// The longest text that is read: a device must not be kept busy by a forger.
pub const LONGEST: usize = 1 << 18;

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
    /// The campaign of a mechanism. Refuses what no device may run.
    pub fn new(mechanism: &Mechanism, encoder: &Encoder, terms: Terms) -> Result<Self, ParameterError> {
        admissible(mechanism)?;
        terms.check()?;
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

    /// The same, signed. A signature that is there is replaced; the name stays.
    pub fn signed(mut self, key: &SigningKey) -> Self {
        self.signature = Some(key.sign(&self.digest()));
        self
    }

    /// The one text form: indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a campaign has only JSON values") + "\n"
    }

    /// Reads a campaign and re-checks it; what its numbers describe comes with it.
    pub fn parse(text: &str) -> Result<(Self, Mechanism, Encoder), ParameterError> {
        if text.len() > LONGEST {
            return Err(ParameterError::invalid(format!("not a campaign of scumble: longer than {LONGEST} bytes")));
        }
        let campaign: Self = serde_json::from_str(text)
            .map_err(|error| ParameterError::invalid(format!("not a campaign of scumble: {error}")))?;
        if campaign.to_json() != text {
            return Err(ParameterError::invalid("the campaign's text is not in its canonical form: it was altered"));
        }
        let (mechanism, encoder) = campaign.check()?;
        Ok((campaign, mechanism, encoder))
    }

    /// Derives every number and every sentence again, and compares; checks the signature if there is one.
    pub fn check(&self) -> Result<(Mechanism, Encoder), ParameterError> {
        let altered = |what: &str| ParameterError::invalid(format!("the campaign is inconsistent: {what}"));
        if self.schema != SCHEMA {
            return Err(altered(&format!("schema is '{}', this version reads '{SCHEMA}'", self.schema)));
        }
        self.signer()?;
        let mechanism = Mechanism::new(self.parameters.clone())?;
        let encoder = Encoder::new(&mechanism, Some(self.encoding.name.parse()?))?;
        let derived =
            Self { signature: self.signature.clone(), ..Self::new(&mechanism, &encoder, self.terms.clone())? };
        if let Some(field) = first_difference(self, &derived) {
            return Err(altered(&format!("'{field}' is not what its parameters give")));
        }
        Ok((mechanism, encoder))
    }

    /// Who signed it, if anyone; an error when the signature does not hold.
    pub fn signer(&self) -> Result<Option<PublicKey>, ParameterError> {
        let signer = self.signature.as_ref().map(|signature| signature.check(&self.digest())).transpose();
        signer.map_err(|_| ParameterError::invalid("the campaign's signature does not hold"))
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
    pub fn check_release(&self, certificate: &Certificate) -> Result<(), ParameterError> {
        let other = |what: &str| Err(ParameterError::invalid(format!("the release {what}")));
        match &certificate.campaign {
            None => other("was not collected from devices"),
            Some(campaign) if *campaign != self.digest() => other(&format!("was collected for campaign {campaign}")),
            _ if certificate.parameters != self.parameters => other("was made with other parameters"),
            _ if certificate.encoding != self.encoding => other("has another encoding"),
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

    /// Reads a report of this campaign: `None` for another's, for a wrong length or for a period that is none of its.
    pub fn report<'a>(&self, bytes: &'a [u8]) -> Option<Report<'a>> {
        let report = Report::parse(bytes)?;
        let ours = bytes.len() == self.report_length && report.period < self.terms.periods.count;
        (ours && self.digest_bytes().starts_with(&report.campaign)).then_some(report)
    }
}

/// Refuses mechanisms whose promise does not hold row by row on a device.
fn admissible(mechanism: &Mechanism) -> Result<(), ParameterError> {
    let id = mechanism.id();
    if mechanism.promise().guarantee().is_none() {
        return Err(ParameterError::not_private(
            format!("{id} is not differentially private: no campaign may use it"),
            "dp-signoporp-ceil, or privcube for a whole record",
        ));
    }
    if id == MechanismId::DpSignrpRr && mechanism.parameters().delta.is_some() {
        return Err(ParameterError::not_private(
            "the approximate promise of dp-signrp-rr rests on a projection that is used once and on a norm that every \
             row has: a device can keep neither",
            "dp-signrp-ceil, or dp-signrp-rr without a delta",
        ));
    }
    if let Some((name, _)) = mechanism.parameters().beside().first() {
        return Err(ParameterError::invalid(format!(
            "a device reads the campaign alone, and the file of {name} is too large to travel in it: take the blocks of an \
             image (grid:HxW), or bins whose file has at most 64 KiB"
        )));
    }
    Ok(())
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
