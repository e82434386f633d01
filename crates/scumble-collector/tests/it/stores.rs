//! One suite for both stores.

use crate::support::*;
use Outcome::{Accepted, Closed, Conflict, Duplicate};
use scumble::campaign::Periods;
use scumble::certificate::Certificate;
use scumble::files::{open_release, read_release, write_release};
use scumble::mechanism::MechanismId;
use scumble::release::Release;
use scumble::search::{Queries, Table};
use scumble::statistics;
use scumble_collector::collection::Collection;
use scumble_collector::export::{ExportError, export};
use scumble_collector::store::{self, CampaignKey, Outcome, Published, SCHEMA_VERSION, Store, StoreError, Unfit};
use std::collections::HashSet;
use std::path::Path;

fn add(store: &mut dyn Store) -> (Collection, CampaignKey) {
    let collection = collection();
    let key = store.add_campaign(&collection.name(), collection.text(), None).unwrap();
    (collection, key)
}

fn write(
    store: &mut dyn Store,
    key: CampaignKey,
    collection: &Collection,
    now: u64,
    out: &Path,
) -> Result<Vec<u8>, ExportError> {
    export(store, key, collection, now, None, None, out)?;
    Ok(std::fs::read(out).unwrap())
}

#[test]
fn a_report_is_kept_once() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (_, key) = add(&mut *store);
        let group = [
            report(key, 0, 1, 10),
            report(key, 0, 2, 20),
            report(key, 0, 1, 10),
            report(key, 0, 1, 11),
            report(key, 1, 1, 12),
        ];
        assert_eq!(store.append(&group).unwrap(), [Accepted, Accepted, Duplicate, Conflict, Accepted]);
        for _ in 0..2 {
            assert_eq!(store.append(&group).unwrap(), [Duplicate, Duplicate, Duplicate, Conflict, Duplicate]);
            drop(store);
            store = place.open().unwrap(); // what is known survives
        }
        let periods: Vec<_> =
            store.periods(key).unwrap().iter().map(|count| (count.period, count.reports, count.closed)).collect();
        assert_eq!(periods, [(0, 2, false), (1, 1, false)]);
        assert_eq!(store.append(&[]).unwrap(), []);
    }
}

#[test]
fn campaigns_do_not_mix() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (first, a) = add(&mut *store);
        let second = collection_named("other", first.campaign().terms.periods);
        let b = store.add_campaign(&second.name(), second.text(), None).unwrap();
        assert_ne!(a, b);
        assert_eq!(store.add_campaign(&first.name(), first.text(), None).unwrap(), a, "the same one again");
        let group = [report(a, 0, 1, 10), report(b, 0, 1, 11)];
        assert_eq!(store.append(&group).unwrap(), [Accepted, Accepted]);
        store.close(a, 1).unwrap();
        assert_eq!(store.append(&group).unwrap(), [Closed, Duplicate]);
        let kept = [(a, &first), (b, &second)];
        let kept = kept.map(|(key, it)| Published { key, digest: it.name(), text: it.text().to_owned(), file: None });
        assert_eq!(store.campaigns().unwrap(), kept);
    }
}

/// Who has ten campaigns must know which one it is.
#[test]
fn a_campaign_that_cannot_be_read_is_named() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (sound, _) = add(&mut *store);
        let damaged = collection_named("damaged", sound.campaign().terms.periods);
        let text = damaged.text().replace("\"min_reports\": 3", "\"min_reports\": 2");
        store.add_campaign(&damaged.name(), &text, None).unwrap();
        let error = scumble_collector::run::collections(&mut *store).unwrap_err();
        let named =
            matches!(&error, StoreError::Unfit(Unfit::Campaign { campaign, .. }) if *campaign == damaged.name());
        assert!(named && error.to_string().contains(&damaged.name()), "{error}");
        assert!(error.to_string().contains("signature does not hold"), "{error}");
    }
}

#[test]
fn what_is_closed_stays_closed() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (_, key) = add(&mut *store);
        store.append(&[report(key, 3, 1, 1)]).unwrap();
        store.close(key, 4).unwrap();
        store.close(key, 2).unwrap(); // a clock that went back
        let mut again = place.open().unwrap();
        drop(store);
        let group = [report(key, 3, 1, 1), report(key, 3, 2, 2), report(key, 4, 2, 2)];
        assert_eq!(again.append(&group).unwrap(), [Closed, Closed, Accepted]);
    }
}

/// Another process closes a period between two groups of this one.
#[test]
fn another_process_can_close() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (_, key) = add(&mut *store);
        assert_eq!(store.append(&[report(key, 0, 1, 1)]).unwrap(), [Accepted]);
        place.open().unwrap().close(key, 1).unwrap();
        assert_eq!(store.append(&[report(key, 0, 2, 1), report(key, 1, 2, 1)]).unwrap(), [Closed, Accepted]);
    }
}

#[test]
fn exports_are_exact_repeatable_and_verifiable() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((collection, key), (_folder, out)) = (add(&mut *store), folder());
        let reports: Vec<_> = (0..500).map(|person| report(key, person % 2, person, person * 7919)).collect();
        store.append(&reports).unwrap();
        store.append(&[report(key, 2, 1, 1), report(key, 2, 2, 2)]).unwrap(); // below the least
        let nothing = write(&mut *store, key, &collection, START + 2 * PERIOD - 1, &out.join("early.parquet"));
        assert!(matches!(nothing, Err(ExportError::Nothing { least: 3 })), "period 0 is open until then");
        assert!(!out.join("early.parquet").exists());
        let first = write(&mut *store, key, &collection, START + 5 * PERIOD, &out.join("a.parquet")).unwrap();
        drop(store);
        let mut store = place.open().unwrap();
        let again = write(&mut *store, key, &collection, START + 5 * PERIOD, &out.join("b.parquet")).unwrap();
        assert!(first == again, "byte for byte");

        let file = read_release(&out.join("a.parquet")).unwrap();
        let rows: Vec<u32> = file.bytes.chunks(4).map(|row| u32::from_le_bytes(row.try_into().unwrap())).collect();
        assert_eq!(rows.iter().copied().collect::<HashSet<_>>(), (0..500).map(|person| person * 7919).collect());
        assert_eq!(rows.len(), 500);
        let ascents = rows.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((200..300).contains(&ascents), "{ascents} of 499: random order has 250, standard deviation 6.5");
        let (certificate, _) = Certificate::parse(&file.certificate).unwrap();
        assert_eq!(certificate.campaign, Some(collection.name()));
        assert!(certificate.assumptions.iter().any(|sentence| sentence.starts_with("noise drawn on each device")));
        assert_eq!((certificate.rows, certificate.content.clone()), (500, file.hashes.into()));

        // A further period is a further export; the first can be had again by its number.
        store.append(&(0..3).map(|person| report(key, 6, person, person)).collect::<Vec<_>>()).unwrap();
        let second =
            export(&mut *store, key, &collection, START + 8 * PERIOD, None, None, &out.join("c.parquet")).unwrap();
        assert_eq!((second.periods, second.rows), (vec![6], 3));
        export(&mut *store, key, &collection, START + 8 * PERIOD, Some(1), None, &out.join("d.parquet")).unwrap();
        assert!(std::fs::read(out.join("d.parquet")).unwrap() == first);
        let unknown = export(&mut *store, key, &collection, START + 8 * PERIOD, Some(9), None, &out.join("e.parquet"));
        assert!(matches!(unknown, Err(ExportError::Unknown(9))));
    }
}

/// The public file of a campaign is kept with it, and an export has it beside.
#[test]
fn an_export_of_words_is_opened_and_searched_with_its_book() {
    for place in Place::all() {
        let ((_folder, out), collection) = (folder(), collection_of_words());
        let mut store = place.open().unwrap();
        let key =
            store.add_campaign(&collection.name(), collection.text(), collection.file().map(|file| &file[..])).unwrap();
        let reports: Vec<_> = (0..40u32)
            .map(|person| {
                let row = (person as u16).to_le_bytes().to_vec().into();
                store::Report { campaign: key, period: 0, id: id_of(person), row }
            })
            .collect();
        store.append(&reports).unwrap();
        drop(store);
        let mut store = place.open().unwrap();
        let (key, again) = scumble_collector::run::collections(&mut *store).unwrap().remove(0);
        assert_eq!(again.file(), collection.file());
        let path = out.join("words.parquet");
        export(&mut *store, key, &again, START + 5 * PERIOD, None, None, &path).unwrap();
        assert_eq!(std::fs::read(out.join("words.parquet.book")).unwrap(), again.file().unwrap()[..]);
        let release = open_release(&path).unwrap();
        again.campaign().check_release(release.certificate()).unwrap();
        let statement = release.certificate().statement();
        assert!(
            statement.contains("local: each device added the noise") && !statement.contains("central"),
            "{statement}"
        );
        let hits = scumble::search::search(&release, Queries::Released(&release), 3, None).unwrap();
        assert_eq!(hits[0].len(), 3);
        // Without its book nobody can tell what a number stands for.
        std::fs::remove_file(out.join("words.parquet.book")).unwrap();
        assert!(open_release(&path).unwrap_err().to_string().contains("book"));
    }
}

/// Two machines collect for one campaign: their exports are searched and counted as one table.
#[test]
fn exports_of_several_collectors_count_together() {
    let (_folder, out) = folder();
    // Shares need bits that flip alike.
    let periods = Periods { first: START, seconds: PERIOD, count: 20 };
    let collection = collection_of(MechanismId::DpSignoporpRr, "test", periods);
    let files: Vec<_> = (0..2)
        .map(|machine| {
            let place = Place::sqlite();
            let mut store = place.open().unwrap();
            let key = store.add_campaign(&collection.name(), collection.text(), None).unwrap();
            let persons = 100 * (machine + 1);
            let reports: Vec<_> = (0..persons)
                .map(|person| report(key, 0, person, (person + 1000 * machine).wrapping_mul(2_654_435_761)))
                .collect();
            store.append(&reports).unwrap();
            let path = out.join(format!("{machine}.parquet"));
            write(&mut *store, key, &collection, START + 5 * PERIOD, &path).unwrap();
            path
        })
        .collect();
    let parts: Vec<Release> = files.iter().map(|path| open_release(path).unwrap()).collect();
    let shares = |release: &Release| -> Vec<f64> {
        let told = statistics::of(release, &statistics::Options::default()).unwrap();
        told.share.family().unwrap().figures.iter().map(|figure| figure.value).collect()
    };
    let [first, second] = [shares(&parts[0]), shares(&parts[1])];
    let all = Release::together(parts.clone()).unwrap();
    assert_eq!((all.len(), &all.certificate().campaign), (300, &parts[0].certificate().campaign));
    assert!(all.certificate().campaign.is_some());
    for (j, share) in shares(&all).into_iter().enumerate() {
        assert!((share - (first[j] + 2.0 * second[j]) / 3.0).abs() < 1e-9, "coordinate {j}");
    }

    // A row of the second is its own nearest one among all.
    let (row, k) = (parts[1].row(150), all.k());
    let table = Table::open(&files).unwrap();
    let found = table.search(Queries::Released(&parts[1]), 1, None).unwrap().run().unwrap();
    assert_eq!((table.len(), found.hits.len()), (300, 200));
    let (path, place) = found.place(found.hits[150][0].row);
    assert_eq!((path, parts[1].row(place)), (files[1].as_path(), row), "{k} bits");

    // What is together is written and read like any release, campaign and all; others are refused.
    write_release(&out.join("all.parquet"), &all).unwrap();
    let again = open_release(&out.join("all.parquet")).unwrap();
    assert_eq!((again.bytes(), &again.certificate().campaign), (all.bytes(), &all.certificate().campaign));
    let other = collection_of(MechanismId::DpSignoporpRr, "other", periods);
    let place = Place::sqlite();
    let mut store = place.open().unwrap();
    let key = store.add_campaign(&other.name(), other.text(), None).unwrap();
    store.append(&(0..9).map(|person| report(key, 0, person, person)).collect::<Vec<_>>()).unwrap();
    write(&mut *store, key, &other, START + 5 * PERIOD, &out.join("other.parquet")).unwrap();
    let stranger = open_release(&out.join("other.parquet")).unwrap();
    let refused = Release::together(vec![all, stranger]).unwrap_err();
    assert!(refused.to_string().contains("not of one campaign"), "{refused}");
}

/// Devices of a sticky campaign send the same report in every period: an export has one period, so that nobody counts
/// twice.
#[test]
fn nobody_is_twice_in_an_export_of_a_sticky_campaign() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((_folder, out), collection) = (folder(), collection_sticky());
        let key = store.add_campaign(&collection.name(), collection.text(), None).unwrap();
        let row = |person: u32| person.wrapping_mul(2_654_435_761);
        let send = |store: &mut dyn Store, periods: std::ops::Range<u32>| {
            let reports = periods
                .flat_map(|period| (0..40).map(move |person| report(key, period, person + 100 * period, row(person))));
            store.append(&reports.collect::<Vec<_>>()).unwrap();
        };
        send(&mut *store, 0..4);
        let mut now = START + 5 * PERIOD; // periods 0 to 3 are closed
        let export_to = |store: &mut dyn Store, now, number, name: &str| {
            let done = export(store, key, &collection, now, number, None, &out.join(name));
            done.map(|done| (done.number, done.periods, done.rows, std::fs::read(out.join(name)).unwrap()))
        };
        let mut told = Vec::new();
        for period in 0..4 {
            let name = format!("{period}.parquet");
            let (number, periods, rows, _) = export_to(&mut *store, now, None, &name).unwrap();
            assert_eq!((number, periods, rows), (i64::from(period) + 1, vec![period], 40));
            let release = open_release(&out.join(name)).unwrap();
            let shares = statistics::of(&release, &statistics::Options::default()).unwrap().share;
            told.push(shares.family().unwrap().figures.iter().map(|it| (it.value, it.interval)).collect::<Vec<_>>());
        }
        assert!(told.iter().all(|it| *it == told[0]), "more periods of the same people make no figure surer");
        let again = export_to(&mut *store, now, None, "again.parquet").unwrap();
        assert_eq!((again.0, again.3), (4, std::fs::read(out.join("3.parquet")).unwrap()));
        let second = export_to(&mut *store, now, Some(2), "second.parquet").unwrap();
        assert!(second.3 == std::fs::read(out.join("1.parquet")).unwrap(), "byte for byte");

        // What an older version recorded is not written, and holds nothing up.
        send(&mut *store, 4..6);
        store.close(key, 6).unwrap();
        let old = store.record_export(key, 3, usize::MAX, [1; 32]).unwrap().unwrap();
        assert_eq!(old.periods, [4, 5]);
        send(&mut *store, 6..7);
        now = START + 9 * PERIOD;
        let refused = export_to(&mut *store, now, Some(old.number), "old.parquet").unwrap_err();
        assert!(matches!(refused, ExportError::SeveralPeriods { number: 5, periods: 2 }));
        assert!(refused.to_string().contains("would count as those of 2 people"), "{refused}");
        assert_eq!(export_to(&mut *store, now, None, "new.parquet").unwrap().1, [6]);
    }
}

/// A crash between record and file: the export without a file is the next one that is written.
#[test]
fn no_export_is_forgotten() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((collection, key), (_folder, out)) = (add(&mut *store), folder());
        for period in 0..2 {
            store.append(&(0..4).map(|person| report(key, period, person, person)).collect::<Vec<_>>()).unwrap();
        }
        std::fs::write(out.join("taken.parquet"), "other").unwrap();
        let failed = export(&mut *store, key, &collection, START + 2 * PERIOD, None, None, &out.join("taken.parquet"));
        assert!(matches!(failed, Err(ExportError::Write(_))));
        for (file, period) in [("a.parquet", 0), ("b.parquet", 1), ("c.parquet", 1)] {
            let done = export(&mut *store, key, &collection, START + 9 * PERIOD, None, None, &out.join(file)).unwrap();
            assert_eq!(done.periods, [period]);
        }
    }
}

#[test]
fn reports_go_when_their_time_is_over() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((collection, key), (_folder, out)) = (add(&mut *store), folder());
        for period in 0..3 {
            store.append(&(0..4).map(|person| report(key, period, person, person)).collect::<Vec<_>>()).unwrap();
        }
        let day = 86_400;
        assert_eq!(collection.kept_from(START + PERIOD + day - 1), 0);
        assert_eq!(collection.kept_from(START + PERIOD + day), 1);
        assert_eq!(store.delete(key, 2).unwrap(), 0, "nothing is closed yet");
        let now = START + 3 * PERIOD; // periods 0 and 1 are closed
        export(&mut *store, key, &collection, now, None, None, &out.join("a.parquet")).unwrap();
        assert_eq!(store.delete(key, 1).unwrap(), 4);
        assert_eq!(store.delete(key, 1).unwrap(), 0);
        assert_eq!(store.periods(key).unwrap().iter().map(|count| count.period).collect::<Vec<_>>(), [1, 2]);
        let gone = export(&mut *store, key, &collection, now, Some(1), None, &out.join("b.parquet"));
        assert!(matches!(gone, Err(ExportError::Deleted(1))));
        assert_eq!(store.append(&[report(key, 0, 1, 1)]).unwrap(), [Closed], "no replay after deletion");
    }
}

/// A collector that was stopped for long comes back: what should have been deleted meanwhile is neither exported nor kept.
#[test]
fn what_was_kept_too_long_is_not_exported() {
    let day = 86_400;
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((collection, key), (_folder, out)) = (add(&mut *store), folder());
        for period in 0..3 {
            store.append(&(0..4).map(|person| report(key, period, person, person)).collect::<Vec<_>>()).unwrap();
        }
        let now = START + 2 * PERIOD + day; // periods 0 and 1 ended more than a day ago
        let done = export(&mut *store, key, &collection, now, None, None, &out.join("a.parquet")).unwrap();
        assert_eq!((done.periods, done.rows), (vec![2], 4));
        assert_eq!(store.periods(key).unwrap().iter().map(|count| count.period).collect::<Vec<_>>(), [2]);
        // Nor is what was exported in time written again.
        let late = now + PERIOD;
        let gone = export(&mut *store, key, &collection, late, Some(1), None, &out.join("b.parquet"));
        assert!(matches!(gone, Err(ExportError::Deleted(1))), "{gone:?}");
        assert!(store.periods(key).unwrap().is_empty() && !out.join("b.parquet").exists());
    }
    // Nothing is left: it is said why.
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let ((collection, key), (_folder, out)) = (add(&mut *store), folder());
        store.append(&(0..4).map(|person| report(key, 0, person, person)).collect::<Vec<_>>()).unwrap();
        let late = START + 9 * PERIOD + day;
        let over = export(&mut *store, key, &collection, late, None, None, &out.join("c.parquet")).unwrap_err();
        assert!(matches!(over, ExportError::Over { over: 4, least: 3 }), "{over:?}");
        assert!(over.to_string().contains("retention is over"), "{over}");
        assert!(store.periods(key).unwrap().is_empty());
    }
}

#[test]
fn tokens_are_kept_by_their_hash() {
    for place in Place::all() {
        let mut store = place.open().unwrap();
        let (_, key) = add(&mut *store);
        assert!(store.tokens(key).unwrap().is_empty());
        for hash in [[1; 32], [2; 32], [1; 32]] {
            store.add_token(key, hash).unwrap();
        }
        assert_eq!(store.tokens(key).unwrap(), [[1; 32], [2; 32]]);
        assert_eq!(store.remove_tokens(key).unwrap(), 2);
        assert!(store.tokens(key).unwrap().is_empty());
        store.probe().unwrap();
    }
}

#[test]
fn older_schemas_are_brought_up_to_date_and_newer_ones_refused() {
    for place in Place::all() {
        let collection = collection();
        let mut old = place.open_old(&collection);
        old.append(&[report(1, 0, 1, 1)]).unwrap();
        drop(old);
        let mut store = place.open().unwrap();
        let key = store.add_campaign(&collection.name(), collection.text(), None).unwrap();
        let kept = Published { key: 1, digest: collection.name(), text: collection.text().into(), file: None };
        assert_eq!(store.campaigns().unwrap(), [kept]);
        store.add_token(key, [1; 32]).unwrap();
        assert_eq!(store.append(&[report(key, 0, 1, 1), report(key, 0, 2, 2)]).unwrap(), [Duplicate, Accepted]);
        drop(store);
        let older = place.open_at(1).map(drop);
        assert_eq!(older, Err(StoreError::Newer { found: SCHEMA_VERSION }));
        let newer = SCHEMA_VERSION + 1;
        place.tamper(
            &format!("PRAGMA user_version = {newer}"),
            &format!("UPDATE scumble.version SET version = {newer}"),
        );
        assert_eq!(place.open().map(drop), Err(StoreError::Newer { found: newer }));
    }
}

#[test]
fn a_schema_below_the_first_is_no_store() {
    let place = Place::sqlite();
    drop(place.open().unwrap());
    place.tamper("PRAGMA user_version = -1", "");
    assert_eq!(place.open().map(drop), Err(Unfit::NotAStore.into()));
}

#[test]
fn a_file_serves_one_collector() {
    let place = Place::sqlite();
    let mut store = place.open().unwrap();
    let (_, key) = add(&mut *store);
    store.append(&[report(key, 0, 1, 1)]).unwrap();
    let mut second = place.open().unwrap();
    assert_eq!(second.append(&[report(key, 0, 2, 1)]), Err(StoreError::InUse));
    assert_eq!(second.periods(key).unwrap().len(), 1, "reading and exporting is for anyone");
    drop(store);
    assert_eq!(second.append(&[report(key, 0, 1, 1), report(key, 0, 2, 1)]).unwrap(), [Duplicate, Accepted]);
}

#[test]
fn other_files_are_not_taken_for_stores() {
    let (_folder, path) = folder();
    std::fs::write(path.join("text.db"), "not a database, but long enough to look like one to a careless reader")
        .unwrap();
    let other = rusqlite::Connection::open(path.join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    for name in ["text.db", "other.db", "no/such/folder.db"] {
        let opened = scumble_collector::store::open(path.join(name).to_str().unwrap()).map(drop);
        assert!(matches!(opened, Err(StoreError::Unfit(_))), "{name}: {opened:?}");
    }
}

/// A store that has no room left refuses whole groups, keeps what it has, and goes on when there is room.
#[test]
fn a_full_disk_refuses_and_recovers() {
    let place = Place::sqlite();
    let mut store = place.open().unwrap();
    let (_, key) = add(&mut *store);
    store.append(&[report(key, 0, 0, 1)]).unwrap();
    drop(store);
    let mut store = place.open_limited(30).unwrap();
    let group = |n: u32| (0..1000).map(|i| report(key, 0, n * 1000 + i, 1)).collect::<Vec<_>>();
    let mut taken = 0;
    while store.append(&group(taken)).map(drop) != Err(StoreError::Full) {
        taken += 1;
        assert!(taken < 100);
    }
    assert!(taken > 0 && store.append(&group(taken)).is_err());
    drop(store);
    let mut store = place.open().unwrap();
    assert!(store.append(&group(taken)).unwrap().iter().skip(1).all(|outcome| *outcome == Accepted));
    assert!(store.append(&group(taken - 1)).unwrap().iter().all(|outcome| *outcome == Duplicate));
}
