//! Projections: reference vectors, value stability, exact identities, refusals.

use proptest::prelude::*;
use rayon::prelude::*;
use scumble_core::projection::{Projection, ProjectionKind, Seed};
use scumble_core::vectors::PrivateRow;
use serde_json::Value;

const KINDS: [ProjectionKind; 7] = [
    ProjectionKind::Gaussian,
    ProjectionKind::Uniform,
    ProjectionKind::VerySparse { s: 1.0 },
    ProjectionKind::VerySparse { s: 7.3 },
    ProjectionKind::Rademacher,
    ProjectionKind::Oporp { repeats: 1 },
    ProjectionKind::Oporp { repeats: 2 },
];

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/v1/projection.json")).unwrap()
}

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

fn size(case: &Value, name: &str) -> usize {
    case[name].as_u64().unwrap() as usize
}

fn made(case: &Value) -> Projection {
    let kind = match case.get("kind") {
        Some(kind) => kind.as_str().unwrap().parse().unwrap(),
        None => ProjectionKind::Oporp { repeats: size(case, "repeats") },
    };
    let seed = Seed::from_hex(case["seed"].as_str().unwrap()).unwrap();
    Projection::new(kind, seed, size(case, "dim"), size(case, "k")).unwrap()
}

fn weights(projection: &Projection, attribute: usize) -> Vec<i64> {
    let mut out = vec![0; projection.k()];
    projection.weights(attribute, &mut out);
    out.into_iter().map(i64::from).collect()
}

fn applied(projection: &Projection, row: PrivateRow<'_>) -> Vec<i64> {
    let mut out = vec![99; projection.k()];
    projection.apply(row, &mut out);
    out
}

#[test]
fn dense_rows_are_those_of_the_reference() {
    for case in vectors()["dense"].as_array().unwrap() {
        let projection = made(case);
        for (i, row) in integers(&case["attributes"]).into_iter().zip(case["rows"].as_array().unwrap()) {
            assert_eq!(weights(&projection, i as usize), integers(row), "{projection:?}, attribute {i}");
        }
    }
}

#[test]
fn oporp_entries_are_those_of_the_reference() {
    for case in vectors()["oporp"].as_array().unwrap() {
        let projection = made(case);
        for (i, pairs) in integers(&case["attributes"]).into_iter().zip(case["entries"].as_array().unwrap()) {
            let mut expected = vec![0; projection.k()];
            for pair in pairs.as_array().unwrap() {
                expected[integers(pair)[0] as usize] = integers(pair)[1];
            }
            assert_eq!(weights(&projection, i as usize), expected, "{projection:?}, attribute {i}");
        }
    }
}

#[test]
fn whole_matrices_norms_and_products_are_those_of_the_reference() {
    for case in vectors()["matrices"].as_array().unwrap() {
        let projection = made(case);
        let rows: Vec<Vec<i64>> = (0..projection.dim()).map(|i| weights(&projection, i)).collect();
        assert_eq!(rows, case["matrix"].as_array().unwrap().iter().map(integers).collect::<Vec<_>>(), "{projection:?}");
        assert_eq!(projection.max_norm1(), case["max_norm1"].as_u64().unwrap());
        assert_eq!(projection.max_squared_norm2().to_string(), case["max_squared_norm2"].as_str().unwrap());
        let per_output: Vec<i64> = projection.max_abs_per_output().into_iter().map(i64::from).collect();
        assert_eq!(per_output, integers(&case["max_abs_per_output"]));
        let row: Vec<i32> = integers(&case["row"]).into_iter().map(|q| q as i32).collect();
        assert_eq!(applied(&projection, PrivateRow::Dense(&row)), integers(&case["projected"]));

        // The reference's value is rounded to a double itself.
        let (bound, norm) = (projection.operator_norm_upper(), case["operator_norm"].as_f64().unwrap());
        assert!(bound >= norm * (1.0 - 1e-14), "{projection:?}: {bound} below {norm}");
        if projection.is_dense_matrix() {
            assert!(bound <= norm * 1.01, "{projection:?}: {bound} far above {norm}");
        }
    }
}

#[test]
fn values_are_stable() {
    let seed = Seed(std::array::from_fn(|i| i as u8));
    let first = |kind: &str, k: usize| {
        let projection = Projection::new(kind.parse().unwrap(), seed, 1000, k).unwrap();
        weights(&projection, 999)[..6].to_vec()
    };
    assert_eq!(Projection::VERSION, 1);
    assert_eq!(first("gaussian", 16), [61667, 89005, 12387, 72590, -26886, -85509]);
    assert_eq!(first("uniform", 16), [-185, -179, -53, 19, -47, -33]);
    assert_eq!(first("very-sparse:3", 16), [1, 0, 0, 0, -1, 1]);
    assert_eq!(first("rademacher", 16), [-1, 1, 1, 1, 1, 1]);
    let oporp = Projection::new(ProjectionKind::Oporp { repeats: 1 }, seed, 1000, 100).unwrap();
    let bins: Vec<i64> = (0..8)
        .map(|i| {
            let row = weights(&oporp, i);
            let bin = row.iter().position(|&w| w != 0).unwrap();
            row[bin] * bin as i64
        })
        .collect();
    assert_eq!(bins, [87, 89, 70, 14, 10, -3, 67, -22]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn projecting_is_exact_linear_and_bounded(
        kind in 0..KINDS.len(), seed: [u8; 32], half in 1..40usize, extra in 0..200usize, rows: [u64; 2],
    ) {
        let (k, dim) = (2 * half, 2 * half + extra);
        let projection = Projection::new(KINDS[kind], Seed(seed), dim, k).unwrap();
        // Two rows with zeros, from a little generator of their own.
        let [u, v] = rows.map(|start| {
            let mut state = start;
            (0..dim).map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                if state >> 62 == 0 { 0 } else { (state >> 33) as i32 % 100_000 - 50_000 }
            }).collect::<Vec<i32>>()
        });
        let w: Vec<Vec<i64>> = (0..dim).map(|i| weights(&projection, i)).collect();
        let by_hand = |q: &[i32]| -> Vec<i64> {
            (0..k).map(|j| q.iter().zip(&w).map(|(&q, w)| i64::from(q) * w[j]).sum()).collect()
        };

        // A sparse row of one attribute first: no table exists yet.
        let sparse = PrivateRow::Sparse { dim, index: &[dim as u32 - 1], value: &[-7] };
        prop_assert_eq!(applied(&projection, sparse), w[dim - 1].iter().map(|w| -7 * w).collect::<Vec<_>>());

        let x = applied(&projection, PrivateRow::Dense(&u));
        prop_assert_eq!(&x, &by_hand(&u));
        let index: Vec<u32> = (0..dim as u32).filter(|&i| u[i as usize] != 0).collect();
        let value: Vec<i32> = index.iter().map(|&i| u[i as usize]).collect();
        prop_assert_eq!(&x, &applied(&projection, PrivateRow::Sparse { dim, index: &index, value: &value }));

        let sum: Vec<i32> = u.iter().zip(&v).map(|(a, b)| a - 3 * b).collect();
        let y = applied(&projection, PrivateRow::Dense(&v));
        let combined: Vec<i64> = x.iter().zip(&y).map(|(a, b)| a - 3 * b).collect();
        prop_assert_eq!(applied(&projection, PrivateRow::Dense(&sum)), combined);

        prop_assert!(x.iter().all(|&x| i128::from(x.abs()) <= projection.bound(50_000)));
        // The row that is worst for output 0 stays within the bound too.
        let worst: Vec<i32> = w.iter().map(|w| 50_000 * w[0].signum() as i32).collect();
        prop_assert!(i128::from(applied(&projection, PrivateRow::Dense(&worst))[0]) <= projection.bound(50_000));

        // Realised norms by definition; |u W| <= bound |u|.
        let norm1 = |w: &Vec<i64>| w.iter().map(|w| w.unsigned_abs()).sum::<u64>();
        let squared_norm2 = |w: &Vec<i64>| w.iter().map(|w| (w * w) as u128).sum::<u128>();
        prop_assert_eq!(projection.max_norm1(), w.iter().map(norm1).max().unwrap());
        prop_assert_eq!(projection.max_squared_norm2(), w.iter().map(squared_norm2).max().unwrap());
        prop_assert_eq!(
            projection.max_abs_per_output(),
            (0..k).map(|j| w.iter().map(|w| w[j].unsigned_abs() as u32).max().unwrap()).collect::<Vec<_>>()
        );
        let norm = |x: &[i64]| x.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
        let u: Vec<i64> = u.into_iter().map(i64::from).collect();
        prop_assert!(norm(&x) <= projection.operator_norm_upper() * norm(&u) * (1.0 + 1e-12));
    }
}

#[test]
fn without_a_projection_nothing_changes() {
    let identity = Projection::new(ProjectionKind::Identity, Seed([3; 32]), 5, 5).unwrap();
    assert_eq!(applied(&identity, PrivateRow::Dense(&[4, -1, 0, 7, 2])), [4, -1, 0, 7, 2]);
    assert_eq!(weights(&identity, 3), [0, 0, 0, 1, 0]);
    assert_eq!((identity.max_norm1(), identity.max_squared_norm2(), identity.operator_norm_upper()), (1, 1, 1.0));
    assert_eq!((identity.variance_factor(), identity.sketch_unit(), identity.bound(-9)), (0.0, 1.0, 9));
}

#[test]
fn units_and_factors_have_their_formulas() {
    let at = |kind: &str, dim, k| Projection::new(kind.parse().unwrap(), Seed([3; 32]), dim, k).unwrap();
    assert_eq!(at("gaussian", 10, 4).sketch_unit(), 1.0 / 65536.0 / 2.0);
    assert_eq!(at("rademacher", 10, 4).sketch_unit(), 0.5);
    assert_eq!(at("very-sparse:4", 10, 4).sketch_unit(), 1.0);
    assert_eq!(at("oporp:4", 10, 8).sketch_unit(), 0.5);
    let squares = (0..256).map(|b| f64::from(2 * b - 255).powi(2)).sum::<f64>() / 256.0;
    assert!((at("uniform", 10, 4).weight_unit().powi(-2) - squares).abs() < 1e-9);
    let fourth = (0..256).map(|b| f64::from(2 * b - 255).powi(4)).sum::<f64>() / 256.0 / squares.powi(2);
    assert!((at("uniform", 10, 4).fourth_moment() - fourth).abs() < 1e-12);
    assert_eq!(at("gaussian", 10, 4).variance_factor(), 0.25);
    // 10 attributes in 4 bins: 3, 3, 2, 2.
    assert_eq!(at("oporp", 10, 4).variance_factor(), (6.0 + 6.0 + 2.0 + 2.0) / 90.0);
    assert_eq!(at("oporp:2", 10, 8).variance_factor(), (6.0 + 6.0 + 2.0 + 2.0) / 90.0 / 2.0);
    // k | p: (p - k) / (k (p - 1)).
    assert_eq!(at("oporp", 12, 4).variance_factor(), 8.0 / 44.0);
    assert_eq!(at("oporp", 10, 4).operator_norm_upper(), 3f64.sqrt().next_up());
    assert_eq!(at("oporp", 16, 4).operator_norm_upper(), 2.0);
}

#[test]
fn impossible_parameters_are_refused() {
    let cases = [
        ("gaussian", 0, 4),
        ("gaussian", 4, 0),
        ("none", 4, 3),
        ("oporp", 4, 5),
        ("oporp:2", 4, 10),
        ("oporp:3", 40, 10),
        ("oporp:0", 40, 10),
        ("very-sparse:0.99", 4, 4),
        ("very-sparse:NaN", 4, 4),
        ("very-sparse:inf", 4, 4),
        ("very-sparse:3e9", 4, 4),
        ("rademacher", 4, (1 << 24) + 1),
        ("rademacher", (1 << 32) + 1, 4),
    ];
    for (kind, dim, k) in cases {
        let made = kind.parse().and_then(|kind| Projection::new(kind, Seed([0; 32]), dim, k));
        assert!(made.is_err(), "{kind} {dim} {k}");
    }
    // OPORP allows more outputs than attributes when each repetition has enough.
    assert!(Projection::new(ProjectionKind::Oporp { repeats: 4 }, Seed([0; 32]), 4, 16).is_ok());
}

#[test]
#[should_panic(expected = "63 bits")]
fn sums_that_could_wrap_are_never_formed() {
    let projection = Projection::new(ProjectionKind::Gaussian, Seed([0; 32]), 20_000, 1).unwrap();
    applied(&projection, PrivateRow::Dense(&vec![i32::MAX; 20_000]));
}

#[test]
fn threads_neither_change_nor_block_anything() {
    let row: Vec<i32> = (0..5000).map(|i| i * 31 % 257 - 128).collect();
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let many = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for kind in KINDS {
        let fresh = || Projection::new(kind, Seed([8; 32]), 5000, 64).unwrap();
        let (single, shared) = (fresh(), fresh());
        let expected = alone.install(|| (applied(&single, PrivateRow::Dense(&row)), single.max_squared_norm2()));
        let norm = alone.install(|| single.operator_norm_upper());
        many.install(|| {
            // All workers meet the missing table at once.
            (0..64).into_par_iter().for_each(|_| assert_eq!(applied(&shared, PrivateRow::Dense(&row)), expected.0));
            assert_eq!(shared.max_squared_norm2(), expected.1);
            assert_eq!(shared.operator_norm_upper(), norm);
        });
    }
}

#[test]
fn sixteen_million_attributes_need_only_what_they_touch() {
    let dim = 1 << 24;
    let index: Vec<u32> = (0..300).map(|i| i * 55_001).collect();
    let value: Vec<i32> = (0..300).map(|i| i - 150).collect();
    let row = PrivateRow::Sparse { dim, index: &index, value: &value };
    for kind in KINDS {
        let projection = Projection::new(kind, Seed([5; 32]), dim, 512).unwrap();
        let mut expected = vec![0; 512];
        for (&i, &q) in index.iter().zip(&value) {
            expected.iter_mut().zip(weights(&projection, i as usize)).for_each(|(x, w)| *x += w * i64::from(q));
        }
        assert_eq!(applied(&projection, row), expected, "{kind}");
    }
    let oporp = Projection::new(ProjectionKind::Oporp { repeats: 1 }, Seed([5; 32]), dim, 512).unwrap();
    let without_table = applied(&oporp, row);
    oporp.prepare();
    assert_eq!(applied(&oporp, row), without_table);
}
