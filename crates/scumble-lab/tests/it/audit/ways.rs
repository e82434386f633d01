//! Neighbours through every way in. The two breaches of the first release, planted again, are found by the audit alone.

use scumble::mechanism::{Mechanism, MechanismId, Parameters, Required};
use scumble::projection::Seed;
use scumble::release::{Release, Releaser};
use scumble::vectors::{PrivateRow, Range, Rows, Scalars};
use scumble_core::noise::SecretRng;
use scumble_lab::audit::ways::{Form, outcome, ways};
use scumble_lab::audit::{AuditError, Settings, Target, Verdict, audit};

const SEED: Seed = Seed([6; 32]);

#[test]
fn no_way_in_breaks_the_claim() {
    let ways = ways(1.0, SEED).unwrap();
    assert_eq!(ways.len(), Form::ALL.len());
    // Few samples: the pairs are the point here. All bounds are right but for a chance of 1e-6.
    let settings = Settings { audits: ways.len(), samples: Some(12_000), ..Settings::default() };
    for way in &ways {
        let finding = audit(way, &settings).unwrap();
        assert_eq!(finding.verdict, Verdict::NotRefuted, "{}: {finding:?}", way.name());
        // It is no empty test: the samples show most of the loss.
        assert!(finding.lower_bound > 0.5, "{}: {}", way.name(), finding.lower_bound);
    }
}

/// What LIBSVM without a dimension did: the largest index of the private rows became p, in the certificate too.
struct ShapeFromRows(Mechanism);

impl Target for ShapeFromRows {
    fn claim(&self) -> &Mechanism {
        &self.0
    }
    fn width(&self) -> usize {
        self.0.k() + 1
    }
    fn most_releases(&self) -> usize {
        32
    }
    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError> {
        let mut row = vec![0.0; rows.dim()];
        rows.row_f64(0, &mut row);
        let dim = row.iter().rposition(|&value| value != 0.0).map_or(4, |at| (at + 1).max(4));
        let mechanism = Mechanism::new(Parameters { dim, ..self.0.parameters().clone() })?;
        let releaser = Releaser::new(mechanism, None)?;
        let all: Vec<f64> = (0..rows.len())
            .flat_map(|i| {
                rows.row_f64(i, &mut row);
                row[..dim].to_vec()
            })
            .collect();
        Ok(outcome(&Release::from_rows(&releaser, Rows::dense(Scalars::F64(&all), dim))?))
    }
}

#[test]
fn a_shape_that_depends_on_the_rows_is_found() {
    let range = Range::new(0.0, 1.0).unwrap();
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::DpOporpStaircase,
        dim: 8,
        k: 4,
        epsilon: 1.0,
        beta: 1.0,
        range,
        seed: SEED,
    });
    let planted = ShapeFromRows(Mechanism::new(parameters).unwrap());
    let settings = Settings { samples: Some(4000), ..Settings::default() };
    assert_eq!(audit(&planted, &settings).unwrap().verdict, Verdict::Broken);
}

/// What sparse rows did where the range does not hold 0: a stored value was clipped, an absent one stayed 0.
struct AbsentStaysZero(Mechanism);

impl Target for AbsentStaysZero {
    fn claim(&self) -> &Mechanism {
        &self.0
    }
    /// The end of the range that stands for zero is left out of a sparse row.
    fn release(&self, rows: Rows<'_>) -> Result<Vec<f32>, AuditError> {
        let (lo, hi) = self.0.grid().bounds();
        let mut rng = SecretRng::from_os()?;
        let mut row = vec![0.0; rows.dim()];
        let mut all = Vec::new();
        for i in 0..rows.len() {
            rows.row_f64(i, &mut row);
            let on_grid = |&value: &f64| match value == self.0.parameters().range.lo {
                true => 0,
                false => ((value / self.0.grid().step()) as i64).clamp(lo.into(), hi.into()) as i32,
            };
            let q: Vec<i32> = row.iter().map(on_grid).collect();
            let mut x = vec![0; self.0.k()];
            self.0.projection().apply(PrivateRow::Dense(&q), &mut x);
            self.0.perturbation().apply(&mut x, &mut rng);
            all.extend(x.iter().map(|&x| x as f32));
        }
        Ok(all)
    }
}

#[test]
fn an_absent_attribute_outside_the_range_is_found() {
    let range = Range::new(100.0, 101.0).unwrap();
    let parameters = Parameters::new(Required {
        mechanism: MechanismId::DpOporpStaircase,
        dim: 8,
        k: 4,
        epsilon: 0.7,
        beta: 0.5,
        range,
        seed: SEED,
    });
    let planted = AbsentStaysZero(Mechanism::new(parameters).unwrap());
    let settings = Settings { samples: Some(4000), ..Settings::default() };
    assert_eq!(audit(&planted, &settings).unwrap().verdict, Verdict::Broken);
}

/// A certificate with a field that depends on the rows would be one more column of the outcome.
#[test]
fn what_stands_beside_the_rows_is_part_of_the_outcome() {
    let range = Range::new(0.0, 1.0).unwrap();
    let parameters = |dim| {
        Parameters::new(Required {
            mechanism: MechanismId::DpOporpStaircase,
            dim,
            k: 4,
            epsilon: 1.0,
            beta: 1.0,
            range,
            seed: SEED,
        })
    };
    let beside = |dim: usize| {
        let releaser = Releaser::new(Mechanism::new(parameters(dim)).unwrap(), None).unwrap();
        let rows = vec![0.5; dim];
        *outcome(&Release::from_rows(&releaser, Rows::dense(Scalars::F64(&rows), dim)).unwrap()).last().unwrap()
    };
    assert_eq!(beside(8), beside(8));
    assert_ne!(beside(8), beside(7));
}
