//! Variance of the estimators, from norms, noise moments and the projection's own error.
//!
//! Symbols: `A = |u|²`, `B = |v|²`, `g = u·v` · `s2`, `m4` variance and fourth moment of the noise on one released
//! value (after the scaling of a dense projection) · `k` released values · `c` the projection's share:
//! 1/k dense, [`oporp_factor`], 0 raw. The noise is symmetric and independent across values.

/// What the release adds to an estimate: public numbers of the mechanism.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sketch {
    /// Number of released values k (p for raw).
    pub k: f64,
    /// Noise variance s2 of one released value.
    pub s2: f64,
    /// Fourth moment m4 of the noise of one released value.
    pub m4: f64,
    /// Share c of the projection error.
    pub c: f64,
    /// Excess `E[w⁴] - 3` of a normalised weight: -2 for Rademacher and OPORP, 0 Gaussian, -6/5 uniform, s - 3 very
    /// sparse.
    pub excess: f64,
}

/// `c = sum over bins of n(n-1) / (p(p-1))` of OPORP with k bins of floor(p/k) or ceil(p/k) attributes;
/// `(p-k)/(k(p-1))` when k divides p.
pub fn oporp_factor(p: u64, k: u64) -> f64 {
    if p < 2 {
        return 0.0;
    }
    let (size, larger) = ((p / k) as f64, (p % k) as f64);
    let pairs = (k as f64 - larger) * size * (size - 1.0) + larger * (size + 1.0) * size;
    pairs / (p as f64 * (p as f64 - 1.0))
}

impl Sketch {
    /// Variance of `x~·y~` (\[LL23\] Theorems 3.8 to 3.10): `s2(A+B) + k s2² + c(AB + g² + excess sum u_i² v_i²)`.
    ///
    /// `cross` is `sum u_i² v_i²`.
    pub fn inner_product(&self, a: f64, b: f64, g: f64, cross: f64) -> f64 {
        self.s2 * (a + b) + self.k * self.s2 * self.s2 + self.c * (a * b + g * g + self.excess * cross)
    }

    /// [`Self::inner_product`] when the query y is exact (projected, without noise): `s2 B + c(AB + g² + ...)`.
    pub(crate) fn inner_product_exact_query(&self, a: f64, b: f64, g: f64, cross: f64) -> f64 {
        self.s2 * b + self.c * (a * b + g * g + self.excess * cross)
    }

    /// Variance of `|x~|² - k s2`: `4 s2 A + k(m4 - s2²) + c(2A² + excess sum u_i⁴)`.
    pub fn squared_norm(&self, a: f64, fourth: f64) -> f64 {
        4.0 * self.s2 * a + self.k * (self.m4 - self.s2 * self.s2) + self.c * (2.0 * a * a + self.excess * fourth)
    }

    /// Variance of `|x~ - y~|² - 2k s2` with `D = |u - v|²` and `fourth = sum (u_i - v_i)⁴`:
    /// `8 s2 D + 2k(m4 + s2²) + c(2D² + excess fourth)`.
    pub fn squared_distance(&self, d: f64, fourth: f64) -> f64 {
        8.0 * self.s2 * d + 2.0 * self.k * (self.m4 + self.s2 * self.s2) + self.c * (2.0 * d * d + self.excess * fourth)
    }

    /// Upper form of [`Self::inner_product`] for a consumer who sees the release alone and does not know the cross sum.
    ///
    /// `0 <= sum u_i² v_i² <= AB`: a negative excess is dropped, a positive one (very sparse, s > 3) takes all of AB.
    pub(crate) fn inner_product_upper(&self, a: f64, b: f64, g: f64) -> f64 {
        self.inner_product(a, b, g, self.worst(a * b))
    }

    /// Upper form of [`Self::squared_norm`] without the fourth-power sum.
    pub(crate) fn squared_norm_upper(&self, a: f64) -> f64 {
        self.squared_norm(a, self.worst(a * a))
    }

    /// Upper form of [`Self::squared_distance`] without the fourth-power sum.
    pub(crate) fn squared_distance_upper(&self, d: f64) -> f64 {
        self.squared_distance(d, self.worst(d * d))
    }

    fn worst(&self, largest: f64) -> f64 {
        if self.excess > 0.0 { largest } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All assignments of `slots` symbols from a law [(value, probability)].
    fn enumerate(law: &[(f64, f64)], slots: usize, visit: &mut dyn FnMut(&[f64], f64)) {
        fn go(law: &[(f64, f64)], left: usize, now: &mut Vec<f64>, p: f64, visit: &mut dyn FnMut(&[f64], f64)) {
            if left == 0 {
                return visit(now, p);
            }
            for &(value, probability) in law {
                now.push(value);
                go(law, left - 1, now, p * probability, visit);
                now.pop();
            }
        }
        go(law, slots, &mut Vec::new(), 1.0, visit);
    }

    struct Moments(f64, f64);
    impl Moments {
        fn add(&mut self, value: f64, p: f64) {
            self.0 += p * value;
            self.1 += p * value * value;
        }
        fn variance(&self) -> f64 {
            self.1 - self.0 * self.0
        }
    }

    #[test]
    fn formulas_equal_full_enumeration_of_matrix_and_noise() {
        let (u, v) = ([0.5, -1.0, 0.75], [1.0, 0.25, 0.5]);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
        let d: Vec<f64> = u.iter().zip(v).map(|(a, b)| a - b).collect();
        let fourth = |x: &[f64]| x.iter().map(|a| a.powi(4)).sum::<f64>();
        let cross: f64 = u.iter().zip(v).map(|(a, b)| a * a * b * b).sum();
        let s = 5f64;
        let laws: [(&[(f64, f64)], f64); 2] = [
            (&[(-1.0, 0.5), (1.0, 0.5)], -2.0),
            (&[(-s.sqrt(), 0.5 / s), (0.0, 1.0 - 1.0 / s), (s.sqrt(), 0.5 / s)], s - 3.0),
        ];
        let noise = [(-0.6, 0.2), (0.0, 0.6), (0.6, 0.2)];
        let (s2, m4) = (0.4 * 0.36, 0.4 * 0.1296);
        for (law, excess) in laws {
            let k = 2usize;
            let sketch = Sketch { k: k as f64, s2, m4, c: 1.0 / k as f64, excess };
            let (mut inner, mut exact, mut norm, mut distance) =
                (Moments(0.0, 0.0), Moments(0.0, 0.0), Moments(0.0, 0.0), Moments(0.0, 0.0));
            enumerate(law, 3 * k, &mut |w, pw| {
                let project = |x: &[f64], j: usize| dot(&w[3 * j..3 * j + 3], x) / (k as f64).sqrt();
                enumerate(&noise, 2 * k, &mut |n, pn| {
                    let p = pw * pn;
                    let x: Vec<f64> = (0..k).map(|j| project(&u, j) + n[j]).collect();
                    let y: Vec<f64> = (0..k).map(|j| project(&v, j) + n[k + j]).collect();
                    let plain: Vec<f64> = (0..k).map(|j| project(&v, j)).collect();
                    inner.add(dot(&x, &y), p);
                    exact.add(dot(&x, &plain), p);
                    norm.add(dot(&x, &x) - k as f64 * s2, p);
                    let gap: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a - b).collect();
                    distance.add(dot(&gap, &gap) - 2.0 * k as f64 * s2, p);
                });
            });
            let (a, b, g, dd) = (dot(&u, &u), dot(&v, &v), dot(&u, &v), dot(&d, &d));
            for (found, mean, formula, upper) in [
                (inner, g, sketch.inner_product(a, b, g, cross), sketch.inner_product_upper(a, b, g)),
                (exact, g, sketch.inner_product_exact_query(a, b, g, cross), f64::INFINITY),
                (norm, a, sketch.squared_norm(a, fourth(&u)), sketch.squared_norm_upper(a)),
                (distance, dd, sketch.squared_distance(dd, fourth(&d)), sketch.squared_distance_upper(dd)),
            ] {
                assert!((found.0 - mean).abs() < 1e-11 && (found.variance() / formula - 1.0).abs() < 1e-10);
                assert!(formula <= upper);
            }
        }
    }

    #[test]
    fn the_oporp_factor_counts_pairs_in_one_bin() {
        assert!(
            (oporp_factor(784, 256) - {
                // 784 = 3·256 + 16: 240 bins of 3 and 16 of 4.
                (240.0 * 6.0 + 16.0 * 12.0) / (784.0 * 783.0)
            })
            .abs()
                < 1e-18
        );
        assert!((oporp_factor(12, 4) - 8.0 / 44.0).abs() < 1e-16);
        assert_eq!((oporp_factor(5, 5), oporp_factor(1, 1), oporp_factor(9, 1)), (0.0, 0.0, 1.0));
    }
}
