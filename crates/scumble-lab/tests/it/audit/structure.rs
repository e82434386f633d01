//! Public structure under audit: bins with every law of OPORP, a whole bin moved, books, search caps, and their faults.

use super::faults::Faulty;
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Purpose, Required};
use scumble::projection::{Bins, Origin, Partition, Seed, TableFile};
use scumble::release::Releaser;
use scumble::structure::make_book;
use scumble::vectors::{PrivateRow, Range, Rows, Scalars};
use scumble_core::noise::SecretRng;
use scumble_lab::audit::{AuditError, Settings, Target, Verdict, audit, small_case};

const UNIT: Range = Range { lo: -1.0, hi: 1.0 };
const SEED: Seed = Seed([5; 32]);

/// Every bound of a run is right but for a chance of 1e-6.
fn settings(samples: usize) -> Settings {
    Settings { samples: Some(samples), ..Settings::default() }
}

/// Four bins of eight attributes: five with mixed signs in the first, one in each of the others.
fn bins() -> Partition {
    let places = [(0, true), (0, true), (0, false), (0, true), (0, true), (1, true), (2, false), (3, true)];
    Partition::of(&Bins::new(&places.map(Some), 4, Origin::Made).unwrap())
}

const GROUP: f64 = 5.0; // attributes of the first bin

fn binned(id: MechanismId, epsilon: f64) -> Mechanism {
    let parameters = small_case(id, epsilon, 0.5, UNIT, SEED);
    Mechanism::new(Parameters { bins: Some(bins()), ..parameters }).unwrap()
}

fn laws() -> Vec<MechanismId> {
    use MechanismId::*;
    vec![
        DpOporpLaplace,
        DpOporpStaircase,
        DpOporpLattice,
        DpOporpZones,
        DpSignoporpRr,
        DpSignoporpRrSmooth,
        DpSignoporpCeil,
        DpOporp,
    ]
}

#[test]
fn bins_keep_the_claim_of_every_law() {
    for id in laws() {
        let finding = audit(&Releaser::new(binned(id, 1.0), None).unwrap(), &settings(20_000)).unwrap();
        println!("{id} with bins: {:.3} of 1", finding.lower_bound);
        assert_eq!(finding.verdict, Verdict::NotRefuted, "{finding:?}");
        // It is no empty test: the samples show most of a pure loss.
        assert!(finding.lower_bound > 0.7 || id.notion() != NotionKind::Pure, "{finding:?}");
    }
}

/// One attribute of the claim stands for all those of a bin, which move together.
struct WholeBin {
    claim: Mechanism,
    real: Releaser,
}

impl WholeBin {
    /// The same law under the claim that a whole bin costs `claimed`.
    fn new(id: MechanismId, epsilon: f64, claimed: f64) -> Self {
        let parameters = Parameters::new(Required {
            mechanism: id,
            dim: 4,
            k: 4,
            epsilon: claimed,
            beta: 0.5,
            range: UNIT,
            seed: SEED,
        });
        let alone = [0, 1, 2, 3].map(|bin| Some((bin, true)));
        let bins = Some(Partition::of(&Bins::new(&alone, 4, Origin::Made).unwrap()));
        let claim = Mechanism::new(Parameters { bins, ..parameters }).unwrap();
        Self { claim, real: Releaser::new(binned(id, epsilon), None).unwrap() }
    }
}

impl Target for WholeBin {
    fn claim(&self) -> &Mechanism {
        &self.claim
    }

    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError> {
        let mut row = vec![0.0; rows.dim()];
        let all: Vec<f64> = (0..rows.len())
            .flat_map(|i| {
                rows.row_f64(i, &mut row);
                [row[0], row[0], -row[0], row[0], row[0], row[1], -row[2], row[3]]
            })
            .collect();
        Target::release(&self.real, Rows::dense(Scalars::F64(&all), 8))
    }
}

/// The group claim: five attributes of a bin cost five epsilon, no more; and no less, so that epsilon alone is refuted.
#[test]
fn a_whole_bin_costs_its_attributes() {
    let epsilon = 0.4;
    for id in laws().into_iter().filter(|id| id.notion() == NotionKind::Pure) {
        let finding = audit(&WholeBin::new(id, epsilon, GROUP * epsilon), &settings(20_000)).unwrap();
        println!("{id}, a whole bin: {:.3} of {}", finding.lower_bound, GROUP * epsilon);
        assert_eq!(finding.verdict, Verdict::NotRefuted, "{finding:?}");
    }
    for id in [MechanismId::DpOporpLaplace, MechanismId::DpOporpStaircase, MechanismId::DpSignoporpCeil] {
        let finding = audit(&WholeBin::new(id, epsilon, epsilon), &settings(20_000)).unwrap();
        assert_eq!(finding.verdict, Verdict::Broken, "{finding:?}");
    }
}

/// Planted: an attribute that enters two bins, and one with a sign of 2.
#[test]
fn an_attribute_in_two_bins_or_with_weight_2_is_found() {
    for id in [MechanismId::DpOporpLaplace, MechanismId::DpOporpStaircase] {
        for (fault, bin) in [("two bins", 1), ("a sign of 2", 0)] {
            let row = |claim: &Mechanism, row: &[f64], rng: &mut SecretRng| {
                let q: Vec<i64> = row.iter().map(|&u| claim.grid().quantise(u).unwrap().into()).collect();
                let mut x = vec![q[0] + q[1] - q[2] + q[3] + q[4], q[5], -q[6], q[7]];
                x[bin] += q[0];
                claim.perturbation().apply(&mut x, rng);
                x
            };
            let finding = audit(&Faulty { claim: binned(id, 1.0), row }, &settings(20_000)).unwrap();
            assert_eq!(finding.verdict, Verdict::Broken, "{fault}: {finding:?}");
        }
    }
}

const WORDS: usize = 6;

/// Public words of eight entries.
fn words(first: u64) -> Vec<f64> {
    (0..WORDS as u64 * 8).map(|i| ((i * 7919 + first * 31) % 201) as f64 / 100.0 - 1.0).collect()
}

/// The release is the number of one of them.
fn privbook(epsilon: f64, first: u64) -> Mechanism {
    let values = words(first);
    let book = Some(TableFile::of(make_book(Rows::dense(Scalars::F64(&values), 8), WORDS).unwrap()));
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::Privbook,
        dim: 8,
        k: 8,
        epsilon,
        beta: 2.0,
        range: UNIT,
        seed: SEED,
    });
    Mechanism::new(Parameters { book, ..parameters }).unwrap()
}

#[test]
fn books_and_caps_for_every_purpose_keep_their_claim() {
    let mut claims: Vec<Mechanism> = [1.0, 2.0].map(|epsilon| privbook(epsilon, 0)).to_vec();
    for purpose in [Purpose::Search, Purpose::Training] {
        let parameters = small_case(MechanismId::Privcube, 2.0, 0.5, UNIT, SEED);
        claims.push(Mechanism::new(Parameters { purpose: Some(purpose), ..parameters }).unwrap());
    }
    for claim in claims {
        let finding = audit(&Releaser::new(claim, None).unwrap(), &settings(20_000)).unwrap();
        println!("{}: {:.3} of {}", finding.mechanism, finding.lower_bound, finding.epsilon);
        assert_eq!(finding.verdict, Verdict::NotRefuted, "{finding:?}");
        assert!(finding.lower_bound > 0.7 * finding.epsilon, "{finding:?}");
    }
}

/// Planted: a book that the record chooses, whose words can be told apart.
#[test]
fn a_book_of_the_records_own_is_found() {
    let other = privbook(2.0, 1);
    let row = |claim: &Mechanism, row: &[f64], rng: &mut SecretRng| {
        let own = row[0] > 0.0;
        let book = if own { &other } else { claim };
        let q: Vec<i32> = row.iter().map(|&u| book.grid().quantise(u).unwrap()).collect();
        let mut out = vec![0; book.k()];
        book.release_row(PrivateRow::Dense(&q), &mut out, rng).unwrap();
        out[0] += i64::from(own) * WORDS as i64;
        out
    };
    let finding = audit(&Faulty { claim: privbook(2.0, 0), row }, &settings(20_000)).unwrap();
    assert_eq!(finding.verdict, Verdict::Broken, "{finding:?}");
}

/// Planted: as many favoured words as the record likes. The total is then no longer the same for every record.
#[test]
fn favoured_words_by_the_record_are_found() {
    let words = words(0);
    let row = |claim: &Mechanism, row: &[f64], rng: &mut SecretRng| {
        let favoured = if row[0] > 0.0 { 1 } else { 3 };
        let mut order: Vec<usize> = (0..WORDS).collect();
        let score = |word: usize| words[word * 8..][..8].iter().zip(row).map(|(a, b)| a * b).sum::<f64>();
        order.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
        let draw = rng.next_u64() % (favoured * 738 + (WORDS as u64 - favoured) * 100); // e^2 is 7.389
        let rank = if draw < favoured * 738 { draw / 738 } else { favoured + (draw - favoured * 738) / 100 };
        let mut out = vec![0; claim.k()];
        out[0] = order[rank as usize] as i64;
        out
    };
    let finding = audit(&Faulty { claim: privbook(2.0, 0), row }, &settings(20_000)).unwrap();
    assert_eq!(finding.verdict, Verdict::Broken, "{finding:?}");
}
