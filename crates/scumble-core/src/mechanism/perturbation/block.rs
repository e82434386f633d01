//! The perturbations on blocks of projected rows: each value by itself, so the order of values does not matter.
//!
//! The law is that of [`Perturbation::apply`]; only the random bits are spent in another order.

use super::{Perturbation, level, round_shift};
use crate::noise::{BlockFlips, BlockNoise, BlockSymbols, LaneSource, Source};
use crate::projection::{LANES, Sketches};
use crate::simd::Aligned;

/// What a block of projected values has become.
#[derive(Debug, Clone, Default)]
pub(crate) struct Released {
    /// Bits: eight outputs per byte; symbols: one output per byte; lane by lane.
    pub(crate) codes: Vec<u8>,
    /// Released values, lane by lane; those of more than 16 bits stay in the sketches.
    pub(crate) values: Vec<i16>,
    /// Exact values where `values` cannot hold them.
    pub(crate) wide: Vec<(usize, i64)>,
    noise: Vec<i16>,
    wide_noise: Vec<(usize, i64)>,
}

/// A perturbation with tables for blocks.
#[derive(Debug)]
pub(crate) enum BlockPerturbation {
    Flips(BlockFlips),
    Symbols(BlockSymbols),
    Noise { shift: u32, clip: Option<i64>, noise: BlockNoise },
}

impl BlockPerturbation {
    /// `None` for a perturbation that looks at whole rows, or has no tables for values up to `bound`.
    pub(crate) fn new(perturbation: &Perturbation, bound: i64) -> Option<Self> {
        let fits = i32::try_from(bound).is_ok();
        match perturbation {
            Perturbation::Noise { shift, clip, radius: None, noise } => {
                Some(Self::Noise { shift: *shift, clip: *clip, noise: noise.blocks()? })
            }
            Perturbation::Flips { steps, table, side } if steps.len() == 1 && fits => {
                let (steps, side) = (steps[0], *side);
                Some(Self::Flips(BlockFlips::new(table, bound, move |x| level(x, steps, side))?))
            }
            Perturbation::Symbols { classes, table } if fits => {
                let classes = classes.clone();
                Some(Self::Symbols(BlockSymbols::new(table, bound, move |x| classes.of(x))))
            }
            Perturbation::Noise { radius: Some(_), .. }
            | Perturbation::NoisySign { .. }
            | Perturbation::Flips { .. }
            | Perturbation::Cap(_)
            | Perturbation::Symbols { .. }
            | Perturbation::Individual { .. } => None,
        }
    }

    /// Perturbs a block. Results from 32-bit sketches replace the sketches.
    pub(crate) fn apply(&self, x: &mut Sketches, out: &mut Released, source: &mut impl LaneSource) {
        match (self, x) {
            (Self::Flips(flips), Sketches::I16(x)) => flips.draw(x, out.bits(x.len()), source),
            (Self::Flips(flips), Sketches::I32(x)) => flips.draw(x, out.bits(x.len()), source),
            (Self::Symbols(symbols), Sketches::I16(x)) => symbols.draw(x, out.symbols(x.len()), source),
            (Self::Symbols(symbols), Sketches::I32(x)) => symbols.draw(x, out.symbols(x.len()), source),
            (Self::Noise { shift, clip, noise }, Sketches::I16(x)) => {
                if (*shift, *clip) != (0, None) {
                    x.iter_mut().for_each(|x| *x = prepared((*x).into(), *shift, *clip) as i16);
                }
                out.add_noise(noise, x, source);
            }
            (Self::Noise { shift, clip, noise }, Sketches::I32(x)) => {
                out.draw(noise, x.len(), source);
                for &(at, n) in &out.wide_noise {
                    out.wide.push((at, prepared(x[at].into(), *shift, *clip).saturating_add(n)));
                }
                for (at, (x, &n)) in x.iter_mut().zip(&out.noise).enumerate() {
                    let sum = prepared((*x).into(), *shift, *clip) + i64::from(n);
                    *x = sum as i32;
                    if i64::from(*x) != sum {
                        out.wide.push((at, sum));
                    }
                }
            }
            (Self::Noise { shift, clip, noise }, Sketches::I64(x)) => {
                x.iter_mut().for_each(|x| *x = prepared(*x, *shift, *clip));
                out.draw(noise, x.len(), source);
                x.iter_mut().zip(&out.noise).for_each(|(x, &n)| *x = x.saturating_add(n.into()));
                out.wide_noise.iter().for_each(|&(at, n)| x[at] = x[at].saturating_add(n));
            }
            // Dense sums are as wide as their terms ask for; the bound says that the values fit.
            (Self::Flips(_) | Self::Symbols(_), Sketches::I64(x)) => {
                let mut narrow = Aligned::<i32>::new(x.len());
                narrow.iter_mut().zip(x.iter()).for_each(|(narrow, &x)| *narrow = x as i32);
                self.apply(&mut Sketches::I32(narrow), out, source);
            }
        }
    }
}

/// What the noise is added to.
#[inline]
fn prepared(x: i64, shift: u32, clip: Option<i64>) -> i64 {
    let x = round_shift(x, shift);
    clip.map_or(x, |c| x.clamp(-c, c))
}

impl Released {
    /// True if the block is here, as codes or 16-bit values; else it stayed in the sketches.
    pub(crate) fn is_narrow(&self, sketches: &Sketches) -> bool {
        matches!(sketches, Sketches::I16(_)) || !self.codes.is_empty()
    }

    /// Room for the bits of this many values.
    fn bits(&mut self, values: usize) -> &mut [u8] {
        self.codes.resize(values.div_ceil(8 * LANES) * LANES, 0);
        &mut self.codes
    }

    /// Room for the symbols of this many values.
    fn symbols(&mut self, values: usize) -> &mut [u8] {
        self.codes.resize(values, 0);
        &mut self.codes
    }

    /// Draws noise for this many values; 0 stands in for wide ones.
    fn draw(&mut self, noise: &BlockNoise, values: usize, source: &mut impl Source) {
        self.noise.resize(values, 0);
        noise.fill(&mut self.noise, &mut self.wide_noise, source);
        self.wide_noise.iter().for_each(|&(at, _)| self.noise[at] = 0);
        self.wide.clear();
    }

    fn add_noise(&mut self, noise: &BlockNoise, x: &[i16], source: &mut impl Source) {
        self.draw(noise, x.len(), source);
        let Self { values, wide, noise: drawn, wide_noise, .. } = self;
        values.resize(x.len(), 0);
        wide.extend(wide_noise.iter().map(|&(at, n)| (at, i64::from(x[at]).saturating_add(n))));
        let mut saturated = 0;
        for ((value, &n), &x) in values.iter_mut().zip(&*drawn).zip(x) {
            *value = x.wrapping_add(n);
            saturated |= *value ^ x.saturating_add(n);
        }
        if saturated != 0 {
            let sums = x.iter().zip(&*drawn).map(|(&x, &n)| i64::from(x) + i64::from(n));
            wide.extend(sums.enumerate().filter(|(_, sum)| i16::try_from(*sum).is_err()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::mechanism::{Mechanism, MechanismId, Parameters, Required};
    use crate::noise::{Laplace, Noise, SecretRng};
    use crate::projection::Seed;
    use crate::vectors::Range;

    /// What docs/threat-model.md calls the mode whose time tells nothing: no value of a zone is looked at by itself,
    /// however many attributes a bin has.
    #[test]
    fn zones_take_every_value_the_same_way() {
        for (lo, hi, attributes) in [(0.0, 1.0, 127), (-0.25, 0.25, 127), (0.0, 255.0, 4), (0.0, 1.0, 1000)] {
            let range = Range::new(lo, hi).unwrap();
            for (symbols, thresholds) in [(Some(3), vec![]), (Some(5), vec![]), (None, vec![lo / 2.0 - 0.1, hi / 2.0])]
            {
                let (id, dim, beta) = (MechanismId::DpOporpZones, 8 * attributes, range.width());
                let parameters = Parameters::new(Required {
                    mechanism: id,
                    dim,
                    k: 8,
                    epsilon: 2.0,
                    beta,
                    range,
                    seed: Seed([3; 32]),
                });
                let mechanism = Mechanism::new(Parameters { symbols, thresholds, ..parameters }).unwrap();
                let (low, high) = mechanism.grid().bounds();
                let bound = attributes as i64 * i64::from(low.abs().max(high.abs()));
                match BlockPerturbation::new(mechanism.perturbation(), bound) {
                    Some(BlockPerturbation::Symbols(block)) => assert!(block.holds_all(), "{lo} {attributes}"),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    /// Wide noise and sums that leave 16 bits come out exactly: against the noise that was drawn.
    #[test]
    fn sums_that_leave_16_bits_are_exact() {
        let noise: Noise = Laplace::new(9000, &rational(1.0)).unwrap().into();
        let perturbation = Perturbation::Noise { shift: 0, clip: None, radius: None, noise };
        let block = BlockPerturbation::new(&perturbation, 32767).unwrap();
        let x: Vec<i16> = (0..64 * LANES).map(|i| (i * 7919) as i16).collect();
        let (mut narrow, mut wide) = (Released::default(), Released::default());
        let mut sketches = Sketches::I16(x[..].into());
        block.apply(&mut sketches, &mut narrow, &mut SecretRng::for_tests(5));
        let wide_x: Vec<i32> = x.iter().map(|&x| x.into()).collect();
        let mut sketches = Sketches::I32(wide_x[..].into());
        block.apply(&mut sketches, &mut wide, &mut SecretRng::for_tests(5));
        let Sketches::I32(sums) = sketches else { unreachable!() };
        let mut exact: Vec<i64> = sums.iter().map(|&x| x.into()).collect();
        wide.wide.iter().for_each(|&(at, sum)| exact[at] = sum);
        let mut found: Vec<i64> = narrow.values.iter().map(|&x| x.into()).collect();
        narrow.wide.iter().for_each(|&(at, sum)| found[at] = sum);
        assert_eq!(found, exact);
        assert!(exact.iter().any(|x| x.abs() > 40_000) && narrow.wide.len() > 100);
    }
}
