//! What the binary before the split promised and wrote: every mechanism and encoding. `tests/vectors/round-one.json`
//! holds certificates of that binary; the same parameters must give the same integers now.

use scumble::mechanism::{Mechanism, Parameters};
use scumble::release::Encoder;
use serde_json::{Value, json};

#[test]
fn the_numbers_of_round_one_are_those_of_today() {
    let old: Vec<Value> = serde_json::from_str(include_str!("../../vectors/round-one.json")).unwrap();
    assert!(old.len() > 80);
    for stated in old {
        let parameters: Parameters = serde_json::from_value(stated["parameters"].clone()).unwrap();
        let mechanism = Mechanism::new(parameters).unwrap();
        let encoding = stated["encoding"]["name"].as_str().unwrap().parse().unwrap();
        let encoder = Encoder::new(&mechanism, Some(encoding)).unwrap();
        let guarantee = mechanism.promise().guarantee();
        let derived = json!({
            "noise": serde_json::to_value(mechanism.perturbation().facts()).unwrap(),
            "grid_exponent": mechanism.grid().exponent(),
            "encoding": serde_json::to_value(encoder.statement()).unwrap(),
            "kind": mechanism.projection().kind().to_string(),
            "epsilon": guarantee.map(|guarantee| guarantee.epsilon),
            "checked_epsilon": guarantee.map(|guarantee| guarantee.checked_epsilon),
        });
        for (field, value) in derived.as_object().unwrap() {
            let stated = if field == "kind" { &stated["projection"]["kind"] } else { &stated[field] };
            let (mut value, mut stated) = (value.clone(), stated.clone());
            // Values of symbols come from a platform-free library of functions since: equal but for the last digits.
            let of = |encoding: &mut Value| encoding.as_object_mut().and_then(|fields| fields.remove("values"));
            if let (Some(now), Some(then)) = (of(&mut value), of(&mut stated)) {
                let numbers = |list: Value| serde_json::from_value::<Vec<f64>>(list).unwrap();
                for (now, then) in numbers(now).into_iter().zip(numbers(then)) {
                    assert!((now - then).abs() < 1e-12 * (1.0 + then.abs()), "{}: {now} {then}", mechanism.id());
                }
            }
            assert_eq!(value, stated, "{}: {field}", mechanism.id());
        }
    }
}
