use super::*;
use crate::vectors::Range;

fn hash(lo: f64, hi: f64, dim: usize) -> ContentHash {
    let grid = Grid::new(Range::new(lo, hi).unwrap(), 0).unwrap();
    ContentHash::new(&grid, dim, |label, bytes| {
        blake3::Hasher::new().update(label.as_bytes()).finalize_xof().fill(bytes);
    })
}

/// The definition, in numbers without bound.
fn plain(hash: &ContentHash, row: &[i32]) -> Evaluations {
    let p = P as i128;
    std::array::from_fn(|t| {
        let k = |w: usize| i128::from(hash.low[w % LOW][t]) * i128::from(hash.high[w / LOW][t]);
        let term = |(j, &v): (usize, &i32)| match hash.packing {
            Packing::Two => i128::from(v) * k(j / 2) * if j % 2 == 1 { 256 } else { 1 },
            Packing::One => i128::from(v) * k(j),
            Packing::Half => {
                let low = v as i16;
                i128::from(low) * k(2 * j) % p + i128::from((v - i32::from(low)) >> 16) * k(2 * j + 1) % p
            }
        };
        row.iter().enumerate().map(|at| term(at) % p).sum::<i128>().rem_euclid(p) as u32
    })
}

const GRIDS: [(f64, f64); 10] = [
    (0.0, 255.0),
    (-128.0, 127.0),
    (-3.0, 4.0),
    (1000.0, 1255.0),
    (0.0, 256.0),
    (-32768.0, 32767.0),
    (3.0, 200.0),
    (40_000.0, 100_000.0),
    (-1e9, 1e9),
    (0.0, 65_536.0),
];

/// Every packing, whole rows and pieces, dense and sparse, at every level, for lengths around registers and tables.
#[test]
fn every_way_gives_the_definition() {
    for (lo, hi) in GRIDS {
        for dim in [1, 2, 3, 15, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 511, 784, 1025, 2049, 9001] {
            let hash = hash(lo, hi, dim);
            let width = (hi - lo) as u64 + 1;
            let value = |j: usize| (lo as i64 + ((j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % width) as i64) as i32;
            let mut row: Vec<i32> = (0..dim).map(value).collect();
            (row[0], row[dim - 1]) = (lo as i32, hi as i32);
            let wanted = plain(&hash, &row);
            assert_eq!(hash.row(PrivateRow::Dense(&row)), wanted, "{lo} {hi} {dim}");
            let index: Vec<u32> = (0..dim as u32).filter(|&j| row[j as usize] != 0).collect();
            let values: Vec<i32> = row.iter().copied().filter(|&v| v != 0).collect();
            assert_eq!(hash.row(PrivateRow::Sparse { dim, index: &index, value: &values }), wanted, "{lo} {hi} {dim}");
            for level in Level::all() {
                for piece in [64, 256, 4096] {
                    let (mut tabled, mut plain) = ([LimbSums::default()], [PlainSums::default()]);
                    for (at, values) in row.chunks(piece).enumerate() {
                        hash.add(level, at * piece, &[values], &mut tabled, &mut plain);
                    }
                    assert_eq!(hash.finish(&tabled[0], &plain[0]), wanted, "{lo} {hi} {dim} {level:?}");
                }
                in_blocks(&hash, level, &row, wanted);
                let narrow: Result<Vec<i16>, _> = row.iter().map(|&v| i16::try_from(v)).collect();
                narrow.iter().for_each(|row| in_blocks(&hash, level, row, wanted));
                let bytes: Result<Vec<u8>, _> = row.iter().map(|&v| u8::try_from(v)).collect();
                bytes.iter().for_each(|row| in_blocks(&hash, level, row, wanted));
            }
        }
    }
}

/// The row among others, in blocks of every parity, close together and apart.
fn in_blocks<T: Attribute>(hash: &ContentHash, level: Level, row: &[T], wanted: Evaluations) {
    for (rows, gap) in [(1, 0), (2, 0), (3, 5), (4, 64)] {
        let stride = row.len() + gap;
        let values: Vec<T> = (0..(rows - 1) * stride + row.len()).map(|i| row[i % stride % row.len()]).collect();
        let mut contents = Contents::new(hash);
        contents.add(level, 0, &values, stride, rows, row.len());
        assert!(contents.rows()[..rows].iter().all(|found| *found == wanted), "{rows} {gap} {level:?}");
    }
}

/// No table of 16 million attributes: dense and sparse rows agree there too.
#[test]
fn many_attributes_need_no_table() {
    let dim = 1 << 24;
    let hash = hash(-1.0, 1.0, dim);
    assert!(hash.limbs.is_empty());
    let mut row = vec![0; dim];
    let index = [0, 1, 4095, 4096, 8191, 8192, 1 << 20, (1 << 24) - 1];
    index.iter().for_each(|&j| row[j as usize] = 1);
    let sparse = PrivateRow::Sparse { dim, index: &index, value: &[1; 8] };
    assert_eq!(hash.row(PrivateRow::Dense(&row)), hash.row(sparse));
}

/// Rows of every small difference have evaluations of their own; so have ids.
#[test]
fn what_differs_has_other_evaluations() {
    for (lo, hi) in [(-128.0, 127.0), (-1000.0, 1000.0), (-1e9, 1e9)] {
        let (mut seen, hash) = (std::collections::HashSet::new(), hash(lo, hi, 4));
        let values = [0, 1, -1, 2, 127, -128];
        for code in 0..values.len().pow(4) {
            let row: Vec<i32> = (0..4).map(|place| values[code / values.len().pow(place) % values.len()]).collect();
            assert!(seen.insert(hash.row(PrivateRow::Dense(&row))), "{row:?}");
        }
        seen.clear();
        let long = [vec![b'x'; 47], vec![b'x'; 48], vec![b'x'; 49], vec![0; 47], vec![0; 48]];
        let short: [&[u8]; 8] = [b"", b"\0", b"\0\0", b"a", b"b", b"ab", b"ba", b"a\0"];
        for id in short.into_iter().chain(long.iter().map(Vec::as_slice)) {
            let id = hash.with_id([0; 4], id, |id| *blake3::hash(id).as_bytes());
            assert!(seen.insert(id), "{id:?}");
        }
    }
}

#[test]
fn limbs_add_up_to_the_coefficient() {
    for k in [0, 1, 1023, 1024, 1025, 1 << 21, (1 << 30) + 5, P as i64 - 1] {
        let [a, b, c] = signed_limbs(k).map(i64::from);
        assert_eq!(a + (b << LIMB) + (c << (2 * LIMB)), k);
        assert!([a, b, c].iter().all(|limb| limb.abs() <= 1 << (LIMB - 1)));
    }
}
