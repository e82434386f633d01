//! The menu: which mechanisms, sizes, clips and encodings a request leaves open.

use super::Request;
use crate::release::Encoding;
use scumble_core::mechanism::{MechanismId, OutputKind, Parameters, Purpose};
use scumble_core::privacy::Unit;
use scumble_core::projection::{Partition, ProjectionKind, TableFile};

/// One choice, not yet built.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub parameters: Parameters,
    pub encoding: Option<Encoding>,
}

/// Mechanisms that can be best for the unit: bits, symbols and pure noise for one attribute, Laplace for l1, Gaussian where a
/// delta is given and needed, whole-record mechanisms for records.
fn mechanisms(request: &Request) -> Vec<MechanismId> {
    use MechanismId::*;
    if let Some(mechanism) = request.mechanism {
        return vec![mechanism];
    }
    let approximate = request.parameters.delta.is_some();
    let menu = match request.parameters.unit {
        Unit::Attribute => vec![DpSignoporpCeil, DpOporpLattice, DpOporpZones, DpOporpStaircase, RawStaircase],
        Unit::L1 if approximate => vec![DpOporpLaplace, RawLaplace, DpOporp, RawGOpt],
        Unit::L1 => vec![DpOporpLaplace, RawLaplace],
        Unit::L2 => vec![DpOporp, RawGOpt],
        Unit::Record => vec![Privcube, Signcap],
    };
    // Raw values are not a sketch: they are offered when asked for, and where the rows are short and no other size is.
    let dim = request.parameters.dim;
    let raw = dim <= LARGEST_RAW && request.k.is_none_or(|k| k == dim);
    menu.into_iter().filter(|id| !id.is_raw() || raw).collect()
}

/// Most attributes for which raw values are on the menu.
const LARGEST_RAW: usize = 16_384;

/// Numbers of symbols worth trying, where the mechanism has symbols and the request leaves them open.
fn symbols(request: &Request, mechanism: MechanismId) -> Vec<Option<u8>> {
    match (request.parameters.symbols, mechanism) {
        (None, MechanismId::DpOporpLattice) => vec![Some(3), Some(4), Some(16)],
        (None, MechanismId::DpOporpZones) if request.parameters.thresholds.is_empty() => vec![Some(3), Some(5)],
        (asked, _) => vec![asked],
    }
}

/// The encoding that bits and symbols have, where it is known before the mechanism is built.
fn packed(mechanism: MechanismId, symbols: Option<u8>) -> Option<Encoding> {
    match mechanism.output() {
        OutputKind::Bits => Some(Encoding::B1),
        OutputKind::Symbols => symbols.map(|count| Encoding::Symbols { count }),
        OutputKind::Values | OutputKind::Words => None,
    }
}

/// Sizes of the sketch: half octaves up to the dimension, and what fills the bytes.
fn sizes(request: &Request, mechanism: MechanismId, symbols: Option<u8>) -> Vec<usize> {
    let dim = request.parameters.dim;
    if mechanism.is_raw() {
        return vec![dim];
    }
    if let Some(k) = request.k {
        return vec![k];
    }
    if mechanism.is_record() {
        return vec![64, 128]; // what their exact counting holds
    }
    let repeats = request.parameters.repeats.max(1);
    // The side of a bin of one-sided dense values is that of its signs until several attributes share it.
    let one_sided = request.parameters.range.lo >= 0.0 && request.parameters.density.unwrap_or(1.0) > 0.5;
    let crowded = if one_sided && mechanism.output() != OutputKind::Values { dim.div_ceil(4) } else { dim };
    let largest = crowded.min(4096);
    let ladder = (3..=12).flat_map(|octave| [1usize << octave, 3 << (octave - 1)]);
    let filling = request.bytes.zip(packed(mechanism, symbols)).map(|(bytes, encoding)| bytes * encoding.packing().0);
    let mut sizes: Vec<usize> =
        ladder.chain([largest]).chain(filling).filter(|&k| k <= largest && k % repeats == 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Encodings that fit: what was asked for; else the mechanism's own, and coarser ones where bytes are scarce.
fn encodings(request: &Request, mechanism: MechanismId, symbols: Option<u8>, k: usize) -> Vec<Option<Encoding>> {
    let all = match (request.encoding, mechanism.output(), request.bytes) {
        (Some(encoding), ..) => vec![Some(encoding)],
        (None, OutputKind::Values, Some(_)) => vec![Some(Encoding::F32), Some(Encoding::B8), Some(Encoding::B4)],
        _ => vec![None],
    };
    let fits = |encoding: &Option<Encoding>| match (encoding.or(packed(mechanism, symbols)), request.bytes) {
        (Some(encoding), Some(limit)) => encoding.bytes_per_row(k) <= limit,
        _ => true, // what is not known here is checked when the encoder is made
    };
    all.into_iter().filter(fits).collect()
}

/// Public clips worth trying around the typical size of a projected value, where the mechanism is open too: a clip
/// biases lengths, so it is not imposed on a mechanism that was asked for. It pays only below beta / 2.
pub(super) fn clips(request: &Request, mechanism: MechanismId, typical: f64) -> Vec<f64> {
    use MechanismId::{DpOporpLaplace, DpOporpStaircase, RawLaplace, RawStaircase};
    let clippable = matches!(mechanism, DpOporpStaircase | DpOporpLaplace | RawStaircase | RawLaplace);
    let free = request.mechanism.is_none()
        && request.parameters.sketch_clip.is_none()
        && request.parameters.unit == Unit::Attribute;
    if !(clippable && free && typical > 0.0) {
        return Vec::new();
    }
    let beta = request.parameters.beta.min(request.parameters.range.width());
    [0.05, 0.2, 0.5, 1.0, 2.0].into_iter().map(|share| rounded(share * typical)).filter(|c| 2.0 * c < beta).collect()
}

/// Two significant digits: a public number that can be read aloud.
fn rounded(x: f64) -> f64 {
    let scale = 10f64.powf(x.log10().floor() - 1.0);
    let digits = (x / scale).round();
    if scale < 1.0 { digits / (1.0 / scale).round() } else { digits * scale }
}

/// Every choice without a clip of its own.
pub(super) fn candidates(request: &Request) -> Vec<Candidate> {
    let mut menu = Vec::new();
    for mechanism in mechanisms(request) {
        for symbols in symbols(request, mechanism) {
            for k in sizes(request, mechanism, symbols) {
                for encoding in encodings(request, mechanism, symbols, k) {
                    let parameters = Parameters { mechanism, k, symbols, ..request.parameters.clone() };
                    menu.push(Candidate { parameters, encoding });
                }
            }
        }
    }
    menu
}

/// Every choice with these bins: their number and a public partition into as many. A lattice is worth its coarseness only
/// where bytes are scarce.
pub(super) fn with_bins(request: &Request, partitions: &[(usize, Partition)]) -> Vec<Candidate> {
    let takes_bins = |id: &MechanismId| {
        id.default_projection(1) == ProjectionKind::Oporp { repeats: 1 }
            && !id.is_record()
            && request.parameters.repeats == 1
    };
    let mut menu = Vec::new();
    let scarce = request.bytes.is_some() || request.mechanism.is_some();
    let worth = |id: &MechanismId| takes_bins(id) && (scarce || *id != MechanismId::DpOporpLattice);
    for mechanism in mechanisms(request).into_iter().filter(worth) {
        for symbols in symbols(request, mechanism).into_iter().filter(|symbols| scarce || *symbols != Some(5)) {
            for (k, bins) in partitions {
                for encoding in encodings(request, mechanism, symbols, *k) {
                    let bins = Some(bins.clone());
                    let parameters = Parameters { mechanism, k: *k, symbols, bins, ..request.parameters.clone() };
                    menu.push(Candidate { parameters, encoding });
                }
            }
        }
    }
    menu
}

/// Every choice for whole records with these components and this book, and with the caps that suit a search.
pub(super) fn of_records(request: &Request, components: &[TableFile], book: Option<&TableFile>) -> Vec<Candidate> {
    let asked = |id: MechanismId| request.mechanism.is_none_or(|mechanism| mechanism == id);
    let fits = |k: usize| request.k.is_none_or(|asked| asked == k);
    let mut menu = Vec::new();
    let mut add = |parameters| menu.push(Candidate { parameters, encoding: request.encoding });
    let purposes = match request.parameters.purpose {
        None => vec![None, Some(Purpose::Search)],
        asked => vec![asked],
    };
    for purpose in purposes {
        let privcube = |k| Parameters { mechanism: MechanismId::Privcube, k, purpose, ..request.parameters.clone() };
        if asked(MechanismId::Privcube) {
            [64, 128].into_iter().filter(|k| fits(*k) && purpose.is_some()).for_each(|k| add(privcube(k)));
            for file in components {
                let k = file.content().map_or(0, |table| table.shape().1);
                if fits(k) {
                    add(Parameters { components: Some(file.clone()), ..privcube(k) });
                }
            }
        }
    }
    let dim = request.parameters.dim;
    if let Some(book) = book.filter(|_| asked(MechanismId::Privbook) && fits(dim)) {
        let (mechanism, book) = (MechanismId::Privbook, Some(book.clone()));
        add(Parameters { mechanism, k: dim, book, purpose: None, ..request.parameters.clone() });
    }
    menu
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_clips_have_two_digits() {
        assert_eq!([0.01234, 0.5, 3.77, 128.0].map(rounded), [0.012, 0.5, 3.8, 130.0]);
    }
}
