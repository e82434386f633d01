//! Hostile files: every decoder against mutated seeds. Two seconds a target in `./test`, as long as you like with
//! `./fuzz/run`. A found input is written to `fuzz/found/`; move it to `fuzz/corpus/TARGET/` to keep it as a test.
//!
//! Each target runs in a process of its own whose memory is limited to 1 GiB, with a watch on every single input.

#[path = "../../../../../fuzz/targets.rs"]
mod targets;

use crate::support::Draw;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// No input may keep the processor busy for longer.
const LONGEST: Duration = Duration::from_secs(20);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let folder = root().join("corpus").join(target.name);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Runs every target in a child process; the environment says for how long and which.
#[test]
fn no_decoder_crashes_hangs_or_takes_a_gigabyte() {
    let seconds = std::env::var("SCUMBLE_FUZZ_SECONDS").unwrap_or_else(|_| "2".into());
    let only = std::env::var("SCUMBLE_FUZZ_TARGET").ok();
    let chosen: Vec<_> =
        TARGETS.iter().filter(|target| only.as_deref().is_none_or(|name| name == target.name)).collect();
    assert!(!chosen.is_empty(), "no such target");
    let mut faults = Vec::new();
    for target in chosen {
        let memory = Path::new("/dev/shm"); // where there is one, files cost nothing
        let scratch = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let child = std::process::Command::new("sh")
            .arg("-c")
            .arg("ulimit -v 1048576; exec \"$0\" \"$@\"")
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "file::fuzz::child", "--nocapture", "--test-threads", "1"])
            .env("SCUMBLE_FUZZ_CHILD", target.name)
            .env("SCUMBLE_FUZZ_SECONDS", &seconds)
            .env("TMPDIR", scratch.path())
            .env("RAYON_NUM_THREADS", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        println!("{}", said.lines().filter(|line| line.contains("inputs")).collect::<Vec<_>>().join("\n"));
        if !child.status.success() {
            let found = root().join("found");
            std::fs::create_dir_all(&found).unwrap();
            let kept = found.join(format!("{}-{}", target.name, std::process::id()));
            let _ = std::fs::copy(scratch.path().join("current"), &kept);
            faults.push(format!(
                "{}: {}; see {}\n{}",
                target.name,
                child.status,
                kept.display(),
                String::from_utf8_lossy(&child.stderr)
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The child's part; does nothing when it runs as a test of its own.
#[test]
fn child() {
    let Ok(name) = std::env::var("SCUMBLE_FUZZ_CHILD") else { return };
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seconds: f64 = std::env::var("SCUMBLE_FUZZ_SECONDS").unwrap().parse().unwrap();
    let scratch = std::env::temp_dir();
    let current = scratch.join("current");
    let folder = scratch.join("work");
    std::fs::create_dir(&folder).unwrap();

    static INPUTS: AtomicU64 = AtomicU64::new(0);
    std::thread::spawn(|| watch(&INPUTS));
    let start = Instant::now();

    let mut corpus = seeds(target);
    assert!(!corpus.is_empty(), "{name} has no seeds");
    let mut outcomes = HashSet::new();
    let mut run = |bytes: &[u8]| {
        std::fs::write(&current, bytes).unwrap();
        INPUTS.fetch_add(1, Ordering::Relaxed);
        outcomes.insert((target.run)(bytes, &folder))
    };
    corpus.iter().for_each(|seed| {
        run(seed);
    });
    let mut mutator = Mutator(Draw::new(std::process::id().into()));
    let mut inputs = 0;
    while start.elapsed().as_secs_f64() < seconds {
        let input = mutator.mutate(&corpus);
        inputs += 1;
        // An outcome not seen before leads to code not seen before: go on from there.
        if run(&input) && corpus.len() < 2000 {
            corpus.push(input);
        }
    }
    println!("{name}: {inputs} inputs, {} outcomes", outcomes.len());
}

/// Ends the process when one input takes too long.
fn watch(inputs: &AtomicU64) {
    let (mut input, mut since) = (0, work());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let (present, now) = (inputs.load(Ordering::Relaxed), work());
        if present != input {
            (input, since) = (present, now);
        } else if now > since + LONGEST {
            eprintln!("an input took longer than {LONGEST:?}");
            std::process::abort();
        }
    }
}

/// The processor's time so far: on a busy machine the clock says little.
fn work() -> Duration {
    let ticks = std::fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        let after_name = text.rsplit_once(')')?.1;
        after_name.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()
    });
    Duration::from_millis(10 * ticks.unwrap_or(0)) // 100 ticks a second on Linux; elsewhere nobody watches
}

/// Changes bytes, numbers and words, and splices seeds.
struct Mutator(Draw);

const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x0001_0000_0000,
    i64::MAX as u64,
    u64::MAX,
    u64::MAX / 8,
];

const WORDS: [&str; 24] = [
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-320",
    "-0",
    "0",
    "-1",
    "4294967296",
    "18446744073709551615",
    "9223372036854775808",
    "0.1",
    "\"",
    "'",
    ",",
    ":",
    "\n",
    "\t",
    "{}",
    "[]",
    "null",
    "1048576",
    "(1, 99999999999)",
    "é",
];

impl Mutator {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next() >> 16) as usize % bound.max(1)
    }

    fn mutate(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].clone();
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(16)).min(bytes.len());
            match self.below(10) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = self.below(256) as u8,
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                5 => {
                    let (number, width) = (NUMBERS[self.below(NUMBERS.len())], 1 << self.below(4));
                    let raw = if self.below(2) == 0 {
                        number.to_le_bytes()
                    } else {
                        number.rotate_right(8 * width as u32).to_be_bytes()
                    };
                    let end = (at + width).min(bytes.len());
                    bytes[at..end].copy_from_slice(&raw[..end - at]);
                }
                6 => {
                    let word = WORDS[self.below(WORDS.len())];
                    bytes.splice(at..end, word.bytes());
                }
                7 => self.replace_number(&mut bytes, at),
                8 => {
                    let other = &corpus[self.below(corpus.len())];
                    let from = self.below(other.len());
                    bytes.truncate(at);
                    bytes.extend(&other[from..]);
                }
                _ => {
                    let copies = 1 + self.below(40);
                    let piece = bytes[at..end].repeat(copies);
                    bytes.splice(at..end, piece);
                }
            }
            bytes.truncate(1 << 16);
        }
        bytes
    }

    /// Puts another number where the next run of digits is.
    fn replace_number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let digit = |c: &u8| c.is_ascii_digit() || matches!(c, b'.' | b'-' | b'e');
        let Some(start) = bytes[at..].iter().position(digit).map(|gap| at + gap) else { return };
        let length = bytes[start..].iter().take_while(|c| digit(c)).count();
        let word = match self.below(3) {
            0 => WORDS[self.below(12)].to_owned(),
            1 => NUMBERS[self.below(NUMBERS.len())].to_string(),
            _ => self.below(100).to_string(),
        };
        bytes.splice(start..start + length, word.into_bytes());
    }
}
