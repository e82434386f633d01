//! Options that several verbs share, each in one place.

use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use scumble::files::{AccountOf, Batch, Format, ReadOptions, add_public, read_partition, read_table};
use scumble::ledger::Budget;
use scumble::mechanism::{Beside, MechanismId, Purpose, SignrpMode};
use scumble::plan::{Ask, Public, PublicSample, images_like};
use scumble::privacy::Unit;
use scumble::projection::{ImageGrid, ProjectionKind, Seed};
use scumble::release::Encoding;
use scumble::training::read_classes;
use scumble::vectors::Range;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Options of every verb.
#[derive(Args, Debug)]
pub struct Global {
    /// Worker threads (default: one per core)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "General")]
    threads: Option<u16>,
    /// Print JSON instead of text
    #[arg(long, global = true, help_heading = "General")]
    pub json: bool,
}

impl Global {
    /// Prints the one that is asked for: a value as JSON, or text.
    pub fn show<T: Serialize>(
        &self,
        value: impl FnOnce() -> T,
        text: impl FnOnce() -> String,
    ) -> Result<Exit, Failure> {
        if self.json { print::emit_json(&value()) } else { print::emit(&text()) }.map(|()| Exit::Done)
    }

    /// Sets up the workers, and turns a full quota into a write error instead of a kill.
    pub fn start(&self) {
        scumble::parallel::set_threads(self.threads.map_or(0, usize::from));
        #[cfg(unix)]
        {
            let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, ignored); // without it: killed, no output
        }
    }
}

/// A value, or the word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto<T> {
    /// Let the plan choose.
    Auto,
    /// Take this.
    Is(T),
}

impl<T> Auto<T> {
    /// The value, if one is fixed.
    pub fn fixed(self) -> Option<T> {
        match self {
            Self::Auto => None,
            Self::Is(value) => Some(value),
        }
    }
}

impl FromStr for Auto<usize> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Is).map_err(|_| "give a whole number or auto".into()),
        }
    }
}

/// A mechanism's id, or a word that stands for no particular one.
pub fn mechanism_parser(word: &'static str, help: &'static str) -> impl TypedValueParser<Value = Auto<MechanismId>> {
    let auto = PossibleValue::new(word).help(help);
    let ids = MechanismId::ALL.iter().map(|id| PossibleValue::new(id.as_str()).help(id.summary()));
    PossibleValuesParser::new(std::iter::once(auto).chain(ids)).map(|text| text.parse().map_or(Auto::Auto, Auto::Is))
}

/// `LO,HI`.
pub fn parse_range(text: &str) -> Result<Range, String> {
    let ends = text.split_once(',').and_then(|(lo, hi)| Some((lo.trim().parse().ok()?, hi.trim().parse().ok()?)));
    let (lo, hi) = ends.ok_or("give two numbers as LO,HI, for example 0,1")?;
    Range::new(lo, hi).map_err(|error| error.to_string())
}

fn parse_mode(text: &str) -> SignrpMode {
    if text == "paper" { SignrpMode::Paper } else { SignrpMode::Tight }
}

/// The file with the private rows.
#[derive(Args, Debug)]
pub struct InputOptions {
    /// Kind of input: npy, parquet, csv, tsv, libsvm, idx (default: by its name)
    #[arg(long, value_name = "KIND", help_heading = "Input")]
    format: Option<Format>,
    /// Parquet column with the vectors
    #[arg(long, value_name = "NAME", default_value = "vector", help_heading = "Input")]
    column: String,
    /// Column with row ids; `release` carries them over as they are, without noise. For npy, LIBSVM and IDX: a .npy file with one id per row
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    id: Option<String>,
    /// Column with labels; `release` carries them over as they are, without noise
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub label: Option<String>,
    /// Is the first line of a CSV file a header? [default: yes if it is all text, no if it is all numbers]
    #[arg(long, value_name = "YES|NO", value_parser = PossibleValuesParser::new(["yes", "no"]).map(|text: String| text == "yes"), help_heading = "Input")]
    header: Option<bool>,
}

impl InputOptions {
    /// As the reader takes them.
    pub fn read_options(&self, dim: Option<usize>) -> ReadOptions {
        let Self { format, column, id, label, header } = self;
        let (column, id, label) = (column.clone(), id.clone(), label.clone());
        ReadOptions { format: *format, column, id, label, dim, header: *header, ..ReadOptions::default() }
    }
}

/// Everything public that fixes a mechanism.
#[derive(Args, Debug)]
pub struct MechanismOptions {
    /// Mechanism, or auto
    #[arg(long, value_name = "ID", default_value = "auto", value_parser = mechanism_parser("auto", "The best for epsilon, unit and bytes, by forecast"), help_heading = "Privacy")]
    pub mechanism: Auto<MechanismId>,
    /// Privacy loss: smaller is more private
    #[arg(long, value_name = "E", allow_negative_numbers = true, help_heading = "Privacy")]
    pub epsilon: f64,
    /// Failure probability, for Gaussian noise and approximate guarantees (for example 1e-6)
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Privacy")]
    delta: Option<f64>,
    /// How far the unit may move [default: the width of the range; needed for l1 and l2]
    #[arg(long, value_name = "B", allow_negative_numbers = true, help_heading = "Privacy")]
    pub beta: Option<f64>,
    /// Public range of an attribute; values outside are clipped
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true, value_parser = parse_range, help_heading = "Privacy")]
    pub range: Range,
    /// Unit of privacy: attribute, l1, l2 or record [default: attribute; record for privcube, signcap and privbook]
    #[arg(long, value_name = "U", help_heading = "Privacy")]
    unit: Option<Unit>,
    /// Consent to a mechanism that is NOT differentially private (idp-...)
    #[arg(long, help_heading = "Privacy")]
    i_understand_this_is_not_dp: bool,

    /// Size of the sketch, or auto
    #[arg(short, long = "k", value_name = "K", default_value = "auto", help_heading = "Sketch")]
    pub k: Auto<usize>,
    /// Repetitions of OPORP; each spends its share of epsilon
    #[arg(long, value_name = "T", default_value_t = 1, help_heading = "Sketch")]
    repeats: usize,
    /// Public seed of the projection, 64 hex digits: the same seed makes releases comparable [default: fresh, printed]
    #[arg(long, value_name = "HEX", value_parser = Seed::from_hex, help_heading = "Sketch")]
    seed: Option<Seed>,
    /// gaussian, uniform, very-sparse:S, rademacher, oporp or none [default: the mechanism's own]
    #[arg(long, value_name = "KIND", help_heading = "Sketch")]
    projection: Option<ProjectionKind>,
    /// Public bins for OPORP mechanisms: grid:28x28 (images; k blocks), or a file of `scumble bins`
    #[arg(long, value_name = "BINS", value_hint = ValueHint::AnyPath, help_heading = "Sketch")]
    pub bins: Option<PathBuf>,
    /// Public components before a whole-record mechanism: a file of `scumble components`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Sketch")]
    pub components: Option<PathBuf>,
    /// Public words for privbook: a file of `scumble book`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Sketch")]
    pub book: Option<PathBuf>,
    /// What the release is for: search or training (privcube) [default: between the two]
    #[arg(long = "for", value_name = "PURPOSE", help_heading = "Sketch")]
    purpose: Option<Purpose>,
    /// f32, i16, b8, b4 or b1 [default: f32 for values; bits and symbols have their own; with auto the choice of the plan]
    #[arg(long, value_name = "E", help_heading = "Sketch")]
    pub encoding: Option<Encoding>,
    /// With auto: the most bytes per row
    #[arg(long, value_name = "N", help_heading = "Sketch")]
    bytes: Option<usize>,

    /// Public guess of a row's Euclidean norm (utility only)
    #[arg(long, value_name = "N", help_heading = "Public knowledge")]
    norm: Option<f64>,
    /// Public guess of the share of attributes that are not zero (utility only)
    #[arg(long, value_name = "D", help_heading = "Public knowledge")]
    density: Option<f64>,

    /// Clip projected values to [-C, C] before the noise (staircase, Laplace)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Details")]
    sketch_clip: Option<f64>,
    /// Clip the projected row to this Euclidean radius (Gaussian noise with unit record)
    #[arg(long, value_name = "C", allow_negative_numbers = true, help_heading = "Details")]
    clip_norm: Option<f64>,
    /// Promise that every row has at least this norm (dp-signrp-rr)
    #[arg(long, value_name = "M", allow_negative_numbers = true, help_heading = "Details")]
    norm_bound: Option<f64>,
    /// tight or paper (dp-signrp-rr)
    #[arg(long, value_name = "MODE", default_value = "tight", value_parser = PossibleValuesParser::new(["tight", "paper"]).map(|text: String| parse_mode(&text)), help_heading = "Details")]
    signrp_mode: SignrpMode,
    /// Symbols per coordinate: 2 to 16 (lattice), 3 or 5 (zones)
    #[arg(long, value_name = "N", help_heading = "Details")]
    symbols: Option<u8>,
    /// Lattice points per beta (dp-oporp-lattice)
    #[arg(long, value_name = "R", help_heading = "Details")]
    lattice_steps: Option<u32>,
    /// Public cuts in data units, ascending (dp-oporp-zones; one for dp-signoporp-ceil, raw-rr)
    #[arg(long, value_name = "T,...", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Details")]
    thresholds: Vec<f64>,
    /// log2 of the grid step [default: from beta and epsilon]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Details")]
    grid_exponent: Option<i32>,
}

impl MechanismOptions {
    /// What is asked for, as the library takes it.
    pub fn ask(&self) -> Result<Ask, Failure> {
        let bins = self.bins.as_deref().map(read_partition).transpose()?;
        let components = self.components.as_deref().map(read_table).transpose()?;
        let book = self.book.as_deref().map(read_table).transpose()?;
        Ok(Ask {
            mechanism: self.mechanism.fixed(),
            k: self.k.fixed(),
            encoding: self.encoding,
            bytes: self.bytes,
            delta: self.delta,
            beta: self.beta,
            unit: self.unit,
            seed: self.seed,
            repeats: Some(self.repeats),
            projection: self.projection,
            bins,
            components,
            book,
            purpose: self.purpose,
            sketch_clip: self.sketch_clip,
            norm_bound: self.norm_bound,
            clip_norm: self.clip_norm,
            signrp_mode: self.signrp_mode,
            symbols: self.symbols,
            lattice_steps: self.lattice_steps,
            thresholds: self.thresholds.clone(),
            norm: self.norm,
            density: self.density,
            grid_exponent: self.grid_exponent,
            i_understand_this_is_not_dp: self.i_understand_this_is_not_dp,
            ..Ask::new(self.epsilon, self.range)
        })
    }

    /// True when the caller gave no seed, so that the one drawn should be shown.
    pub fn seed_is_fresh(&self) -> bool {
        self.seed.is_none()
    }
}

/// Public knowledge that `auto` may look at.
#[derive(Args, Debug)]
pub struct PublicOptions {
    /// PUBLIC rows of the same kind, none of them to be released: bins, components and a book are learned from them and tried
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, help_heading = "Public knowledge")]
    pub public_sample: Option<PathBuf>,
    /// Plan for training: labels of the public sample, from this file, or from its --label column if no file is named. A
    /// classifier is then trained on the choices and tested, where they would be searched
    #[arg(long, value_name = "FILE", num_args = 0..=1, requires = "public_sample", value_hint = ValueHint::FilePath,
          help_heading = "Public knowledge")]
    pub public_labels: Option<Option<PathBuf>>,
    /// What the rows are: images:28x28, or images:32x32x3 for pixels of three colours
    #[arg(long, value_name = "KIND", value_parser = images_like, help_heading = "Public knowledge")]
    pub like: Option<ImageGrid>,
}

/// Said wherever public rows are looked at.
pub const PUBLIC: &str = "the sample is treated as PUBLIC: what is learned from it is published with every release. It must not \
                          hold the rows that will be released";

impl PublicOptions {
    /// Reads the public rows, if there are any, as the private ones are read but for ids.
    pub fn read(&self, reading: &InputOptions, dim: Option<usize>) -> Result<Option<PublicSample>, Failure> {
        let Some(path) = &self.public_sample else { return Ok(None) };
        note(PUBLIC);
        let labels = self.public_labels.as_ref().map(Option::as_deref);
        Ok(Some(PublicSample::read(path, &reading.read_options(dim), labels)?))
    }

    /// As the plan takes it.
    pub fn public<'a>(&self, sample: &'a Option<PublicSample>) -> Public<'a> {
        let classes = sample.as_ref().and_then(PublicSample::classes);
        Public { sample: sample.as_ref().map(PublicSample::rows), classes, images: self.like }
    }
}

/// The class of each row of `data`, if labels are asked for: from a file of their own, or from `path` itself.
pub fn classes(labels: Option<&Option<PathBuf>>, data: &Batch, path: &Path) -> Result<Option<Vec<u32>>, Failure> {
    Ok(labels.map(|file| read_classes(path, data, file.as_deref())).transpose()?)
}

/// Who vouches, who keeps the budget, and what a second release costs.
#[derive(Args, Debug)]
pub struct TrustOptions {
    /// Sign the certificate with this key (scumble keygen)
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, help_heading = "Trust")]
    pub sign: Option<PathBuf>,
    /// Charge this ledger before any noise is drawn; refuse what is over budget
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "dataset", help_heading = "Trust")]
    pub ledger: Option<PathBuf>,
    /// Name of the data set in the ledger
    #[arg(long, value_name = "NAME", requires = "ledger", help_heading = "Trust")]
    pub dataset: Option<String>,
    /// Total epsilon that all releases of the data set may cost: fixed at its first use
    #[arg(long, value_name = "E", requires = "ledger", allow_negative_numbers = true, help_heading = "Trust")]
    budget: Option<f64>,
    /// Failure probability of all releases together [default: 0]
    #[arg(long, value_name = "D", requires = "budget", allow_negative_numbers = true, help_heading = "Trust")]
    budget_delta: Option<f64>,
    /// Draw the noise from this key (keygen --sticky): unchanged rows give the same bytes again, at no cost; needs --id
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, help_heading = "Trust")]
    pub sticky_key: Option<PathBuf>,
}

impl TrustOptions {
    /// The budget, if one was given.
    fn budget(&self) -> Result<Option<Budget>, Failure> {
        Ok(self.budget.map(|epsilon| Budget::new(epsilon, self.budget_delta.unwrap_or(0.0))).transpose()?)
    }

    /// Who pays.
    pub fn account(&self) -> Result<Option<AccountOf<'_>>, Failure> {
        let budget = self.budget()?;
        let named = self.ledger.as_deref().zip(self.dataset.as_deref());
        Ok(named.map(|(ledger, dataset)| AccountOf { ledger, dataset, budget }))
    }
}

/// Public files that a certificate names by their hash, where they are not beside the release.
#[derive(Args, Debug)]
pub struct BesideOptions {
    /// The public bins of the release, where they are too large for its certificate and not beside it as RELEASE.bins
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Public files")]
    bins: Option<PathBuf>,
    /// The public components of the release, where they are not beside it as RELEASE.components
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Public files")]
    components: Option<PathBuf>,
    /// The public book of the release, where it is not beside it as RELEASE.book
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Public files")]
    book: Option<PathBuf>,
}

impl BesideOptions {
    /// Reads them.
    pub fn read(&self) -> Result<Beside, Failure> {
        let mut beside = Beside::default();
        for file in [&self.bins, &self.components, &self.book].into_iter().flatten() {
            add_public(file, &mut beside)?;
        }
        Ok(beside)
    }
}

/// A file to write.
#[derive(Args, Debug)]
pub struct OutputOptions {
    /// Output file, .parquet or .npy; an existing file is never replaced
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}
