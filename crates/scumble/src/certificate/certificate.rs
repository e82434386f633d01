//! The certificate: what was promised, and every public number needed to check it and to use the data.
//!
//! Nothing in it depends on the private rows except the released data's own hashes and the number of rows. Everything
//! else is a function of [`Parameters`], so [`Certificate::check`] recomputes all of it and compares: a certificate
//! that promises more than its numbers support does not parse.

use super::{ColumnLayout, ContentHashes, Layout, PersonStatement, PublicKey, Signature, SigningKey};
use crate::error::{CertificateError, LibraryError};
use scumble_core::mechanism::{Beside, Mechanism, Parameters};
use scumble_core::privacy::{Bound, Claim, Guarantee, Individual, Notion, Promise, Unit};
use scumble_core::projection::{Partition, Projection, TableFile};
use scumble_core::release::{Encoder, EncodingStatement, Releaser};
use scumble_core::vectors::Range;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Name and version of the schema. A change of meaning gets a new number.
pub const SCHEMA: &str = "scumble-certificate/2";

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`SCHEMA`].
    pub schema: String,
    /// What wrote it.
    pub software: Software,
    /// Id and source.
    pub mechanism: MechanismStatement,
    /// Neighbours.
    pub unit: Unit,
    /// The most that the unit may move.
    pub beta: f64,
    /// The public range, `[lo, hi]`.
    pub range: [f64; 2],
    /// The promise.
    pub guarantee: GuaranteeStatement,
    /// The public projection.
    pub projection: ProjectionStatement,
    /// log2 of the grid step.
    pub grid_exponent: i32,
    /// The integers of the perturbation that ran.
    pub noise: Value,
    /// How to read a row.
    pub encoding: EncodingStatement,
    /// Always `exact-integer`: no float decides anything to the left of the wall.
    pub numerics: String,
    /// True if noise is a function of a secret key and the row, so that an unchanged row gives the same bytes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sticky: bool,
    /// What holds for all rows of a person together, if the number of rows taken from each was bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<PersonStatement>,
    /// The digest of the campaign for which devices made the rows, each with its own noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign: Option<String>,
    /// Rows released.
    pub rows: u64,
    /// Hashes of the released columns.
    pub content: Content,
    /// Everything that fixes the mechanism.
    pub parameters: Parameters,
    /// What a reader must know first: a beta, epsilon or delta that protects less than it seems to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What the guarantee rests on.
    pub assumptions: Vec<String>,
    /// What it does not cover.
    pub not_protected: Vec<String>,
    /// SHA-256 of this certificate without `digest` and `signature`: finds accidents, not forgers.
    pub digest: String,
    /// Who vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// What wrote the certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// `scumble`.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Software {
    /// The name is fixed, and the version is digits and dots with a short suffix: neither can hold a sentence.
    fn is_plain(&self) -> bool {
        let (numbers, suffix) = self.version.split_once('-').unwrap_or((&self.version, "x"));
        let short = |part: &str, allowed: fn(&u8) -> bool| {
            (1..=16).contains(&part.len()) && part.bytes().all(|byte| allowed(&byte))
        };
        let number = |part: &str| part.len() <= 5 && short(part, u8::is_ascii_digit);
        self.name == "scumble"
            && numbers.split('.').count() == 3
            && numbers.split('.').all(number)
            && suffix.split('.').count() <= 2
            && suffix.split('.').all(|part| short(part, u8::is_ascii_alphanumeric))
    }
}

/// Which mechanism ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanismStatement {
    /// The id.
    pub id: String,
    /// Where it comes from.
    pub paper: String,
    /// What it does.
    pub summary: String,
}

/// The promise as the certificate words it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuaranteeStatement {
    /// `pure`, `approximate` or `individual`.
    pub notion: String,
    /// Upper bound on the loss; absent for `individual`, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Failure probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// The loss of the integers that ran, at most `epsilon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_epsilon: Option<f64>,
    /// What is left of it for one value replaced by any other of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any_value: Option<Bound>,
    /// What is left of it for a whole row replaced by any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_row: Option<Bound>,
    /// The promise in plain words.
    pub statement: String,
}

/// The public projection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectionStatement {
    /// Kind, as on the command line.
    pub kind: String,
    /// Version of the expansion (docs/projection-format.md).
    pub version: u32,
    /// 64 hexadecimal digits.
    pub seed: String,
    /// Attributes.
    pub p: usize,
    /// Size of the sketch.
    pub k: usize,
    /// Repetitions of OPORP.
    pub repeats: usize,
    /// The public partition: `grid:28x28`, or the hash of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<String>,
    /// The hash of the file of public components.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<String>,
}

/// SHA-256 of each released column, and what a reader would load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Over the encoded rows, in order.
    pub sketch: String,
    /// Over the ids, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<String>,
    /// Over the labels, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<String>,
    /// Every column with its type: what is not named here is not part of the release.
    pub layout: Layout,
}

impl From<ContentHashes> for Content {
    fn from(ContentHashes { sketch, ids, labels, layout, .. }: ContentHashes) -> Self {
        Self { sketch, ids, labels, layout }
    }
}

impl GuaranteeStatement {
    /// What a mechanism promises.
    pub fn new(mechanism: &Mechanism) -> Self {
        let Claim { any_value, whole_row, .. } = mechanism.claim();
        match mechanism.promise() {
            Promise::Private(guarantee) => Self {
                notion: match guarantee.notion {
                    Notion::Pure => "pure",
                    Notion::Approximate => "approximate",
                }
                .into(),
                epsilon: Some(guarantee.epsilon),
                delta: Some(guarantee.delta),
                checked_epsilon: Some(guarantee.checked_epsilon),
                any_value,
                whole_row,
                statement: guarantee.sentence(),
            },
            Promise::NotPrivate(_) => Self {
                notion: "individual".into(),
                epsilon: None,
                delta: None,
                checked_epsilon: None,
                any_value: None,
                whole_row: None,
                statement: Individual::SENTENCE.into(),
            },
        }
    }
}

impl Certificate {
    /// The certificate of a finished release.
    pub fn new(mechanism: &Mechanism, encoder: &Encoder, rows: u64, content: Content) -> Self {
        let parameters = mechanism.parameters();
        let beta = mechanism.promise().guarantee().map_or(parameters.beta, |guarantee: &Guarantee| guarantee.beta);
        let mut certificate = Self {
            schema: SCHEMA.into(),
            software: Software { name: "scumble".into(), version: env!("CARGO_PKG_VERSION").into() },
            mechanism: MechanismStatement {
                id: mechanism.id().to_string(),
                paper: mechanism.id().paper().into(),
                summary: mechanism.id().summary().into(),
            },
            unit: parameters.unit,
            beta,
            range: [parameters.range.lo, parameters.range.hi],
            guarantee: GuaranteeStatement::new(mechanism),
            projection: ProjectionStatement {
                kind: mechanism.projection().kind().to_string(),
                version: Projection::VERSION,
                seed: parameters.seed.to_hex(),
                p: parameters.dim,
                k: parameters.k,
                repeats: parameters.repeats,
                bins: parameters.bins.as_ref().map(Partition::name),
                components: parameters.components.as_ref().map(TableFile::name),
            },
            grid_exponent: mechanism.grid().exponent(),
            noise: serde_json::to_value(mechanism.perturbation().facts()).expect("facts are JSON values"),
            encoding: encoder.statement(),
            numerics: "exact-integer".into(),
            sticky: false,
            person: None,
            campaign: None,
            rows,
            content,
            parameters: parameters.clone(),
            warnings: warnings(mechanism, rows),
            assumptions: mechanism.assumptions(),
            not_protected: mechanism.not_protected(),
            digest: String::new(),
            signature: None,
        };
        certificate.digest = certificate.compute_digest();
        certificate
    }

    /// The certificate of what a releaser has released.
    pub fn of(releaser: &Releaser, rows: u64, content: Content) -> Self {
        let certificate = Self::new(releaser.mechanism(), releaser.encoder(), rows, content);
        if releaser.keyed_noise().is_some() { certificate.sticky() } else { certificate }
    }

    /// The promise with everything that decides what it means to a reader.
    pub fn claim(&self) -> Claim {
        let GuaranteeStatement { ref notion, epsilon, delta, checked_epsilon, any_value, whole_row, .. } =
            self.guarantee;
        let notion = if notion == "pure" { Notion::Pure } else { Notion::Approximate };
        let (unit, beta, [lo, hi]) = (self.unit, self.beta, self.range);
        let numbers = epsilon.zip(delta).zip(checked_epsilon);
        let guarantee = numbers.map(|((epsilon, delta), checked_epsilon)| Guarantee {
            notion,
            epsilon,
            delta,
            checked_epsilon,
            unit,
            beta,
        });
        Claim { guarantee, range: Range { lo, hi }, dim: self.projection.p, any_value, whole_row }
    }

    /// The same for noise that a secret key gives: what is then assumed, and what is not protected.
    pub fn sticky(mut self) -> Self {
        self.sticky = true;
        self.assumptions.push(
            "the key of the noise stays secret and serves one data set, and a row's id names the same person in every \
             release made with it"
                .into(),
        );
        self.not_protected.push(
            "whether a row has changed between releases made with the same key: an unchanged row gives the same bytes, \
             and every content that a row takes on costs the loss again"
                .into(),
        );
        self.digest = self.compute_digest();
        self
    }

    /// The same for rows that devices made for a campaign: the noise was drawn on each device, so a report can be false
    /// but cannot be the bare vector.
    pub fn collected(mut self, campaign: &str) -> Self {
        self.campaign = Some(campaign.into());
        self.assumptions.push(
            "noise drawn on each device: the promise to a person rests on that device's software and key, not on the \
             collector"
                .into(),
        );
        self.not_protected.push(
            "what the rows say together: whoever can send reports can send false ones, and a device may be in several \
             periods"
                .into(),
        );
        self.digest = self.compute_digest();
        self
    }

    /// The same with what `other` says about its rows besides their noise: a key, persons, a campaign.
    pub fn like(self, other: &Self) -> Self {
        let certificate = if other.sticky { self.sticky() } else { self };
        let certificate = match other.person.clone() {
            Some(person) => certificate.for_persons(person),
            None => certificate,
        };
        match &other.campaign {
            Some(campaign) => certificate.collected(campaign),
            None => certificate,
        }
    }

    /// The same, signed: the signature covers this text and, by its hashes, the released data.
    pub fn signed(mut self, key: &SigningKey) -> Self {
        self.signature = Some(key.sign(&self.digest));
        self
    }

    /// The one text form: indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a certificate has only JSON values") + "\n"
    }

    /// Reads a certificate and re-checks it; the mechanism that it describes comes with it.
    pub fn parse(text: &str) -> Result<(Self, Mechanism), LibraryError> {
        Self::parse_with(text, &Beside::default())
    }

    /// The same with public files stored beside it, which it names by their hash.
    pub fn parse_with(text: &str, beside: &Beside) -> Result<(Self, Mechanism), LibraryError> {
        let mut certificate = Self::read(text)?;
        certificate.parameters.attach(beside);
        let mechanism = certificate.check()?;
        Ok((certificate, mechanism))
    }

    /// The digest of a certificate's text, which is that of this text. It names the certificate and proves nothing about
    /// its numbers.
    pub(crate) fn named(text: &str) -> Result<String, CertificateError> {
        let certificate = Self::read(text)?;
        match certificate.digest == certificate.compute_digest() {
            true => Ok(certificate.digest),
            false => Err(CertificateError::Digest),
        }
    }

    /// Reads the one form of the text.
    fn read(text: &str) -> Result<Self, CertificateError> {
        let fault = |error: serde_json::Error| CertificateError::Text { fault: error.to_string() };
        let certificate: Self = serde_json::from_str(text).map_err(fault)?;
        if certificate.to_json() == text { Ok(certificate) } else { Err(CertificateError::NotCanonical) }
    }

    /// Is it signed with the key of which this is the public half? Reading it has already checked the signature against
    /// the key that it names.
    pub fn check_signer(&self, key: &PublicKey) -> Result<(), CertificateError> {
        let key = key.to_hex();
        match &self.signature {
            Some(signature) if signature.public_key == key => Ok(()),
            Some(signature) => Err(CertificateError::OtherSigner { signer: signature.public_key.clone(), key }),
            None => Err(CertificateError::NotSigned),
        }
    }

    /// Recomputes every number from the parameters and compares.
    pub fn check(&self) -> Result<Mechanism, LibraryError> {
        if self.schema != SCHEMA {
            return Err(CertificateError::Schema { found: self.schema.clone(), known: SCHEMA }.into());
        }
        if self.digest != self.compute_digest() {
            return Err(CertificateError::Digest.into());
        }
        if let Some(signature) = &self.signature {
            signature.check(&self.digest)?;
        }
        let mechanism = Mechanism::new(self.parameters.clone())?;
        let encoder = Encoder::new(&mechanism, Some(self.encoding.name.parse()?))?;
        let sketch = ColumnLayout::encoded(encoder.encoding(), encoder.k());
        if !self.content.layout.fits(&sketch, self.content.ids.is_some(), self.content.labels.is_some()) {
            return Err(CertificateError::Layout.into());
        }
        let mut derived = Self::new(&mechanism, &encoder, self.rows, self.content.clone());
        if self.sticky {
            derived = derived.sticky();
        }
        if let Some(person) = &self.person {
            derived = derived.for_persons(PersonStatement::new(&mechanism, person.rows, person.asked_delta())?);
        }
        if let Some(campaign) = &self.campaign {
            derived = derived.collected(campaign);
        }
        let Content { sketch, ids, labels, .. } = &self.content;
        let hashes = [Some(sketch), ids.as_ref(), labels.as_ref(), self.campaign.as_ref()];
        if !hashes.into_iter().flatten().all(|hash| is_hash(hash)) {
            return Err(CertificateError::Hash.into());
        }
        if !self.software.is_plain() {
            return Err(CertificateError::Software.into());
        }
        derived.software = self.software.clone(); // which version wrote it is a statement, not a number
        derived.signature = self.signature.clone();
        derived.digest = self.digest.clone();
        if derived != *self {
            let (stated, derived) = (serde_json::to_value(self), serde_json::to_value(&derived));
            let field = match (stated, derived) {
                (Ok(Value::Object(a)), Ok(Value::Object(b))) => {
                    a.iter().find(|(key, value)| b.get(*key) != Some(value)).map(|(key, _)| key.clone())
                }
                _ => None,
            };
            return Err(CertificateError::Field { field: field.unwrap_or_else(|| "a field".into()) }.into());
        }
        Ok(mechanism)
    }

    /// SHA-256 over the text without digest and signature.
    pub fn compute_digest(&self) -> String {
        let bare = Self { digest: String::new(), signature: None, ..self.clone() };
        hex(&Sha256::digest(bare.to_json()))
    }

    /// True when both were made with the same projection, so that their rows may be compared.
    pub(crate) fn same_projection(&self, other: &Self) -> Result<(), CertificateError> {
        let (a, b) = (&self.projection, &other.projection);
        let difference = if a.kind != b.kind {
            "kind"
        } else if a.version != b.version {
            "version"
        } else if (a.p, a.k, a.repeats) != (b.p, b.k, b.repeats) {
            "size (p, k or repeats)"
        } else if a.components != b.components {
            "set of components"
        } else if a.bins != b.bins {
            "partition into bins"
        } else if a.seed != b.seed {
            "seed"
        } else {
            return Ok(());
        };
        Err(CertificateError::OtherProjection { difference })
    }
}

/// What a reader must know first; with the number of rows known, also what delta allows over all of them.
fn warnings(mechanism: &Mechanism, rows: u64) -> Vec<String> {
    let mut warnings = mechanism.warnings();
    let delta = mechanism.promise().guarantee().map_or(0.0, |guarantee| guarantee.delta);
    if delta * rows as f64 >= 1.0 {
        warnings.push(format!(
            "delta {delta:e} over {rows} rows: about {:.0} of them may lie open without breaking the promise; take a delta \
             well below 1 in {rows}",
            delta * rows as f64
        ));
    }
    warnings
}

/// 64 lower-case hexadecimal digits: nothing that a reader could take for words.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
