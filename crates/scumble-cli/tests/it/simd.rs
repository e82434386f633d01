//! Every level of vector instructions through the binary: the same bytes, or a plain refusal.

use crate::support::*;
use std::process::Output;

/// The levels that `SCUMBLE_SIMD` knows, and whether this processor has them.
fn levels() -> [(&'static str, bool); 4] {
    #[cfg(target_arch = "x86_64")]
    let has = {
        use std::arch::is_x86_feature_detected as has;
        let ordinary = has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq");
        (has!("avx2"), ordinary && has!("avx512vbmi") && has!("avx512vnni") && has!("avx512vpopcntdq"))
    };
    #[cfg(not(target_arch = "x86_64"))]
    let has = (false, false);
    [("scalar", true), ("avx2", has.0), ("avx512", has.1), ("neon", cfg!(target_arch = "aarch64"))]
}

fn run(folder: &Folder, level: &str, words: &str) -> Output {
    folder.command(words).env("SCUMBLE_SIMD", level).output().unwrap()
}

/// 75 rows of 131 numbers: whole blocks of 32 and a rest, registers and a rest.
fn table(folder: &Folder) {
    let header: Vec<String> = (0..131).map(|j| format!("a{j}")).collect();
    let row = |i: usize| {
        let values: Vec<String> = (0..131).map(|j| format!("{}", (i * 131 + j) * 7919 % 2003)).collect();
        format!("{i},{}\n", values.join(","))
    };
    folder.file("x.csv", format!("id,{}\n{}", header.join(","), (0..75).map(row).collect::<String>()));
}

#[test]
fn every_level_gives_the_same_bytes() {
    let folder = Folder::new();
    folder.ok("keygen --sticky --out s.key");
    table(&folder);
    for (mechanism, more) in [
        ("dp-signoporp-ceil", "-k 70"),
        ("dp-oporp-staircase", "-k 70 --encoding i16"),
        ("dp-oporp-laplace", "-k 33"),
        ("dp-oporp-lattice", "-k 65 --symbols 3"),
        ("dp-rp-l", "-k 40"),
        ("dp-signrp-ceil", "-k 40"),
    ] {
        let mut seen = Vec::new();
        for (level, there) in levels() {
            let out = format!("{mechanism}-{level}.npy");
            let release = "release x.csv --epsilon 4 --range 0,2003 --id id --sticky-key s.key";
            let output = run(&folder, level, &format!("{release} --mechanism {mechanism} {more} --out {out}"));
            if !there {
                assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
                assert!(stderr(&output).contains(&format!("this processor has no {level}")), "{}", stderr(&output));
                assert!(!folder.path(&out).exists());
                continue;
            }
            assert_eq!(output.status.code(), Some(0), "{mechanism} {level}: {}", stderr(&output));
            let found = run(&folder, level, &format!("search {out} --queries {out} --top 9 --json"));
            assert_eq!(found.status.code(), Some(0), "{mechanism} {level}: {}", stderr(&found));
            seen.push((std::fs::read(folder.path(&out)).unwrap(), found.stdout));
        }
        assert!(seen.iter().all(|this| *this == seen[0]), "{mechanism}");
    }
}

#[test]
fn an_unknown_level_is_refused() {
    let folder = Folder::new();
    table(&folder);
    let output = run(&folder, "sse9", "release x.csv --out y.npy --epsilon 1 --range 0,2003");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("scalar, avx2, avx512 or neon"), "{}", stderr(&output));
}
