//! `scumble audit` through the binary.

use crate::support::*;
use scumble::mechanism::MechanismId;

#[test]
fn every_mechanism_is_audited_and_the_attacks_are_shown() {
    let folder = Folder::new();
    let report = folder.json("audit --samples 2000");
    assert_eq!(report["passed"], true);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), MechanismId::without_files().count());
    for finding in findings {
        let individual = finding["mechanism"].as_str().unwrap().starts_with("idp-");
        assert_eq!(finding["verdict"], if individual { "not-private" } else { "not-refuted" }, "{finding}");
        let bound = finding["lower_bound"].as_f64().unwrap();
        assert_eq!(bound > 1.0, individual, "{finding}");
    }
    let ways = report["ways"].as_array().unwrap();
    assert!(ways.len() >= 12 && ways.iter().all(|way| way["finding"]["verdict"] == "not-refuted"), "{ways:?}");
    assert_eq!(report["counterexample"]["minus"][0], 0);
    let errors: Vec<f64> =
        report["averaging"]["steps"].as_array().unwrap().iter().map(|step| step["error"].as_f64().unwrap()).collect();
    assert!(errors[3] < 0.05 && errors[0] > 0.2, "{errors:?}");
}

#[test]
fn a_configured_mechanism_and_a_release_are_audited() {
    let folder = Folder::new();
    let one = folder
        .json("audit --mechanism dp-oporp-lattice --epsilon 2 --range 0,1 --dim 32 -k 16 --symbols 5 --samples 20000");
    let finding = &one["findings"][0];
    assert_eq!(finding["epsilon"], 2.0);
    assert!(finding["lower_bound"].as_f64().unwrap() > 1.2, "{finding}");
    assert!(one["averaging"].is_null());

    npy_rows(&folder, "x.npy", 5, 24);
    folder.ok("release x.npy --out r.parquet --mechanism dp-oporp-laplace --epsilon 3 --range 0,1 -k 6 --encoding i16");
    let text = folder.ok("audit r.parquet --samples 5000");
    assert!(text.contains("dp-oporp-laplace") && text.contains("not refuted"), "{text}");
    assert!(!text.contains("Averaging"));
}

#[test]
fn what_cannot_be_audited_is_said() {
    let folder = Folder::new();
    let said = folder.fails("audit --mechanism dp-signrp-rr --delta 1e-3 --norm-bound 3 --range 0,1", 2);
    assert!(said.contains("draw of its matrix"), "{said}");
    folder.fails("audit --confidence 1", 2);
    folder.fails("audit --samples 3", 2);
    folder.fails("audit --mechanism dp-oporp-staircase --unit l1 --beta 1", 1);
    folder.fails("audit none.parquet", 2);
    folder.fails("audit none.parquet --mechanism raw-laplace", 2);
}
