//! Sparse rows are refused where the range lacks 0. An absent attribute stays 0 while a stored one is clipped: with
//! the range [100, 101] the rows "absent" and "1:0.3" would give outputs near 0 and near 100, and anyone tells them apart.

use scumble::error::DataErrorKind;
use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Parameters, Required};
use scumble::plan::{PlanError, Request, plan, plan_with_sample};
use scumble::projection::Seed;
use scumble::release::{Encoding, ReleaseError, Releaser};
use scumble::search::ExactQueries;
use scumble::vectors::{Range, Rows, Scalars};
use scumble_core::noise::NoiseKey;

const DIM: usize = 16;

fn parameters(id: MechanismId, range: (f64, f64)) -> Parameters {
    let range = Range::new(range.0, range.1).unwrap();
    let k = if id.is_raw() { DIM } else { 4 };
    let parameters =
        Parameters::new(Required { mechanism: id, dim: DIM, k, epsilon: 1.0, beta: 0.5, range, seed: Seed([1; 32]) });
    if id.notion() == NotionKind::Approximate { parameters.with_delta(1e-6) } else { parameters }
}

fn refused<T>(result: Result<T, ReleaseError>) -> bool {
    matches!(result, Err(ReleaseError::Data(error)) if error.kind == DataErrorKind::SparseRange)
}

/// Row by row and in blocks, with fresh and with keyed noise, as fingerprints and as exact queries.
#[test]
fn no_way_in_takes_sparse_rows_that_clipping_would_tell_apart() {
    use MechanismId::*;
    for id in [RawLaplace, DpOporpStaircase, DpOporpLaplace, DpOporp, DpRpL, DpSignoporpCeil, DpSignrpCeil, Signcap] {
        for range in [(100.0, 101.0), (-2.0, -0.5), (0.25, 1.0), (-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)] {
            let mechanism = Mechanism::new(parameters(id, range));
            let Ok(mechanism) = mechanism else { continue }; // a grid or a unit that this mechanism refuses by itself
            let wrong = range.0 > 0.0 || range.1 < 0.0;
            for rows in [1, 40] {
                let (offsets, index) = ((0..=rows).collect::<Vec<_>>(), vec![3; rows]);
                let sparse = Rows::sparse(&offsets, &index, Scalars::F64(&[0.3; 40]), DIM);
                let values = vec![0.3; rows * DIM];
                let dense = Rows::dense(Scalars::F64(&values), DIM);
                for keyed in [false, true] {
                    let mut releaser = Releaser::new(mechanism.clone(), None).unwrap();
                    if keyed {
                        releaser = releaser.keyed(NoiseKey::from_bytes([5; 32]));
                    }
                    let id_of = |i: usize| vec![i as u8];
                    let mut out = Vec::new();
                    assert_eq!(refused(releaser.release(sparse, 0, id_of, &mut out)), wrong, "{id} {range:?} {rows}");
                    assert_eq!(out.is_empty(), wrong);
                    releaser.release(dense, 0, id_of, &mut out).unwrap();
                    if keyed {
                        assert_eq!(refused(releaser.fingerprints(sparse, 0, id_of)), wrong, "{id} {range:?}");
                    }
                }
                let queries = ExactQueries::project(&mechanism, sparse).map_err(|error| error.kind);
                assert_eq!(queries.is_err(), wrong, "{id} {range:?}");
                ExactQueries::project(&mechanism, dense).unwrap();
            }
        }
    }
}

#[test]
fn a_plan_for_such_a_range_has_dense_rows_in_mind() {
    let parameters = parameters(MechanismId::DpOporpLaplace, (100.0, 101.0));
    let request = Request {
        mechanism: Some(parameters.mechanism),
        k: Some(parameters.k),
        parameters,
        encoding: Some(Encoding::F32),
        bytes: None,
    };
    plan(&request).unwrap();
    let (offsets, index, values) = ((0..=30).collect::<Vec<_>>(), vec![3; 30], vec![100.5; 30 * DIM]);
    plan_with_sample(&request, Rows::dense(Scalars::F64(&values), DIM)).unwrap();
    let sparse = Rows::sparse(&offsets, &index, Scalars::F64(&values), DIM);
    let Err(PlanError::Sample(error)) = plan_with_sample(&request, sparse) else { panic!("taken") };
    assert_eq!(error.kind, DataErrorKind::SparseRange);
}
