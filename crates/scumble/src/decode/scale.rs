//! Rows of very different length: `x = sqrt(scale) z` with z of one common law, and the law of scales learned by EM.

/// Scales tried: powers of sqrt(2) from 1/16 to 16.
const COUNT: usize = 17;
/// Rows that the law of scales is learned from.
const MOST_ROWS: usize = 1 << 14;
const STEPS: usize = 30;

/// A law of scales.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scales {
    scales: [f64; COUNT],
    ln_weights: [f64; COUNT],
}

impl Scales {
    /// Learns how frequent each scale is, from rows spread evenly over the table. `read` gives a centred row.
    pub(super) fn learn(
        basis: &[f32],
        signal: &[f64],
        noise: f64,
        rows: usize,
        read: &impl Fn(usize, &mut [f32]),
    ) -> Self {
        let scales = std::array::from_fn(|i| f64::exp2(0.5 * i as f64 - 4.0));
        let mut law = Self { scales, ln_weights: [-(COUNT as f64).ln(); COUNT] };
        let k = basis.len() / signal.len();
        let taken = rows.min(MOST_ROWS);
        let mut row = vec![0.0; k];
        let fits: Vec<[f64; COUNT]> = (0..taken)
            .map(|i| {
                read((i as u128 * rows as u128 / taken as u128) as usize, &mut row);
                let along: Vec<f32> = basis.chunks_exact(k).map(|v| crate::search::dot(v, &row)).collect();
                law.fits(signal, noise, &along)
            })
            .collect();
        for _ in 0..STEPS {
            let mut totals = [f64::MIN_POSITIVE; COUNT];
            for fits in &fits {
                let posterior = law.posterior(fits);
                totals.iter_mut().zip(posterior).for_each(|(total, share)| *total += share);
            }
            law.ln_weights = totals.map(|total| (total / taken as f64).ln());
        }
        law
    }

    /// ln of how well each scale fits a row, up to a constant.
    fn fits(&self, signal: &[f64], noise: f64, along: &[f32]) -> [f64; COUNT] {
        self.scales.map(|scale| {
            let term = |(c, &x): (&f64, &f32)| {
                let variance = scale * c + noise;
                variance.ln() + f64::from(x).powi(2) / variance
            };
            -0.5 * signal.iter().zip(along).map(term).sum::<f64>()
        })
    }

    fn posterior(&self, fits: &[f64; COUNT]) -> [f64; COUNT] {
        let logs: [f64; COUNT] = std::array::from_fn(|i| fits[i] + self.ln_weights[i]);
        let most = logs.iter().fold(f64::MIN, |a, &b| a.max(b));
        let parts = logs.map(|ln| (ln - most).exp());
        let total: f64 = parts.iter().sum();
        parts.map(|part| part / total)
    }

    /// Replaces what a row has along each direction by its posterior mean.
    pub(super) fn shrink(&self, signal: &[f64], noise: f64, along: &mut [f32]) {
        let posterior = self.posterior(&self.fits(signal, noise, along));
        for (x, c) in along.iter_mut().zip(signal) {
            let kept: f64 =
                self.scales.iter().zip(posterior).map(|(scale, share)| share * scale * c / (scale * c + noise)).sum();
            *x = (f64::from(*x) * kept) as f32;
        }
    }
}
