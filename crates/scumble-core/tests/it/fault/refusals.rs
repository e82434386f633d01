//! Combinations that are not private, or that cannot be shown to be, are refused with a reason and a way out.

use scumble_core::error::{MechanismError, ParameterError};
use scumble_core::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Perturbation, Required};
use scumble_core::noise::Noise;
use scumble_core::privacy::Unit;
use scumble_core::projection::{Origin, Partition, PublicTable, Seed, TableFile};
use scumble_core::vectors::Range;

fn build(id: MechanismId, adjust: impl Fn(&mut Parameters)) -> Result<Mechanism, ParameterError> {
    let mut parameters = Parameters::new(Required {
        mechanism: id,
        dim: 32,
        k: 8,
        epsilon: 1.0,
        beta: 1.0,
        range: Range::new(-1.0, 1.0).unwrap(),
        seed: Seed([1; 32]),
    });
    if id.notion() == NotionKind::Approximate {
        parameters.delta = Some(1e-6);
    }
    adjust(&mut parameters);
    Mechanism::new(parameters)
}

#[test]
fn units_without_a_proof() {
    use MechanismId::*;
    let refused = [
        (RawStaircase, Unit::L1),
        (RawRr, Unit::L1),
        (RawRr, Unit::Record),
        (DpOporpStaircase, Unit::L1),
        (DpOporpLattice, Unit::L1),
        (DpOporpZones, Unit::L1),
        (DpSignoporpRr, Unit::L1),
        (DpSignoporpRrSmooth, Unit::L1),
        (DpSignoporpCeil, Unit::L1),
        (DpSignrpRrSmooth, Unit::L2),
        (DpSignrpRrSmooth, Unit::Record),
        (DpSignrpCeil, Unit::Record),
        (DpSignoporpCeil, Unit::Record),
        (DpOporpLaplace, Unit::L2),
        (DpOporpLaplace, Unit::Record),
        (RawLaplace, Unit::L2),
        (Privcube, Unit::Attribute),
        (Signcap, Unit::L1),
    ];
    for (id, unit) in refused {
        let error = build(id, |p| p.unit = unit).unwrap_err();
        assert!(error.is_refusal(), "{id} {unit}: {error}");
        assert!(error.to_string().contains("Instead:"), "{error}");
    }
}

#[test]
fn units_with_a_proof() {
    use MechanismId::*;
    let allowed = [
        (DpOporpLaplace, Unit::L1),
        (RawLaplace, Unit::L1),
        (DpRpL, Unit::L1),
        (DpOporp, Unit::L1),
        (DpOporp, Unit::L2),
        (RawGOpt, Unit::L2),
        (DpRpGOptB, Unit::L2),
        (DpRpGOpt, Unit::L2),
        (DpSignrpRrSmooth, Unit::L1),
        (DpSignrpRr, Unit::L1),
        (Privcube, Unit::Record),
        (Signcap, Unit::Record),
    ];
    for (id, unit) in allowed {
        build(id, |p| p.unit = unit).unwrap_or_else(|error| panic!("{id} {unit}: {error}"));
    }
    build(DpOporp, |p| {
        p.unit = Unit::Record;
        p.clip_norm = Some(1.0);
    })
    .unwrap();
}

#[test]
fn individual_dp_needs_consent() {
    for id in
        [MechanismId::IdpSignrpG, MechanismId::IdpSignrpRr, MechanismId::IdpSignoporpG, MechanismId::IdpSignoporpRr]
    {
        assert!(build(id, |p| p.delta = Some(1e-6)).unwrap_err().is_refusal(), "{id}");
        let mechanism = build(id, |p| {
            p.delta = Some(1e-6);
            p.i_understand_this_is_not_dp = true;
        });
        assert!(mechanism.unwrap().promise().guarantee().is_none(), "{id}");
    }
}

#[test]
fn signrp_rr_refuses_what_it_cannot_show() {
    let with = |kind: &'static str, m: Option<f64>| {
        build(MechanismId::DpSignrpRr, move |p| {
            p.delta = Some(1e-6);
            p.norm_bound = m;
            p.projection = Some(kind.parse().unwrap());
        })
    };
    assert!(with("rademacher", Some(5.0)).unwrap_err().is_refusal());
    assert!(with("gaussian", Some(0.5)).unwrap_err().is_refusal(), "a norm bound below beta");
    assert!(!with("gaussian", None).unwrap_err().is_refusal(), "a missing norm bound is a missing number");
    assert!(with("gaussian", Some(5.0)).is_ok());
}

#[test]
fn numbers_outside_their_domain() {
    use MechanismId::*;
    type Adjust = fn(&mut Parameters);
    let cases: [(MechanismId, Adjust, &str); 11] = [
        (DpOporp, |p| p.delta = None, "delta"),
        (DpOporp, |p| p.delta = Some(1.0), "delta"),
        (DpOporpLaplace, |p| p.epsilon = 0.0, "epsilon"),
        (DpOporpLaplace, |p| p.epsilon = f64::NAN, "epsilon"),
        (DpOporpLaplace, |p| p.beta = -1.0, "beta"),
        (DpOporpLaplace, |p| p.k = 33, "k"),
        (DpOporpLaplace, |p| p.k = 0, "k"),
        (DpOporpLaplace, |p| p.repeats = 3, "repeats"),
        (DpOporpLaplace, |p| p.range = Range { lo: 1.0, hi: -1.0 }, "range"),
        (DpOporpLaplace, |p| p.sketch_clip = Some(-1.0), "clip"),
        (DpOporp, |p| p.unit = Unit::Record, "clip_norm"),
    ];
    for (id, adjust, word) in cases {
        let error = build(id, adjust).unwrap_err();
        assert!(!error.is_refusal() && error.to_string().contains(word), "{id}: {error}");
    }
}

#[test]
fn beta_is_capped_at_the_range() {
    let mechanism = build(MechanismId::DpOporpLaplace, |p| p.beta = 100.0).unwrap();
    assert_eq!(mechanism.promise().guarantee().unwrap().beta, 2.0);
    assert!(mechanism.warnings().iter().any(|w| w.contains("capped")));
}

/// Found by the reference: `--projection oporp:4` with `--repeats 1` would touch four bins and pay for one.
#[test]
fn a_projection_may_not_repeat_more_often_than_the_loss_is_counted() {
    use MechanismId::*;
    for id in [DpOporpStaircase, DpSignoporpRr, DpSignoporpRrSmooth, DpSignoporpCeil, DpOporpLattice, DpOporpZones] {
        for (kind, repeats) in [("oporp:4", 1), ("oporp:4", 2), ("oporp", 4)] {
            let error = build(id, |p| {
                p.projection = Some(kind.parse().unwrap());
                p.repeats = repeats;
            });
            assert!(error.unwrap_err().to_string().contains("repetitions"), "{id} {kind} {repeats}");
        }
        build(id, |p| {
            p.projection = Some("oporp:4".parse().unwrap());
            p.repeats = 4;
        })
        .unwrap();
    }
    assert!(build(RawStaircase, |p| p.repeats = 2).is_err(), "only OPORP repeats");
    for (id, thresholds, least) in
        [(DpSignoporpCeil, vec![-0.1], 0), (RawRr, vec![-1.1], -1), (RawRr, vec![0.1, 0.2], -1)]
    {
        let error = build(id, |p| p.thresholds = thresholds.clone()).unwrap_err();
        assert_eq!(error.to_string(), format!("{id} takes one threshold, at least {least}"));
    }
}

/// `hi - lo` as a float is 1 here, 256 steps; the ends of the range lie 257 steps apart.
#[test]
fn a_capped_beta_covers_the_whole_range_in_integers() {
    let (lo, hi) = (2f64.powi(-9) - 2f64.powi(-62), 1.0 + 2f64.powi(-9));
    assert_eq!(hi - lo, 1.0);
    let mechanism = build(MechanismId::DpOporpStaircase, |p| {
        p.range = Range::new(lo, hi).unwrap();
        p.beta = 100.0;
        p.grid_exponent = Some(-8);
    })
    .unwrap();
    let ends = [lo, hi].map(|end| mechanism.grid().quantise(end).unwrap());
    assert_eq!(ends[1] - ends[0], 257);
    let Perturbation::Noise { noise: Noise::Staircase(law), .. } = mechanism.perturbation() else { panic!("noise") };
    assert_eq!(law.sensitivity(), 257);
}

/// A certificate makes its reader build the mechanism again, so what would take hours is refused at once.
#[test]
fn what_takes_too_long_to_check() {
    use MechanismId::*;
    type Adjust = fn(&mut Parameters);
    let large: [(MechanismId, Adjust); 4] = [
        (DpRpGOpt, |p| (p.dim, p.k) = (1 << 32, 1 << 20)),
        (DpRpL, |p| (p.dim, p.k) = (1 << 24, 1 << 9)),
        (DpRpGOptB, |p| (p.dim, p.k, p.unit) = (1 << 15, 1 << 14, Unit::L2)),
        (DpSignrpCeil, |p| (p.k, p.delta) = (1 << 14, Some(1e-6))),
    ];
    let start = std::time::Instant::now();
    for (id, adjust) in large {
        let error = build(id, adjust).unwrap_err();
        assert!(error.to_string().contains("takes too long to check"), "{id}: {error}");
    }
    assert!(start.elapsed().as_secs() < 60);
}

/// A centre that no row can reach would give every row the same bits, and spend epsilon on nothing.
#[test]
fn components_of_other_units() {
    let with_centre = |centre: f32| {
        let weights = (0..32 * 8).map(|i| (i * 7919 % 201) as i16 - 100).collect();
        let table = PublicTable::components(vec![centre; 32], weights, 0.01, Origin::Made).unwrap();
        build(MechanismId::Privcube, |p| {
            p.unit = Unit::Record;
            p.components = Some(TableFile::of(table.clone()));
        })
    };
    for within in [0.0, 0.4, 1.0, -1.0] {
        assert!(with_centre(within).is_ok(), "{within}");
    }
    for beyond in [255.0, -1e6, f32::MAX] {
        let error = with_centre(beyond).unwrap_err();
        assert_eq!(error, MechanismError::ComponentsUnits.into(), "{beyond}");
    }
}

/// Guesses that are no numbers would be written into certificates that nobody can read again.
#[test]
fn guesses_are_numbers() {
    let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 5e-324, 1e-200, 1e200, 1e308];
    for id in [MechanismId::DpOporpZones, MechanismId::DpOporpLattice, MechanismId::DpOporpLaplace] {
        for norm in numbers {
            let error = build(id, |p| p.norm = Some(norm)).unwrap_err();
            assert!(error.to_string().starts_with("‹norm› must be above 0"), "{id} {norm}: {error}");
        }
        for density in numbers.into_iter().chain([1.5]) {
            let error = build(id, |p| p.density = Some(density)).unwrap_err();
            assert!(error.to_string().starts_with("‹density› is a share"), "{id} {density}: {error}");
        }
        for norm in [1e-150, 1e-9, 1.0, 1e9, 1e150] {
            assert!(build(id, |p| p.norm = Some(norm)).is_ok(), "{id} {norm}");
        }
        for density in [1e-12, 0.04, 1.0] {
            assert!(build(id, |p| p.density = Some(density)).is_ok(), "{id} {density}");
        }
        // Whatever comes of it, it is no panic.
        for epsilon in [5e-324, 1e-300, 1e-12, 299.0] {
            drop(build(id, |p| p.epsilon = epsilon));
        }
    }
}

/// The law of a hostile file of bins is refused, whatever is cut by it.
#[test]
fn bins_of_other_units() {
    for id in [MechanismId::DpOporpZones, MechanismId::DpOporpLattice, MechanismId::DpSignoporpCeil] {
        for law in ["1".to_owned() + &"0".repeat(160), "1000".into()] {
            let bin = |b: usize| format!("bin +{} +{}\nlaw -{law} {law}\n", 2 * b, 2 * b + 1);
            let text =
                format!("scumble-bins 1\nattributes 32\nbins 8\nfrom made\n{}", (0..8).map(bin).collect::<String>());
            let partition = Partition::from_file(text.as_bytes()).unwrap();
            let error = build(id, |p| p.bins = Some(partition.clone())).unwrap_err();
            assert_eq!(error, MechanismError::BinsUnits.into(), "{id}");
        }
    }
}
