//! The host dies at every point between prepare and send, thousands of times.
//!
//! Model: storage holds what was stored last; the collector holds what arrived. Invariants, after every step: one slot,
//! content and period has one report, ever; what the collector has seen was charged in what is stored.

use crate::support::{DAY, START, bits, dense, open};
use scumble::campaign::Mode;
use scumble_device::{Client, State};
use std::collections::{HashMap, HashSet};

/// A small generator with a fixed seed: every run is the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

struct World {
    text: String,
    stored: Option<Vec<u8>>,
    seen: HashSet<Vec<u8>>,                         // by the collector
    rows: HashSet<Vec<u8>>,                         // different rows that it saw: what was shown
    reports: HashMap<(usize, usize, u64), Vec<u8>>, // by slot, content, period
    fault: bool,                                    // planted: gives bytes before the state is stored
}

const VECTORS: [[f32; 4]; 3] = [[0.5, -0.5, 1.0, 0.0], [0.5, -0.5, 1.0, 0.25], [-1.0, 1.0, 0.0, 0.5]];

impl World {
    fn new(mode: Mode, fault: bool) -> Self {
        Self {
            text: bits(mode, 3),
            stored: None,
            seen: HashSet::new(),
            rows: HashSet::new(),
            reports: HashMap::new(),
            fault,
        }
    }

    fn arrive(&mut self, report: &[u8]) {
        self.seen.insert(report.to_vec());
        self.rows.insert(report[16..].to_vec());
    }

    /// One life of the host: does a few things, and dies at a random point. False when an invariant broke.
    fn live(&mut self, dice: &mut Dice, day: u64) -> bool {
        let mut client = open(&self.text, 5.0, self.stored.as_deref()).unwrap();
        for _ in 0..=dice.below(3) {
            let (slot, content) = (dice.below(2) as usize, dice.below(3) as usize);
            let now = START + day * DAY + dice.below(DAY);
            if client.reload(self.stored.as_deref()).is_err()
                || client.prepare(["a", "b"][slot], dense(&VECTORS[content]), now).is_err()
            {
                continue; // spent: refused, nothing shown
            }
            if dice.below(5) == 0 {
                if self.fault {
                    self.send_early(&mut client);
                }
                return self.holds(); // dies before the state is stored
            }
            self.stored = Some(client.state().to_vec());
            if dice.below(5) == 0 {
                return self.holds(); // dies between store and commit
            }
            if let Some(report) = client.commit().unwrap() {
                let known = self.reports.entry((slot, content, day)).or_insert_with(|| report.clone());
                if *known != report {
                    return false; // two reports for one content and period
                }
            }
            if dice.below(3) == 0 && !self.send(&mut client, dice) {
                return self.holds();
            }
        }
        self.holds()
    }

    /// Sends what waits; false when the host died on the way.
    fn send(&mut self, client: &mut Client, dice: &mut Dice) -> bool {
        let waiting: Vec<Vec<u8>> = client.pending().map(<[u8]>::to_vec).collect();
        for report in waiting {
            if dice.below(6) == 0 {
                return false; // lost on the way
            }
            self.arrive(&report);
            if dice.below(6) == 0 {
                return false; // arrived, the answer was lost
            }
            client.settle(&report).unwrap();
            if dice.below(6) == 0 {
                return false; // answered, not stored
            }
            self.stored = Some(client.state().to_vec());
            client.commit().unwrap();
        }
        true
    }

    /// The planted fault: the bytes leave although nothing is stored.
    fn send_early(&mut self, client: &mut Client) {
        if let Some(report) = client.commit().unwrap() {
            self.arrive(&report);
        }
    }

    /// Never more shown than charged: every different content that the collector saw is paid for in what is stored.
    fn holds(&self) -> bool {
        let stored = self.stored.as_deref().map(|bytes| State::from_bytes(bytes).unwrap());
        let charged = stored.as_ref().map_or(0.0, |state| state.spent[0].epsilon());
        let ids: HashMap<&[u8], &[u8]> = self.seen.iter().map(|report| (&report[16..32], &report[32..])).collect();
        let one_row_per_id = ids.len() == self.seen.len();
        let contents = stored.map_or(0, |state| state.contents.len());
        // Each content costs 1; a slot in sticky mode shows its row again under other ids, at no cost.
        let shown: HashSet<&[u8]> = self.seen.iter().map(|report| &report[32..]).collect();
        one_row_per_id && shown.len() <= contents && charged == contents as f64
    }
}

fn lives(mode: Mode, fault: bool, worlds: u64) -> bool {
    (0..worlds).all(|world| {
        let mut dice = Dice(world);
        let mut at = World::new(mode, fault);
        (0..12).all(|life| at.live(&mut dice, life / 4))
    })
}

#[test]
fn a_host_that_dies_anywhere_shows_nothing_twice_and_nothing_unpaid() {
    // 12 lives each, up to 3 reports a life: over 10,000 prepares, most of them ended by a death.
    assert!(lives(Mode::Once, false, 300));
    assert!(lives(Mode::Sticky, false, 300));
}

#[test]
fn the_planted_fault_is_found() {
    assert!(!lives(Mode::Once, true, 50));
}
