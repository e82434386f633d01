//! Budgets: charged before noise is drawn, never over-spent, whatever crashes.

use crate::support::*;
use std::collections::HashSet;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Instant;

const RELEASE: &str = "release x.npy --mechanism dp-oporp-laplace --range 0,1 -k 2 --ledger l.db";

fn account(folder: &Folder, dataset: &str) -> serde_json::Value {
    let shown = folder.json("ledger show l.db");
    let accounts = shown["accounts"].as_array().unwrap();
    accounts.iter().find(|account| account["dataset"] == dataset).unwrap().clone()
}

#[test]
fn a_budget_is_fixed_charged_and_kept() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    let line = folder.fails(&format!("{RELEASE} --out a.npy --epsilon 2 --dataset mail"), 2);
    assert!(line.contains("give --budget"), "{line}");
    folder.ok(&format!("{RELEASE} --out a.npy --epsilon 2 --dataset mail --budget 5"));
    folder.ok(&format!("{RELEASE} --out b.npy --epsilon 2 --dataset mail"));
    let line = folder.fails(&format!("{RELEASE} --out c.npy --epsilon 2 --dataset mail --budget 5"), 1);
    for part in
        ["budget of epsilon 5", "4 of it spent in 2 releases", "asks for epsilon 2", "at most epsilon 1 is left"]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!folder.path("c.npy").exists());
    let line = folder.fails(&format!("{RELEASE} --out c.npy --epsilon 1 --dataset mail --budget 50"), 2);
    assert!(line.contains("fixed at its first use"), "{line}");
    folder.ok(&format!("{RELEASE} --out c.npy --epsilon 1 --dataset mail"));
    folder.ok(&format!("{RELEASE} --out d.npy --epsilon 2 --dataset other --budget 2")); // an account of its own
    let mail = account(&folder, "mail");
    assert_eq!((mail["spent"].as_f64(), mail["left"].as_f64()), (Some(5.0), Some(0.0)));
    let digests: Vec<_> =
        mail["entries"].as_array().unwrap().iter().map(|entry| entry["certificate"].clone()).collect();
    for (name, digest) in ["a.npy", "b.npy", "c.npy"].iter().zip(digests) {
        assert_eq!(folder.json(&format!("inspect {name}"))["digest"], digest);
    }
    folder.fails("release x.npy --out e.npy --epsilon 1 --range 0,1 --ledger l.db", 2);
    folder.fails("ledger show none.db", 2);
    folder.fails("ledger show x.npy", 2);
}

#[test]
fn a_release_that_fails_without_output_costs_nothing() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    folder.file("nan.csv", "a,b,c,d\n1,0,0,0\n0,nan,0,0\n");
    folder.ok(&format!("{RELEASE} --out a.npy --epsilon 1 --dataset d --budget 2"));
    let failing = RELEASE.replace("x.npy", "nan.csv");
    folder.fails(&format!("{failing} --out b.npy --epsilon 1 --dataset d"), 2);
    folder.fails(&format!("{RELEASE} --out a.npy --epsilon 1 --dataset d"), 2); // exists: not even reserved
    let d = account(&folder, "d");
    assert_eq!(d["spent"], 1.0);
    let states: Vec<_> = d["entries"].as_array().unwrap().iter().map(|entry| entry["state"].clone()).collect();
    assert_eq!(states, ["recorded", "cancelled"]);
    folder.ok(&format!("{RELEASE} --out b.npy --epsilon 1 --dataset d"));
}

#[test]
fn units_are_not_mixed_and_what_is_not_private_is_refused() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 8);
    folder.ok("ledger init l.db --dataset rec --budget 9 --unit record");
    folder.ok("ledger init l.db --dataset att --budget 9");
    folder.fails("ledger init l.db", 2);
    folder.fails("ledger init l.db --dataset att --budget 10", 2);
    let line = folder.fails(&format!("{RELEASE} --out a.npy --epsilon 1 --dataset rec"), 1);
    assert!(line.contains("unit record") && line.contains("protects less"), "{line}");
    let record = "release x.npy --range 0,1 --mechanism signcap -k 8 --epsilon 4 --ledger l.db";
    folder.ok(&format!("{record} --out a.npy --dataset rec"));
    folder.ok(&format!("{record} --out b.npy --dataset att")); // whole records cover attributes
    assert_eq!(account(&folder, "att")["spent"], 4.0);
    let line = folder.fails(
        "release x.npy --out i.npy --range 0,1 -k 4 --epsilon 1 --mechanism idp-signoporp-rr \
         --i-understand-this-is-not-dp --ledger l.db --dataset att",
        1,
    );
    assert!(line.contains("no epsilon that a ledger could take"), "{line}");
    // Gaussian noise needs a budget with a delta, and then composes better than the sum.
    let gaussian = "release x.npy --range 0,1 -k 4 --mechanism dp-oporp --epsilon 1 --delta 1e-7 --ledger l.db";
    folder.fails(&format!("{gaussian} --out g.npy --dataset att"), 1);
    for n in 0..4 {
        folder.ok(&format!("{gaussian} --out g{n}.npy --dataset gauss --budget 2.5 --budget-delta 1e-6"));
    }
    let spent = account(&folder, "gauss")["spent"].as_f64().unwrap();
    assert!(spent < 2.5 && spent > 1.5, "{spent}");
}

#[test]
fn a_statement_adds_up_and_shows_when_it_does_not() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    folder.ok(&format!("{RELEASE} --out a.npy --epsilon 1.5 --dataset mail --budget 5"));
    let markdown = folder.ok("ledger export l.db");
    for part in [
        "# Privacy budget statement",
        "## mail",
        "| Budget | epsilon 5 |",
        "| Spent | epsilon 1.5 |",
        "dp-oporp-laplace",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    folder.ok("ledger export l.db --json --out s.json");
    folder.fails("ledger export l.db --json --out s.json", 2);
    folder.ok("ledger check s.json");
    let text = std::fs::read_to_string(folder.path("s.json")).unwrap();
    for (from, to) in [
        ("\"spent\": 1.5", "\"spent\": 0.5"),
        ("\"epsilon\": 1.5", "\"epsilon\": 0.5"),
        ("\"times\": 1", "\"times\": 0"),
    ] {
        assert!(text.contains(from), "{text}");
        folder.file("t.json", text.replace(from, to));
        folder.fails("ledger check t.json", 1);
    }
}

/// Eight processes at once want 1 each of a budget of 5.
#[test]
fn processes_that_race_share_one_budget() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    let children: Vec<_> = (0..8)
        .map(|n| {
            let words = format!("{RELEASE} --out o{n}.npy --epsilon 1 --dataset d --budget 5");
            folder.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 5, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(1)).count(), 3, "{codes:?}");
    assert_eq!(account(&folder, "d")["spent"], 5.0);
}

/// `kill -9` at random moments of two writers that share accounts: never over budget, never a damaged ledger, never a
/// release without its entry. `SCUMBLE_KILLS` sets how many. Every fourth attempt lives, so that a slow machine, too,
/// spends its accounts. How long the last release took, beside the other writer, is the time within which kills come.
#[test]
fn kills_never_overspend_damage_or_lose_an_entry() {
    const BUDGET: usize = 8; // releases that an account pays for
    const TRIES: usize = 25; // attempts on it, many of them killed
    let kills: usize = std::env::var("SCUMBLE_KILLS").map_or(1000, |kills| kills.parse().unwrap());
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 2, 4);
    let words = |n: usize| {
        let dataset = n / TRIES;
        format!("{RELEASE} --threads 1 --out o{n}.npy --epsilon 1 --dataset d{dataset} --budget {BUDGET}")
    };
    folder.ok(&words(0));
    let start = Instant::now();
    folder.ok(&words(1));
    let usual = Mutex::new(start.elapsed());
    let [attempts, killed, refused] = [2, 0, 0].map(AtomicUsize::new);
    let write = |mut state: u64| {
        while killed.load(SeqCst) < kills {
            let n = attempts.fetch_add(1, SeqCst);
            let mut child = folder.command(&words(n)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let start = Instant::now();
            if !n.is_multiple_of(4) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let longest = *usual.lock().unwrap();
                std::thread::sleep(longest.mul_f64((state >> 40) as f64 / (1u64 << 24) as f64));
                let _ = child.kill();
            }
            let code = child.wait().unwrap().code();
            if code == Some(0) {
                *usual.lock().unwrap() = start.elapsed();
            }
            match code {
                None => killed.fetch_add(1, SeqCst),
                Some(1) => refused.fetch_add(1, SeqCst),
                Some(code) => usize::try_from(code).ok().filter(|&code| code == 0).expect("exit status 0"),
            };
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| write(1));
        scope.spawn(|| write(2));
    });
    let attempts = attempts.into_inner();

    let shown = folder.json("ledger show l.db"); // checks the file, too
    let mut recorded = HashSet::new();
    let mut pending = 0;
    for account in shown["accounts"].as_array().unwrap() {
        let entries = account["entries"].as_array().unwrap();
        assert!(entries.len() <= BUDGET, "{} is over budget", account["dataset"]);
        assert_eq!(account["spent"].as_f64(), Some(entries.len() as f64));
        recorded.extend(entries.iter().filter_map(|entry| entry["certificate"].as_str().map(str::to_owned)));
        pending += entries.iter().filter(|entry| entry["state"] == "reserved").count();
    }
    let outputs: Vec<_> = (0..attempts).filter(|n| folder.path(&format!("o{n}.npy")).exists()).collect();
    for n in &outputs {
        let file = scumble::files::read_release(&folder.path(&format!("o{n}.npy"))).unwrap();
        let (certificate, _) = scumble::certificate::Certificate::parse(&file.certificate).unwrap();
        assert_eq!(certificate.content.sketch, file.hashes.sketch);
        assert!(recorded.contains(&certificate.digest), "o{n}.npy has no entry");
    }
    folder.ok(&format!("{RELEASE} --out z.npy --epsilon 1 --dataset z --budget 1")); // the ledger still works
    println!(
        "{attempts} attempts: {killed:?} killed, {refused:?} refused, {} released, {pending} cut off after reserving",
        outputs.len()
    );
    assert!(outputs.len() > 2 && attempts > kills);
}

/// A budget cannot be had twice by spelling a name otherwise: what is the same is charged to the same account, what looks
/// the same is refused with the name it resembles.
#[test]
fn look_alike_names_share_a_budget_or_are_refused() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 8);
    let charge = |name: &str, out: &str, budget: &str| {
        let words = format!(
            "release x.npy --out {out} --mechanism raw-laplace --epsilon 2 --range 0,1 --ledger l.db {budget} --dataset"
        );
        folder.command(&words).arg(name).output().unwrap()
    };
    assert_eq!(charge("Mail 2024", "a.npy", "--budget 5").status.code(), Some(0));
    assert_eq!(charge(" mail\u{200b}  ２０２４", "b.npy", "").status.code(), Some(0));
    let spent = charge("MAIL 2024", "c.npy", "");
    assert_eq!(spent.status.code(), Some(1), "{}", stderr(&spent));
    assert!(stderr(&spent).contains("4 of it spent in 2 releases"), "{}", stderr(&spent));
    for name in ["mail_2024", "mаil 2024", "mai1-2024"] {
        let refused = charge(name, "d.npy", "--budget 5");
        assert_eq!(refused.status.code(), Some(1), "{name}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("resembles 'mail 2024'"), "{name}: {}", stderr(&refused));
    }
    assert_eq!(charge("mail 2025", "e.npy", "--budget 5").status.code(), Some(0));
}
