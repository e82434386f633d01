//! Known answers for the estimators: `tests/oracle` (30 digits, inputs are exact decimals).

use scumble::estimate::variance;
use serde_json::Value;

const TIGHT: f64 = 1e-12;

struct Row(Value);

impl Row {
    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_else(|| panic!("no field {field}"))
    }
    fn number(&self, field: &str) -> f64 {
        self.text(field).parse().unwrap()
    }
    fn size(&self, field: &str) -> u64 {
        self.text(field).parse().unwrap()
    }
    fn list(&self, field: &str) -> Vec<f64> {
        self.0[field].as_array().unwrap().iter().map(|x| x.as_str().unwrap().parse().unwrap()).collect()
    }
    #[track_caller]
    fn agrees(&self, field: &str, found: f64, tolerance: f64) {
        let expected = self.number(field);
        let error = if expected == 0.0 { found.abs() } else { (found / expected - 1.0).abs() };
        assert!(error <= tolerance, "{field}: {found} against {expected} in {}", self.0);
    }
}

fn rows() -> Vec<Row> {
    let json: Value = serde_json::from_str(include_str!("../../oracle/inner_product_variance.json")).unwrap();
    json["rows"].as_array().unwrap().iter().cloned().map(Row).collect()
}

#[test]
fn inner_product_variance() {
    for row in rows() {
        let (u, v) = (row.list("u"), row.list("v"));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum::<f64>();
        let (a, b, g) = (dot(&u, &u), dot(&v, &v), dot(&u, &v));
        let cross = u.iter().zip(&v).map(|(x, y)| (x * y).powi(2)).sum::<f64>();
        let (p, k, s2) = (u.len() as u64, row.size("k"), row.number("sigma").powi(2));
        row.agrees("mean", g, TIGHT);
        let c = variance::oporp_factor(p, k);
        row.agrees("oporp_factor_c", c, TIGHT);
        let sketch = |k: u64, c: f64| variance::Sketch { k: k as f64, s2, m4: 3.0 * s2 * s2, c, excess: -2.0 };
        row.agrees("var_raw", sketch(p, 0.0).inner_product(a, b, g, cross), TIGHT);
        row.agrees("var_rp_rademacher", sketch(k, 1.0 / k as f64).inner_product(a, b, g, cross), TIGHT);
        row.agrees("var_oporp", sketch(k, c).inner_product(a, b, g, cross), TIGHT);
    }
}
