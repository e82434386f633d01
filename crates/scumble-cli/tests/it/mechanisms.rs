//! Every mechanism id through the binary, checked by estimating from the output file.

use crate::support::*;
use scumble::estimate::{RowRef, inner_product};
use scumble::mechanism::{MechanismId, OutputKind};

/// Options that an id needs besides the common ones.
fn options(id: MechanismId) -> String {
    use MechanismId::*;
    let k = if id.is_raw() { String::new() } else { "-k 64".into() };
    let more = match id {
        RawGOpt | DpRpG | DpRpGAnalytic | DpRpGOpt | DpRpGOptB | DpOporp | SignDpRpGOptB => "--delta 1e-6",
        DpSignrpRr => "--delta 1e-6 --norm-bound 1",
        IdpSignrpG | IdpSignoporpG => "--delta 1e-6 --i-understand-this-is-not-dp",
        IdpSignrpRr | IdpSignoporpRr => "--i-understand-this-is-not-dp",
        DpOporpZones => "--symbols 3",
        DpOporpLattice => "--symbols 5",
        _ => "",
    };
    format!("--mechanism {id} --epsilon 20 --range 0,1 --seed {SEED} {k} {more}")
}

/// Values must estimate inner products within their errors; bits and symbols must agree more within a kind of rows
/// than across. 200 rows of 128 attributes, two kinds; the mean over pairs has a standard error far below the gap.
#[test]
fn every_id_releases_and_its_file_tells_the_rows_apart() {
    let folder = Folder::new();
    let (count, dim) = (200, 128);
    let values = npy_rows(&folder, "x.npy", count, dim);
    let row = |i: usize| &values[i * dim..(i + 1) * dim];
    for (at, id) in MechanismId::without_files().enumerate() {
        let out = format!("{id}.{}", ["parquet", "npy"][at % 2]);
        folder.ok(&format!("release x.npy --out {out} {}", options(id)));
        folder.ok(&format!("verify {out}"));
        let release = release(&folder.path(&out));
        assert_eq!(release.len(), count, "{id}");
        let pairs = |distance: usize| (0..count - distance).map(move |i| (i, i + distance));
        if id.output() == OutputKind::Values {
            let (mut error, mut variance) = (0.0, 0.0);
            for (i, j) in pairs(1).chain(pairs(2)) {
                let found = inner_product(RowRef::new(&release, i).unwrap(), RowRef::new(&release, j).unwrap());
                let found = found.unwrap();
                error += found.value - dot(row(i), row(j));
                variance += found.variance;
            }
            // One projection is shared, so errors do not average out: the mean is within 5 of one pair's deviations
            // (alpha < 1e-6), and a wrong scale, sign or column would be far outside.
            let pairs = (2 * count - 3) as f64;
            let deviations = (error / pairs) / (variance / pairs).sqrt();
            assert!(deviations.abs() < 5.0, "{id}: {deviations}");
        }
        let mean = |distance: usize| {
            let scores = pairs(distance).map(|(i, j)| dot(&release.values(i), &release.values(j)));
            scores.sum::<f64>() / (count - distance) as f64
        };
        let (across, within) = (mean(1), mean(2));
        assert!(within > across, "{id}: {within} against {across}");
    }
}

#[test]
fn the_same_seed_gives_the_same_projection_and_other_noise() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 50, 64);
    let release = "release x.npy --mechanism dp-oporp-laplace --epsilon 100 --range 0,1 -k 16";
    for (out, seed) in [("a", SEED), ("b", SEED), ("c", &SEED.replace('0', "f"))] {
        folder.ok(&format!("{release} --seed {seed} --out {out}.npy"));
    }
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert_ne!(bytes("a.npy"), bytes("b.npy"), "noise was repeated");
    assert_ne!(bytes("a.npy.certificate.json"), bytes("b.npy.certificate.json"));
    // At epsilon 100 noise is far below the signal: what is left is the projection.
    let [a, b, c] = ["a.npy", "b.npy", "c.npy"].map(|name| crate::support::release(&folder.path(name)).all_values());
    let gap = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(p, q)| (p - q).abs()).fold(0.0, f32::max);
    assert!(gap(&a, &b) < 0.4, "{}", gap(&a, &b));
    assert!(gap(&a, &c) > 0.5);
}

#[test]
fn a_fresh_seed_is_drawn_and_printed() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20, 64);
    let seeds = ["a", "b"].map(|out| {
        let words =
            format!("release x.npy --mechanism dp-oporp --delta 1e-6 --epsilon 1 --range 0,1 -k 16 --out {out}.npy");
        let output = folder.run(&words);
        let (_, after) =
            stderr(&output).split_once("public seed is ").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        after[..64].to_owned()
    });
    assert_ne!(seeds[0], seeds[1]);
    let certificate = folder.json("inspect a.npy");
    assert_eq!(certificate["projection"]["seed"], seeds[0]);
}

#[test]
fn auto_releases_by_public_numbers() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 40, 256);
    for (out, more) in [
        ("a", ""),
        ("b", "--bytes 16"),
        ("c", "--unit record"),
        ("d", "--unit l1 --beta 0.5"),
        ("e", "--unit l2 --beta 0.5 --delta 1e-6"),
    ] {
        let report = folder.json(&format!("release x.npy --epsilon 5 --range 0,1 --out {out}.parquet {more}"));
        let bytes = report["certificate"]["encoding"]["bytes_per_row"].as_u64().unwrap();
        assert!(out != "b" || bytes <= 16, "{bytes}");
        folder.ok(&format!("verify {out}.parquet"));
    }
}

#[test]
fn ids_travel_and_labels_only_when_asked_for() {
    let folder = Folder::new();
    let csv = "id,a,b,c,d,label\nx1,0.1,0.2,0.3,0.4,cat\nx2,0.5,0.6,0.7,0.8,dog\n";
    folder.file("x.csv", csv);
    let release = "release x.csv --epsilon 5 --range 0,1 -k 2 --mechanism dp-oporp-laplace";
    folder.ok(&format!("{release} --out a.parquet --id id"));
    folder.ok(&format!("{release} --out b.parquet --label label"));
    let [a, b] = ["a.parquet", "b.parquet"].map(|name| crate::support::release(&folder.path(name)));
    assert_eq!(a.ids().unwrap().text(1), "x2");
    assert!(a.labels().is_none());
    assert_eq!(b.labels().unwrap().text(1), "dog");
    assert_eq!(b.ids().unwrap().text(1), "1", "ids that nobody named stay behind: rows are numbered");
    assert_eq!(b.certificate().projection.p, 4);
}

#[test]
fn a_beta_below_the_range_is_warned_about_before_the_release() {
    let folder = Folder::new();
    npy_rows(&folder, "x.npy", 20, 64);
    let output = folder.run("release x.npy -o o.npy --mechanism raw-laplace --epsilon 1 --range -1,1 --beta 0.5");
    assert!(stderr(&output).contains("warning: beta = 0.5 is less than the range's width 2"), "{}", stderr(&output));
    let output = folder.run("release x.npy -o p.npy --mechanism raw-laplace --epsilon 1 --range -1,1 --delta 1e-6");
    assert!(stderr(&output).contains("takes no delta: its guarantee is pure"), "{}", stderr(&output));
}
