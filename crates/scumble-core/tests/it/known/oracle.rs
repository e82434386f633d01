//! Known answers: every file in `tests/oracle` (30 digits, inputs are exact decimals) against the calibration.

use scumble_core::calibration::{Ratio, comparison, composition, gaussian, laplace, sensitivity, signs, staircase};
use serde_json::Value;

/// Where double precision allows; the few looser places say why.
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
    /// Logarithm of a decimal that may lie below the range of f64.
    fn ln(&self, field: &str) -> f64 {
        let (digits, exponent) = self.text(field).split_once('e').unwrap_or((self.text(field), "0"));
        digits.parse::<f64>().unwrap().ln() + exponent.parse::<f64>().unwrap() * std::f64::consts::LN_10
    }
    #[track_caller]
    fn agrees(&self, field: &str, found: f64, tolerance: f64) {
        let expected = self.number(field);
        let error = if expected == 0.0 { found.abs() } else { (found / expected - 1.0).abs() };
        assert!(error <= tolerance, "{field}: {found} against {expected}, error {error:e} in {}", self.0);
    }
    /// Compares a value and its logarithm: the value where f64 holds it, the logarithm everywhere.
    #[track_caller]
    fn agrees_with_ln(&self, field: &str, found: f64, ln_found: f64, tolerance: f64) {
        let ln = self.ln(field);
        assert!(
            (ln_found - ln).abs() <= tolerance * ln.abs().max(1.0),
            "{field}: ln {ln_found} against {ln} in {}",
            self.0
        );
        if ln > -700.0 {
            self.agrees(field, found, tolerance);
        }
    }
}

fn rows(file: &str) -> Vec<Row> {
    let path = format!("{}/tests/oracle/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let rows: Vec<Row> = json["rows"].as_array().unwrap().iter().cloned().map(Row).collect();
    assert!(!rows.is_empty());
    rows
}

#[test]
fn every_oracle_file_has_a_test() {
    let source = include_str!("oracle.rs");
    for file in std::fs::read_dir(format!("{}/tests/oracle", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let call = format!("rows(\"{}\")", name.strip_suffix(".json").unwrap());
        assert!(source.contains(&call), "{name} is not tested");
    }
}

#[test]
fn gauss_sigma_opt() {
    for row in rows("gauss_sigma_opt") {
        let sigma = gaussian::sigma_optimal(row.number("eps"), row.number("delta"), row.number("Delta")).unwrap();
        row.agrees("sigma", sigma, TIGHT);
        // On the private side of the 30-digit root, not merely near it.
        assert!(sigma > row.number("sigma"));
    }
}

#[test]
fn kenthapadi_sigma() {
    for row in rows("kenthapadi_sigma") {
        let sigma = gaussian::sigma_kenthapadi(row.number("eps"), row.number("delta"), row.number("Delta")).unwrap();
        row.agrees("sigma", sigma, TIGHT);
        assert!(sigma > row.number("sigma"));
    }
}

#[test]
fn analytic_dp_rp_g_sigma() {
    for row in rows("analytic_dp_rp_g_sigma") {
        let (p, k) = (row.size("p"), row.size("k"));
        let sigma = gaussian::sigma_analytic(row.number("eps"), row.number("delta"), p, k, row.number("beta")).unwrap();
        row.agrees("sigma", sigma, TIGHT);
        assert!(sigma > row.number("sigma"));
    }
}

#[test]
fn gdp_delta() {
    for row in rows("gdp_delta") {
        let (mu, epsilon) = (row.number("mu"), row.number("eps"));
        let ln = gaussian::ln_delta_gaussian(epsilon, mu);
        row.agrees_with_ln("delta", composition::gdp_delta(mu, epsilon), ln, TIGHT);
    }
}

#[test]
fn discrete_gaussian_delta() {
    for row in rows("discrete_gaussian_delta") {
        let (epsilon, steps, sigma2) = (row.number("eps"), row.size("Delta_int"), row.number("sigma2"));
        row.agrees("delta", comparison::discrete_gaussian_delta(epsilon, steps, sigma2).unwrap(), TIGHT);
        row.agrees("continuous_delta", gaussian::delta_gaussian(epsilon, steps as f64 / sigma2.sqrt()), TIGHT);
    }
}

#[test]
fn gaussian_w_fixed_pair_delta() {
    for row in rows("gaussianW_fixed_pair_delta") {
        let (epsilon, sigma, beta) = (row.number("eps"), row.number("sigma"), row.number("beta"));
        row.agrees("delta", comparison::fixed_pair_delta(row.size("k"), epsilon, sigma, beta).unwrap(), TIGHT);
    }
}

#[test]
fn discrete_laplace() {
    for row in rows("discrete_laplace") {
        let (epsilon, steps) = (row.number("eps"), row.size("Delta_int"));
        let (a, unit) = (laplace::ratio(epsilon, steps), steps as f64);
        row.agrees("p0", laplace::p0(a), TIGHT);
        row.agrees("variance", laplace::variance(a), TIGHT);
        row.agrees("variance_in_units_of_beta", laplace::variance(a) / (unit * unit), TIGHT);
        row.agrees("continuous", laplace::continuous_variance(epsilon, 1.0), TIGHT);
    }
}

#[test]
fn discrete_staircase() {
    for row in rows("discrete_staircase") {
        let (b, steps) = (Ratio::from_exponent(row.number("eps")), row.size("Delta_int"));
        let (r, unit) = (staircase::optimal_r(b, steps), steps as f64);
        assert_eq!(r, row.size("r"), "{}", row.0);
        row.agrees("p0", staircase::p0(b, steps, r), TIGHT);
        row.agrees("variance", staircase::variance(b, steps, r), TIGHT);
        row.agrees("variance_in_beta_units", staircase::variance(b, steps, r) / (unit * unit), TIGHT);
    }
}

#[test]
fn continuous_staircase() {
    for row in rows("staircase") {
        let (epsilon, sensitivity) = (row.number("eps"), row.number("Delta"));
        let b = Ratio::from_exponent(epsilon);
        let gamma = staircase::optimal_gamma(b);
        row.agrees("gamma", gamma, TIGHT);
        row.agrees("density_peak", staircase::continuous_peak(b, gamma, sensitivity), TIGHT);
        row.agrees("variance", staircase::continuous_variance(b, gamma, sensitivity), TIGHT);
        row.agrees("variance_direct", staircase::continuous_variance(b, gamma, sensitivity), TIGHT);
        row.agrees("laplace_variance", laplace::continuous_variance(epsilon, sensitivity), TIGHT);
    }
}

#[test]
fn kov_delta_forward() {
    for row in rows("kov_delta_forward") {
        let (k, epsilon0, epsilon) = (row.size("k"), row.number("eps0"), row.number("eps"));
        let ln = composition::ln_kov_delta(k, epsilon0, epsilon);
        row.agrees_with_ln("delta", composition::kov_delta(k, epsilon0, epsilon), ln, TIGHT);
    }
}

#[test]
fn kov_eps0() {
    for row in rows("kov_eps0") {
        let (k, epsilon) = (row.size("k"), row.number("eps"));
        let epsilon0 = composition::kov_epsilon0(k, epsilon, row.number("delta")).unwrap();
        row.agrees("eps0", epsilon0, TIGHT);
        assert!(epsilon0 < row.number("eps0"));
        row.agrees("eps_over_k", composition::kov_epsilon0(k, epsilon, 0.0).unwrap(), TIGHT);
        // A last digit of epsilon0 moves the loss by k epsilon0 2^-53, which counts against delta itself.
        let conditioning = k as f64 * row.number("eps0") * f64::EPSILON / row.number("delta");
        row.agrees("delta_check", composition::kov_delta(k, row.number("eps0"), epsilon), TIGHT + conditioning);
    }
}

#[test]
fn advanced_composition() {
    for row in rows("advanced_composition") {
        let (k, epsilon0) = (row.size("k"), row.number("eps0"));
        row.agrees("eps_basic", k as f64 * epsilon0, TIGHT);
        row.agrees("eps_drv", comparison::advanced_composition(k, epsilon0, row.number("delta_prime")), TIGHT);
    }
}

#[test]
fn zcdp_to_delta() {
    for row in rows("zcdp_to_delta") {
        let (rho, epsilon) = (row.number("rho"), row.number("eps"));
        let ln = composition::ln_zcdp_delta(rho, epsilon);
        row.agrees_with_ln("delta", composition::zcdp_delta(rho, epsilon), ln, TIGHT);
        // The classical conversion holds for epsilon > rho and is never better.
        let classical = if epsilon > rho { -(epsilon - rho).powi(2) / (4.0 * rho) } else { 0.0 };
        row.agrees_with_ln("delta_bun_steinke", classical.exp(), classical, TIGHT);
        assert!(ln <= classical);
    }
}

#[test]
fn group_privacy() {
    for row in rows("group_privacy") {
        let (epsilon, delta) = composition::group(row.number("eps"), row.number("delta"), row.size("g"));
        row.agrees("eps_group", epsilon, TIGHT);
        row.agrees("delta_group", delta, TIGHT);
    }
}

#[test]
fn p_plus() {
    for row in rows("p_plus") {
        row.agrees("P_plus", signs::p_plus(row.number("r"), row.size("p")), TIGHT);
    }
}

#[test]
fn n_plus() {
    for row in rows("n_plus") {
        let (r, p, k, delta) = (row.number("r"), row.size("p"), row.size("k"), row.number("delta"));
        row.agrees("r", row.number("beta") / row.number("m"), TIGHT);
        row.agrees("F", signs::p_plus(r, p), TIGHT);
        row.agrees("N_plus", signs::n_plus(r, p, k, delta).unwrap(), TIGHT);
        assert_eq!(comparison::n_plus_binomial(signs::p_plus(r, p), k, delta), row.size("N_binomial"));
    }
}

#[test]
fn sign_change_probability() {
    for row in rows("sign_change_probability") {
        let (m, beta) = (row.number("m"), row.number("beta"));
        row.agrees("q_both", signs::sign_change_probability_gaussian(beta, m), TIGHT);
        row.agrees("q_one", comparison::sign_change_probability_gaussian_one_norm(beta, m), TIGHT);
        row.agrees("P_rademacher_approx", signs::sign_change_approximation_rademacher(beta, m), TIGHT);
        row.agrees("P_rademacher_safe", comparison::sign_change_safe_rademacher(beta, m, row.number("C")), TIGHT);
    }
}

#[test]
fn sign_flip_probabilities() {
    for row in rows("sign_flip_probs") {
        let (x, epsilon) = (row.number("x_over_beta"), row.number("eps"));
        row.agrees("L", x.ceil(), 0.0);
        row.agrees("flip_rr", signs::flip_rr(x, epsilon), TIGHT);
        row.agrees("flip_paper_smooth", signs::flip_smooth(x, epsilon), TIGHT);
        row.agrees("flip_ceil", signs::flip_ceil(x, epsilon), TIGHT);
        row.agrees("flip_laplace", comparison::flip_laplace(x, epsilon), TIGHT);
    }
}

#[test]
fn tight_epsilon_prime() {
    for row in rows("signrp_tight_eps_prime") {
        let (k, epsilon, delta) = (row.size("k"), row.number("eps"), row.number("delta"));
        let q = signs::sign_change_probability_gaussian(row.number("beta"), row.number("m"));
        row.agrees("q", q, TIGHT);
        let epsilon_prime = signs::tight_epsilon_prime(k, q, epsilon, delta).unwrap();
        row.agrees("eps_prime", epsilon_prime, TIGHT);
        assert!(epsilon_prime < row.number("eps_prime"));
        row.agrees("flip", signs::flip_rr(1.0, epsilon_prime), TIGHT);
        row.agrees("delta_check", signs::tight_delta(k, q, row.number("eps_prime"), epsilon), 1e-10);
    }
}

#[test]
fn v_rr() {
    for row in rows("v_rr") {
        let found = comparison::v_rr(row.number("theta"), row.number("eps_prime"));
        row.agrees("V_RR", found, TIGHT);
        row.agrees("V_RR_direct", found, TIGHT);
    }
}

#[test]
fn lemma42_conditional() {
    for row in rows("lemma42_conditional") {
        let (r, rho) = (row.number("r"), row.number("rho"));
        row.agrees("P", comparison::lemma42_probability(r, rho), TIGHT);
        row.agrees("E", comparison::lemma42_expectation(r, rho, row.number("sigma_x")), TIGHT);
    }
}

#[test]
fn half_normal_bound() {
    for row in rows("half_normal_bound") {
        let bound = comparison::half_normal_bound(row.size("n"), row.number("t"));
        row.agrees("threshold", bound.threshold, TIGHT);
        row.agrees("lipschitz", bound.lipschitz, TIGHT);
        row.agrees("prob_bound", bound.probability, TIGHT);
    }
}

#[test]
fn sensitivity_bounds() {
    for row in rows("sensitivity_bounds") {
        let (p, k, delta, beta) = (row.size("p"), row.size("k"), row.number("delta"), row.number("beta"));
        row.agrees("delta2_bound", sensitivity::delta2_bound(p, k, delta, beta).unwrap(), TIGHT);
        row.agrees("delta1_bound", sensitivity::delta1_bound(p, k, delta, beta).unwrap(), TIGHT);
        row.agrees("delta1_lipschitz", comparison::delta1_lipschitz(p, k, delta, beta).unwrap(), TIGHT);
    }
}
