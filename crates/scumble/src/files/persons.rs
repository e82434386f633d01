//! Several rows of one person: at most a given number of them leave.
//!
//! The choice is keyed. A pseudo-random function of (key, person, row) ranks each person's rows, and the first ones
//! stay; a row is known by its id, or by its place where there are no ids. The values of the rows have no part in it,
//! so two inputs that differ in values keep the same rows, and what is kept is a release of at most N rows per person.
//!
//! A first pass reads the persons (and ids) alone and finds how far down each person's ranks the choice reaches; every later
//! pass decides row by row. Memory: some 60 bytes for each person, and in the first pass 8 for each row that stays.

use super::error::{ReadError, ReadErrorKind};
use super::{Format, ReadOptions, csv, format, parquet};
use crate::columns::Column;
use scumble_core::entropy::NoEntropy;
use scumble_core::noise::NoiseKey;
use scumble_core::release::Releaser;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::path::Path;

/// Ranks rows of persons by a secret key.
pub struct Ranking {
    key: NoiseKey,
}

impl fmt::Debug for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ranking(..)")
    }
}

impl Ranking {
    /// By a fresh key, or by the one of the noise: then rows rank alike in every release with it.
    pub fn of(releaser: &Releaser) -> Result<Self, NoEntropy> {
        let key = releaser.keyed_noise().map_or_else(NoiseKey::generate, |noise| Ok(noise.person_key()))?;
        Ok(Self { key })
    }

    /// Who it is, as a number: two persons share one with a probability of 2^-64, and then their rows count together.
    fn person(&self, name: &str) -> u64 {
        self.number(&[b"person", name.as_bytes()])
    }

    /// The rank of a row among those of its person.
    pub fn rank(&self, person: &str, row: &str) -> u64 {
        self.number(&[b"rank", person.as_bytes(), row.as_bytes()])
    }

    fn number(&self, context: &[&[u8]]) -> u64 {
        u64::from_le_bytes(self.key.hash(context)[..8].try_into().expect("8 of 32 bytes"))
    }
}

/// Which rows of each person stay. Prints its size only.
pub struct Persons {
    ranking: Ranking,
    most: usize,
    /// Of those who have more rows than may stay: the last rank that stays.
    last: HashMap<u64, u64>,
    rows: u64,
    kept: u64,
    seen: blake3::Hash,
}

impl fmt::Debug for Persons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Persons(at most {} rows each)", self.most)
    }
}

/// The first pass.
struct Look {
    ranking: Ranking,
    most: usize,
    least: HashMap<u64, BinaryHeap<u64>>,
    full: HashMap<u64, u64>,
    rows: u64,
    seen: blake3::Hasher,
}

impl Look {
    fn add(&mut self, persons: &Column, ids: Option<&Column>) {
        for i in 0..persons.len() {
            let (name, row) = (persons.text(i), row_name(ids, i, self.rows));
            let (person, rank) = (self.ranking.person(&name), self.ranking.rank(&name, &row));
            self.seen.update(&person.to_le_bytes());
            let ranks = self.least.entry(person).or_default();
            ranks.push(rank);
            if ranks.len() > self.most {
                ranks.pop();
                self.full.insert(person, *ranks.peek().expect("at least one row stays"));
            }
            self.rows += 1;
        }
    }

    fn finish(self) -> Persons {
        let kept = self.least.values().map(|ranks| ranks.len() as u64).sum();
        let Self { ranking, most, full: last, rows, seen, .. } = self;
        Persons { ranking, most, last, rows, kept, seen: seen.finalize() }
    }
}

/// A row is known by its id, or by its place.
fn row_name(ids: Option<&Column>, i: usize, place: u64) -> String {
    ids.map_or_else(|| place.to_string(), |ids| ids.text(i))
}

impl Persons {
    /// Chooses at most `most` rows of each person in a file whose column of persons `options` name.
    ///
    /// # Panics
    /// If `most` is 0, or `options` name no persons.
    pub fn choose(path: &Path, options: &ReadOptions, most: usize, ranking: Ranking) -> Result<Self, ReadError> {
        let mut look = Look::new(most, ranking);
        let person = options.person.as_deref().expect("a column of persons");
        let mut visit = |persons: &Column, ids: Option<&Column>| look.add(persons, ids);
        match format(path, options.format)? {
            Format::Parquet => parquet::names(path, person, options.id.as_deref(), &mut visit)?,
            Format::Csv => csv::names(path, b',', options, &mut visit)?,
            Format::Tsv => csv::names(path, b'\t', options, &mut visit)?,
            Format::Npy | Format::Libsvm | Format::Idx => return Err(ReadError::new(path, ReadErrorKind::NoNames)),
        }
        Ok(look.finish())
    }

    /// The same for rows in memory.
    ///
    /// # Panics
    /// If `most` is 0, or the columns differ in length.
    pub fn among(persons: &Column, ids: Option<&Column>, most: usize, ranking: Ranking) -> Self {
        assert!(ids.is_none_or(|ids| ids.len() == persons.len()), "an id for each row");
        let mut look = Look::new(most, ranking);
        look.add(persons, ids);
        look.finish()
    }

    /// How many rows are left out. For the operator only: the number reveals how many rows people have.
    pub fn dropped(&self) -> u64 {
        self.rows - self.kept
    }

    /// The most rows of a person that stay.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Decides row by row, from the first to the last.
    pub fn pass(&self) -> Pass<'_> {
        Pass { persons: self, left: HashMap::new(), rows: 0, seen: blake3::Hasher::new() }
    }
}

impl Look {
    fn new(most: usize, ranking: Ranking) -> Self {
        assert!(most > 0, "a person has at least one row");
        let (least, full, seen) = (HashMap::new(), HashMap::new(), blake3::Hasher::new());
        Self { ranking, most, least, full, rows: 0, seen }
    }
}

/// Removes the rows that do not stay from encoded rows of `width` bytes.
pub fn retain_rows(bytes: &mut Vec<u8>, width: usize, keep: &[bool]) {
    let mut to = 0;
    for (i, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
        bytes.copy_within(i * width..(i + 1) * width, to);
        to += width;
    }
    bytes.truncate(to);
}

/// One pass over all rows, in order.
pub struct Pass<'a> {
    persons: &'a Persons,
    left: HashMap<u64, usize>,
    rows: u64,
    seen: blake3::Hasher,
}

impl fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({} rows)", self.rows)
    }
}

impl Pass<'_> {
    /// Which of the next rows stay.
    pub fn keep(&mut self, persons: &Column, ids: Option<&Column>) -> Vec<bool> {
        let Persons { ranking, most, last, .. } = self.persons;
        let keep = |i: usize| {
            let (name, row) = (persons.text(i), row_name(ids, i, self.rows));
            let person = ranking.person(&name);
            self.rows += 1;
            self.seen.update(&person.to_le_bytes());
            let Some(&last) = last.get(&person) else { return true };
            if ranking.rank(&name, &row) > last {
                return false;
            }
            // Equal ranks have no chance worth naming; still no more rows leave than were promised.
            let left = match self.left.entry(person) {
                Entry::Occupied(left) => left.into_mut(),
                Entry::Vacant(place) => place.insert(*most),
            };
            let stays = *left > 0;
            *left -= usize::from(stays);
            stays
        };
        (0..persons.len()).map(keep).collect()
    }

    /// True if the persons were those of the first pass, row by row: else the choice was made for another file.
    pub(crate) fn is_whole(&self) -> bool {
        self.rows == self.persons.rows && self.seen.finalize() == self.persons.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(key: u8) -> Ranking {
        Ranking { key: NoiseKey::from_bytes([key; 32]) }
    }

    fn texts(names: impl IntoIterator<Item = String>) -> Column {
        Column::Text(names.into_iter().collect())
    }

    /// Persons 0 to 9 have 0 to 9 rows, mixed.
    fn table() -> Column {
        let mut names: Vec<String> = (0..10).flat_map(|p| vec![format!("p{p}"); p]).collect();
        let n = names.len();
        (0..n).for_each(|i| names.swap(i, i * 7919 % n));
        texts(names)
    }

    #[test]
    fn at_most_so_many_rows_of_each_person_stay() {
        let persons = table();
        for most in 1..=10 {
            let chosen = Persons::among(&persons, None, most, ranking(1));
            let mut pass = chosen.pass();
            let kept = pass.keep(&persons, None);
            assert!(pass.is_whole());
            for p in 0..10 {
                let of_p = (0..persons.len()).filter(|&i| kept[i] && persons.text(i) == format!("p{p}")).count();
                assert_eq!(of_p, p.min(most), "person {p} of at most {most}");
            }
            assert_eq!(chosen.dropped(), kept.iter().filter(|keep| !**keep).count() as u64);
        }
    }

    #[test]
    fn the_choice_does_not_depend_on_batches_or_kinds_but_on_key_and_ids() {
        let persons = table();
        let ids = Column::Int((0..persons.len() as i64).map(|i| 1000 + i).collect());
        let whole = Persons::among(&persons, Some(&ids), 2, ranking(1));
        let expected = whole.pass().keep(&persons, Some(&ids));
        let mut pass = whole.pass();
        let pieces = (0..persons.len()).step_by(7).flat_map(|start| {
            let range = start..(start + 7).min(persons.len());
            pass.keep(&persons.slice(range.clone()), Some(&ids.slice(range)))
        });
        assert_eq!(pieces.collect::<Vec<_>>(), expected);
        assert_ne!(Persons::among(&persons, Some(&ids), 2, ranking(2)).pass().keep(&persons, Some(&ids)), expected);
        // Rows that move keep their fate where they have ids.
        let back = |column: &Column| texts((0..column.len()).rev().map(|i| column.text(i)));
        let (persons, ids) = (back(&persons), back(&ids));
        let mut moved = Persons::among(&persons, Some(&ids), 2, ranking(1)).pass().keep(&persons, Some(&ids));
        moved.reverse();
        assert_eq!(moved, expected);
    }

    /// Each of a person's 5 rows stays in 2 of 5 runs: 20,000 fresh keys, within 6 standard errors (alpha < 1e-8). A choice of
    /// the first rows, the planted fault, is far outside.
    #[test]
    fn every_row_of_a_person_is_as_likely_to_stay() {
        let persons = texts(vec!["p".to_owned(); 5]);
        let mut counts = [0u32; 5];
        for run in 0..20_000u32 {
            let key = NoiseKey::from_bytes(std::array::from_fn(|i| (run >> (8 * (i % 4))) as u8));
            let chosen = Persons::among(&persons, None, 2, Ranking { key });
            chosen.pass().keep(&persons, None).iter().zip(&mut counts).for_each(|(keep, n)| *n += u32::from(*keep));
        }
        let fair = |counts: &[u32; 5]| counts.iter().all(|&n| (f64::from(n) - 8000.0).abs() < 6.0 * 4800f64.sqrt());
        assert!(fair(&counts), "{counts:?}");
        assert!(!fair(&[20_000, 20_000, 0, 0, 0]));
    }

    #[test]
    fn rows_are_left_out_whole() {
        let mut bytes: Vec<u8> = (0..12).collect();
        retain_rows(&mut bytes, 3, &[false, true, false, true]);
        assert_eq!(bytes, [3, 4, 5, 9, 10, 11]);
    }

    #[test]
    fn another_column_of_persons_is_noticed() {
        let persons = table();
        let chosen = Persons::among(&persons, None, 2, ranking(1));
        let mut pass = chosen.pass();
        pass.keep(&persons.slice(0..persons.len() - 1), None);
        assert!(!pass.is_whole(), "a row is missing");
        pass.keep(&texts(["someone else".to_owned()]), None);
        assert!(!pass.is_whole());
        assert!(!format!("{chosen:?} {pass:?}").contains("p9"));
    }
}
