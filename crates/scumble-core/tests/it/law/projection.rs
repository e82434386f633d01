//! The laws of the projections over many entries and seeds. Seeds are fixed, so a test passes or fails for good.
//! Every statistic is held against its critical value at alpha = 1e-6, and a planted fault must exceed it.

use scumble_core::projection::{Projection, ProjectionKind, Seed};

/// Normal quantile of 1 - 1e-6.
const Z: f64 = 4.753_424;

/// Critical value of chi-square with `df` degrees of freedom (Wilson and Hilferty).
fn critical(df: usize) -> f64 {
    let a = 2.0 / (9.0 * df as f64);
    df as f64 * (1.0 - a + Z * a.sqrt()).powi(3)
}

/// Pearson's statistic over the critical value: above 1 is a rejection. Cells of probability 0 must stay empty.
pub fn chi_square(counts: &[u64], probabilities: &[f64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let mut statistic = 0.0;
    let mut cells = 0;
    for (&count, &p) in counts.iter().zip(probabilities) {
        if p == 0.0 {
            assert_eq!(count, 0, "an impossible cell");
            continue;
        }
        assert!(total * p > 5.0, "too few draws for the approximation");
        statistic += (count as f64 - total * p).powi(2) / (total * p);
        cells += 1;
    }
    if cells > 1 { statistic / critical(cells - 1) } else { 0.0 }
}

fn seed(number: u64) -> Seed {
    let mut bytes = [0x5a; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Seed(bytes)
}

/// `rows * k` entries of a dense matrix.
fn entries(kind: ProjectionKind, rows: usize, k: usize) -> Vec<i32> {
    let projection = Projection::new(kind, seed(1), rows, k).unwrap();
    let mut all = vec![0; rows * k];
    all.chunks_mut(k).enumerate().for_each(|(i, row)| projection.weights(i, row));
    all
}

#[test]
fn rademacher_entries_are_fair_and_unrelated() {
    let k = 257;
    let all = entries(ProjectionKind::Rademacher, 4000, k);
    let cell = |w: i32| (w + 1) as usize / 2;
    // Each entry with its right neighbour, and with the one below.
    let pairs = |distance: usize| {
        let mut counts = [0; 4];
        all.windows(distance + 1).for_each(|w| counts[cell(w[0]) * 2 + cell(w[distance])] += 1);
        chi_square(&counts, &[0.25; 4])
    };
    assert!(pairs(1) < 1.0 && pairs(k) < 1.0);
    // Planted fault: half a percent of the entries turned from minus to plus.
    let (plus, n) = (all.iter().filter(|&&w| w == 1).count() as u64, all.len() as u64);
    assert!(chi_square(&[plus, n - plus], &[0.5; 2]) < 1.0);
    assert!(chi_square(&[plus + n / 200, n - plus - n / 200], &[0.5; 2]) > 1.0);
}

#[test]
fn uniform_entries_are_uniform() {
    let mut counts = [0; 256];
    entries(ProjectionKind::Uniform, 4000, 255).iter().for_each(|w| counts[(w + 255) as usize / 2] += 1);
    assert!(chi_square(&counts, &[1.0 / 256.0; 256]) < 1.0);
    // Planted fault: a quarter of one value is given as its neighbour.
    counts[7] -= 1000;
    counts[8] += 1000;
    assert!(chi_square(&counts, &[1.0 / 256.0; 256]) > 1.0);
}

#[test]
fn very_sparse_entries_have_their_three_probabilities() {
    for s in [1.0, 1.5, 3.0, 28.0, 1000.0] {
        let mut counts = [0; 3];
        entries(ProjectionKind::VerySparse { s }, 8000, 256).iter().for_each(|w| counts[(w + 1) as usize] += 1);
        let law = |s: f64| [0.5 / s, 1.0 - 1.0 / s, 0.5 / s];
        assert!(chi_square(&counts, &law(s)) < 1.0, "s = {s}");
        assert!(chi_square(&counts, &law(s * 1.25)) > 1.0, "planted fault: s = {s} taken for {}", s * 1.25);
    }
}

#[test]
fn gaussian_entries_are_normal() {
    let mut z: Vec<f64> =
        entries(ProjectionKind::Gaussian, 1 << 14, 1 << 8).iter().map(|&w| f64::from(w) / 65536.0).collect();
    let n = z.len() as f64;
    // Mean and variance, in standard errors.
    let moments = |scale: f64| {
        let mean = z.iter().map(|z| z * scale).sum::<f64>() / n;
        let square = z.iter().map(|z| (z * scale).powi(2)).sum::<f64>() / n;
        (mean.abs() * n.sqrt(), (square - 1.0).abs() * (n / 2.0).sqrt())
    };
    assert!(moments(1.0).0 < Z && moments(1.0).1 < Z, "{:?}", moments(1.0));
    assert!(moments(1.01).1 > Z, "planted fault: scale 1% too large");

    // Kolmogorov and Smirnov: P(sqrt(n) D > x) < 2 exp(-2 x^2).
    z.sort_by(f64::total_cmp);
    let distance = |scale: f64| {
        let far = |(i, z): (usize, &f64)| {
            let phi = 0.5 * libm::erfc(-z * scale * std::f64::consts::FRAC_1_SQRT_2);
            (phi - i as f64 / n).abs().max((phi - (i + 1) as f64 / n).abs())
        };
        z.iter().enumerate().map(far).fold(0.0, f64::max) * n.sqrt()
    };
    let critical = (f64::ln(2.0 / 1e-6) / 2.0).sqrt();
    assert!(distance(1.0) < critical, "{}", distance(1.0));
    assert!(distance(1.01) > critical, "planted fault: scale 1% too large");
}

/// Bin and sign of some attributes, for one seed.
type Draw<'a> = &'a dyn Fn(u64, usize, usize, &[usize]) -> Vec<(usize, i32)>;

fn oporp(number: u64, p: usize, bins: usize, attributes: &[usize]) -> Vec<(usize, i32)> {
    let projection = Projection::new(ProjectionKind::Oporp { repeats: 1 }, seed(number), p, bins).unwrap();
    let mut row = vec![0; bins];
    let mut locate = |&i: &usize| {
        projection.weights(i, &mut row);
        let bin = row.iter().position(|&w| w != 0).unwrap();
        (bin, row[bin])
    };
    attributes.iter().map(&mut locate).collect()
}

/// The worst of the tests of two attributes over many seeds: joint bins, joint signs, sign against bin.
fn pair_statistic(p: usize, bins: usize, pair: [usize; 2], draw: Draw<'_>) -> f64 {
    let size = |b: usize| (p / bins + usize::from(b < p % bins)) as f64;
    let mut joint = vec![0; bins * bins];
    let mut signs = [0; 4];
    let mut signed = vec![0; 2 * bins];
    let plus = |sign: i32| usize::from(sign == 1);
    for number in 0..20_000 {
        let drawn = draw(number, p, bins, &pair);
        let [(a, s), (b, t)] = drawn[..] else { unreachable!() };
        joint[a * bins + b] += 1;
        signs[plus(s) * 2 + plus(t)] += 1;
        signed[2 * a + plus(s)] += 1;
    }
    let together = |a: usize, b: usize| size(a) * (size(b) - f64::from(u8::from(a == b)));
    let pairs = (p * (p - 1)) as f64;
    let joint_law: Vec<f64> = (0..bins * bins).map(|at| together(at / bins, at % bins) / pairs).collect();
    let signed_law: Vec<f64> = (0..2 * bins).map(|at| size(at / 2) / (2 * p) as f64).collect();
    let collisions: u64 = (0..bins).map(|b| joint[b * bins + b]).sum();
    let rate: f64 = (0..bins).map(|b| joint_law[b * bins + b]).sum();
    let total: u64 = joint.iter().sum();
    chi_square(&joint, &joint_law)
        .max(chi_square(&signs, &[0.25; 4]))
        .max(chi_square(&signed, &signed_law))
        .max(chi_square(&[collisions, total - collisions], &[rate, 1.0 - rate]))
}

#[test]
fn pairs_of_attributes_meet_as_in_a_random_permutation() {
    for p in [2usize, 3, 5, 784, 1000, 65537] {
        for bins in [2, 3, 7].into_iter().filter(|&bins| bins <= p) {
            for pair in [[0, 1], [0, p - 1], [p / 2, p / 2 + 1]] {
                if pair[0] == pair[1] || pair[1] >= p {
                    continue;
                }
                let statistic = pair_statistic(p, bins, pair, &oporp);
                assert!(statistic < 1.0, "p = {p}, {bins} bins, attributes {pair:?}: {statistic}");
            }
        }
    }
    // One attribute has nowhere to go, but a sign.
    let plus = (0..10_000).filter(|&number| oporp(number, 1, 1, &[0])[0] == (0, 1)).count() as u64;
    assert!(chi_square(&[plus, 10_000 - plus], &[0.5; 2]) < 1.0);
}

#[test]
fn planted_faults_of_the_permutation_are_rejected() {
    let rotated: Draw<'_> = &|number, p, bins, attributes| {
        // Uniform for each attribute, but neighbours stay neighbours.
        let turn = number as usize * 7919 % p;
        let signs = oporp(number, p, bins, attributes);
        let bin = |i: usize| ((i + turn) % p) * bins / p;
        attributes.iter().zip(signs).map(|(&i, (_, sign))| (bin(i), sign)).collect()
    };
    assert!(pair_statistic(1000, 5, [0, 1], rotated) > 1.0);
    let one_sign: Draw<'_> = &|number, p, bins, attributes| {
        let drawn = oporp(number, p, bins, attributes);
        drawn.iter().map(|&(bin, _)| (bin, drawn[0].1)).collect()
    };
    assert!(pair_statistic(1000, 5, [0, 1], one_sign) > 1.0);
    let independent: Draw<'_> = &|number, p, bins, attributes| {
        // Independent bins collide at 1/bins instead of the permutation's lower rate.
        let each = |(at, &i): (usize, &usize)| oporp(number + (at as u64) * 1_000_000, p, bins, &[i])[0];
        attributes.iter().enumerate().map(each).collect()
    };
    assert!(pair_statistic(8, 4, [0, 1], &oporp) < 1.0 && pair_statistic(8, 4, [0, 1], independent) > 1.0);
}

#[test]
fn whole_permutations_of_few_attributes_are_uniform() {
    let factorials = [1, 1, 2, 6, 24, 120];
    for p in [2, 3, 4, 5] {
        let attributes: Vec<usize> = (0..p).collect();
        let mut counts = std::collections::HashMap::<usize, u64>::new();
        for number in 0..30_000 {
            let code = oporp(number, p, p, &attributes).iter().fold(0, |code, &(bin, _)| code * p + bin);
            *counts.entry(code).or_default() += 1;
        }
        let counts: Vec<u64> = counts.into_values().collect();
        assert_eq!(counts.len(), factorials[p], "every permutation occurs");
        assert!(chi_square(&counts, &vec![1.0 / factorials[p] as f64; factorials[p]]) < 1.0, "p = {p}");
    }
}

#[test]
fn repetitions_are_independent() {
    let (bins, t) = (4, 3);
    for p in [5, 784] {
        let size = |b: usize| (p / bins + usize::from(b < p % bins)) as f64 / p as f64;
        let mut joint = [[0; 64]; 3];
        for number in 0..20_000 {
            let projection = Projection::new(ProjectionKind::Oporp { repeats: t }, seed(number), p, bins * t).unwrap();
            let mut row = vec![0; bins * t];
            projection.weights(p / 2, &mut row);
            let cell = |r: usize| {
                let part = &row[r * bins..][..bins];
                let bin = part.iter().position(|&w| w != 0).unwrap();
                2 * bin + usize::from(part[bin] == 1)
            };
            for (r, joint) in joint.iter_mut().enumerate() {
                joint[cell(r) * 8 + cell((r + 1) % t)] += 1;
            }
        }
        let law: Vec<f64> = (0..64).map(|at| size(at / 16) * size(at % 8 / 2) / 4.0).collect();
        assert!(joint.iter().all(|counts| chi_square(counts, &law) < 1.0), "p = {p}");
        // Planted fault: the same OPORP twice.
        let mut same = [0; 64];
        (0..8).for_each(|c| same[c * 8 + c] = 2500);
        assert!(chi_square(&same, &law) > 1.0);
    }
}
