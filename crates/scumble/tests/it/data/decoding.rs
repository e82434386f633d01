//! What decoding finds on real data: the table of the specification (section 4d). Left out, aloud, without the data.

use super::bins::{Images, staircase};
use scumble::decode::Method;
use scumble::mechanism::{MechanismId, Parameters, Required};
use scumble::projection::{Partition, Seed};
use scumble::vectors::Range;

#[test]
fn mnist_decoded_reaches_the_table() {
    let Some(mnist) = Images::mnist() else { return };
    let grid: Partition = "grid:28x28".parse().unwrap();
    let plain = |epsilon| Parameters { bins: None, ..staircase(grid.clone(), 256, epsilon) };
    // Without decoding .226/.359 and .345/.426.
    for (name, parameters, private, exact) in [
        ("OPORP, epsilon 2", plain(2.0), 0.33, 0.49),
        ("blocks, epsilon 1", staircase(grid.clone(), 64, 1.0), 0.345, 0.435),
    ] {
        for method in [Method::Wiener, Method::Scale] {
            let found = mnist.recall_decoded(&parameters, None, Some(method));
            println!("MNIST {name}, {method:?}: {:.3} / {:.3}", found.0, found.1);
            let least = if method == Method::Wiener { (private, exact) } else { (0.9 * private, 0.9 * exact) };
            assert!(found.0 >= least.0 && found.1 >= least.1, "{name} {method:?}: {found:?}");
        }
    }
}

/// What the range alone tells, without a projection: .33/.43 without.
#[test]
fn mnist_within_bounds() {
    let Some(mnist) = Images::mnist() else { return };
    let range = Range { lo: 0.0, hi: 255.0 };
    let raw = Parameters::new(Required {
        mechanism: MechanismId::RawStaircase,
        dim: 784,
        k: 784,
        epsilon: 3.0,
        beta: 255.0,
        range,
        seed: Seed([1; 32]),
    });
    let found = mnist.recall_decoded(&raw, None, Some(Method::Bounds));
    println!("MNIST raw, epsilon 3, bounds: {:.3} / {:.3}", found.0, found.1);
    assert!(found.0 >= 0.45 && found.1 >= 0.58, "{found:?}");
}
