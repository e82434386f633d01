//! A proven upper bound on the spectral norm of a dense W (power iteration alone gives a lower bound).
//!
//! `|W|^2` is the largest eigenvalue of `G = W^T W`. If Cholesky's method runs to its end on `lambda I - G` in floating
//! point, that matrix is positive semidefinite up to the rounding errors, so `lambda + slack >= |W|^2`. The errors are
//! bounded a priori (Higham 2002, Theorem 10.3: `|D| <= gamma_(k+1) |R|^T |R|`; `gamma_(p+1)` for the sums in G), with
//! `gamma_n` about `n 2^-53`; sums in any order and fused operations stay within them.

use super::dense::Dense;
use crate::parallel;

/// More outputs than this are bounded in groups, `|W|^2 <= sum of |W_group|^2`, to keep G in memory.
const GROUP: usize = 4096;
/// Rows of W, or columns of the factor, processed at a time.
const PANEL: usize = 32;
const ITERATIONS: usize = 200;

pub(super) fn operator_norm_upper(dense: &Dense) -> f64 {
    let k = dense.k();
    let squares = (0..k).step_by(GROUP).map(|first| {
        let gram = Gram::new(dense, first, (first + GROUP).min(k));
        gram.largest_eigenvalue_upper().next_up()
    });
    let total = squares.fold(0.0, |total, square| (total + square).next_up());
    total.sqrt().next_up()
}

/// The upper triangle of `W^T W` for some outputs.
struct Gram {
    k: usize,
    terms: usize, // p, how many products each entry sums
    upper: Vec<f64>,
}

impl Gram {
    fn new(dense: &Dense, first: usize, last: usize) -> Self {
        let k = last - first;
        let mut upper = vec![0.0; k * k];
        let mut panel = Vec::with_capacity(PANEL * k);
        for start in (0..dense.dim()).step_by(PANEL) {
            panel.clear();
            let end = (start + PANEL).min(dense.dim());
            dense.for_rows(start..end, |_, row| panel.extend(row[first..last].iter().map(|&w| f64::from(w))));
            add_products(&mut upper, 0, k, &panel, 1.0);
        }
        Self { k, terms: dense.dim(), upper }
    }

    fn largest_eigenvalue_upper(&self) -> f64 {
        let estimate = self.power_iteration();
        if estimate == 0.0 {
            return self.slack(0.0);
        }
        let mut margin = 1.0 / 512.0;
        loop {
            let lambda = estimate * (1.0 + margin);
            if self.is_below(lambda) {
                return lambda + self.slack(lambda);
            }
            margin *= 2.0;
        }
    }

    /// More than all rounding errors together: of G, of `lambda I - G`, of the factor.
    fn slack(&self, lambda: f64) -> f64 {
        let trace: f64 = (0..self.k).map(|i| self.upper[i * self.k + i]).sum();
        let (p, k) = (self.terms as f64, self.k as f64);
        4.0 * f64::EPSILON * ((p + 4.0) * trace + (k + 4.0) * k * lambda)
    }

    /// A Rayleigh quotient, so at most the largest eigenvalue (up to rounding): where to start the search.
    fn power_iteration(&self) -> f64 {
        // Fixed, positive and without symmetry: no eigenvector of a random matrix is orthogonal to it.
        let mut v: Vec<f64> = (0..self.k).map(|i| 1.0 + (i * 7 % 13) as f64 / 13.0).collect();
        let mut value = 0.0;
        for _ in 0..ITERATIONS {
            let mut next = vec![0.0; self.k];
            for i in 0..self.k {
                let row = &self.upper[i * self.k..][..self.k];
                let mut sum = row[i] * v[i];
                for j in i + 1..self.k {
                    sum += row[j] * v[j];
                    next[j] += row[j] * v[i];
                }
                next[i] += sum;
            }
            let norm = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm == 0.0 {
                return 0.0;
            }
            value = v.iter().zip(&next).map(|(a, b)| a * b).sum::<f64>() / v.iter().map(|x| x * x).sum::<f64>();
            v = next.into_iter().map(|x| x / norm).collect();
        }
        value
    }

    /// Does Cholesky's method run to its end on `lambda I - G`?
    fn is_below(&self, lambda: f64) -> bool {
        let k = self.k;
        let mut rest: Vec<f64> = self.upper.iter().map(|g| -g).collect();
        (0..k).for_each(|i| rest[i * k + i] += lambda);
        for start in (0..k).step_by(PANEL) {
            let end = (start + PANEL).min(k);
            let (done, below) = rest.split_at_mut(end * k);
            let panel = &mut done[start * k..];
            for j in start..end {
                let (row, later) = panel[(j - start) * k..].split_at_mut(k);
                let pivot = row[j];
                if pivot.is_nan() || pivot <= 0.0 {
                    return false;
                }
                let root = pivot.sqrt();
                row[j..].iter_mut().for_each(|x| *x /= root);
                row[..j].fill(0.0);
                add_products(later, j + 1, k, row, -1.0);
            }
            add_products(below, end, k, panel, -1.0);
        }
        true
    }
}

/// `rows_i += sign sum_c panel_ci panel_c`, entries right of the diagonal only; row 0 of `rows` is row `first` of all.
fn add_products(rows: &mut [f64], first: usize, k: usize, panel: &[f64], sign: f64) {
    const TASK: usize = 16; // rows
    parallel::chunks(rows, TASK * k, |task, rows| {
        for (at, row) in rows.chunks_mut(k).enumerate() {
            let i = first + task * TASK + at;
            for c in panel.chunks_exact(k) {
                let factor = sign * c[i];
                row[i..].iter_mut().zip(&c[i..]).for_each(|(x, w)| *x += factor * w);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram(k: usize, entry: impl Fn(usize, usize) -> f64) -> Gram {
        Gram { k, terms: 1, upper: (0..k * k).map(|at| entry(at / k, at % k)).collect() }
    }

    #[test]
    fn bound_is_above_and_close_where_the_eigenvalues_are_known() {
        // Second difference matrix: eigenvalues 2 - 2 cos(pi j / (k + 1)).
        for k in [1, 2, 31, 32, 33, 100] {
            let matrix = gram(k, |i, j| if i == j { 2.0 } else { -f64::from(u8::from(i.abs_diff(j) == 1)) });
            let largest = 2.0 - 2.0 * libm::cos(std::f64::consts::PI * k as f64 / (k + 1) as f64);
            let bound = matrix.largest_eigenvalue_upper();
            assert!((largest..largest * 1.02).contains(&bound), "{k}: {bound} against {largest}");
            assert!(!matrix.is_below(largest * (1.0 - 1e-9)), "planted fault: a bound below the norm must be refused");
        }
        assert_eq!(gram(3, |_, _| 0.0).largest_eigenvalue_upper(), 0.0);
    }
}
