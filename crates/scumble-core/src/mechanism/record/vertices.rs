//! Vertices of the cube counted by how well they agree with integer weights, and numbered within each count.
//!
//! For `w` in -7..=7 the penalty of a vertex `y` of {-1,1}^k is `d = sum of |w_i| over the i where y_i w_i < 0`, so that
//! `<y,w> = |w|_1 - 2d`. `N_i(d)` counts the choices for the first i coordinates with penalty d:
//! `N_i(d) = N_{i-1}(d) + N_{i-1}(d - |w_i|)`. No penalty above `7k/2` is kept: half of all vertices are at or below
//! `|w|_1 / 2`. The weights are private: every loop runs over a range that depends on k only.

/// The largest absolute weight.
pub(crate) const WEIGHT_LIMIT: i32 = 7;
const PAD: usize = WEIGHT_LIMIT as usize; // zeros on both sides of a row: the recurrence needs no branch

/// `N_0 .. N_k` for one weight vector. Counts wrap at 2^128; only `N_128` of w = 0 does.
#[derive(Clone, Default)]
pub(crate) struct Vertices {
    k: usize,
    counts: Vec<u128>,
}

impl Vertices {
    /// Counts the vertices for `w`.
    ///
    /// # Panics
    /// If there are no or more than 128 weights, or one is outside -7..=7.
    pub fn count(&mut self, w: &[i32]) {
        assert!((1..=128).contains(&w.len()), "1 to 128 weights");
        assert!(w.iter().all(|w| w.unsigned_abs() <= WEIGHT_LIMIT as u32), "weights in -7..=7");
        self.k = w.len();
        let (half, stride) = (self.half(), self.stride());
        self.counts.resize((self.k + 1) * stride, 0);
        self.counts[..stride].fill(0);
        self.counts[PAD] = 1;
        for (i, w) in w.iter().enumerate() {
            let (before, after) = self.counts.split_at_mut((i + 1) * stride);
            let (before, after) = (&before[i * stride..], &mut after[..stride]);
            let shift = w.unsigned_abs() as usize;
            let width = (PAD * (i + 1)).min(half) + 1;
            after[..PAD].fill(0);
            let sums = before[PAD..PAD + width].iter().zip(&before[PAD - shift..PAD - shift + width]);
            after[PAD..PAD + width].iter_mut().zip(sums).for_each(|(n, (a, b))| *n = a.wrapping_add(*b));
            after[PAD + width..PAD + width + PAD].fill(0);
        }
    }

    /// The largest penalty kept.
    fn half(&self) -> usize {
        PAD * self.k / 2
    }

    fn stride(&self) -> usize {
        self.half() + 1 + 2 * PAD
    }

    /// `N_i(0..=half)`, of which `0..=min(7i, half)` may be positive.
    fn row(&self, i: usize) -> &[u128] {
        let start = i * self.stride() + PAD;
        &self.counts[start..start + self.half() + 1]
    }

    /// `N_k(d)`; 0 stands for 2^128.
    pub fn at(&self, penalty: usize) -> u128 {
        self.row(self.k)[penalty]
    }

    /// Where vertex number `rank` in order of penalty is: its penalty, and its number among those of that penalty.
    pub fn locate(&self, rank: u128) -> (usize, u128) {
        let (mut penalty, mut below, mut sum) = (0, 0, 0u128);
        for &count in self.row(self.k) {
            sum = sum.wrapping_add(count);
            // At least one vertex has penalty 0, so `sum - 1` is right even when the sum is 2^128.
            let passed = sum.wrapping_sub(1) < rank;
            penalty += usize::from(passed);
            below = if passed { sum } else { below };
        }
        (penalty, rank - below)
    }

    /// Vertex number `rank` among those of the given penalty; coordinate i in bit i.
    pub fn vertex(&self, w: &[i32], mut penalty: usize, mut rank: u128) -> u128 {
        let mut vertex = 0;
        for (i, &w) in w.iter().enumerate().rev() {
            // The first N_{i}(d) of them agree with w_i, the others pay |w_i|.
            let agreeing = self.counts[i * self.stride() + PAD + penalty];
            let disagrees = rank >= agreeing;
            rank -= if disagrees { agreeing } else { 0 };
            penalty -= if disagrees { w.unsigned_abs() as usize } else { 0 };
            vertex |= u128::from(disagrees != (w > 0)) << i;
        }
        vertex
    }

    #[cfg(test)]
    pub fn plant(&mut self, row: usize, penalty: usize, change: i128) {
        let at = row * self.stride() + PAD + penalty;
        self.counts[at] = self.counts[at].wrapping_add_signed(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(w: &[i32]) -> Vertices {
        let mut vertices = Vertices::default();
        vertices.count(w);
        vertices
    }

    fn penalty(w: &[i32], vertex: u128) -> usize {
        let paid =
            |(i, w): (usize, &i32)| if (vertex >> i & 1 == 1) == (*w > 0) { 0 } else { w.unsigned_abs() as usize };
        w.iter().enumerate().map(paid).sum()
    }

    #[test]
    fn ranks_number_every_vertex_once_in_order_of_penalty() {
        for w in [&[3, -7, 0, 1, 1, -2][..], &[0; 5], &[7; 7], &[1], &[-1, 2, -3, 4, -5, 6, -7, 0]] {
            let vertices = counted(w);
            let half: usize = w.iter().map(|w| w.unsigned_abs() as usize).sum::<usize>() / 2;
            let reachable = (0..1u128 << w.len()).filter(|&y| penalty(w, y) <= half).count() as u128;
            let mut seen = std::collections::HashSet::new();
            let mut last = 0;
            for rank in 0..reachable {
                let (d, within) = vertices.locate(rank);
                let y = vertices.vertex(w, d, within);
                assert_eq!(penalty(w, y), d);
                assert!(d >= last && seen.insert(y), "{w:?} rank {rank}");
                last = d;
            }
        }
    }

    #[test]
    fn powers_of_two_at_the_word_ends_are_right() {
        for k in [63, 64, 127] {
            assert_eq!(counted(&vec![0; k]).at(0), 1 << k);
        }
        let all = counted(&[0; 128]);
        assert_eq!(all.at(0), 0); // stands for 2^128
        for rank in [0, 1, u128::MAX / 3, u128::MAX] {
            assert_eq!(all.locate(rank), (0, rank));
            assert_eq!(all.vertex(&[0; 128], 0, rank), rank); // coordinate 127 is decided first, bits as they are
        }
        let mut one = [0; 128];
        one[5] = 7;
        let one = counted(&one);
        assert_eq!((one.at(0), one.at(1), one.at(7)), (1 << 127, 0, 1 << 127));
        assert_eq!(one.locate(u128::MAX), (7, (1 << 127) - 1));
    }

    #[test]
    fn a_used_table_counts_as_a_fresh_one() {
        let mut used = counted(&[7; 100]);
        for w in [vec![1; 30], vec![0; 128], vec![5, -5, 3]] {
            used.count(&w);
            let fresh = counted(&w);
            assert!((0..=w.len()).all(|i| used.row(i)[..=(PAD * i).min(used.half())] == fresh.row(i)[..=(PAD * i).min(fresh.half())]));
        }
    }

    #[test]
    fn agrees_with_binomials_in_u128() {
        // Unit weights count by the number of disagreements: N(d) = C(128, d).
        let vertices = counted(&[1; 128]);
        let mut binomial = num_bigint::BigUint::from(1u32);
        for d in 0..=64u32 {
            assert_eq!(binomial, vertices.at(d as usize).into());
            binomial = binomial * (128 - d) / (d + 1);
        }
    }
}
