//! Privbook: publish one word of a public book, likelier if it is among the words nearest to the record. Unit `record`.
//!
//! Ours. Symbols: `K` public words · `E = num/den <= e^epsilon` odds, `M = max(1, round(2 K e^-epsilon))` the number of
//! favoured words, both public. The record ranks all words; those of rank below M have weight num, the others den. The
//! weights add up to `M num + (K - M) den` for EVERY record, so each probability lies in `[den, num]` over that total:
//! pure epsilon between any two records, whatever the ranking is. The ranking is by integer inner products, so that it is
//! the same on every machine; ties go to the lower word.
//! Both a favoured rank and another are always drawn, and the word of a rank is found by loops whose length depends on
//! K only: the running time reveals neither the ranking nor which kind of rank was published.

use super::odds::Odds;
use super::{Cap, STEPS};
use crate::error::{MechanismError, NoProof, ParameterError, Refusal};
use crate::exact::{WorstRatio, exp_floor};
use crate::mechanism::parameters::Setup;
use crate::mechanism::perturbation::Perturbation;
use crate::mechanism::recipe::Recipe;
use crate::noise::{Choice, SecretRng};
use crate::privacy::{Promise, Unit};
use crate::projection::{LANES, PublicTable, TableKind, kernels, pair_weights};
use crate::simd;
use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::fmt;
use std::sync::Arc;

/// Length of a word's integers: with cells of 10 bits no inner product of up to 2^20 attributes leaves 32 bits.
const LENGTH: f64 = 2048.0;
/// Cells of a record lie within this.
const CELL: i64 = 1024;
/// The most words: 24 bits.
pub(crate) const MOST_WORDS: usize = 1 << 24;

/// The mechanism with its public integers.
#[derive(Clone)]
pub struct Privbook {
    words: usize,
    dim: usize,
    favoured: usize,        // M
    odds: Odds,             // num over den = 2^64
    coin: Choice,           // 0: a favoured word, 1: another
    shift: u32,             // bits of the grid that the ranking leaves out
    weights: Arc<Vec<u32>>, // every word at the same length, as the kernel takes them
}

impl fmt::Debug for Privbook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Privbook({} words of {}, {} favoured)", self.words, self.dim, self.favoured)
    }
}

pub(crate) fn new(setup: &Setup<'_>) -> Result<Recipe, ParameterError> {
    setup.allow_units(&[Unit::Record], NoProof::WholeRecord)?;
    let parameters = setup.parameters;
    let Some(file) = &parameters.book else { return Err(MechanismError::NoBook.into()) };
    let table = file.table(TableKind::Book, parameters.dim)?;
    let (grid, projection) = (setup.grid(STEPS)?, setup.projection(&["none"])?);
    let book = Privbook::new(table, grid.largest(), setup.epsilon.exact())?;
    let promise = Promise::Private(setup.pure(&book.worst_ratio())?);
    Ok(Recipe { grid, projection, perturbation: Perturbation::Cap(Cap::Privbook(book)), promise })
}

impl Privbook {
    /// Fixes and checks every public number; `largest` bounds a record's integers. Reads no private data.
    pub fn new(table: &PublicTable, largest: i64, epsilon: &BigRational) -> Result<Self, ParameterError> {
        let (words, dim) = table.shape();
        if !(2..=MOST_WORDS).contains(&words) || dim > 1 << 20 {
            return Err(MechanismError::BookSize { words, dim }.into());
        }
        let odds = Odds::new(epsilon)?;
        let favoured = favoured(words, epsilon);
        let coin = Choice::new([&odds.numer * favoured, Odds::denom() * (words - favoured)]);
        let shift = (largest.max(1) as u64).div_ceil(CELL as u64).next_power_of_two().ilog2();
        let mut normal = vec![0i32; dim];
        let weights = pair_weights(dim, words, |word, out| {
            let row = table.row(word);
            let length = row.iter().map(|&w| f64::from(w) * f64::from(w)).sum::<f64>().sqrt();
            let scale = if length > 0.0 { LENGTH / length } else { 0.0 };
            normal.iter_mut().zip(row).for_each(|(n, &w)| *n = (f64::from(w) * scale + 0.5).floor() as i32);
            out.copy_from_slice(&normal);
        });
        let book = Self { words, dim, favoured, odds, coin, shift, weights: Arc::new(weights) };
        book.check()?;
        Ok(book)
    }

    /// Proves on the integers that run that every word weighs num or den, out of the same total for every record.
    fn check(&self) -> Result<(), ParameterError> {
        let (favoured, others) = (BigUint::from(self.favoured), BigUint::from(self.words - self.favoured));
        let holds = self.favoured >= 1
            && self.favoured < self.words
            && self.coin.weight(0) == &favoured * &self.odds.numer
            && self.coin.weight(1) == &others * Odds::denom()
            && *self.coin.total() == favoured * &self.odds.numer + others * Odds::denom();
        match holds {
            true => Ok(()),
            false => Err(Refusal::Privbook.into()),
        }
    }

    /// `K`.
    pub fn words(&self) -> usize {
        self.words
    }

    /// `M`.
    pub fn favoured(&self) -> usize {
        self.favoured
    }

    /// The worst ratio between any two records: exactly E.
    pub fn worst_ratio(&self) -> WorstRatio {
        self.odds.worst_ratio()
    }

    /// Draws the rank to publish. Reads no record: both kinds of rank are drawn, one is kept without a branch.
    fn rank(&self, rng: &mut SecretRng) -> u32 {
        let is_favoured = self.coin.draw(rng) == 0;
        let first = rng.up_to(self.favoured as u128 - 1) as u32;
        let other = self.favoured as u32 + rng.up_to((self.words - self.favoured) as u128 - 1) as u32;
        let mask = 0u32.wrapping_sub(u32::from(is_favoured));
        (first & mask) | (other & !mask)
    }

    /// Replaces each of up to [`LANES`] records, of `dim` integers each, by the number of its word in its first place.
    /// `with_noise` calls back with the source of a record's noise.
    pub(crate) fn apply_rows(&self, x: &mut [i64], mut with_noise: impl FnMut(usize, &mut dyn FnMut(&mut SecretRng))) {
        let mut ranks = [0; LANES];
        let scores = self.scores(x);
        for (row, rank) in ranks[..x.len() / self.dim].iter_mut().enumerate() {
            with_noise(row, &mut |rng| *rank = self.rank(rng));
        }
        let words = word_of_rank(&scores, &ranks);
        x.chunks_exact_mut(self.dim).zip(words).for_each(|(x, word)| x[0] = word.into());
    }

    /// The inner products of records with all words: those of word w lane by lane from `w * LANES` on.
    fn scores(&self, x: &[i64]) -> Vec<i32> {
        let pairs = self.dim.div_ceil(2);
        let mut cells = vec![0i16; 2 * pairs * LANES];
        for (lane, x) in x.chunks_exact(self.dim).enumerate() {
            for (attribute, &x) in x.iter().enumerate() {
                cells[attribute * LANES + lane] = (x >> self.shift).clamp(-CELL, CELL) as i16;
            }
        }
        let mut scores = vec![0; self.words * LANES];
        kernels::weighted_i16(simd::level(), &cells, &self.weights, &mut scores);
        scores
    }

    /// The law of the released word for a record of `dim` integers, from the very integers that run.
    pub fn probabilities(&self, x: &[i64]) -> Vec<BigRational> {
        let scores = self.scores(x);
        let total = BigInt::from(self.coin.total().clone());
        let mut law = vec![BigRational::from_integer(0.into()); self.words];
        for rank in 0..self.words {
            let mut ranks = [0; LANES];
            ranks[0] = rank as u32;
            let (kind, size) = if rank < self.favoured { (0, self.favoured) } else { (1, self.words - self.favoured) };
            let word = word_of_rank(&scores, &ranks)[0] as usize;
            law[word] += BigRational::new(self.coin.weight(kind).into(), &total * BigInt::from(size));
        }
        law
    }
}

/// `M = max(1, round(2 K e^-epsilon))`, at most half of the words, exactly.
pub(crate) fn favoured(words: usize, epsilon: &BigRational) -> usize {
    // e^-epsilon is irrational, so 160 bits of it decide every rounding except by a miracle, which costs no privacy.
    let share = exp_floor(&-epsilon, 160);
    let round = (share * BigInt::from(4 * words) + (BigInt::from(1) << 160u32)).div_floor(&(BigInt::from(1) << 161u32));
    round.to_usize().unwrap_or(usize::MAX).clamp(1, words / 2)
}

/// The word of each lane's rank: larger scores first, among equals the lower word. By bisection on the score and one
/// walk for ties; every step looks at all words.
fn word_of_rank(scores: &[i32], ranks: &[u32; LANES]) -> [u32; LANES] {
    let scores = scores.as_chunks::<LANES>().0;
    // The largest t with at least rank + 1 scores of t or more: bit by bit, from the sign on.
    let mut threshold = [i32::MIN; LANES];
    for bit in (0..32).rev() {
        let mut tried = threshold;
        tried.iter_mut().for_each(|t| *t = t.wrapping_add(1i32.wrapping_shl(bit)));
        let mut reached = [0u32; LANES];
        for scores in scores {
            for lane in 0..LANES {
                reached[lane] += u32::from(scores[lane] >= tried[lane]);
            }
        }
        for lane in 0..LANES {
            let keep = 0i32.wrapping_sub(i32::from(reached[lane] > ranks[lane]));
            threshold[lane] = (tried[lane] & keep) | (threshold[lane] & !keep);
        }
    }
    let mut above = [0u32; LANES];
    for scores in scores {
        for lane in 0..LANES {
            above[lane] += u32::from(scores[lane] > threshold[lane]);
        }
    }
    // Of the words with exactly that score, the one preceded by as many of them as there are ranks left.
    let (mut found, mut seen) = ([0u32; LANES], above);
    for (word, scores) in (0u32..).zip(scores) {
        for lane in 0..LANES {
            let equal = u32::from(scores[lane] == threshold[lane]);
            let hit = 0u32.wrapping_sub(equal & u32::from(seen[lane] == ranks[lane]));
            found[lane] |= word & hit;
            seen[lane] += equal;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::rational;
    use crate::projection::Origin;
    use num_traits::One;

    fn book(words: usize, dim: usize, epsilon: f64) -> Privbook {
        let entries = (0..words * dim).map(|i| ((i * 7919 + i / dim * 31) % 2003) as i16 - 1001).collect();
        Privbook::new(&PublicTable::book(words, entries, 1.0, Origin::Made).unwrap(), 500, &rational(epsilon)).unwrap()
    }

    /// All rankings of five and six words: every word weighs 1 or E over the same total, in exact rationals, so that any two
    /// rankings are within E of each other.
    #[test]
    fn every_ranking_of_five_and_six_words() {
        for (words, epsilon) in [(5, 0.3), (5, 1.0), (6, 1.0), (6, 2.5), (6, 8.0)] {
            let book = book(words, 4, epsilon);
            let e = BigRational::new(book.odds.numer.clone().into(), Odds::denom().into());
            let total = &e * BigRational::from_integer(book.favoured.into())
                + BigRational::from_integer((words - book.favoured).into());
            let mut order: Vec<usize> = (0..words).collect();
            permutations(&mut order, 0, &mut |order| {
                let mut scores = vec![0i32; words * LANES];
                order.iter().enumerate().for_each(|(rank, &word)| scores[word * LANES] = -(rank as i32));
                let mut sum = BigRational::from_integer(0.into());
                for (rank, &word) in order.iter().enumerate() {
                    let mut ranks = [0; LANES];
                    ranks[0] = rank as u32;
                    assert_eq!(word_of_rank(&scores, &ranks)[0] as usize, word);
                    let kind = usize::from(rank >= book.favoured);
                    let size = if kind == 0 { book.favoured } else { words - book.favoured };
                    let weight = BigRational::new(book.coin.weight(kind).into(), BigInt::from(size));
                    let probability = weight / BigRational::from_integer(book.coin.total().clone().into());
                    let expected = if kind == 0 { e.clone() } else { BigRational::one() } / &total;
                    assert_eq!(probability, expected);
                    sum += probability;
                }
                assert!(sum.is_one());
            });
            assert!(book.worst_ratio().at_most_exp(&rational(epsilon)));
        }
    }

    fn permutations(order: &mut Vec<usize>, at: usize, take: &mut impl FnMut(&[usize])) {
        if at == order.len() {
            return take(order);
        }
        for other in at..order.len() {
            order.swap(at, other);
            permutations(order, at + 1, take);
            order.swap(at, other);
        }
    }

    /// Planted faults: a number of favoured words that depends on the record, and a book that does. Both break the ratio.
    #[test]
    fn favoured_words_or_a_book_of_the_records_own_are_found() {
        let epsilon = 2.0;
        let worst = |a: &[BigRational], b: &[BigRational]| a.iter().zip(b).map(|(p, q)| p / q).max().unwrap();
        let e = BigRational::new(book(6, 4, epsilon).odds.numer.clone().into(), Odds::denom().into());
        let law = |favoured: usize, words: usize| -> Vec<BigRational> {
            let one = BigRational::one();
            let total =
                &e * BigRational::from_integer(favoured.into()) + BigRational::from_integer((words - favoured).into());
            (0..words).map(|rank| if rank < favoured { &e / &total } else { &one / &total }).collect()
        };
        let swapped: Vec<BigRational> = law(1, 6).into_iter().rev().collect();
        assert!(worst(&law(1, 6), &swapped) <= e, "the honest law");
        assert!(worst(&swapped, &law(3, 6)) > e, "M of the record's own");
        // A record that brings its own book makes words possible that are impossible from another.
        let own: Vec<BigRational> = [law(1, 6), vec![BigRational::from_integer(0.into())]].concat();
        let other: Vec<BigRational> = [vec![BigRational::from_integer(0.into())], law(1, 6)].concat();
        assert!(own.iter().zip(&other).any(|(p, q)| *p > BigRational::from_integer(0.into()) && *p > q * &e));
        // Such a book cannot be given: parameters name it by its hash, and `new` reads no record.
    }

    #[test]
    fn ranks_and_ties_are_those_of_a_sort() {
        for words in [2, 3, 31, 100] {
            let scores: Vec<i32> = (0..words * LANES)
                .map(|i| ((i * 7919) % 13) as i32 * if i % 7 == 0 { i32::MAX / 16 } else { -3 })
                .collect();
            for rank in [0, 1, words / 2, words - 1] {
                let found = word_of_rank(&scores, &[rank as u32; LANES]);
                for (lane, &word) in found.iter().enumerate() {
                    let mut order: Vec<usize> = (0..words).collect();
                    order.sort_by_key(|&word| (std::cmp::Reverse(scores[word * LANES + lane]), word));
                    assert_eq!(word as usize, order[rank], "{words} {rank} {lane}");
                }
            }
        }
    }

    #[test]
    fn scores_are_inner_products_and_the_law_adds_up() {
        let book = book(9, 5, 3.0);
        let rows: Vec<i64> = (0..15).map(|i| (i * 37 % 101) - 50).collect();
        let scores = book.scores(&rows);
        for (lane, row) in rows.chunks_exact(5).enumerate() {
            for word in 0..9 {
                let entries: Vec<f64> =
                    (0..5).map(|a| f64::from(((word * 5 + a) * 7919 + word * 31) as i32 % 2003 - 1001)).collect();
                let length = entries.iter().map(|e| e * e).sum::<f64>().sqrt();
                let exact: i64 =
                    entries.iter().zip(row).map(|(e, &x)| (e * (LENGTH / length) + 0.5).floor() as i64 * x).sum();
                assert_eq!(i64::from(scores[word * LANES + lane]), exact);
            }
        }
        let sum: BigRational = book.probabilities(&rows[..5]).into_iter().sum();
        assert!(sum.is_one());
    }

    #[test]
    fn the_number_of_favoured_words_is_rounded_exactly() {
        for (words, epsilon) in [(16384, 10.0), (16384, 5.0), (3500, 8.0), (3500, 1.0), (2, 0.1), (100_000, 12.0)] {
            let plain = (2.0 * words as f64 * f64::exp(-epsilon)).round().clamp(1.0, (words / 2) as f64);
            assert_eq!(favoured(words, &rational(epsilon)), plain as usize, "{words} {epsilon}");
        }
    }
}
