//! A small, fast, fixed generator for shuffles and simulations. Public by nature: it must never make noise.

/// SplitMix64: the same numbers on every machine for the same start.
#[derive(Debug, Clone)]
pub struct Fixed {
    state: u64,
    spare: Option<f64>, // the second normal of a pair
}

impl Fixed {
    /// Starts anywhere; the same start gives the same numbers.
    pub fn new(start: u64) -> Self {
        Self { state: start, spare: None }
    }

    /// 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on `0..bound`, by the high half of a product: a bias below 2^-32 does not matter here.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Uniform on [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by the polar method.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(z) = self.spare.take() {
            return z;
        }
        loop {
            let (a, b) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = a * a + b * b;
            if s > 0.0 && s < 1.0 {
                let factor = (-2.0 * s.ln() / s).sqrt();
                self.spare = Some(b * factor);
                return a * factor;
            }
        }
    }

    /// Puts the items in an order of its own.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_the_normal() {
        let mut random = Fixed::new(1);
        let draws: Vec<f64> = (0..200_000).map(|_| random.normal()).collect();
        let moment = |power: i32| draws.iter().map(|z| z.powi(power)).sum::<f64>() / draws.len() as f64;
        // Five standard errors: alpha 6e-7 each; the start is fixed, so the test never flickers.
        for (power, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (4, 3.0, 96.0)] {
            assert!((moment(power) - mean).abs() < 5.0 * (variance / 2e5_f64).sqrt(), "{power}");
        }
    }
}
