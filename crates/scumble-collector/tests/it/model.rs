//! Random histories against a model: upload, replay, mutate, wrong period, garbage, lost request, lost answer, kill,
//! disk full, failed sync, export, restart, migration, in any order.
//!
//! What must hold: every acknowledged report of an exported period is in exactly one export, a report whose answer was
//! lost in at most one, nothing else is in any; no export has a period below `min_reports`; an export written again is
//! the same file. A history that fails is shrunk and printed. Planted faults show that each rule can fail.

use crate::fuzz::Draw;
use crate::support::*;
use scumble::campaign::Mode;
use scumble::files::read_release;
use scumble_collector::collection::Collection;
use scumble_collector::export::{ExportError, export};
use scumble_collector::report::{Rejection, decode};
use scumble_collector::store::{CampaignKey, Each, Export, Outcome, PeriodCount, Report, Store, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an upload goes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Fine,
    LostRequest,
    LostAnswer,
    DiskFull,
    FailedSync,
    KilledAfter,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// `count` new reports, `late` periods ago.
    Upload {
        count: u32,
        late: u32,
        fate: Fate,
    },
    /// An earlier report again, with its bytes or with others.
    Again {
        which: u64,
        mutate: bool,
        fate: Fate,
    },
    /// A report of a period that is over, or is not yet.
    WrongPeriod {
        ahead: bool,
    },
    Garbage {
        bytes: u64,
    },
    Kill,
    Restart,
    Wait {
        periods: u64,
    },
    Export {
        number: bool,
    },
}

fn history(seed: u64) -> Vec<Step> {
    let mut draw = Draw(seed);
    let fate = |draw: &mut Draw| match draw.below(12) {
        0 => Fate::LostRequest,
        1 | 2 => Fate::LostAnswer,
        3 => Fate::DiskFull,
        4 => Fate::FailedSync,
        5 => Fate::KilledAfter,
        _ => Fate::Fine,
    };
    let steps = 4 + draw.below(26);
    let step = |_| match draw.below(20) {
        0..=7 => Step::Upload { count: 1 + draw.below(4) as u32, late: draw.below(2) as u32, fate: fate(&mut draw) },
        8..=11 => Step::Again { which: draw.next(), mutate: draw.below(3) == 0, fate: fate(&mut draw) },
        12 => Step::WrongPeriod { ahead: draw.below(2) == 0 },
        13 => Step::Garbage { bytes: draw.next() },
        14 => Step::Kill,
        15 => Step::Restart,
        16 | 17 => Step::Wait { periods: 1 + draw.below(2) },
        _ => Step::Export { number: draw.below(4) == 0 },
    };
    (0..steps).map(step).collect()
}

/// What the model knows of a report.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    Acknowledged,
    /// The answer was lost: it may be there.
    Perhaps,
}

/// Opens a store, perhaps with a fault in it.
type Opener = fn(Box<dyn Store>) -> Box<dyn Store>;

struct World<'a> {
    place: Place,
    store: Option<Box<dyn Store>>,
    opener: Opener,
    collection: &'a Collection,
    key: CampaignKey,
    now: u64,
    closed_before: u32,
    next: u32,
    sent: Vec<(u32, u32, u32)>,           // period, person, row
    reports: BTreeMap<u32, (u32, Known)>, // row to period
    exports: BTreeMap<i64, (Export, Vec<u32>, Vec<u8>)>,
    out: &'a Path,
}

type Fault = String;

/// Fails the history, not the test: it can then be shrunk.
macro_rules! hold {
    ($truth:expr, $($words:tt)*) => {
        if !$truth {
            return Err(format!($($words)*));
        }
    };
}

impl<'a> World<'a> {
    fn new(place: Place, opener: Opener, collection: &'a Collection, out: &'a Path) -> Self {
        let (store, key) = (opener(place.open_old(collection)), 1); // the first restart migrates
        let (reports, exports) = (BTreeMap::new(), BTreeMap::new());
        let (now, sent, store) = (START, Vec::new(), Some(store));
        Self { place, store, opener, collection, key, now, closed_before: 0, next: 1, sent, reports, exports, out }
    }

    fn store(&mut self) -> &mut dyn Store {
        &mut **self.store.as_mut().expect("open")
    }

    fn restart(&mut self, kill: bool) {
        let store = self.store.take();
        if kill {
            self.place.kill(store); // the files as they are now, and nothing that was only in memory
        } else {
            drop(store);
        }
        self.store = Some((self.opener)(self.place.open().unwrap()));
    }

    fn step(&mut self, step: Step) -> Result<(), Fault> {
        match step {
            Step::Upload { count, late, fate } => {
                let period = self.period().saturating_sub(late);
                let reports = (0..count).map(|_| {
                    self.next += 1;
                    (period, self.next, self.next)
                });
                let reports = reports.collect::<Vec<_>>();
                if fate != Fate::LostRequest {
                    self.sent.extend(&reports);
                }
                self.upload(&reports, fate)
            }
            Step::Again { which, mutate, fate } if !self.sent.is_empty() => {
                let (period, person, row) = self.sent[which as usize % self.sent.len()];
                if mutate && self.reports.get(&row).map(|known| known.1) == Some(Known::Acknowledged) {
                    self.next += 1;
                    return self.upload(&[(period, person, self.next)], Fate::Fine);
                }
                self.upload(&[(period, person, row)], fate)
            }
            Step::Again { .. } => Ok(()),
            Step::WrongPeriod { ahead } => {
                let period = if ahead { Some(self.period() + 1) } else { self.period().checked_sub(2) };
                self.next += 1;
                period.map_or(Ok(()), |period| self.upload(&[(period, self.next, self.next)], Fate::Fine))
            }
            Step::Garbage { bytes } => {
                let mut report = report_bytes(self.collection, self.period(), 1, 1);
                report[(bytes % 12) as usize] ^= 1 + (bytes >> 8) as u8 % 255;
                hold!(decode(self.collection, self.now, &report).is_err(), "garbage was taken");
                Ok(())
            }
            Step::Kill | Step::Restart => {
                self.restart(matches!(step, Step::Kill));
                Ok(())
            }
            Step::Wait { periods } => {
                self.now += periods * PERIOD;
                Ok(())
            }
            Step::Export { number } => {
                let number = number.then(|| self.exports.keys().next().copied()).flatten();
                self.restart(false); // exports know the newest schema only
                self.export(number).map(drop)
            }
        }
    }

    fn period(&self) -> u32 {
        ((self.now - START) / PERIOD) as u32
    }

    fn upload(&mut self, reports: &[(u32, u32, u32)], fate: Fate) -> Result<(), Fault> {
        if fate == Fate::LostRequest {
            return Ok(());
        }
        let mut group = Vec::new();
        for &(period, person, row) in reports {
            let bytes = report_bytes(self.collection, period, person, row);
            let open = (self.period().saturating_sub(1)..=self.period()).contains(&period) && period < 20;
            match decode(self.collection, self.now, &bytes) {
                Ok(_) => {
                    hold!(open, "period {period} was taken in period {}", self.period());
                    group.push((report(self.key, period, person, row), row));
                }
                Err(reason) => {
                    let fits = matches!(reason, Rejection::PeriodClosed | Rejection::PeriodUnknown);
                    hold!(!open && fits, "period {period} was refused in period {}", self.period());
                }
            }
        }
        if fate == Fate::DiskFull || group.is_empty() {
            return Ok(()); // refused before anything happened
        }
        let outcomes = self.store().append(&group.iter().map(|(report, _)| report.clone()).collect::<Vec<_>>());
        let outcomes = outcomes.map_err(|error| error.to_string())?;
        if fate == Fate::KilledAfter {
            self.restart(true);
        }
        for ((report, row), outcome) in group.iter().zip(outcomes) {
            let lost = fate != Fate::Fine;
            self.learn(report, *row, outcome, lost)?;
        }
        Ok(())
    }

    fn learn(&mut self, report: &Report, row: u32, outcome: Outcome, lost: bool) -> Result<(), Fault> {
        let known = self.reports.get(&row).map(|known| known.1);
        let closed = report.period < self.closed_before;
        match outcome {
            Outcome::Accepted => {
                hold!(known != Some(Known::Acknowledged), "a report was accepted twice");
                hold!(!closed, "a closed period took a report");
            }
            Outcome::Duplicate => hold!(known.is_some() && !closed, "an unknown report is called a duplicate"),
            Outcome::Conflict => {
                hold!(known.is_none() && !closed, "a report is in conflict with itself");
                return Ok(());
            }
            Outcome::Closed => {
                hold!(closed, "period {} is open and called closed", report.period);
                return Ok(());
            }
        }
        let now = if lost && known != Some(Known::Acknowledged) { Known::Perhaps } else { Known::Acknowledged };
        self.reports.insert(row, (report.period, now));
        Ok(())
    }

    /// Exports, checks the file, and gives the number.
    fn export(&mut self, number: Option<i64>) -> Result<Option<i64>, Fault> {
        let out = self.out.join("export.parquet");
        let _ = std::fs::remove_file(&out);
        let (key, collection, now) = (self.key, self.collection, self.now);
        let done = export(self.store(), key, collection, now, number, None, &out);
        self.closed_before = self.closed_before.max(collection.open_from(now));
        let export = match done {
            Ok(export) => export,
            Err(ExportError::Nothing { .. }) => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let bytes = std::fs::read(&out).unwrap();
        if let Some((_, _, before)) = self.exports.get(&export.number) {
            hold!(*before == bytes, "export {} is another file the second time", export.number);
            return Ok(Some(export.number));
        }
        let rows = read_release(&out).unwrap().bytes;
        let rows: Vec<u32> = rows.chunks(4).map(|row| u32::from_le_bytes(row.try_into().unwrap())).collect();
        let elsewhere: BTreeSet<u32> = self.exports.values().flat_map(|(_, rows, _)| rows.iter().copied()).collect();
        let mut per_period = BTreeMap::new();
        for row in &rows {
            let Some((period, _)) = self.reports.get(row) else { return Err("a row that nobody sent".into()) };
            hold!(!elsewhere.contains(row), "a report is in two exports");
            hold!(export.periods.contains(period), "a report of another period");
            *per_period.entry(*period).or_insert(0) += 1;
        }
        hold!(rows.iter().collect::<BTreeSet<_>>().len() == rows.len(), "a report is twice in one export");
        let sticky = self.collection.campaign().terms.longitudinal.mode == Mode::Sticky;
        hold!(!sticky || export.periods.len() == 1, "an export has several periods of a sticky campaign");
        for period in &export.periods {
            hold!(per_period.get(period).copied().unwrap_or(0) >= LEAST, "period {period} has too few reports");
            hold!(*period < self.closed_before, "period {period} is open");
            let missing = self
                .reports
                .iter()
                .find(|(row, (of, known))| of == period && *known == Known::Acknowledged && !rows.contains(row));
            hold!(missing.is_none(), "an acknowledged report of period {period} is not in its export");
        }
        let number = export.number;
        self.exports.insert(number, (export, rows, bytes));
        Ok(Some(number))
    }

    /// Closes everything and checks what is left.
    fn finish(&mut self) -> Result<(), Fault> {
        self.now += 30 * PERIOD;
        self.restart(true);
        let mut last = None;
        loop {
            let number = self.export(None)?;
            if number == last {
                break;
            }
            last = number;
        }
        let exported: BTreeSet<u32> = self.exports.values().flat_map(|(export, ..)| export.periods.clone()).collect();
        let mut acknowledged = BTreeMap::new();
        for (period, _) in self.reports.values().filter(|(_, known)| *known == Known::Acknowledged) {
            *acknowledged.entry(*period).or_insert(0) += 1;
        }
        for (period, count) in acknowledged {
            let forgotten = count >= LEAST && !exported.contains(&period);
            hold!(!forgotten, "period {period} has {count} acknowledged reports and is in no export");
        }
        Ok(())
    }
}

fn run(steps: &[Step], place: Place, opener: Opener, collection: &Collection, out: &Path) -> Result<(), Fault> {
    let mut world = World::new(place, opener, collection, out);
    steps.iter().try_for_each(|step| world.step(*step))?;
    world.finish()
}

/// Leaves out steps as long as the history still fails.
fn shrink(mut steps: Vec<Step>, mut fault: Fault, fails: impl Fn(&[Step]) -> Option<Fault>) -> (Vec<Step>, Fault) {
    let mut at = 0;
    while at < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(at);
        match fails(&fewer) {
            Some(other) => (steps, fault) = (fewer, other),
            None => at += 1,
        }
    }
    (steps, fault)
}

/// Runs histories on two threads; gives the first that fails, shrunk.
fn search(
    histories: u64,
    collection: &Collection,
    opener: Opener,
    place: fn() -> Option<Place>,
) -> Option<(Vec<Step>, Fault)> {
    let next = AtomicU64::new(0);
    let (seed, fault) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (_folder, out) = folder();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= histories {
                            return None;
                        }
                        if let Err(fault) = run(&history(seed), place()?, opener, collection, &out) {
                            next.store(histories, Ordering::Relaxed);
                            return Some((seed, fault));
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).min()
    })?;
    let (_folder, out) = folder();
    let fails = |steps: &[Step]| run(steps, place()?, opener, collection, &out).err();
    Some(shrink(history(seed), fault, fails))
}

fn many(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn no_history_on_sqlite_loses_or_doubles_a_report() {
    let found = search(many("SCUMBLE_HISTORIES", 2000), &collection(), |store| store, || Some(Place::sqlite()));
    assert!(found.is_none(), "{found:#?}");
}

/// The same rules, one period per export.
#[test]
fn no_history_of_a_sticky_campaign_loses_or_doubles_a_report() {
    let found =
        search(many("SCUMBLE_HISTORIES", 2000) / 4, &collection_sticky(), |store| store, || Some(Place::sqlite()));
    assert!(found.is_none(), "{found:#?}");
}

#[test]
fn no_history_on_postgres_loses_or_doubles_a_report() {
    if server().is_some() {
        let found = search(many("SCUMBLE_HISTORIES_POSTGRES", 200), &collection(), |store| store, Place::postgres);
        assert!(found.is_none(), "{found:#?}");
    }
}

/// Acknowledges a group and writes it with the next one.
struct Early {
    store: Box<dyn Store>,
    held: Vec<Report>,
}

impl Store for Early {
    fn append(&mut self, reports: &[Report]) -> Result<Vec<Outcome>, StoreError> {
        let held = std::mem::replace(&mut self.held, reports.to_vec());
        self.store.append(&held)?;
        Ok(vec![Outcome::Accepted; reports.len()])
    }
    delegate!(add_campaign, close, record_export, probe, rest);
}

/// Exports and forgets that it did.
struct Forgetful {
    store: Box<dyn Store>,
}

impl Store for Forgetful {
    fn record_export(
        &mut self,
        campaign: i32,
        least: u64,
        most: usize,
        order: [u8; 32],
    ) -> Result<Option<Export>, StoreError> {
        let mut chosen = self.store.periods(campaign)?;
        chosen.retain(|count| count.closed && count.reports >= least);
        chosen.truncate(most);
        let rows = chosen.iter().map(|count| count.reports).sum();
        let periods = chosen.iter().map(|count| count.period).collect();
        let number = i64::from_le_bytes(*order.first_chunk().expect("32 bytes"));
        let export = Export { number, campaign, periods, rows, order, written: false, deleted: false };
        Ok((rows > 0).then_some(export))
    }
    delegate!(add_campaign, append, close, probe, rest);
}

/// Closes one period too many.
struct OffByOne {
    store: Box<dyn Store>,
}

impl Store for OffByOne {
    fn close(&mut self, campaign: i32, before: u32) -> Result<(), StoreError> {
        self.store.close(campaign, before + 1)
    }
    delegate!(add_campaign, append, record_export, probe, rest);
}

#[test]
fn planted_faults_are_found_and_shrunk() {
    let faults: [(&str, Opener); 3] = [
        ("acknowledges before it syncs", |store| Box::new(Early { store, held: Vec::new() })),
        ("exports without a record", |store| Box::new(Forgetful { store })),
        ("closes one period too many", |store| Box::new(OffByOne { store })),
    ];
    for (name, opener) in faults {
        let found = search(300, &collection(), opener, || Some(Place::sqlite()));
        let (steps, fault) = found.unwrap_or_else(|| panic!("a store that {name} was not found"));
        assert!(steps.len() <= 8, "{name}: {fault}: {steps:#?}");
        println!("{name}: {fault}, after {steps:?}");
    }
}
