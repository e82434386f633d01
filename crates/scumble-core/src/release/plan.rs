//! A plan: the integers of a law that someone else has derived and checked, in bytes. Enough to write rows, no more.
//!
//! For a device that has no room for the derivation. The maker of the plan ([`Plan::of`], from a derived [`Mechanism`])
//! vouches for epsilon; its reader can only see that the numbers fit each other. One family fits: bits and symbols of
//! OPORP with a public seed. A row has the very bytes that [`Releaser`](super::Releaser) gives it with that key.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `scp1` |
//! | 32, 32 | digest of the mechanism, seed of the projection |
//! | 8, 8, 8 | dimension, k, repetitions |
//! | 8, 8, 8 | least value, greatest value (doubles), exponent of the grid |
//! | 8 | law: 0 flips with a coin at zero, 1 flips above a threshold, 2 symbols on a lattice, 3 symbols of zones |
//! | lists | flips: the threshold in steps, steps, table. Symbols: steps, points per beta and last point, or cuts; then bits and symbols; then the table row by row |
//!
//! Numbers are little-endian and take 8 bytes; a list begins with its length.

use super::keyed::{Fingerprint, KeyedNoise};
use super::{Encoder, Encoding};
use crate::error::DataError;
use crate::mechanism::{Classes, Mechanism, Perturbation, Side, draw_symbols, flip_signs};
use crate::noise::{FlipTable, NoiseKey, SymbolTable};
use crate::projection::{Oporp, ProjectionKind, Seed};
use crate::vectors::{Grid, QuantisedRow, Range, Rows};
use zeroize::Zeroizing;

const MAGIC: &[u8; 4] = b"scp1";
/// A plan with more of anything is of no use to a device.
const MOST: u64 = 1 << 24;
/// Grid steps beyond this would leave 63 bits in a product.
const MOST_STEPS: u64 = 1 << 40;

/// What a plan does to each projected integer, as integers.
enum Randomiser {
    Flips { steps: Vec<u64>, table: FlipTable, side: Side },
    Symbols { classes: Classes, table: SymbolTable },
}

/// See the module's documentation.
pub struct Plan {
    digest: [u8; 32],
    dim: usize,
    k: usize,
    grid: Grid,
    projection: Oporp,
    randomiser: Randomiser,
}

impl Plan {
    /// The plan of a mechanism, in bytes; `None` unless it gives bits or symbols of OPORP.
    pub fn of(mechanism: &Mechanism) -> Option<Vec<u8>> {
        let projection = mechanism.projection();
        let ProjectionKind::Oporp { repeats } = projection.kind() else { return None };
        let Range { lo, hi } = mechanism.grid().range();
        let mut out = Out(MAGIC.to_vec());
        out.0.extend(mechanism.digest());
        out.0.extend(projection.seed().0);
        out.numbers([projection.dim() as u64, projection.k() as u64, repeats as u64]);
        out.numbers([lo.to_bits(), hi.to_bits(), i64::from(mechanism.grid().exponent()) as u64]);
        match mechanism.perturbation() {
            Perturbation::Flips { steps, table, side } => {
                out.numbers(match side {
                    Side::CoinAtZero => [0, 0],
                    Side::Above(threshold) => [1, *threshold as u64],
                });
                out.list(steps.iter().copied());
                out.list(table.thresholds().iter().copied());
            }
            Perturbation::Symbols { classes, table } => {
                match classes {
                    Classes::Lattice { steps, per_beta, last } => out.numbers([2, *steps, *per_beta, *last]),
                    Classes::Zones { cuts } => {
                        out.numbers([3]);
                        out.list(cuts.iter().map(|&cut| cut as u64));
                    }
                }
                out.numbers([table.bits().into(), table.symbols() as u64]);
                out.list(table.rows().concat());
            }
            Perturbation::Noise { .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Cap(_)
            | Perturbation::Individual { .. } => return None,
        }
        Some(out.0)
    }

    /// Reads a plan whose numbers fit each other. Says nothing about what they promise.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = In(bytes);
        if from.take::<4>()? != *MAGIC {
            return None;
        }
        let (digest, seed) = (from.take()?, Seed(from.take()?));
        let [dim, k, repeats] = from.numbers()?;
        let [lo, hi, exponent] = from.numbers()?;
        let fits = (1..=1 << 32).contains(&dim) && (1..=MOST).contains(&k) && (1..=k).contains(&repeats);
        if !fits || k % repeats != 0 || k / repeats > dim {
            return None;
        }
        let (dim, k) = (usize::try_from(dim).ok()?, k as usize);
        let range = Range::new(f64::from_bits(lo), f64::from_bits(hi)).ok()?;
        let grid = Grid::new(range, i32::try_from(exponent as i64).ok()?).ok()?;
        let randomiser = from.randomiser(k)?;
        let projection = Oporp::new(&seed, dim, k, repeats as usize);
        from.0.is_empty().then_some(Self { digest, dim, k, grid, projection, randomiser })
    }

    /// Attributes of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    fn encoding(&self) -> Encoding {
        match &self.randomiser {
            Randomiser::Flips { .. } => Encoding::B1,
            Randomiser::Symbols { table, .. } => Encoding::Symbols { count: table.symbols() as u8 },
        }
    }

    /// Binds the plan to a device's key.
    pub fn keyed(self, key: NoiseKey) -> Writer {
        let noise = KeyedNoise::of(key, &self.digest, &self.grid, (self.dim, self.k), None);
        Writer { noise, encoder: Encoder::packed(self.encoding(), self.k), plan: self }
    }
}

/// Writes rows by a plan, with keyed noise.
pub struct Writer {
    plan: Plan,
    noise: KeyedNoise,
    encoder: Encoder,
}

impl Writer {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The first row's keyed hashes and released bytes.
    pub fn write(&self, rows: Rows<'_>, id: &[u8]) -> Result<(Fingerprint, Vec<u8>), DataError> {
        let Self { plan, noise, encoder } = self;
        let mut quantised = QuantisedRow::default();
        let u = rows.quantise(0, &plan.grid, 0, &mut quantised)?;
        let mut x = Zeroizing::new(vec![0; plan.k]);
        plan.projection.apply(u, &mut x);
        let (start, print) = noise.row(u, id);
        let mut streams = noise.streams();
        streams.begin(std::iter::once(start));
        match &plan.randomiser {
            Randomiser::Flips { steps, table, side } => flip_signs(&mut x, steps, table, *side, &mut streams),
            Randomiser::Symbols { classes, table } => draw_symbols(&mut x, classes, table, &mut streams),
        }
        let mut out = vec![0; encoder.bytes_per_row()];
        encoder.encode(&x, &mut out);
        Ok((print, out))
    }
}

/// What is written so far.
struct Out(Vec<u8>);

impl Out {
    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| self.0.extend(number.to_le_bytes()));
    }

    fn list(&mut self, items: impl IntoIterator<Item = u64, IntoIter: ExactSizeIterator>) {
        let items = items.into_iter();
        self.numbers([items.len() as u64]);
        self.numbers(items);
    }
}

/// What is left to read.
struct In<'a>(&'a [u8]);

impl In<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Some(numbers)
    }

    /// A list; no longer than what is left.
    fn list(&mut self) -> Option<Vec<u64>> {
        let length = self.number().filter(|length| *length <= (self.0.len() / 8) as u64)?;
        (0..length).map(|_| self.number()).collect()
    }

    fn randomiser(&mut self, k: usize) -> Option<Randomiser> {
        let classes = match self.number()? {
            kind @ 0..=1 => {
                let threshold = self.number()? as i64;
                let (steps, table) = (self.list()?, self.list()?);
                let fits = steps.len() == 1 || steps.len() == k;
                if !fits || steps.contains(&0) {
                    return None;
                }
                let side = if kind == 0 { Side::CoinAtZero } else { Side::Above(threshold) };
                return Some(Randomiser::Flips { steps, table: FlipTable::from_thresholds(table).ok()?, side });
            }
            2 => {
                let [steps, per_beta, last] = self.numbers()?;
                let fits = (1..=MOST_STEPS).contains(&steps) && (1..=64).contains(&per_beta) && last < 1 << 16;
                fits.then_some(Classes::Lattice { steps, per_beta, last })?
            }
            3 => Classes::Zones { cuts: self.list()?.into_iter().map(|cut| cut as i64).collect() },
            _ => return None,
        };
        let [bits, symbols] = self.numbers()?;
        let entries = self.list()?;
        let rows: Vec<_> =
            entries.chunks(usize::try_from(symbols).ok().filter(|&n| n > 0)?).map(<[u64]>::to_vec).collect();
        let table = SymbolTable::vouched(u32::try_from(bits).ok()?, rows)?;
        (classes.count() == table.rows().len()).then_some(Randomiser::Symbols { classes, table })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismId, Parameters, Required};
    use crate::release::Releaser;
    use crate::vectors::Scalars;

    fn mechanisms() -> Vec<Mechanism> {
        let of = |id, epsilon| {
            let range = Range { lo: -1.0, hi: 1.0 };
            let parameters = Parameters::new(Required {
                mechanism: id,
                dim: 40,
                k: 16,
                epsilon,
                beta: 0.5,
                range,
                seed: Seed([3; 32]),
            });
            Mechanism::new(Parameters { repeats: 2, ..parameters }).unwrap()
        };
        let ids = [
            MechanismId::DpSignoporpRr,
            MechanismId::DpSignoporpRrSmooth,
            MechanismId::DpSignoporpCeil,
            MechanismId::DpOporpZones,
            MechanismId::DpOporpLattice,
        ];
        ids.into_iter().flat_map(|id| [of(id, 0.5), of(id, 5.0)]).collect()
    }

    #[test]
    fn a_plan_writes_what_the_releaser_releases() {
        for mechanism in mechanisms() {
            let writer = Plan::read(&Plan::of(&mechanism).unwrap()).unwrap().keyed(NoiseKey::from_bytes([7; 32]));
            let releaser = Releaser::new(mechanism.clone(), None).unwrap().keyed(NoiseKey::from_bytes([7; 32]));
            for shift in 0..40u16 {
                let values: Vec<f32> = (0..40).map(|j| f32::from((j * 37 + shift) % 91) / 40.0 - 1.1).collect();
                let rows = Rows::dense(Scalars::F32(&values), 40);
                let mut released = Vec::new();
                releaser.release(rows, 0, |_| b"row".to_vec(), &mut released).unwrap();
                let (print, row) = writer.write(rows, b"row").unwrap();
                assert_eq!(row, released, "{}", mechanism.id());
                assert_eq!((print, row), releaser.release_one(rows, b"row").unwrap());
                assert_eq!([print], releaser.fingerprints(rows, 0, |_| b"row".to_vec()).unwrap()[..]);
            }
        }
    }

    /// Every byte changed, every length cut: read as another plan, or refused; never a panic.
    #[test]
    fn damaged_plans_are_refused_or_read() {
        for mechanism in mechanisms() {
            let bytes = Plan::of(&mechanism).unwrap();
            let values = [0.5f64; 40];
            let rows = Rows::dense(Scalars::F64(&values), 40);
            for at in 0..bytes.len() {
                assert!(Plan::read(&bytes[..at]).is_none());
                for to in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] = to;
                    if let Some(plan) = Plan::read(&damaged).filter(|plan| plan.dim() == 40) {
                        let _ = plan.keyed(NoiseKey::from_bytes([7; 32])).write(rows, b"row");
                    }
                }
            }
        }
    }

    #[test]
    fn other_families_have_no_plan() {
        let range = Range { lo: 0.0, hi: 1.0 };
        for id in
            [MechanismId::DpOporpStaircase, MechanismId::DpSignrpRr, MechanismId::Signcap, MechanismId::RawLaplace]
        {
            let parameters = Parameters::new(Required {
                mechanism: id,
                dim: 24,
                k: 8,
                epsilon: 1.0,
                beta: 1.0,
                range,
                seed: Seed([1; 32]),
            });
            assert!(Plan::of(&Mechanism::new(parameters).unwrap()).is_none(), "{id}");
        }
    }
}
