//! The public range and the power-of-two grid on which private values become integers.
//!
//! `q = floor(u/g + 1/2)`, computed exactly, clipped to `[floor(lo/g+1/2), floor(hi/g+1/2)]`. The rounding commutes
//! with integer shifts, so `|u-u'| <= beta` gives `|q-q'| <= B := ceil(beta/g)`. (`rint` and C `round` do not commute:
//! they double the sensitivity.)

use crate::error::{DataErrorKind, GridError, ParameterError};

/// The public interval that values are clipped to.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Range {
    /// Least value.
    pub lo: f64,
    /// Greatest value.
    pub hi: f64,
}

impl Range {
    /// Checks that both ends are finite and in order.
    pub fn new(lo: f64, hi: f64) -> Result<Self, ParameterError> {
        if !lo.is_finite() || !hi.is_finite() || lo >= hi {
            return Err(GridError::Range { lo, hi }.into());
        }
        Ok(Self { lo, hi })
    }

    /// `hi - lo`, the most that one attribute can move.
    pub fn width(&self) -> f64 {
        self.hi - self.lo
    }

    /// True if 0 lies inside. Sparse rows need it: what they leave out is 0, and no clipping moves it.
    pub fn holds_zero(&self) -> bool {
        self.lo <= 0.0 && 0.0 <= self.hi
    }

    /// The largest absolute value inside.
    pub fn largest(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}

/// A grid of step `g = 2^exponent` over a public range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    range: Range,
    exponent: i32,
    per_unit: f64, // 1/g, a power of two: scaling by it is exact
    lo: i32,
    hi: i32,
    whole: (i64, i64), // whole numbers around the range
}

impl Grid {
    /// The grid of step `2^exponent`; refuses one whose integers leave 31 bits.
    pub fn new(range: Range, exponent: i32) -> Result<Self, ParameterError> {
        if !(-1000..=1000).contains(&exponent) {
            return Err(GridError::Exponent { exponent }.into());
        }
        let per_unit = power_of_two(-exponent);
        let ends = [range.lo, range.hi].map(|end| end * per_unit);
        if ends.iter().any(|end| end.abs() >= f64::from(1 << 30)) {
            return Err(GridError::TooFine { exponent, lo: range.lo, hi: range.hi }.into());
        }
        let [lo, hi] = ends.map(|end| nearest(end) as i32);
        let whole = (range.lo.floor().max(-9.0e15) as i64, range.hi.ceil().min(9.0e15) as i64);
        Ok(Self { range, exponent, per_unit, lo, hi, whole })
    }

    /// The coarsest grid on which `length` spans at least `steps` steps.
    pub fn with_steps(range: Range, length: f64, steps: u64) -> Result<Self, ParameterError> {
        if !(length > 0.0 && length.is_finite()) {
            return Err(GridError::Beta { beta: length }.into());
        }
        let mut exponent = exponent_of(length) + 1 - (63 - steps.max(1).leading_zeros() as i32);
        while (length * power_of_two(-exponent)) < steps as f64 {
            exponent -= 1;
        }
        Self::new(range, exponent)
    }

    /// The public range.
    pub fn range(&self) -> Range {
        self.range
    }

    /// log2 of the step.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The step `g`.
    pub fn step(&self) -> f64 {
        1.0 / self.per_unit
    }

    /// `Q`: the largest absolute integer that the quantiser can give.
    pub fn largest(&self) -> i64 {
        i64::from(self.lo).abs().max(i64::from(self.hi).abs())
    }

    /// The least and the greatest integer that the quantiser can give.
    pub fn bounds(&self) -> (i32, i32) {
        (self.lo, self.hi)
    }

    /// `B = ceil(length/g)`: how many steps a value can move when it moves by `length`. Scaling by a power of two is exact,
    /// except for a length so small that it vanishes, which still counts as a step.
    pub fn steps(&self, length: f64) -> Result<u64, ParameterError> {
        let least = f64::from(u8::from(length > 0.0));
        in_steps(length, (length * self.per_unit).ceil().max(least))
    }

    /// `floor(length/g)`.
    pub(crate) fn whole_steps(&self, length: f64) -> Result<u64, ParameterError> {
        in_steps(length, (length * self.per_unit).floor())
    }

    /// Puts a float on the grid.
    #[inline]
    pub fn quantise(&self, value: f64) -> Result<i32, DataErrorKind> {
        if !value.is_finite() {
            return Err(if value.is_nan() { DataErrorKind::Nan } else { DataErrorKind::Infinite });
        }
        // Clipping first keeps the scaling exact: no overflow, and a power of two only moves the exponent.
        let scaled = value.clamp(self.range.lo, self.range.hi) * self.per_unit;
        Ok(nearest(scaled) as i32)
    }

    /// Puts an integer on the grid: no rounding when `g <= 1`.
    #[inline]
    pub(crate) fn quantise_integer(&self, value: i64) -> i32 {
        // Clip in integers first, so that a 64-bit value never meets a float that cannot hold it.
        let (lo, hi) = self.whole;
        let scaled = (value.clamp(lo, hi) as f64).clamp(self.range.lo, self.range.hi) * self.per_unit;
        nearest(scaled) as i32
    }
}

/// A number of steps as an integer, with head room for sums and products of a few; never saturated or wrapped.
fn in_steps(length: f64, steps: f64) -> Result<u64, ParameterError> {
    if !(0.0..1e18).contains(&steps) {
        return Err(GridError::TooManySteps { length }.into());
    }
    Ok(steps as u64)
}

/// `floor(x + 1/2)` without the rounding error of the addition.
#[inline]
fn nearest(x: f64) -> i64 {
    // floor((floor(2x)+1)/2): doubling is exact, the rest is integer.
    (floor(2.0 * x) + 1) >> 1
}

/// Below 2^53 by truncation, which every processor has; `f64::floor` is a slow call on those before SSE4.1.
#[inline]
fn floor(x: f64) -> i64 {
    let towards_zero = x as i64;
    towards_zero - i64::from(towards_zero as f64 > x)
}

/// 2^exponent, exactly.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    libm::scalbn(1.0, exponent)
}

fn exponent_of(x: f64) -> i32 {
    libm::frexp(x).1 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiser_commutes_with_integer_shifts() {
        let grid = Grid::new(Range::new(-100.0, 100.0).unwrap(), -3).unwrap();
        // Ties: rint would send 0.5 to 0 and 1.5 to 2, moving by 2 steps for a change of 1.
        for (value, steps) in [(0.0625, 1), (0.1875, 2), (-0.0625, 0), (-0.1875, -1), (0.0624999, 0)] {
            assert_eq!(grid.quantise(value).unwrap(), steps, "{value}");
        }
        // The classic trap of floor(x + 0.5): the largest double below one half rounds to 0, not 1.
        let unit = Grid::new(Range::new(-4.0, 4.0).unwrap(), 0).unwrap();
        assert_eq!(unit.quantise(0.499_999_999_999_999_94).unwrap(), 0);
        assert_eq!(unit.quantise(-0.5).unwrap(), 0);
        assert_eq!(unit.quantise(0.5).unwrap(), 1);
    }

    #[test]
    fn not_a_number_and_infinity_are_refused() {
        let grid = Grid::new(Range::new(0.0, 1.0).unwrap(), -8).unwrap();
        assert_eq!(grid.quantise(f64::NAN), Err(DataErrorKind::Nan));
        assert_eq!(grid.quantise(f64::NEG_INFINITY), Err(DataErrorKind::Infinite));
    }

    #[test]
    fn steps_are_never_lost_nor_saturated() {
        let grid = Grid::new(Range::new(0.0, 1.0).unwrap(), 900).unwrap();
        assert_eq!(grid.steps(1e-300), Ok(1)); // the product is below the least double
        assert_eq!((grid.steps(0.0), grid.whole_steps(1e-300)), (Ok(0), Ok(0)));
        let fine = Grid::new(Range::new(0.0, 1e-9).unwrap(), -50).unwrap();
        assert!(fine.steps(1e30).is_err() && fine.steps(f64::INFINITY).is_err() && fine.whole_steps(1e300).is_err());
    }

    #[test]
    fn integers_need_no_rounding() {
        let grid = Grid::new(Range::new(0.0, 255.0).unwrap(), 0).unwrap();
        assert!((0..=255).all(|v| i64::from(grid.quantise_integer(v)) == v));
        assert_eq!(grid.quantise_integer(i64::MAX), 255);
        assert_eq!(grid.quantise_integer(i64::MIN), 0);
    }

    #[test]
    fn with_steps_is_the_coarsest_that_suffices() {
        let range = Range::new(-10.0, 10.0).unwrap();
        for (length, steps) in [(1.0, 64), (0.1, 64), (3.0, 256), (0.7, 1000), (255.0, 256)] {
            let grid = Grid::with_steps(range, length, steps).unwrap();
            assert!(grid.steps(length).unwrap() >= steps);
            assert!(length / (2.0 * grid.step()) < steps as f64, "{length} {steps}");
        }
    }

    proptest! {
        #[test]
        fn neighbours_never_move_by_more_than_b(u in -3.0..3.0f64, d in -1.0..1.0f64, e in -12..0i32) {
            let grid = Grid::new(Range::new(-2.0, 2.0).unwrap(), e).unwrap();
            let moved = (grid.quantise(u).unwrap() - grid.quantise(u + d).unwrap()).unsigned_abs();
            prop_assert!(u64::from(moved) <= grid.steps(((u + d) - u).abs().max(d.abs())).unwrap());
        }
    }
}
