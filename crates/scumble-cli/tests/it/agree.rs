//! Charge, file and exit status agree: whatever cannot be said, a full disk, a lost race; and the ledger can be compared with
//! the files.

use crate::support::*;
use scumble::certificate::Certificate;
use scumble::ledger::Ledger;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

const RELEASE: &str = "release x.npy --mechanism raw-laplace --epsilon 1 --range 0,1";
const LEDGER: &str = "--ledger l.db --dataset d --budget 100";

/// What is spent, and the state of every entry.
fn spent(folder: &Folder) -> (f64, Vec<String>) {
    let shown = folder.json("ledger show l.db");
    let account = &shown["accounts"][0];
    let states = account["entries"].as_array().unwrap().iter();
    (account["spent"].as_f64().unwrap(), states.map(|entry| entry["state"].as_str().unwrap().to_owned()).collect())
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// JSON has no room for such a name; the release stands, and the run says so.
#[test]
fn a_name_that_is_not_utf_8_is_no_failure() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 40, 8);
    for (n, ending) in [".npy", ".parquet"].iter().enumerate() {
        let name = [b"o\xff", ending.as_bytes()].concat();
        let mut command = folder.command(&format!("{RELEASE} {LEDGER} --json --out"));
        let output = command.arg(OsStr::from_bytes(&name)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said["out"], format!("o\u{fffd}{ending}"));
        assert!(std::fs::exists(folder.path("").join(OsStr::from_bytes(&name))).unwrap());
        assert_eq!(spent(&folder), ((n + 1) as f64, vec!["recorded".to_owned(); n + 1]));
    }
    // Every verb that writes or names a file.
    folder.ok("release x.npy --out r.npy --mechanism dp-oporp-staircase --epsilon 5 --range 0,1 -k 4");
    for (words, name) in [
        ("keygen --out", "k\u{e9}"),
        ("keygen --sticky --out", "s\u{e9}"),
        ("decode r.npy --out", "d\u{e9}.npy"),
        ("verify", "o\u{e9}.parquet"),
        ("ledger reconcile l.db", "o\u{e9}.parquet"),
    ] {
        let name: Vec<u8> = name.chars().map(|letter| if letter == '\u{e9}' { 0xff } else { letter as u8 }).collect();
        let output = folder.command(words).arg(OsStr::from_bytes(&name)).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
    }
}

/// Words that nobody can be told are no failure of a release that stands, and change no other exit status.
#[test]
fn full_outputs_change_no_exit_status() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 40, 8);
    let mut released = 0;
    for kind in ["npy", "parquet"] {
        for words in ["", "--json", "--beta 0.5"] {
            for (out, err) in [(true, false), (false, true), (true, true)] {
                let name = format!("o{released}.{kind}");
                let mut command = folder.command(&format!("{RELEASE} {LEDGER} {words} --out {name}"));
                command.stdout(if out { full() } else { Stdio::null() });
                command.stderr(if err { full() } else { Stdio::null() });
                assert_eq!(command.status().unwrap().code(), Some(0), "{kind} {words} {out} {err}");
                released += 1;
                folder.ok(&format!("verify {name}"));
                assert_eq!(spent(&folder).1, vec!["recorded".to_owned(); released]);
            }
        }
    }
    for (words, exit) in [("nonsense", 2), ("verify none.npy", 2), (&format!("{RELEASE} --unit record --out r.npy"), 1)]
    {
        assert_eq!(folder.command(words).stdout(full()).stderr(full()).status().unwrap().code(), Some(exit), "{words}");
    }
}

/// A limit on the size of files stands in for a full disk.
#[test]
fn a_full_disk_is_given_back() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4000, 64); // a megabyte; the ledger needs far less than the limit
    let before = folder.names();
    for (n, out) in ["o.parquet", "o.npy"].iter().enumerate() {
        let binary = env!("CARGO_BIN_EXE_scumble");
        let script = format!("ulimit -f 1000; exec {binary} {RELEASE} {LEDGER} --out {out}");
        let output = Command::new("sh").arg("-c").arg(script).current_dir(folder.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("nothing was written"), "{}", stderr(&output));
        assert_eq!(spent(&folder), (0.0, vec!["cancelled".to_owned(); n + 1]));
    }
    let left: Vec<String> = folder.names().into_iter().filter(|name| !name.starts_with("l.db")).collect();
    assert_eq!(left, before);
}

/// Six runs at once want one name: one has it and pays.
#[test]
fn one_output_is_charged_once() {
    for out in ["o.npy", "o.parquet"] {
        let folder = Folder::new();
        npy_rows(&folder, "x.npy", 4000, 64);
        let words = format!("{RELEASE} {LEDGER} --out {out}");
        let start = || folder.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let runs: Vec<_> = (0..6).map(|_| start()).collect();
        let codes: Vec<_> = runs.into_iter().map(|mut run| run.wait().unwrap().code()).collect();
        assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 5, "{codes:?}");
        let (sum, states) = spent(&folder);
        assert_eq!((sum, states.iter().filter(|state| *state == "recorded").count()), (1.0, 1), "{states:?}");
        assert!(states.iter().all(|state| state == "recorded" || state == "cancelled"), "{states:?}");
        folder.ok(&format!("verify {out}"));
        folder.ok(&format!("ledger reconcile l.db {out}"));
    }
}

#[test]
fn a_ledger_is_compared_with_the_files() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4, 4);
    folder.ok(&format!("{RELEASE} {LEDGER} --out a.npy"));
    folder.ok(&format!("{RELEASE} {LEDGER} --out b.npy"));
    folder.ok(&format!("{RELEASE} --out stranger.npy"));
    let text = folder.ok("ledger reconcile l.db a.npy b.npy");
    assert_eq!(text, "d #1  charged: a.npy\nd #2  charged: b.npy\n");
    // Every file that carries the certificate is named: this compares no data.
    for ending in ["", ".certificate.json"] {
        std::fs::copy(folder.path(&format!("a.npy{ending}")), folder.path(&format!("c.npy{ending}"))).unwrap();
    }
    let text = folder.ok("ledger reconcile l.db a.npy c.npy b.npy");
    assert_eq!(text, "d #1  charged: a.npy\nd #1  charged: c.npy\nd #2  charged: b.npy\n");
    let text = folder.ok("ledger reconcile l.db a.npy");
    assert!(text.contains("d #2  charged; its file is not among those given"), "{text}");
    let without = |words: &str| {
        let output = folder.run(&format!("ledger reconcile l.db {words}"));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(without("a.npy stranger.npy").contains("NO ENTRY  stranger.npy"));
    // A run that has crashed after it reserved, and a file whose charge was given back.
    let text = std::fs::read_to_string(folder.path("stranger.npy.certificate.json")).unwrap();
    let (certificate, mechanism) = Certificate::parse(&text).unwrap();
    let mut ledger = Ledger::open(&folder.path("l.db")).unwrap();
    let reservation = ledger.reserve("d", None, &mechanism).unwrap();
    assert!(without("a.npy b.npy").contains("d #3  reserved: a run is going on, or has crashed"));
    ledger.record(&reservation, &certificate).unwrap();
    ledger.cancel(&reservation).unwrap();
    assert!(without("a.npy b.npy stranger.npy").contains("d #3  NOT CHARGED, it was given back: stranger.npy"));
    assert!(folder.ok("ledger reconcile l.db a.npy b.npy").contains("d #3  given back"));
}

/// Sticky rows that are released again give the same certificate: both entries name the one file.
#[test]
fn a_sticky_release_made_again_is_found() {
    let folder = Folder::new();
    folder.file("x.csv", "id,a,b\np,0.5,0.25\nq,0.75,1\n");
    folder.ok("keygen --sticky --out s.key");
    let words = "release x.csv --id id --sticky-key s.key --mechanism raw-laplace --epsilon 1 --range 0,1";
    folder.ok(&format!("{words} {LEDGER} --out a.npy"));
    folder.ok(&format!("{words} {LEDGER} --out b.npy"));
    for files in ["a.npy", "b.npy"] {
        let text = folder.ok(&format!("ledger reconcile l.db {files}"));
        assert_eq!(text, format!("d #1  charged: {files}\nd #2  charged: {files}\n"));
    }
}
