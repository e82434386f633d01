//! Tampering is found, crashes and full disks leave nothing.

use crate::support::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn verify_passes_what_was_written_and_finds_every_altered_byte() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 30, 32);
    for mechanism in ["dp-oporp-staircase", "dp-signoporp-ceil"] {
        for kind in ["npy", "parquet"] {
            let out = format!("{mechanism}.{kind}");
            folder.ok(&format!("release x.npy --out {out} --mechanism {mechanism} --epsilon 3 --range 0,1 -k 8"));
            let text = folder.ok(&format!("verify {out}"));
            let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
            assert!(passed >= 5 && !text.contains("FAILED"), "{text}");
            assert_eq!(folder.json(&format!("verify {out}"))["passed"], true);
            let sidecar = format!("{out}.certificate.json");
            let files = if kind == "npy" { vec![out.clone(), sidecar] } else { vec![out.clone()] };
            for file in files {
                let path = folder.path(&file);
                let bytes = std::fs::read(&path).unwrap();
                for step in 0..40 {
                    let at = (step * 7919 + 13) % bytes.len();
                    let mut altered = bytes.clone();
                    altered[at] ^= 1 << (step % 8);
                    std::fs::write(&path, &altered).unwrap();
                    let output = folder.run(&format!("verify {out}"));
                    assert_eq!(output.status.code(), Some(1), "{file} byte {at}: {}", stderr(&output));
                }
                std::fs::write(&path, &bytes).unwrap();
            }
        }
    }
}

#[test]
fn a_certificate_that_promises_more_than_its_numbers_fails() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 30, 32);
    folder.ok("release x.npy --out a.npy --mechanism dp-oporp-laplace --epsilon 3 --range 0,1 -k 8");
    let path = folder.path("a.npy.certificate.json");
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"epsilon\": 3.0", "\"epsilon\": 0.3"), ("\"unit\": \"attribute\"", "\"unit\": \"record\"")] {
        assert!(text.contains(from));
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let line = folder.fails("verify a.npy", 1);
        assert!(line.contains("verification failed at 'certificate'"), "{line}");
        folder.fails("inspect a.npy", 1);
        folder.fails("compare a.npy --rows 0,1", 1);
    }
}

/// The first two runs of each kind live and tell how long they take; the others are killed at every tenth of that time.
/// They are all complete if the machine was slow just then: it goes on until one was killed before its end.
#[test]
fn kill_9_leaves_nothing_or_the_complete_output() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20_000, 64);
    let before = folder.names();
    let mut usual = [Duration::ZERO; 2];
    let (mut none, mut attempt) = (0, 0);
    while attempt < 26 || none == 0 {
        let (kind, tenth) = (attempt % 2, attempt / 2 % 11);
        let out = ["o.parquet", "o.npy"][kind];
        let words = format!("release x.npy --out {out} --mechanism dp-oporp-staircase --epsilon 3 --range 0,1 -k 32");
        let mut child = folder.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        let lives = attempt < 4;
        if !lives {
            std::thread::sleep(usual[kind].mul_f64(tenth as f64 / 10.0));
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        if lives {
            assert!(status.success());
            usual[kind] = start.elapsed();
        }
        let names: Vec<String> = folder.names().into_iter().filter(|name| !before.contains(name)).collect();
        match folder.path(out).exists() {
            true => drop(folder.ok(&format!("verify {out}"))),
            false => {
                assert_eq!(status.signal(), Some(9));
                // A certificate may stand alone for an instant: it is public, and the data never stands without it.
                assert!(names.iter().all(|name| name == "o.npy.certificate.json"), "{names:?}");
                none += 1;
            }
        }
        for name in names {
            std::fs::remove_file(folder.path(&name)).unwrap();
        }
        attempt += 1;
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 4000, 64);
    let before = folder.names();
    let binary = env!("CARGO_BIN_EXE_scumble");
    for out in ["o.parquet", "o.npy"] {
        // A file-size limit stands in for a full disk: the write fails with EFBIG.
        let script = format!(
            "ulimit -f 64; exec {binary} release x.npy --out {out} --mechanism raw-laplace --epsilon 3 --range 0,1"
        );
        let output =
            std::process::Command::new("sh").arg("-c").arg(script).current_dir(folder.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{out}: File too large")), "{}", stderr(&output));
        assert_eq!(folder.names(), before);
    }
}
