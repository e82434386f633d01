//! Eigenvalues and eigenvectors of a symmetric matrix: Householder's tridiagonal form, then the implicit QL steps of
//! Bowdler, Martin, Reinsch and Wilkinson (1968). Plain 64-bit floats in a fixed order.

/// A symmetric matrix as `V diag(values) V'`.
pub(crate) struct Eigen {
    /// From the largest to the smallest.
    pub values: Vec<f64>,
    /// The unit vector of each value, one after the other.
    pub vectors: Vec<f64>,
}

/// Decomposes a symmetric `n x n` matrix.
pub(crate) fn eigen(matrix: &[f64], n: usize) -> Eigen {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    if n == 0 {
        return Eigen { values: Vec::new(), vectors: Vec::new() };
    }
    let mut v = matrix.to_vec();
    let (mut d, mut e) = (vec![0.0; n], vec![0.0; n]);
    tridiagonal(&mut v, &mut d, &mut e);
    // Rotations mix two columns of V; as rows of V' they are contiguous.
    let mut rows = transposed(&v, n);
    implicit_ql(&mut rows, &mut d, &mut e);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| d[b].total_cmp(&d[a]).then(a.cmp(&b)));
    Eigen {
        values: order.iter().map(|&i| d[i]).collect(),
        vectors: order.iter().flat_map(|&i| &rows[i * n..][..n]).copied().collect(),
    }
}

fn transposed(v: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|at| v[at % n * n + at / n]).collect()
}

/// Householder reflections, last row first: `d` the diagonal, `e[1..]` below it, `v` the product of the reflections.
fn tridiagonal(v: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    let n = d.len();
    for i in (1..n).rev() {
        let (above, row) = v.split_at_mut(i * n);
        let row = &mut row[..i];
        let scale: f64 = row.iter().map(|x| x.abs()).sum();
        if i == 1 || scale == 0.0 {
            e[i] = row[i - 1];
            d[i] = 0.0;
            continue;
        }
        row.iter_mut().for_each(|x| *x /= scale);
        let mut h: f64 = row.iter().map(|x| x * x).sum();
        let f = row[i - 1];
        let g = -h.sqrt().copysign(f);
        e[i] = scale * g;
        h -= f * g;
        row[i - 1] = f - g;
        // p = A u / h from the lower triangle, kept in e; each row of it serves both sides.
        e[..i].fill(0.0);
        for j in 0..i {
            let a = &above[j * n..][..=j];
            let mut sum = a[j] * row[j];
            for (l, &x) in a[..j].iter().enumerate() {
                sum += x * row[l];
                e[l] += x * row[j];
            }
            e[j] += sum;
        }
        let mut k = 0.0;
        for j in 0..i {
            e[j] /= h;
            k += e[j] * row[j];
        }
        let half = k / (h + h);
        (0..i).for_each(|j| e[j] -= half * row[j]);
        for j in 0..i {
            let (x, y) = (row[j], e[j]);
            above[j * n..][..=j].iter_mut().zip(row.iter().zip(&e[..i])).for_each(|(a, (u, q))| *a -= x * q + y * u);
        }
        d[i] = h;
    }
    (d[0], e[0]) = (0.0, 0.0);
    for i in 0..n {
        if d[i] != 0.0 {
            let (above, rest) = v.split_at_mut(i * n);
            let u: Vec<f64> = rest[..i].to_vec();
            let mut g = vec![0.0; i];
            for (l, &x) in u.iter().enumerate() {
                g.iter_mut().zip(&above[l * n..][..i]).for_each(|(g, a)| *g += x * a);
            }
            for (l, &x) in u.iter().enumerate() {
                let x = x / d[i];
                above[l * n..][..i].iter_mut().zip(&g).for_each(|(a, g)| *a -= x * g);
            }
        }
        d[i] = v[i * n + i];
        v[i * n + i] = 1.0;
        for j in 0..i {
            (v[i * n + j], v[j * n + i]) = (0.0, 0.0);
        }
    }
}

/// QL with implicit shifts. Row i of `rows` turns into the vector of `d[i]`.
fn implicit_ql(rows: &mut [f64], d: &mut [f64], e: &mut [f64]) {
    let n = d.len();
    e.rotate_left(1);
    e[n - 1] = 0.0;
    // What is this small relative to the whole matrix is rounding; rotations by it would run into denormal numbers.
    let floor = 1e-3 * d.iter().zip(e.iter()).fold(0.0, |most: f64, (d, e)| most.max(d.abs() + e.abs()));
    for l in 0..n {
        // Thirty steps for one value are never needed; the bound keeps NaN from going on for ever.
        for _ in 0..60 {
            let small = |m: usize| e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs()).max(floor);
            let m = (l..n - 1).find(|&m| small(m)).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let mut g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut r = g.hypot(1.0);
            g = d[m] - d[l] + e[l] / (g + r.copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                r = f.hypot(g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    split = true;
                    break;
                }
                (s, c) = (f / r, g / r);
                g = d[i + 1] - p;
                r = (d[i] - g) * s + 2.0 * c * b;
                p = s * r;
                d[i + 1] = g + p;
                g = c * r - b;
                let (low, high) = rows.split_at_mut((i + 1) * n);
                for (x, y) in low[i * n..].iter_mut().zip(&mut high[..n]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
            if !split {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(matrix: &[f64], n: usize) -> Eigen {
        let found = eigen(matrix, n);
        let size = matrix.iter().fold(1e-300, |most: f64, x| most.max(x.abs())) * n as f64;
        assert!(found.values.windows(2).all(|w| w[0] >= w[1]));
        for (i, (value, x)) in found.values.iter().zip(found.vectors.chunks_exact(n)).enumerate() {
            for row in 0..n {
                let image: f64 = (0..n).map(|j| matrix[row * n + j] * x[j]).sum();
                assert!((image - value * x[row]).abs() < 1e-12 * size, "{n}: value {i}");
            }
            for (j, y) in found.vectors.chunks_exact(n).enumerate() {
                let dot: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12 * n as f64);
            }
        }
        found
    }

    #[test]
    fn every_pair_solves_its_equation() {
        for n in [1, 2, 3, 8, 33, 120] {
            let entry = |i: usize, j: usize| ((i * 31 + j * 31 + i * j * 7) % 97) as f64 - 48.0;
            let matrix: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
            check(&matrix, n);
            check(&vec![1.0; n * n], n); // one value n, the others 0
            check(&vec![0.0; n * n], n);
        }
        assert!(eigen(&[], 0).values.is_empty());
    }

    /// numpy.linalg.eigvalsh of the Hilbert matrix of order 5, and the known values 2 - 2 cos(pi j / 9) of a chain.
    #[test]
    fn known_values() {
        let hilbert: Vec<f64> = (0..25).map(|at| 1.0 / (at / 5 + at % 5 + 1) as f64).collect();
        let known = [
            1.567_050_691_098_230_8,
            0.208_534_218_611_013_3,
            0.011_407_491_623_419_806,
            3.058_980_401_511_917e-4,
            3.287_928_772_171_863e-6,
        ];
        let found = check(&hilbert, 5);
        assert!(found.values.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-15), "{:?}", found.values);
        let chain: Vec<f64> = (0..64).map(|at| [2.0, -1.0, 0.0][(at / 8_usize).abs_diff(at % 8).min(2)]).collect();
        for (j, value) in (1..=8).rev().zip(check(&chain, 8).values) {
            assert!((value - 2.0 + 2.0 * (std::f64::consts::PI * f64::from(j) / 9.0).cos()).abs() < 1e-14);
        }
    }
}
