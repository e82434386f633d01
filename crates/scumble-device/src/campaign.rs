//! The campaign as a device reads it: who vouches, what it promises, and whether its numbers carry that.
//!
//! The text is that of `scumble::campaign`. Its last lines are the signature, of fixed length; the text without them is
//! what the digest covers.

use crate::json::Json;
use crate::policy::Loss;
use crate::refusal::Refusal;
use crate::signature;
use scumble_core::exact;
use scumble_core::facts::{hex, sha256};
use scumble_core::mechanism::{Mechanism, MechanismId, Parameters, Required, SignrpMode};
use scumble_core::privacy::Unit;
use scumble_core::projection::{Partition, Projection, ProjectionKind, Seed, TableFile};
use scumble_core::release::{Encoder, Encoding, REPORT_HEADER};
use scumble_core::vectors::Range;

const SCHEMA: &str = "scumble-campaign/1";
const LONGEST: usize = 1 << 18;
const CONTEXT: &str = "scumble-signature/1\n";

// The last lines of a signed campaign, around the key and the signature.
const BEFORE_KEY: &str = ",\n  \"signature\": {\n    \"algorithm\": \"ed25519\",\n    \"public_key\": \"";
const BEFORE_SIGNATURE: &str = "\",\n    \"signature\": \"";
const AFTER_SIGNATURE: &str = "\"\n  }\n}\n";
const END: &str = "\n}\n";

/// What the application has pinned: the signer's public key, the campaign's digest, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trust {
    /// The ed25519 key that must have signed.
    pub signer: Option<[u8; 32]>,
    /// The name that the campaign must have. Stronger: a campaign made for one victim is an attack.
    pub digest: Option<[u8; 32]>,
}

/// A campaign that has been checked.
#[derive(Debug)]
pub struct Campaign {
    /// Its name.
    pub digest: [u8; 32],
    /// The mechanism, recomputed.
    pub mechanism: Mechanism,
    /// How a row is written.
    pub encoding: Encoding,
    /// What one new content of a slot costs.
    pub loss: Loss,
    /// The unit of that loss.
    pub unit: Unit,
    /// Bytes per report.
    pub report_length: usize,
    /// When the first period begins.
    pub first: u64,
    /// Seconds per period.
    pub seconds: u64,
    /// How many periods there are.
    pub count: u32,
    /// True when an unchanged vector is sent in every period.
    pub sticky: bool,
    /// The most contents per slot.
    pub contents: usize,
    /// Where reports go.
    pub collector: String,
    /// What the person should read.
    pub statement: String,
}

impl Campaign {
    /// Reads and checks: trust first, then every number. `file` is the public file that the campaign names.
    pub fn open(text: &str, trust: Trust, file: Option<&[u8]>) -> Result<Self, Refusal> {
        let digest = vouched(text, trust)?;
        let json = Json::parse(text).ok_or(Refusal::NotACampaign)?;
        if json.get("schema").and_then(Json::text) != Some(SCHEMA) {
            return Err(Refusal::NotACampaign);
        }
        read(&json, digest, file).ok_or(Refusal::NotACampaign)?
    }

    /// The period of a moment.
    pub fn period(&self, now: u64) -> Result<u32, Refusal> {
        let period = now.checked_sub(self.first).and_then(|since| u32::try_from(since / self.seconds).ok());
        period.filter(|&period| period < self.count).ok_or(Refusal::ClosedPeriod)
    }
}

/// The digest of a campaign that the application trusts.
fn vouched(text: &str, trust: Trust) -> Result<[u8; 32], Refusal> {
    if trust == Trust::default() {
        return Err(Refusal::BadArgument);
    }
    if text.len() > LONGEST {
        return Err(Refusal::NotACampaign);
    }
    let (body, signed) = split(text);
    let digest = sha256(&[body.as_bytes(), END.as_bytes()]);
    if trust.digest.is_some_and(|pinned| pinned != digest) {
        return Err(Refusal::WrongDigest);
    }
    if let Some(signer) = trust.signer {
        let (key, signature) = signed.ok_or(Refusal::BadSignature)?;
        if key != signer {
            return Err(Refusal::WrongSigner);
        }
        let message = [CONTEXT, &hex(&digest)].concat();
        if !signature::holds(&key, message.as_bytes(), &signature).ok_or(Refusal::WrongSigner)? {
            return Err(Refusal::BadSignature);
        }
    }
    Ok(digest)
}

/// The text before its end, and key and signature if the end has them.
#[allow(clippy::type_complexity)] // key and signature, nowhere else
fn split(text: &str) -> (&str, Option<([u8; 32], [u8; 64])>) {
    let signed = || {
        let rest = text.strip_suffix(AFTER_SIGNATURE)?;
        let (rest, signature) = rest.split_at_checked(rest.len().checked_sub(128)?)?;
        let rest = rest.strip_suffix(BEFORE_SIGNATURE)?;
        let (rest, key) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
        Some((rest.strip_suffix(BEFORE_KEY)?, Some((unhex(key)?, unhex(signature)?))))
    };
    signed().unwrap_or_else(|| (text.strip_suffix(END).unwrap_or(text), None))
}

/// The fields; `None` where one is missing or of another kind.
fn read(json: &Json<'_>, digest: [u8; 32], file: Option<&[u8]>) -> Option<Result<Campaign, Refusal>> {
    let terms = json.get("terms")?;
    let (periods, longitudinal) = (terms.get("periods")?, terms.get("longitudinal")?);
    let (first, seconds, count) =
        (periods.get("first")?.number()?, periods.get("seconds")?.number()?, periods.get("count")?.number()?);
    if seconds == 0 {
        return None;
    }
    let sticky = match longitudinal.get("mode")?.text()? {
        "once" => false,
        "sticky" => true,
        _ => return None,
    };
    let encoding: Encoding = json.get("encoding")?.get("name")?.text()?.parse().ok()?;
    let stated = json.get("parameters")?;
    if let Err(refusal) = is_named(stated, file) {
        return Some(Err(refusal));
    }
    let mechanism = match Mechanism::new(parameters(stated, file)?) {
        Ok(mechanism) => mechanism,
        Err(_) => return Some(Err(Refusal::NotPrivate)),
    };
    let mut statement = String::from(terms.get("statement")?.text()?);
    for sentence in json.get("notice")?.list()? {
        statement.push('\n');
        statement.push_str(sentence.text()?);
    }
    Some(derive(json, &mechanism, encoding).map(|(loss, report_length)| Campaign {
        digest,
        unit: mechanism.parameters().unit,
        mechanism,
        encoding,
        loss,
        report_length,
        first,
        seconds,
        count,
        sticky,
        contents: longitudinal.get("contents").and_then(Json::number).unwrap_or(0),
        collector: terms.get("collector").and_then(Json::text).unwrap_or_default().into(),
        statement,
    }))
}

/// The loss and the length of a report, recomputed; refuses when the campaign states anything else.
fn derive(json: &Json<'_>, mechanism: &Mechanism, encoding: Encoding) -> Result<(Loss, usize), Refusal> {
    let guarantee = mechanism.promise().guarantee().ok_or(Refusal::NotPrivate)?;
    // This promise rests on a projection that is used once and on a norm that every row has.
    if mechanism.id() == MechanismId::DpSignrpRr && mechanism.parameters().delta.is_some() {
        return Err(Refusal::NotPrivate);
    }
    let encoder = Encoder::new(mechanism, Some(encoding)).map_err(|_| Refusal::NotDerived)?;
    let length = REPORT_HEADER + encoder.bytes_per_row();
    let stated = |name: &str| json.get("guarantee").and_then(|guarantee| guarantee.get(name)?.double());
    let field = |name: &str| json.get(name);
    let holds = stated("epsilon") == Some(guarantee.epsilon)
        && stated("delta") == Some(guarantee.delta)
        && stated("checked_epsilon") == Some(guarantee.checked_epsilon)
        && field("projection_version").and_then(Json::number) == Some(Projection::VERSION)
        && field("grid_exponent").and_then(Json::number) == Some(mechanism.grid().exponent())
        && field("report_length").and_then(Json::number) == Some(length)
        && field("noise").is_some_and(|noise| noise.states(&mechanism.perturbation().facts()));
    if holds { Ok((Loss::of(guarantee), length)) } else { Err(Refusal::NotDerived) }
}

/// The public file must be the one that the campaign names by its hash: large bins, components, or a book.
fn is_named(parameters: &Json<'_>, file: Option<&[u8]>) -> Result<(), Refusal> {
    let names = ["bins", "components", "book"].into_iter().filter_map(|name| parameters.get(name));
    let named = names.filter(|it| it.get("text").is_none()).find_map(|it| it.get("sha256")?.text());
    match (named, file) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(Refusal::NoFile),
        (Some(name), Some(file)) if hex(&sha256(&[file])) == name => Ok(()),
        _ => Err(Refusal::WrongFile),
    }
}

/// The parameters; `None` when one is unknown, since it might change what is promised.
fn parameters(json: &Json<'_>, file: Option<&[u8]>) -> Option<Parameters> {
    let Json::Fields(fields) = json else { return None };
    let need = |name: &str| json.get(name);
    let range = need("range")?;
    let mut parameters = Parameters::new(Required {
        mechanism: need("mechanism")?.text()?.parse().ok()?,
        dim: need("dim")?.number()?,
        k: need("k")?.number()?,
        epsilon: need("epsilon")?.double()?,
        beta: need("beta")?.double()?,
        range: Range { lo: range.get("lo")?.double()?, hi: range.get("hi")?.double()? },
        seed: Seed(unhex(need("seed")?.text()?)?),
    });
    parameters.k = need("k")?.number()?; // as stated: `new` puts the dimension where there is no projection
    for (name, value) in fields {
        match name.as_str() {
            "mechanism" | "dim" | "k" | "epsilon" | "beta" | "range" | "seed" => {}
            "repeats" => parameters.repeats = value.number()?,
            "delta" => parameters.delta = Some(value.double()?),
            "unit" => parameters.unit = value.text()?.parse().ok()?,
            "projection" => parameters.projection = Some(projection(value.text()?)?),
            "bins" => parameters.bins = Some(partition(value, file)?),
            "components" => parameters.components = Some(TableFile::from_file(file?).ok()?),
            "book" => parameters.book = Some(TableFile::from_file(file?).ok()?),
            "purpose" => parameters.purpose = Some(value.text()?.parse().ok()?),
            "sketch_clip" => parameters.sketch_clip = Some(value.double()?),
            "norm_bound" => parameters.norm_bound = Some(value.double()?),
            "clip_norm" => parameters.clip_norm = Some(value.double()?),
            "signrp_mode" if value.text()? == "paper" => parameters.signrp_mode = SignrpMode::Paper,
            "symbols" => parameters.symbols = Some(value.number()?),
            "lattice_steps" => parameters.lattice_steps = Some(value.number()?),
            "thresholds" => parameters.thresholds = value.list()?.iter().map(Json::double).collect::<Option<_>>()?,
            "norm" => parameters.norm = Some(value.double()?),
            "density" => parameters.density = Some(value.double()?),
            "grid_exponent" => parameters.grid_exponent = Some(value.number()?),
            _ => return None,
        }
    }
    Some(parameters)
}

/// The blocks of an image by name, bins that travel in the campaign, or those of the public file.
fn partition(json: &Json<'_>, file: Option<&[u8]>) -> Option<Partition> {
    if let Some(grid) = json.text() {
        return grid.parse().ok();
    }
    if json.get("text").is_none() {
        return Partition::from_file(file?).ok();
    }
    let partition = Partition::from_file(json.get("text")?.text()?.as_bytes()).ok()?;
    (partition.name().strip_prefix("sha256:") == json.get("sha256")?.text()).then_some(partition)
}

/// The core's own words for a projection, whose numbers are read here.
fn projection(text: &str) -> Option<ProjectionKind> {
    match text.split_once(':') {
        Some(("very-sparse", s)) => exact::read(s).map(|s| ProjectionKind::VerySparse { s }),
        Some(("oporp", repeats)) => repeats.parse().ok().map(|repeats| ProjectionKind::Oporp { repeats }),
        _ => [
            ProjectionKind::Identity,
            ProjectionKind::Gaussian,
            ProjectionKind::Uniform,
            ProjectionKind::Rademacher,
            ProjectionKind::Oporp { repeats: 1 },
            ProjectionKind::Bins,
        ]
        .into_iter()
        .find(|kind| String::from(*kind) == text),
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case digits only: one key has one text.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| DIGITS.iter().position(|&digit| digit == byte);
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(bytes)
}
