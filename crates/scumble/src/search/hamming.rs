//! Search over bits: the rows with the fewest bits that differ from a query's.

use super::kernels::{self, MOST_BYTES, ROWS, Turned};
use super::select::Nearest;
use scumble_core::simd::{Aligned, Level};

/// Rows whose distances are computed before they are looked at.
const PLAIN_ROWS: usize = 512;

/// Bits to be found by their Hamming distance.
pub(super) struct HammingScan {
    level: Level,
    width: usize,
    queries: Vec<Vec<u8>>,
    turned: Vec<Turned>, // none for few queries: turning bits into lanes does not pay then
}

impl HammingScan {
    pub(super) fn new(level: Level, width: usize, queries: Vec<&[u8]>) -> Self {
        let turned = match queries.len() > 3 && width <= MOST_BYTES {
            true => queries.iter().map(|query| Turned::new(query)).collect(),
            false => Vec::new(),
        };
        Self { level, width, queries: queries.into_iter().map(<[u8]>::to_vec).collect(), turned }
    }

    pub(super) fn queries(&self) -> usize {
        self.queries.len()
    }

    pub(super) fn fresh(&self, top: usize) -> Vec<Nearest> {
        vec![Nearest::new(top, 8 * self.width as u32); self.queries.len()]
    }

    /// All queries meet a block of rows while it is in the cache.
    pub(super) fn scan(&self, first: usize, rows: &[u8], nearest: &mut [Nearest]) {
        let Self { level, width, queries, turned } = self;
        let (level, width) = (*level, *width);
        assert!(first + rows.len() / width <= u32::MAX as usize, "rows are numbered in 32 bits");
        let whole = if turned.is_empty() { 0 } else { rows.len() / (ROWS * width) * ROWS };
        let (blocks, rest) = rows.split_at(whole * width);
        let mut lanes = Aligned::new(kernels::turned_bytes(width));
        let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
        for (block, rows) in blocks.chunks_exact(ROWS * width).enumerate() {
            kernels::turn(level, rows, width, &mut lanes);
            for (turned, nearest) in turned.chunks(2).zip(nearest.chunks_mut(2)) {
                let last = nearest.len() - 1; // an odd query is compared with itself
                let limits = [nearest[0].limit() as u16, nearest[last].limit() as u16];
                let pair = [&turned[0], &turned[last]];
                kernels::distances(level, &lanes, pair, limits, &mut out, &mut masks);
                for ((nearest, out), mut mask) in nearest.iter_mut().zip(&out).zip(masks) {
                    while mask != 0 {
                        let r = mask.trailing_zeros() as usize;
                        nearest.offer((first + block * ROWS + r) as u32, out[r].into());
                        mask &= mask - 1;
                    }
                }
            }
        }
        let mut out = [0; PLAIN_ROWS];
        for (part, rest) in rest.chunks(PLAIN_ROWS * width).enumerate() {
            let first = first + whole + part * PLAIN_ROWS;
            for (query, nearest) in queries.iter().zip(&mut *nearest) {
                let out = &mut out[..rest.len() / width];
                kernels::plain_distances(level, rest, query, out);
                // Most parts have nothing below the limit, which is seen at once.
                if out.iter().fold(u32::MAX, |least, &distance| least.min(distance)) < nearest.limit() {
                    (first..).zip(&*out).for_each(|(row, &distance)| nearest.offer(row as u32, distance));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Searcher, Way, hits};
    use super::*;

    /// Distances, masks and selection against plain counting, for code lengths up to 300 bytes and any number of rows.
    #[test]
    fn hamming_equals_plain_counting_at_every_level() {
        let byte = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as u8;
        for (case, width) in (1..=300).step_by(23).chain([16, 32, 64, 128]).enumerate() {
            let rows = [0, 1, 63, 64, 65, 200, 1000][case % 7];
            let data: Vec<u8> = (0..rows * width).map(byte).collect();
            for count in [1, 2, 4, 5, 9] {
                let asked: Vec<u8> = (0..count * width).map(|i| byte(i + 77)).collect();
                let queries: Vec<&[u8]> = asked.chunks_exact(width).collect();
                for level in Level::all() {
                    let scan = HammingScan::new(level, width, queries.clone());
                    let searcher = Searcher { top: 7, width, way: Way::Hamming(scan) };
                    let mut best = searcher.fresh();
                    let cut = rows / 3 * width; // in two pieces
                    searcher.scan(0, &data[..cut], &mut best);
                    searcher.scan(rows / 3, &data[cut..], &mut best);
                    let found = hits(best);
                    for (query, found) in queries.iter().zip(&found) {
                        let distance =
                            |row: &[u8]| row.iter().zip(*query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
                        let mut all: Vec<(u32, usize)> = data.chunks_exact(width).map(distance).zip(0..).collect();
                        all.sort_unstable();
                        all.truncate(7);
                        assert!(
                            found.iter().map(|hit| (hit.score as u32, hit.row)).eq(all),
                            "{width} {rows} {level:?}"
                        );
                    }
                }
            }
        }
    }

    /// Distances and masks themselves: the selection would forgive a mask with a row too many.
    #[test]
    fn distances_and_masks_are_equal_at_every_level() {
        let byte = |i: usize| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) as u8;
        for width in 1..=300 {
            let rows: Vec<u8> = (0..ROWS * width).map(byte).collect();
            let [a, b] = [7, 13].map(|start| Turned::new(&(0..width).map(|i| byte(i + start)).collect::<Vec<_>>()));
            let limits = [4 * width as u16, 4 * width as u16 + 2];
            let all: Vec<_> = Level::all()
                .map(|level| {
                    let mut lanes = vec![0xa5; kernels::turned_bytes(width)]; // what was there before does not count
                    let (mut out, mut masks) = ([[0; ROWS]; 2], [0; 2]);
                    kernels::turn(level, &rows, width, &mut lanes);
                    kernels::distances(level, &lanes, [&a, &b], limits, &mut out, &mut masks);
                    // Distances that nobody looks at may stay unwritten.
                    out.iter_mut().zip(masks).filter(|(_, mask)| *mask == 0).for_each(|(out, _)| *out = [0; ROWS]);
                    (out, masks)
                })
                .collect();
            assert!(all.iter().all(|this| *this == all[0]), "{width}");
        }
    }

    /// One query, rows in place: every number of rows around groups of eight, also where no bit agrees.
    #[test]
    fn plain_distances_are_equal_at_every_level() {
        for width in [1, 31, 32, 63, 64, 65, 128] {
            let query: Vec<u8> = (0..width).map(|i| (i * 37) as u8).collect();
            for count in 0..40 {
                let byte =
                    |i: usize| if (i / width).is_multiple_of(3) { !query[i % width] } else { ((i * 7919) >> 3) as u8 };
                let rows: Vec<u8> = (0..count * width).map(byte).collect();
                for level in Level::all() {
                    let mut out = vec![0; count];
                    kernels::plain_distances(level, &rows, &query, &mut out);
                    let differing = |row: &[u8]| row.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
                    assert!(rows.chunks_exact(width).map(differing).eq(out), "{width} {count} {level:?}");
                }
            }
        }
    }
}
