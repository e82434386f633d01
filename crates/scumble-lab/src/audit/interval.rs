//! Clopper and Pearson's exact confidence bounds for a probability that was seen `hits` times in `n` trials.

/// Lower bound: below the true probability except with a chance of at most `alpha`.
pub(super) fn at_least(hits: u64, n: u64, alpha: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    // P[X >= hits] = I_p(hits, n - hits + 1) rises in p; the bound is where it reaches alpha.
    let (a, b) = (hits as f64, (n - hits + 1) as f64);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, middle) < alpha { low = middle } else { high = middle }
    }
    low
}

/// Upper bound, likewise.
pub(super) fn at_most(hits: u64, n: u64, alpha: f64) -> f64 {
    1.0 - at_least(n - hits, n, alpha)
}

/// The regularised incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        libm::exp(libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x));
    // The continued fraction converges fast on this side of the mean; the other side follows by symmetry.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * continued_fraction(a, b, x) / a,
        false => 1.0 - front * continued_fraction(b, a, 1.0 - x) / b,
    }
}

/// Lentz's evaluation of the continued fraction of the incomplete beta function.
fn continued_fraction(a: f64, b: f64, x: f64) -> f64 {
    let kept = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / kept(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    for m in 1..100_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / kept(1.0 + term * d);
            c = kept(1.0 + term / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binomial(hits: impl Iterator<Item = u64>, n: u64, p: f64) -> f64 {
        let term = |i: u64| {
            let (i, n) = (i as f64, n as f64);
            let choose = libm::lgamma(n + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
            libm::exp(choose + i * p.ln() + (n - i) * (-p).ln_1p())
        };
        hits.map(term).sum()
    }

    #[test]
    fn closed_forms() {
        // Nothing seen: 1 - alpha^(1/n); everything seen: alpha^(1/n).
        for (n, alpha) in [(10u64, 0.025f64), (1000, 1e-6), (100_000, 1e-9)] {
            let root = (alpha.ln() / n as f64).exp();
            assert!((at_most(0, n, alpha) - (1.0 - root)).abs() < 1e-12, "{n}");
            assert!((at_least(n, n, alpha) - root).abs() < 1e-12, "{n}");
            assert_eq!((at_least(0, n, alpha), at_most(n, n, alpha)), (0.0, 1.0));
        }
    }

    #[test]
    fn bounds_have_their_defining_tail() {
        for (hits, n, alpha) in [(1, 10, 0.05), (7, 20, 1e-3), (90, 100, 1e-6), (15, 2000, 1e-9), (1500, 2000, 1e-4)] {
            let tail = binomial(hits..=n, n, at_least(hits, n, alpha));
            assert!((tail / alpha - 1.0).abs() < 1e-6, "{hits} of {n}: {tail}");
            let tail = binomial(0..=hits, n, at_most(hits, n, alpha));
            assert!((tail / alpha - 1.0).abs() < 1e-6, "{hits} of {n}: {tail}");
        }
    }

    #[test]
    fn large_samples_stay_near_the_normal_bound() {
        let (hits, n, alpha) = (300_000u64, 1_000_000u64, 1e-9);
        let spread = 5.998 * (0.3f64 * 0.7 / n as f64).sqrt();
        assert!((at_least(hits, n, alpha) - (0.3 - spread)).abs() < 0.02 * spread);
        assert!((at_most(hits, n, alpha) - (0.3 + spread)).abs() < 0.02 * spread);
    }
}
