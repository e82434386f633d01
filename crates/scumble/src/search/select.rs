//! The R rows of least distance, found without sorting the others: a strict threshold and a histogram that lowers it.

use super::Hit;

/// Candidates of one query. Rows must be offered in rising order.
#[derive(Debug, Clone)]
pub(super) struct Nearest {
    size: usize,
    counts: Vec<usize>,     // candidates by distance
    below: usize,           // candidates at less than `limit`
    limit: u32,             // only less than this can still enter
    found: Vec<(u32, u32)>, // (distance, row)
}

impl Nearest {
    /// Of the `size` nearest, where no distance is larger than `most`.
    pub(super) fn new(size: usize, most: u32) -> Self {
        Self { size, counts: vec![0; most as usize + 1], below: 0, limit: most + 1, found: Vec::new() }
    }

    /// Distances from here on can no longer enter.
    #[inline]
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes a row in, if its distance is below the limit.
    #[inline]
    pub(super) fn offer(&mut self, row: u32, distance: u32) {
        if distance >= self.limit {
            return;
        }
        self.found.push((distance, row));
        self.counts[distance as usize] += 1;
        self.below += 1;
        // Enough rows below: the limit falls to the distance of the last of them, which later rows must beat.
        while self.below >= self.size {
            self.limit -= 1;
            self.below -= self.counts[self.limit as usize];
        }
        if self.found.len() > 4 * self.size + 64 {
            self.prune();
        }
    }

    /// Drops what can no longer be among the nearest.
    fn prune(&mut self) {
        let limit = self.limit;
        self.found.retain(|(distance, _)| *distance <= limit);
        if self.found.len() > 2 * self.size + 64 {
            // Many at the limit itself: the first rows win.
            self.found.sort_unstable();
            self.found.truncate(self.size);
        }
    }

    /// Candidates of both, where the other's rows are not the same.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.found.extend(other.found);
        self.found.sort_unstable();
        self.found.truncate(self.size);
        self
    }

    /// Nearest first, ties to the lower row.
    pub(super) fn into_hits(mut self) -> Vec<Hit> {
        self.found.sort_unstable();
        self.found.truncate(self.size);
        self.found.into_iter().map(|(distance, row)| Hit { row: row as usize, score: distance as f32 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sorting everything, for sizes around the number of rows and distances that tie often.
    #[test]
    fn nearest_are_the_first_of_all_sorted() {
        for rows in [0u32, 1, 5, 100, 3000] {
            for most in [0, 1, 7, 500] {
                let distance = |row: u32| (row.wrapping_mul(2_654_435_761) >> 7) % (most + 1);
                let mut all: Vec<(u32, u32)> = (0..rows).map(|row| (distance(row), row)).collect();
                all.sort_unstable();
                for size in [1, 2, 50, 3000, 5000] {
                    let mut parts = [0..rows / 3, rows / 3..rows].map(|part| {
                        let mut nearest = Nearest::new(size, most);
                        part.for_each(|row| nearest.offer(row, distance(row)));
                        Some(nearest)
                    });
                    let merged = parts[0].take().unwrap().merge(parts[1].take().unwrap());
                    let mut whole = Nearest::new(size, most);
                    (0..rows).for_each(|row| whole.offer(row, distance(row)));
                    for nearest in [merged, whole] {
                        let found: Vec<_> =
                            nearest.into_hits().iter().map(|h| (h.score as u32, h.row as u32)).collect();
                        assert_eq!(found, all[..size.min(all.len())], "{rows} {most} {size}");
                    }
                }
            }
        }
    }
}
