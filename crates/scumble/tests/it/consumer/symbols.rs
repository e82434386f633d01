//! Few-symbol mechanisms: whole small mechanisms in exact arithmetic, certificates, and what they keep of MNIST.

use num_bigint::BigUint;
use num_rational::BigRational;
use scumble::certificate::Certificate;
use scumble::mechanism::{Classes, Mechanism, MechanismId, Parameters, Perturbation, Required};
use scumble::privacy::Unit;
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{QuantisedRow, Range, Rows, Scalars};
use scumble_core::exact::{WorstRatio, rational};
use std::collections::HashMap;

const UNIT_RANGE: Range = Range { lo: 0.0, hi: 1.0 };

fn parameters(id: MechanismId, dim: usize, k: usize, epsilon: f64) -> Parameters {
    Parameters::new(Required { mechanism: id, dim, k, epsilon, beta: 1.0, range: UNIT_RANGE, seed: Seed([3; 32]) })
}

/// The law of the symbol in every bin of a row: entries of the table, as the release draws from them.
fn bin_laws(mechanism: &Mechanism, row: &[f64]) -> Vec<Vec<u64>> {
    let (mut buffer, mut x) = (QuantisedRow::default(), vec![0; mechanism.k()]);
    let rows = Rows::dense(Scalars::F64(row), row.len());
    let u = rows.quantise(0, mechanism.grid(), 0, &mut buffer).unwrap();
    mechanism.projection().apply(u, &mut x);
    let Perturbation::Symbols { classes, table } = mechanism.perturbation() else { panic!("no symbols") };
    x.iter().map(|&x| table.rows()[classes.of(x)].clone()).collect()
}

/// The probability of every output, times a power of two.
fn joint_law(bins: &[Vec<u64>]) -> Vec<BigUint> {
    bins.iter().fold(vec![BigUint::from(1u32)], |law, bin| {
        law.iter().flat_map(|p| bin.iter().map(move |&entry| p * entry)).collect()
    })
}

/// The largest ratio over all outputs of all pairs of rows on the grid that differ in one attribute by at most beta.
fn worst_of_all(mechanism: &Mechanism) -> WorstRatio {
    let parameters = mechanism.parameters();
    let (step, dim) = (mechanism.grid().step(), parameters.dim);
    let levels = (1.0 / step) as usize + 1;
    let reach = mechanism.grid().steps(parameters.beta).unwrap() as usize;
    let digits = |at: usize| -> Vec<usize> { (0..dim as u32).map(|i| at / levels.pow(i) % levels).collect() };
    let mut laws = HashMap::new();
    let mut law = |row: &[usize]| {
        let values: Vec<f64> = row.iter().map(|&level| level as f64 * step).collect();
        let bins = bin_laws(mechanism, &values);
        laws.entry(bins.clone()).or_insert_with(|| joint_law(&bins)).clone()
    };
    let mut worst = WorstRatio { num: 1u32.into(), den: 1u32.into(), power: 1 };
    for at in 0..levels.pow(dim as u32) {
        let row = digits(at);
        let here = law(&row);
        for attribute in 0..dim {
            for moved in row[attribute] + 1..levels.min(row[attribute] + reach + 1) {
                let mut neighbour = row.clone();
                neighbour[attribute] = moved;
                for (a, b) in here.iter().zip(&law(&neighbour)) {
                    let (num, den) = (a.max(b), a.min(b));
                    if num * &worst.den > &worst.num * den {
                        worst = WorstRatio { num: num.clone(), den: den.clone(), power: 1 };
                    }
                }
            }
        }
    }
    worst
}

#[test]
fn whole_small_mechanisms_keep_their_promise_and_use_it() {
    for epsilon in [0.5, 2.0, 5.0] {
        let exact = rational(epsilon);
        for (id, symbols, r, k, repeats, beta) in [
            (MechanismId::DpOporpLattice, 3, Some(1), 4, 1, 1.0),
            (MechanismId::DpOporpLattice, 3, Some(1), 4, 2, 1.0),
            (MechanismId::DpOporpLattice, 3, Some(2), 3, 1, 1.0),
            (MechanismId::DpOporpLattice, 5, None, 2, 1, 0.5),
            (MechanismId::DpOporpLattice, 16, Some(2), 2, 1, 1.0),
            (MechanismId::DpOporpZones, 3, None, 4, 1, 1.0),
            (MechanismId::DpOporpZones, 3, None, 4, 2, 0.5),
            (MechanismId::DpOporpZones, 5, None, 2, 1, 1.0),
        ] {
            let mut parameters = parameters(id, 6, k, epsilon);
            (parameters.symbols, parameters.lattice_steps, parameters.repeats) = (Some(symbols), r, repeats);
            (parameters.beta, parameters.grid_exponent) = (beta, Some(-1));
            if id == MechanismId::DpOporpZones {
                parameters.thresholds = if symbols == 3 { vec![-0.25, 0.25] } else { vec![-1.2, -0.4, 0.4, 1.2] };
            }
            let mechanism = Mechanism::new(parameters).unwrap();
            let worst = worst_of_all(&mechanism);
            assert!(worst.at_most_exp(&exact), "{id} {symbols} {r:?} at {epsilon}");
            let nearly = &exact * BigRational::new(95.into(), 100.into());
            assert!(!worst.at_most_exp(&nearly), "{id} {symbols} {r:?} at {epsilon} leaves budget unused");
            let checked = mechanism.promise().guarantee().unwrap().checked_epsilon;
            assert!(checked <= epsilon && worst.at_most_exp(&rational(checked)), "{id} {symbols} {r:?} {checked}");
        }
    }
}

/// Planted fault: the same enumeration finds a table whose classes are one grid step too narrow.
#[test]
fn enumeration_finds_a_table_for_another_beta() {
    let mut half = parameters(MechanismId::DpOporpLattice, 6, 4, 2.0);
    (half.grid_exponent, half.beta, half.lattice_steps) = (Some(-1), 0.5, Some(1));
    let mechanism = Mechanism::new(half).unwrap();
    assert!(worst_of_all(&mechanism).at_most_exp(&rational(2.0)));
    // Rows that differ by 1.0 are not neighbours at beta = 0.5: their ratio must exceed e^2.
    let (zero, one) = (bin_laws(&mechanism, &[0.0; 6]), bin_laws(&mechanism, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    let ratio = |(a, b): (&BigUint, &BigUint)| WorstRatio { num: a.max(b).clone(), den: a.min(b).clone(), power: 1 };
    assert!(joint_law(&zero).iter().zip(&joint_law(&one)).any(|pair| !ratio(pair).at_most_exp(&rational(2.0))));
}

#[test]
fn other_units_are_refused() {
    for id in [MechanismId::DpOporpLattice, MechanismId::DpOporpZones] {
        for unit in [Unit::L1, Unit::L2, Unit::Record] {
            let error = Mechanism::new(Parameters { unit, ..parameters(id, 20, 4, 1.0) }).unwrap_err();
            assert!(error.is_refusal(), "{id} {unit}: {error}");
        }
    }
}

#[test]
fn bad_numbers_are_named() {
    let lattice = |change: fn(&mut Parameters)| {
        let mut parameters = parameters(MechanismId::DpOporpLattice, 20, 4, 1.0);
        change(&mut parameters);
        Mechanism::new(parameters)
    };
    assert!(lattice(|p| p.symbols = Some(1)).is_err());
    assert!(lattice(|p| p.symbols = Some(17)).is_err());
    assert!(lattice(|p| p.lattice_steps = Some(0)).is_err());
    let zones = |thresholds: Vec<f64>, symbols| {
        Mechanism::new(Parameters { thresholds, symbols, ..parameters(MechanismId::DpOporpZones, 20, 4, 1.0) })
    };
    assert!(zones(vec![0.5, 0.5], None).is_err());
    assert!(zones(vec![0.5, 0.1], None).is_err());
    assert!(zones(vec![f64::NAN], None).is_err());
    assert!(zones(vec![], Some(4)).is_err());
    assert!(zones(vec![-0.5, 0.5], Some(5)).is_err());
    let zero_alone = zones(vec![-0.0, 0.0], None).unwrap();
    let Perturbation::Symbols { classes, .. } = zero_alone.perturbation() else { panic!() };
    assert_eq!(*classes, Classes::Zones { cuts: vec![0, 1] });
}

#[test]
fn values_are_ordered_and_stated() {
    for (id, symbols) in
        [(MechanismId::DpOporpLattice, 3), (MechanismId::DpOporpLattice, 16), (MechanismId::DpOporpZones, 5)]
    {
        let mut parameters = parameters(id, 784, 64, 3.0);
        (parameters.symbols, parameters.norm, parameters.density) = (Some(symbols), Some(9.2), Some(0.19));
        let mechanism = Mechanism::new(parameters).unwrap();
        let values = mechanism.symbol_values();
        assert!(values.windows(2).all(|pair| pair[0] < pair[1]), "{id}: {values:?}");
        if symbols % 2 == 1 {
            values.iter().zip(values.iter().rev()).for_each(|(a, b)| assert!((a + b).abs() < 1e-3, "{values:?}"));
        }
        let kept = mechanism.posterior().unwrap().kept;
        assert!(0.2 < kept && kept < 1.0, "{id} {kept}");
    }
}

#[test]
fn the_table_travels_and_a_changed_entry_is_found() {
    let mechanism = Mechanism::new(parameters(MechanismId::DpOporpLattice, 12, 6, 1.0)).unwrap();
    let releaser = Releaser::new(mechanism, None).unwrap();
    let data: Vec<f32> = (0..12 * 7).map(|i| (i % 5) as f32 / 4.0).collect();
    let release = Release::from_rows(&releaser, Rows::dense(Scalars::F32(&data), 12)).unwrap();
    let certificate = release.certificate();
    let text = certificate.to_json();
    let (parsed, again) = Certificate::parse(&text).unwrap();
    assert_eq!(
        parsed.noise["law"]["table"],
        serde_json::to_value(again.perturbation().facts()).unwrap()["law"]["table"]
    );
    assert_eq!(parsed.encoding.values.len(), 3);

    let mut altered = certificate.clone();
    let table = altered.noise["law"]["table"].as_array_mut().unwrap();
    let mut entries: Vec<u64> = table[0].as_str().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
    entries[0] += 1;
    entries[1] -= 1;
    table[0] = entries.iter().map(u64::to_string).collect::<Vec<_>>().join(" ").into();
    altered.digest = altered.compute_digest();
    let error = Certificate::parse(&altered.to_json()).unwrap_err();
    assert!(error.to_string().contains("noise"), "{error}");

    // A promise of another epsilon than the table's.
    let mut lowered = certificate.clone();
    lowered.guarantee.epsilon = Some(0.5);
    lowered.digest = lowered.compute_digest();
    assert!(Certificate::parse(&lowered.to_json()).is_err());
}

/// A table as a heat map: across, a bin's value from -3 to 3 beta; down, the symbols; darker is more probable.
fn heat_map(title: &str, mechanism: &Mechanism) -> String {
    use std::fmt::Write;
    let steps = mechanism.grid().steps(mechanism.parameters().beta).unwrap() as i64;
    let law = |x: i64| -> Vec<f64> {
        match mechanism.perturbation() {
            Perturbation::Symbols { classes, table } => {
                let row = &table.rows()[classes.of(x)];
                row.iter().map(|&entry| entry as f64 / (table.bits() as f64).exp2()).collect()
            }
            Perturbation::Flips { table, .. } => {
                let plus = x > 0;
                let level = if plus { (x as u64).div_ceil(steps as u64) } else { x.unsigned_abs() / steps as u64 + 1 };
                let flip = table.threshold(level) as f64 / 64f64.exp2();
                if plus { vec![flip, 1.0 - flip] } else { vec![1.0 - flip, flip] }
            }
            _ => panic!("no table"),
        }
    };
    let symbols = law(0).len();
    let (left, top, width, height) = (30, 34, 480, 20);
    let bottom = top + symbols * height;
    let mut svg = String::new();
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 540 {}" font-family="sans-serif" font-size="12">"#,
        bottom + 30
    )
    .unwrap();
    writeln!(
        svg,
        r##"<rect width="540" height="{}" fill="#fff"/><text x="{left}" y="20">{title}</text>"##,
        bottom + 30
    )
    .unwrap();
    const COLUMNS: i64 = 240;
    let laws: Vec<_> = (0..COLUMNS).map(|c| law(((c * 2 + 1 - COLUMNS) * 3 * steps).div_euclid(COLUMNS))).collect();
    for y in 0..symbols {
        let at = top + (symbols - 1 - y) * height;
        writeln!(svg, r#"<text x="{}" y="{}" text-anchor="end">{y}</text>"#, left - 6, at + 14).unwrap();
        let mut from = 0;
        while from < laws.len() {
            let to = (from..laws.len()).find(|&c| laws[c][y] != laws[from][y]).unwrap_or(laws.len());
            let shade = 255 - (laws[from][y].sqrt() * 215.0) as u8;
            let cell = width / laws.len();
            let (x, w) = (left + from * cell, (to - from) * cell);
            writeln!(
                svg,
                r##"<rect x="{x}" y="{at}" width="{w}" height="{height}" fill="#{shade:02x}{shade:02x}ff"/>"##
            )
            .unwrap();
            from = to;
        }
    }
    for (tick, label) in ["-3β", "-2β", "-β", "0", "β", "2β", "3β"].iter().enumerate() {
        let x = left + tick * width / 6;
        writeln!(
            svg,
            r##"<path d="M{x} {bottom}v4" stroke="#000"/><text x="{x}" y="{}" text-anchor="middle">{label}</text>"##,
            bottom + 18
        )
        .unwrap();
    }
    svg + "</svg>\n"
}

/// The pictures of docs/few-symbols.md show the tables that run. SCUMBLE_UPDATE=1 writes them anew.
#[test]
fn pictures_of_the_documentation_are_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let picture = |id, symbols, k, epsilon| {
        let mut parameters = parameters(id, 784, k, epsilon);
        (parameters.symbols, parameters.norm, parameters.density) = (symbols, Some(9.2), Some(0.19));
        Mechanism::new(parameters).unwrap()
    };
    for (file, title, mechanism) in [
        ("symbols-bit", "dp-signoporp-ceil, epsilon 1", picture(MechanismId::DpSignoporpCeil, None, 256, 1.0)),
        (
            "symbols-3",
            "dp-oporp-lattice, 3 symbols, epsilon 2",
            picture(MechanismId::DpOporpLattice, Some(3), 160, 2.0),
        ),
        (
            "symbols-16",
            "dp-oporp-lattice, 16 symbols, epsilon 3",
            picture(MechanismId::DpOporpLattice, Some(16), 64, 3.0),
        ),
        ("symbols-zones", "dp-oporp-zones, 5 zones, epsilon 3", picture(MechanismId::DpOporpZones, Some(5), 64, 3.0)),
    ] {
        let (path, svg) = (folder.join(file).with_extension("svg"), heat_map(title, &mechanism));
        if std::env::var_os("SCUMBLE_UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &svg).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            svg,
            "{file}: run with SCUMBLE_UPDATE=1 and look"
        );
    }
}
