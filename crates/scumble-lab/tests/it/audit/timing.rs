//! What docs/threat-model.md says of time: how much randomness a row takes never depends on the row, and for some
//! mechanisms on nothing at all.

use scumble::mechanism::{Mechanism, MechanismId, NotionKind, Perturbation};
use scumble::projection::Seed;
use scumble::vectors::{PrivateRow, Range};
use scumble_core::noise::{Noise, SecretRng};
use scumble_lab::audit::small_case;

/// Random bytes that the release of one row takes from a stream.
fn taken(mechanism: &Mechanism, row: &[i32], stream: u64) -> usize {
    let mut rng = SecretRng::for_tests(stream);
    mechanism.release_row(PrivateRow::Dense(row), &mut vec![0; mechanism.k()], &mut rng).unwrap();
    let after = rng.bytes::<8>();
    let mut again = SecretRng::for_tests(stream);
    let all: Vec<u8> = (0..256).flat_map(|_| again.bytes::<8>()).collect();
    all.windows(8).position(|eight| eight == after).expect("the same stream")
}

fn mechanisms() -> impl Iterator<Item = Mechanism> {
    let private = MechanismId::without_files().filter(|id| id.notion() != NotionKind::Individual);
    private.map(|id| Mechanism::new(small_case(id, 1.0, 0.5, Range { lo: -1.0, hi: 1.0 }, Seed([5; 32]))).unwrap())
}

fn rows(mechanism: &Mechanism) -> [Vec<i32>; 4] {
    let (lo, hi) = mechanism.grid().bounds();
    [vec![0; 8], vec![lo; 8], vec![hi; 8], (0..8).map(|i| (i - 4) * (hi / 8)).collect()]
}

#[test]
fn randomness_taken_does_not_depend_on_the_row() {
    for mechanism in mechanisms() {
        for stream in 0..50 {
            let [first, others @ ..] = rows(&mechanism).map(|row| taken(&mechanism, &row, stream));
            assert_eq!(others, [first; 3], "{}", mechanism.id());
        }
    }
}

#[test]
fn randomness_taken_is_fixed_but_for_laplace_and_staircase_noise() {
    let varies =
        |p: &Perturbation| matches!(p, Perturbation::Noise { noise: Noise::Laplace(_) | Noise::Staircase(_), .. });
    for mechanism in mechanisms().filter(|mechanism| !varies(mechanism.perturbation())) {
        let row = &rows(&mechanism)[3];
        let first = taken(&mechanism, row, 0);
        assert!((1..50).all(|stream| taken(&mechanism, row, stream) == first), "{}", mechanism.id());
    }
}
