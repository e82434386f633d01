//! Figures of a whole release, and its rows with noise removed.

use crate::support::*;

const ROWS: usize = 400;

fn release(folder: &Folder, name: &str, words: &str) {
    npy_rows(folder, "x.npy", ROWS, 32);
    folder.ok(&format!("release x.npy --out {name} --range 0,1 --seed {SEED} {words}"));
}

#[test]
fn statistics_tell_figures_with_intervals_as_text_json_and_page() {
    let folder = Folder::new();
    release(&folder, "x.parquet", "--mechanism dp-oporp-staircase --epsilon 4 -k 16");
    let told = folder.json("statistics x.parquet --centroids x.npy");
    assert_eq!(told["rows"][0], ROWS);
    assert_eq!(told["mean"]["figures"].as_array().unwrap().len(), 16);
    assert_eq!(told["covariance"]["figures"].as_array().unwrap().len(), 136);
    for figure in told["mean"]["figures"].as_array().unwrap() {
        let end = |at: usize| figure["interval"][at].as_f64().unwrap();
        assert!(end(0) < figure["value"].as_f64().unwrap() && figure["value"].as_f64().unwrap() < end(1));
    }
    assert!(told["share"]["refused"].as_str().unwrap().contains("values"));
    assert_eq!(told["nearest_centroid"]["figures"].as_array().unwrap().len(), ROWS);
    let text = folder.ok("statistics x.parquet --show 3 --simultaneous --out page.html");
    for part in ["Mean of each coordinate", "the 3 clearest of 16", "Bonferroni over 16", "not told"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Covariance") && !page.contains("<script"));
}

#[test]
fn statistics_tell_drift_false_reports_and_what_the_world_may_see() {
    let folder = Folder::new();
    release(&folder, "a.parquet", "--mechanism dp-oporp-zones --symbols 3 --epsilon 2 -k 16");
    release(&folder, "b.parquet", "--mechanism dp-oporp-zones --symbols 3 --epsilon 2 -k 16");
    let drift = folder.json("statistics b.parquet --since a.parquet");
    assert_eq!(drift["rows"], serde_json::json!([ROWS, ROWS]));
    assert_eq!(drift["share"]["figures"].as_array().unwrap().len(), 48);
    let told = folder.json("statistics a.parquet --false-reports 4 --shuffled --delta 1e-6");
    let moved = told["share"]["figures"][0]["false_reports_move"].as_f64().unwrap();
    assert!(moved > 0.01 && moved < 0.03, "{moved}");
    let epsilon = told["shuffled"]["epsilon"].as_f64().unwrap();
    assert!(epsilon < 2.0, "{epsilon}");
    assert!(folder.ok("statistics a.parquet --shuffled --delta 1e-6").contains("Hiding among the clones"));
    release(&folder, "far.parquet", "--mechanism dp-oporp-staircase --epsilon 2 -k 16");
    let why = folder.fails("statistics far.parquet --shuffled --delta 1e-6", 1);
    assert!(why.contains("ANY two private values"), "{why}");
    folder.fails("statistics a.parquet --since far.parquet --shuffled --delta 1e-6", 1);
    release(&folder, "none.parquet", "--mechanism dp-signoporp-rr-smooth --epsilon 2 -k 16 --beta 0.25");
    assert!(folder.run("statistics none.parquet").status.code() == Some(1), "nothing is told");
    folder.fails("statistics a.parquet --attributes 32", 2);
}

#[test]
fn decode_writes_rows_and_search_ranks_them() {
    let folder = Folder::new();
    release(&folder, "x.parquet", "--mechanism dp-oporp-staircase --epsilon 8 -k 16");
    assert!(folder.ok("decode x.parquet --out decoded.npy").contains("directions hold signal"));
    assert_eq!(std::fs::metadata(folder.path("decoded.npy")).unwrap().len() as usize % (4 * 16), 0);
    folder.ok("decode x.parquet --method scale --out decoded.parquet");
    for decode in ["wiener", "scale", "none"] {
        let found = folder.json(&format!("search x.parquet --queries x.npy --exact-queries --top 3 --decode {decode}"));
        assert_eq!(found.as_array().unwrap().len(), ROWS);
    }
    npy_rows(&folder, "few.npy", 100, 32);
    folder.ok(&format!(
        "release few.npy --out few.parquet --range 0,1 --seed {SEED} --mechanism dp-oporp-staircase --epsilon 8 -k 16"
    ));
    let why = folder.fails("decode few.parquet --out no.npy", 1);
    assert!(why.contains("too few") && !folder.names().contains(&"no.npy".to_owned()), "{why}");
    folder.fails("decode x.parquet --out decoded.csv", 2);
}
