//! Bins: a public partition of the attributes, with public signs, in place of OPORP's random one.
//!
//! Ours. One attribute enters ONE bin, with weight +1 or -1, so a change of one attribute moves one bin by as much: the
//! sensitivity is OPORP's, and so is every proof that rests on it. The gain: attributes that move together add up
//! instead of drowning each other. Attributes that no bin lists keep the bin and the sign that OPORP's seed gives them.
//! A partition must never be learned from the rows that are released. The file format is in `docs/bins-format.md`.

use crate::error::{BinsError, ParameterError, ProjectionError};
use crate::exact;
use crate::facts::{hex, sha256};
use std::fmt;
use std::sync::Arc;

/// First word of a file of bins, with the version of its format.
const HEADING: &str = "scumble-bins 1";
/// The most attributes that a partition may have.
pub(crate) const MOST_ATTRIBUTES: usize = 1 << 24;
/// The most bins.
const MOST_BINS: usize = 1 << 20;
/// The most sample values that describe the law of a bin.
const MOST_QUANTILES: usize = 64;
/// Not in any bin of the partition.
const UNPLACED: u32 = u32::MAX;

/// What a partition was made from. Part of its file, so that a certificate can say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Written by hand, or by another program.
    Made,
    /// Learned from a public sample.
    Sample {
        /// Its rows.
        rows: u64,
        /// Hash of its content.
        sha256: [u8; 32],
    },
    /// Learned from an earlier release of other rows.
    Release {
        /// Digest of its certificate.
        sha256: [u8; 32],
    },
}

impl Origin {
    /// As written in files.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Made => "made".into(),
            Self::Sample { rows, sha256 } => ["sample ", &rows.to_string(), " ", &hex(sha256)].concat(),
            Self::Release { sha256 } => ["release ", &hex(sha256)].concat(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// A public partition: attribute to bin and sign. Checked: each attribute is in at most one bin, with sign +1 or -1.
#[derive(Clone, PartialEq)]
pub struct Bins {
    bins: usize,
    origin: Origin,
    places: Vec<u32>, // 2 bin + plus of each attribute, or UNPLACED
    quantiles: usize, // of each bin's law; 0 without laws
    laws: Vec<f64>,
}

impl fmt::Debug for Bins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bins({} attributes, {} bins, from {})", self.places.len(), self.bins, self.origin)
    }
}

impl Bins {
    /// From the bin and the sign (true: plus) of each attribute; `None` leaves an attribute to the seed.
    pub fn new(places: &[Option<(u32, bool)>], bins: usize, origin: Origin) -> Result<Self, ParameterError> {
        if places.is_empty() || places.len() > MOST_ATTRIBUTES {
            return Err(ProjectionError::BinsAttributes { attributes: places.len() }.into());
        }
        if bins == 0 || bins > MOST_BINS.min(places.len()) {
            return Err(ProjectionError::BinsCount { bins }.into());
        }
        let mut filled = vec![false; bins];
        for &(bin, _) in places.iter().flatten() {
            match filled.get_mut(bin as usize) {
                Some(filled) => *filled = true,
                None => return Err(ProjectionError::NoSuchBin { bin, bins }.into()),
            }
        }
        if let Some(empty) = filled.iter().position(|filled| !filled) {
            return Err(ProjectionError::EmptyBin { bin: empty }.into());
        }
        let code = |place: &Option<(u32, bool)>| place.map_or(UNPLACED, |(bin, plus)| 2 * bin + u32::from(plus));
        Ok(Self { bins, origin, places: places.iter().map(code).collect(), quantiles: 0, laws: Vec::new() })
    }

    /// The same with the law of each bin's sum in the public sample, as `quantiles` ascending values per bin, bin by bin:
    /// equally likely, in data units.
    pub fn with_laws(mut self, quantiles: usize, laws: Vec<f64>) -> Result<Self, ParameterError> {
        let fits = (1..=MOST_QUANTILES).contains(&quantiles) && laws.len() == quantiles * self.bins;
        if !fits || !laws.chunks_exact(quantiles).all(is_law) {
            return Err(ProjectionError::BinsLaw.into());
        }
        (self.quantiles, self.laws) = (quantiles, laws);
        Ok(self)
    }

    /// Number of attributes.
    pub fn dim(&self) -> usize {
        self.places.len()
    }

    /// Number of bins.
    pub fn len(&self) -> usize {
        self.bins
    }

    /// Never: a partition has a bin.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// What it was made from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Bin and sign (true: plus) of an attribute that is listed.
    #[inline]
    pub fn place(&self, attribute: usize) -> Option<(usize, bool)> {
        let code = self.places[attribute];
        (code != UNPLACED).then_some(((code >> 1) as usize, code & 1 == 1))
    }

    /// The law of a bin's sum in the public sample: equally likely ascending values, in data units.
    pub fn law(&self, bin: usize) -> Option<&[f64]> {
        (self.quantiles > 0).then(|| &self.laws[bin * self.quantiles..][..self.quantiles])
    }

    /// The median of each bin's law; `None` without laws.
    pub fn medians(&self) -> Option<Vec<f64>> {
        (0..self.bins).map(|bin| self.law(bin).map(|law| law[(law.len() - 1) / 2])).collect()
    }

    /// The mean square distance of a bin from its median in the public sample; `None` without laws.
    pub fn energy(&self) -> Option<f64> {
        let medians = self.medians()?;
        let squares = |(bin, median): (usize, &f64)| -> f64 {
            self.law(bin).unwrap_or_default().iter().map(|value| (value - median) * (value - median)).sum()
        };
        Some(medians.iter().enumerate().map(squares).sum::<f64>() / self.laws.len() as f64)
    }

    /// The one text form of these bins.
    pub fn to_text(&self) -> String {
        let (attributes, bins, origin) = (self.places.len().to_string(), self.bins.to_string(), self.origin.text());
        let mut text = [HEADING, "\nattributes ", &attributes, "\nbins ", &bins, "\nfrom ", &origin, "\n"].concat();
        let mut lines = vec![String::from("bin"); self.bins];
        for (attribute, (bin, plus)) in
            (0..).zip(0..self.dim()).filter_map(|(i, a): (usize, _)| Some((i, self.place(a)?)))
        {
            lines[bin].extend([if plus { " +" } else { " -" }, &attribute.to_string()]);
        }
        for (bin, line) in lines.iter().enumerate() {
            text.push_str(line);
            text.push('\n');
            if let Some(law) = self.law(bin) {
                text.push_str("law");
                law.iter().for_each(|&value| text.extend([" ", &exact::shortest(value)]));
                text.push('\n');
            }
        }
        text
    }

    /// Reads the text form.
    pub fn parse(bytes: &[u8]) -> Result<Self, BinsError> {
        if !bytes.starts_with(HEADING.as_bytes()) || bytes.get(HEADING.len()) != Some(&b'\n') {
            return Err(BinsError::Heading);
        }
        if !bytes.iter().all(|byte| (b' '..=b'~').contains(byte) || *byte == b'\n') {
            return Err(BinsError::Text);
        }
        let text = std::str::from_utf8(bytes).map_err(|_| BinsError::Text)?;
        let text = text.strip_suffix('\n').ok_or(BinsError::Truncated("it does not end with a line break"))?;
        let mut lines = (1..).zip(text.split('\n')).skip(1).peekable();
        let mut field = |name: &'static str, expected| {
            let (line, text) = lines.next().ok_or(BinsError::Truncated(expected))?;
            let value = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
            value.ok_or(BinsError::Expected { line, expected })
        };
        let whole = |text: &str| number(text).and_then(|n| usize::try_from(n).ok());
        let dim = whole(field("attributes", "attributes P")?);
        let dim = dim.filter(|dim| (1..=MOST_ATTRIBUTES).contains(dim)).ok_or(BinsError::Attributes)?;
        let bins = whole(field("bins", "bins K")?);
        let bins = bins.filter(|bins| (1..=MOST_BINS.min(dim)).contains(bins)).ok_or(BinsError::BinCount)?;
        let origin = origin(field("from", "from ORIGIN")?).ok_or(BinsError::Provenance)?;
        let mut found = Self { bins, origin, places: vec![UNPLACED; dim], quantiles: 0, laws: Vec::new() };
        for bin in 0..bins {
            let (line, text) = lines.next().ok_or(BinsError::Truncated("bins are missing"))?;
            let listed = text.strip_prefix("bin").filter(|rest| rest.is_empty() || rest.starts_with(' '));
            found.read_bin(line, bin, listed.ok_or(BinsError::Expected { line, expected: "bin ..." })?)?;
            match lines.next_if(|(_, text)| text.starts_with("law")) {
                Some((line, text)) => found.read_law(line, bin, &text[3..])?,
                None if found.quantiles > 0 => return Err(BinsError::Law { line: line + 1 }),
                None => {}
            }
        }
        if lines.next().is_some() { Err(BinsError::Trailing) } else { Ok(found) }
    }

    fn read_bin(&mut self, line: usize, bin: usize, listed: &str) -> Result<(), BinsError> {
        let (dim, mut last) = (self.dim(), None);
        let Some(listed) = listed.strip_prefix(' ') else { return Err(BinsError::EmptyBin { line }) };
        for entry in listed.split(' ') {
            let plus = match entry.as_bytes().first() {
                Some(b'+') => true,
                Some(b'-') => false,
                _ => return Err(BinsError::Sign { line }),
            };
            let attribute = number(&entry[1..]).ok_or(BinsError::Number { line })?;
            let place = usize::try_from(attribute).ok().filter(|at| *at < dim);
            let attribute = place.ok_or(BinsError::OutOfRange { line, attribute, dim })?;
            if last.is_some_and(|last| last >= attribute) {
                return Err(BinsError::Order { line, attribute });
            }
            let code = std::mem::replace(&mut self.places[attribute], 2 * bin as u32 + u32::from(plus));
            if code != UNPLACED {
                return Err(BinsError::Twice { line, attribute });
            }
            last = Some(attribute);
        }
        Ok(())
    }

    fn read_law(&mut self, line: usize, bin: usize, values: &str) -> Result<(), BinsError> {
        let before = self.laws.len();
        for value in values.strip_prefix(' ').ok_or(BinsError::Law { line })?.split(' ') {
            self.laws.push(exact::read(value).ok_or(BinsError::Law { line })?);
        }
        let law = &self.laws[before..];
        if bin == 0 {
            self.quantiles = law.len();
        }
        match law.len() == self.quantiles && law.len() <= MOST_QUANTILES && is_law(law) {
            true => Ok(()),
            false => Err(BinsError::Law { line }),
        }
    }
}

fn is_law(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite()) && values.is_sorted()
}

/// Digits without a leading zero.
pub(super) fn number(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

pub(super) fn origin(text: &str) -> Option<Origin> {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        ["made"] => Some(Origin::Made),
        ["sample", rows, sha256] => Some(Origin::Sample { rows: number(rows)?, sha256: unhex(sha256)? }),
        ["release", sha256] => Some(Origin::Release { sha256: unhex(sha256)? }),
        _ => None,
    }
}

/// 64 lower-case hexadecimal digits.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate().filter(|_| digits) {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    digits.then_some(bytes)
}

/// Images of `rows x columns` pixels, pixel by pixel from the top left, each of `colours` values side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageGrid {
    rows: usize,
    columns: usize,
    colours: usize,
}

impl ImageGrid {
    /// Attributes of an image.
    pub fn dim(&self) -> usize {
        self.rows * self.columns * self.colours
    }

    /// k blocks of neighbouring pixels, all colours of a pixel in the same: the split whose blocks are nearest to squares.
    pub fn bins(&self, k: usize) -> Result<Bins, ParameterError> {
        let Self { rows, columns, colours } = *self;
        let (down, across) = self.split(k).ok_or(ProjectionError::Blocks { rows, columns, k })?;
        let share = |at: usize, parts: usize, of: usize| (at as u64 * parts as u64 / of as u64) as usize; // also on 32 bits
        let block =
            |pixel: usize| share(pixel / columns, down, rows) * across + share(pixel % columns, across, columns);
        let places: Vec<_> = (0..self.dim()).map(|at| Some((block(at / colours) as u32, true))).collect();
        Bins::new(&places, k, Origin::Made)
    }

    /// The number of blocks that suits values near beta at this epsilon, about `81 epsilon^.56`: a square.
    pub fn suggested_k(&self, epsilon: f64) -> usize {
        let side = (9.0 * libm::pow(epsilon, 0.28)).round().clamp(1.0, 1e6) as usize;
        // Blocks of one size beat the last step of k: a side within a sixth that divides the image is taken instead.
        let divides = |side: &usize| self.rows.is_multiple_of(*side) && self.columns.is_multiple_of(*side);
        let near = (0..=side / 6).flat_map(|by| [side + by, side - by]);
        near.into_iter().find(divides).unwrap_or(side).min(self.rows).min(self.columns).pow(2)
    }

    fn split(&self, k: usize) -> Option<(usize, usize)> {
        let pairs = (1..=self.rows.min(k)).filter(|down| k.is_multiple_of(*down)).map(|down| (down, k / down));
        // How far a block is from a square, as the ratio of its sides.
        let shape = |&(down, across): &(usize, usize)| {
            let (high, wide) = ((self.rows * across) as f64, (self.columns * down) as f64);
            high.max(wide) / high.min(wide)
        };
        pairs.filter(|&(_, across)| across <= self.columns).min_by(|a, b| shape(a).total_cmp(&shape(b)))
    }
}

impl ImageGrid {
    /// Its text form, such as `grid:28x28`.
    fn text(&self) -> String {
        let [rows, columns, colours] = [self.rows, self.columns, self.colours].map(|side| side.to_string());
        let colours = if self.colours > 1 { ["x", &colours] } else { [""; 2] };
        ["grid:", &rows, "x", &columns].into_iter().chain(colours).collect()
    }
}

impl fmt::Display for ImageGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl std::str::FromStr for ImageGrid {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let sides: Option<Vec<usize>> = text.strip_prefix("grid:").and_then(|sides| {
            sides
                .split('x')
                .map(|side| number(side).map(|side| side as usize).filter(|side| *side <= 1 << 20))
                .collect()
        });
        let grid = match sides.as_deref() {
            Some(&[rows, columns]) => Some(Self { rows, columns, colours: 1 }),
            Some(&[rows, columns, colours]) if colours > 1 => Some(Self { rows, columns, colours }),
            _ => None,
        };
        let size = |grid: &Self| grid.rows as u128 * grid.columns as u128 * grid.colours as u128;
        grid.filter(|grid| (1..=MOST_ATTRIBUTES as u128).contains(&size(grid)))
            .ok_or_else(|| ProjectionError::ImageGrid { text: text.into() }.into())
    }
}

/// The largest file of bins that travels inside a certificate.
const INLINE_BYTES: usize = 64 << 10;

/// The bins that a mechanism takes: the blocks of an image, or a file.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum Partition {
    /// Blocks of an image; k says how many.
    Grid(ImageGrid),
    /// A file, named by its hash.
    File(BinsFile),
}

/// A file of bins: its hash, and its content where available.
#[derive(Debug, Clone)]
pub struct BinsFile {
    sha256: [u8; 32],
    inline: bool,
    content: Option<Arc<Bins>>,
}

impl PartialEq for BinsFile {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl BinsFile {
    /// SHA-256 of the file.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// The content, where available.
    pub fn content(&self) -> Option<&Arc<Bins>> {
        self.content.as_ref()
    }

    /// True if the content travels inside the certificate; else the file must be given beside it.
    pub(crate) fn is_inline(&self) -> bool {
        self.inline
    }
}

impl Partition {
    /// The partition of a file's bytes.
    pub fn from_file(bytes: &[u8]) -> Result<Self, ParameterError> {
        let bins = Bins::parse(bytes).map_err(ProjectionError::BinsFile)?;
        if bins.to_text().as_bytes() != bytes {
            return Err(ProjectionError::BinsForm.into());
        }
        let (sha256, inline) = (sha256(&[bytes]), bytes.len() <= INLINE_BYTES);
        Ok(Self::File(BinsFile { sha256, inline, content: Some(Arc::new(bins)) }))
    }

    /// The partition of bins that were just learned.
    pub fn of(bins: &Bins) -> Self {
        let text = bins.to_text();
        let (sha256, inline) = (sha256(&[text.as_bytes()]), text.len() <= INLINE_BYTES);
        Self::File(BinsFile { sha256, inline, content: Some(Arc::new(bins.clone())) })
    }

    /// The partition of `dim` attributes into `k` bins.
    pub fn bins(&self, dim: usize, k: usize) -> Result<Arc<Bins>, ParameterError> {
        let bins = match self {
            Self::Grid(grid) if grid.dim() == dim => Arc::new(grid.bins(k)?),
            Self::Grid(grid) => {
                let found = grid.dim();
                return Err(ProjectionError::GridDim { grid: grid.to_string(), found, dim }.into());
            }
            Self::File(BinsFile { content: Some(bins), .. }) => bins.clone(),
            Self::File(BinsFile { sha256, .. }) => {
                return Err(ProjectionError::BinsElsewhere { sha256: hex(sha256) }.into());
            }
        };
        if bins.dim() != dim {
            return Err(ProjectionError::BinsDim { found: bins.dim(), dim }.into());
        }
        if bins.len() != k {
            return Err(ProjectionError::BinsK { found: bins.len(), k }.into());
        }
        Ok(bins)
    }

    /// The number of bins: that of the file, or what suits a grid at this epsilon.
    pub fn suggested_k(&self, epsilon: f64) -> Option<usize> {
        match self {
            Self::Grid(grid) => Some(grid.suggested_k(epsilon)),
            Self::File(file) => file.content.as_ref().map(|bins| bins.len()),
        }
    }

    /// See [`Bins::energy`].
    pub(crate) fn energy(&self) -> Option<f64> {
        match self {
            Self::File(file) => file.content.as_ref().and_then(|bins| bins.energy()).filter(|energy| *energy > 0.0),
            Self::Grid(_) => None,
        }
    }

    /// Takes the content of a file if it is the one that is meant. True if it is.
    pub fn attach(&mut self, other: &Self) -> bool {
        let (Self::File(mine), Self::File(given)) = (self, other) else { return false };
        let same = mine.sha256 == given.sha256;
        if same {
            *mine = given.clone();
        }
        same
    }

    /// The name in a certificate: the grid, or the hash of the file.
    pub fn name(&self) -> String {
        match self {
            Self::Grid(grid) => grid.text(),
            Self::File(file) => String::from("sha256:") + &hex(&file.sha256),
        }
    }

    /// Where the bins come from, in words.
    pub(crate) fn provenance(&self) -> String {
        match self {
            Self::Grid(grid) => format!("the blocks of an image, {grid}"),
            Self::File(file) => match file.content.as_ref().map(|bins| bins.origin) {
                Some(Origin::Sample { rows, sha256 }) => {
                    format!("learned from a public sample of {rows} rows, sha256 {}", hex(&sha256))
                }
                Some(Origin::Release { sha256 }) => {
                    format!("learned from an earlier release of other rows, certificate {}", hex(&sha256))
                }
                _ => "made by hand or by another program".into(),
            },
        }
    }
}

impl std::str::FromStr for Partition {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        text.parse().map(Self::Grid)
    }
}

/// As parameters carry it.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Written {
    Grid(String),
    File(WrittenFile),
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl From<Partition> for Written {
    fn from(partition: Partition) -> Self {
        match partition {
            Partition::Grid(grid) => Self::Grid(grid.to_string()),
            Partition::File(file) => {
                let text = file.content.as_ref().filter(|_| file.inline).map(|bins| bins.to_text());
                Self::File(WrittenFile { sha256: hex(&file.sha256), text })
            }
        }
    }
}

impl TryFrom<Written> for Partition {
    type Error = ParameterError;

    fn try_from(written: Written) -> Result<Self, ParameterError> {
        match written {
            Written::Grid(text) => text.parse(),
            Written::File(WrittenFile { sha256, text }) => {
                let sha256 = unhex(&sha256).ok_or(ProjectionError::BinsHash)?;
                let Some(text) = text else {
                    return Ok(Self::File(BinsFile { sha256, inline: false, content: None }));
                };
                match Self::from_file(text.as_bytes())? {
                    Self::File(file) if file.sha256 == sha256 => Ok(Self::File(file)),
                    _ => Err(ProjectionError::BinsHash.into()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str =
        "scumble-bins 1\nattributes 6\nbins 2\nfrom made\nbin +0 -3\nlaw -1 0.5 2\nbin -1 +2\nlaw 0 0 1\n";

    #[test]
    fn text_round_trips_and_places_are_those_written() {
        let bins = Bins::parse(SMALL.as_bytes()).unwrap();
        assert_eq!(bins.to_text(), SMALL);
        let places: Vec<_> = (0..6).map(|at| bins.place(at)).collect();
        let placed = [Some((0, true)), Some((1, false)), Some((1, true)), Some((0, false)), None, None];
        assert_eq!(places, placed);
        assert_eq!((bins.law(0), bins.law(1)), (Some(&[-1.0, 0.5, 2.0][..]), Some(&[0.0, 0.0, 1.0][..])));
        let sample = Origin::Sample { rows: 7, sha256: [0xab; 32] };
        for origin in [Origin::Made, sample, Origin::Release { sha256: [1; 32] }] {
            let again = Bins { origin, ..bins.clone() };
            assert_eq!(Bins::parse(again.to_text().as_bytes()).unwrap(), again);
        }
    }

    /// One fault, one error.
    #[test]
    fn every_fault_has_its_own_error() {
        use BinsError::*;
        let faults: Vec<(&str, &str, BinsError)> = vec![
            ("scumble-bins 1", "scumble-bins 2", Heading),
            ("scumble-bins 1\n", "scumble-bins 1\r\n", Heading),
            ("made", "m\u{e4}de", Text),
            ("made\n", "made\r\n", Text),
            ("attributes 6", "attribute 6", Expected { line: 2, expected: "attributes P" }),
            ("attributes 6", "attributes 0", Attributes),
            ("attributes 6", "attributes 16777217", Attributes),
            ("attributes 6", "attributes 06", Attributes),
            ("bins 2", "bins 7", BinCount),
            ("bins 2", "bins 0", BinCount),
            ("bins 2\n", "", Expected { line: 3, expected: "bins K" }),
            ("from made", "from sample 3", Provenance),
            ("from made", "from release ABCD", Provenance),
            ("bin +0 -3", "bin", EmptyBin { line: 5 }),
            ("bin +0 -3", "bin ", Sign { line: 5 }),
            ("+0", "2+0", Sign { line: 5 }),
            ("+0", "0", Sign { line: 5 }),
            ("-3", "-2*3", Number { line: 5 }),
            ("-3", "-03", Number { line: 5 }),
            ("-3", "-6", OutOfRange { line: 5, attribute: 6, dim: 6 }),
            ("+0 -3", "-3 +0", Order { line: 5, attribute: 0 }),
            ("+0 -3", "+0 -0", Order { line: 5, attribute: 0 }),
            ("-1 +2", "-1 +3", Twice { line: 7, attribute: 3 }),
            ("law 0 0 1", "law 0 0", Law { line: 8 }),
            ("law 0 0 1", "law 0 1 0", Law { line: 8 }),
            ("law 0 0 1", "law 0 0 nan", Law { line: 8 }),
            ("law 0 0 1\n", "", Law { line: 8 }),
            ("bins 2", "bins 3", Truncated("bins are missing")),
            ("bins 2", "bins 1", Trailing),
        ];
        for (from, to, error) in faults {
            let text = SMALL.replacen(from, to, 1);
            assert_eq!(Bins::parse(text.as_bytes()).unwrap_err(), error, "{to}");
        }
        let cut = &SMALL[..SMALL.len() - 1];
        assert_eq!(Bins::parse(cut.as_bytes()).unwrap_err(), Truncated("it does not end with a line break"));
        assert!(Partition::from_file(SMALL.replacen("0.5", "0.50", 1).as_bytes()).is_err(), "not the one form");
    }

    #[test]
    fn grids_are_the_blocks_of_the_formula() {
        for (text, k, down, across) in [
            ("grid:28x28", 64, 8, 8),
            ("grid:28x28", 784, 28, 28),
            ("grid:32x32x3", 64, 8, 8),
            ("grid:20x40", 50, 5, 10),
            ("grid:7x5", 1, 1, 1),
        ] {
            let grid: ImageGrid = text.parse().unwrap();
            assert_eq!(grid.to_string(), text);
            let bins = grid.bins(k).unwrap();
            for at in 0..grid.dim() {
                let (i, j) = (at / grid.colours / grid.columns, at / grid.colours % grid.columns);
                let expected = i * down / grid.rows * across + j * across / grid.columns;
                assert_eq!(bins.place(at), Some((expected, true)), "{text} {at}");
            }
        }
        let grid: ImageGrid = "grid:28x28".parse().unwrap();
        assert!(grid.bins(29).is_err() && grid.bins(785).is_err() && grid.bins(0).is_err());
        for wrong in ["grid:", "grid:28", "grid:0x3", "grid:28x28x1", "28x28", "grid:9999x9999", "grid:028x28"] {
            assert!(wrong.parse::<ImageGrid>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn small_files_travel_inside_and_large_ones_by_their_hash() {
        let small = Partition::from_file(SMALL.as_bytes()).unwrap();
        let text = serde_json::to_string(&small).unwrap();
        let Partition::File(back) = serde_json::from_str(&text).unwrap() else { panic!("a file") };
        assert_eq!(back.content().unwrap().to_text(), SMALL);
        assert!(serde_json::from_str::<Partition>(&text.replace("+0", "-0")).is_err(), "the hash is checked");
        let places: Vec<_> = (0..20_000).map(|at| Some((at % 16, at % 3 == 0))).collect();
        let large = Partition::of(&Bins::new(&places, 16, Origin::Made).unwrap());
        let mut named: Partition = serde_json::from_str(&serde_json::to_string(&large).unwrap()).unwrap();
        assert!(named.bins(20_000, 16).unwrap_err().to_string().contains("‹bins›"));
        assert!(!named.attach(&small) && named.attach(&large));
        assert_eq!(named.bins(20_000, 16).unwrap().len(), 16);
        assert!(named.bins(20_001, 16).is_err() && named.bins(20_000, 17).is_err());
        let grid: Partition = "grid:4x5".parse().unwrap();
        assert_eq!(serde_json::to_string(&grid).unwrap(), "\"grid:4x5\"");
        assert_eq!(serde_json::from_str::<Partition>("\"grid:4x5\"").unwrap(), grid);
    }
}
