//! Ed25519 signatures, checked with the big integers that the module has anyway: RFC 8032, section 5.1.7, strictly (points
//! of small order and numbers that are not reduced are refused).
//!
//! Everything here is public, so nothing needs to take constant time, and a check of some milliseconds is fast enough. A
//! library made for speed would be the largest part of the module after the laws. The tests compare this one with it.

use num_bigint::BigUint;
use sha2::{Digest, Sha512};

/// Numbers modulo p = 2^255 - 19, and the curve -x^2 + y^2 = 1 + d x^2 y^2 over them.
struct Curve {
    p: BigUint,
    d: BigUint,
}

/// (X : Y : Z : T) with x = X/Z, y = Y/Z, xy = T/Z.
#[derive(Clone)]
struct Point([BigUint; 4]);

/// True when `signature` of `message` is that of the key; `None` when no signer can have this key.
pub fn holds(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> Option<bool> {
    let curve = Curve::new();
    let signer = curve.read(key).filter(|point| !curve.is_small(point))?;
    let (commitment, scalar) = signature.split_at(32);
    let scalar = BigUint::from_bytes_le(scalar);
    let Some(commitment) = commitment.first_chunk().filter(|_| scalar < order()) else { return Some(false) };
    let Some(point) = curve.read(commitment).filter(|point| !curve.is_small(point)) else { return Some(false) };
    let hash = Sha512::new().chain_update(commitment).chain_update(key).chain_update(message).finalize();
    let challenge = BigUint::from_bytes_le(&hash) % order();
    // S B - k A is R.
    let found = curve.combine(&scalar, &curve.base(), &challenge, &curve.negative(&signer));
    Some(curve.same(&found, &point))
}

/// L: how many multiples the base point has.
fn order() -> BigUint {
    (BigUint::from(1u32) << 252u32) + 27_742_317_777_372_353_535_851_937_790_883_648_493u128
}

impl Curve {
    fn new() -> Self {
        let p = (BigUint::from(1u32) << 255u32) - 19u32;
        let curve = Self { p, d: BigUint::ZERO };
        // d = -121665 / 121666
        let inverse = curve.power(&121_666u32.into(), &(&curve.p - 2u32));
        Self { d: curve.times(&(&curve.p - 121_665u32), &inverse), ..curve }
    }

    fn times(&self, a: &BigUint, b: &BigUint) -> BigUint {
        a * b % &self.p
    }

    fn plus(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + b) % &self.p
    }

    fn minus(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + &self.p - b) % &self.p
    }

    fn power(&self, base: &BigUint, exponent: &BigUint) -> BigUint {
        let mut result = BigUint::from(1u32);
        for bit in (0..exponent.bits()).rev() {
            result = self.times(&result, &result);
            if exponent.bit(bit) {
                result = self.times(&result, base);
            }
        }
        result
    }

    /// The base point: y = 4/5, x even.
    fn base(&self) -> Point {
        let mut bytes = [0x66; 32];
        bytes[0] = 0x58;
        self.read(&bytes).expect("on the curve")
    }

    /// The point with these bytes: y below p, and the lowest bit of x above it.
    fn read(&self, bytes: &[u8; 32]) -> Option<Point> {
        let mut bytes = *bytes;
        let odd = bytes[31] >> 7 == 1;
        bytes[31] &= 0x7f;
        let y = BigUint::from_bytes_le(&bytes);
        if y >= self.p {
            return None;
        }
        // x^2 = u / v, so x = u v^3 (u v^7)^((p-5)/8), times the root of -1 if that is the root of -u/v.
        let (one, square) = (BigUint::from(1u32), self.times(&y, &y));
        let (u, v) = (self.minus(&square, &one), self.plus(&self.times(&self.d, &square), &one));
        let v3 = self.times(&self.times(&v, &v), &v);
        let v7 = self.times(&self.times(&v3, &v3), &v);
        let root = self.power(&self.times(&u, &v7), &((&self.p - 5u32) >> 3u32));
        let mut x = self.times(&self.times(&u, &v3), &root);
        if self.times(&v, &self.times(&x, &x)) != u {
            x = self.times(&x, &self.power(&2u32.into(), &((&self.p - 1u32) >> 2u32)));
        }
        if self.times(&v, &self.times(&x, &x)) != u {
            return None;
        }
        if x.bit(0) != odd {
            x = self.minus(&BigUint::ZERO, &x);
        }
        let t = self.times(&x, &y);
        Some(Point([x, y, one, t]))
    }

    /// The sum, by a formula without exceptions: also of a point with itself.
    fn add(&self, Point([x1, y1, z1, t1]): &Point, Point([x2, y2, z2, t2]): &Point) -> Point {
        let a = self.times(&self.minus(y1, x1), &self.minus(y2, x2));
        let b = self.times(&self.plus(y1, x1), &self.plus(y2, x2));
        let c = self.times(&self.times(&(t1 * 2u32), t2), &self.d);
        let d = self.times(&(z1 * 2u32), z2);
        let (e, f, g, h) = (self.minus(&b, &a), self.minus(&d, &c), self.plus(&d, &c), self.plus(&b, &a));
        Point([self.times(&e, &f), self.times(&g, &h), self.times(&f, &g), self.times(&e, &h)])
    }

    fn negative(&self, Point([x, y, z, t]): &Point) -> Point {
        let zero = BigUint::ZERO;
        Point([self.minus(&zero, x), y.clone(), z.clone(), self.minus(&zero, t)])
    }

    fn zero(&self) -> Point {
        Point([0u32, 1, 1, 0].map(BigUint::from))
    }

    /// `a` times one point and `b` times the other, added.
    fn combine(&self, a: &BigUint, of_a: &Point, b: &BigUint, of_b: &Point) -> Point {
        let mut sum = self.zero();
        for bit in (0..a.bits().max(b.bits())).rev() {
            sum = self.add(&sum, &sum);
            for (_, point) in [(a, of_a), (b, of_b)].into_iter().filter(|(scalar, _)| scalar.bit(bit)) {
                sum = self.add(&sum, point);
            }
        }
        sum
    }

    fn same(&self, Point([x1, y1, z1, _]): &Point, Point([x2, y2, z2, _]): &Point) -> bool {
        self.times(x1, z2) == self.times(x2, z1) && self.times(y1, z2) == self.times(y2, z1)
    }

    /// Eight times the point is zero: such a key signs messages that it never saw.
    fn is_small(&self, point: &Point) -> bool {
        let eight = (0..3).fold(point.clone(), |sum, _| self.add(&sum, &sum));
        self.same(&eight, &self.zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};

    fn dalek(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
        VerifyingKey::from_bytes(key)
            .is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    }

    #[track_caller]
    fn agrees(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
        let found = holds(key, message, signature) == Some(true);
        assert_eq!(found, dalek(key, message, signature), "{key:?} {message:?} {signature:?}");
        found
    }

    #[test]
    fn signatures_hold_as_in_the_library_and_no_altered_one_does() {
        for seed in 0..12u8 {
            let signer = SigningKey::from_bytes(&[seed.wrapping_mul(37); 32]);
            let (key, message) = (signer.verifying_key().to_bytes(), vec![seed; usize::from(seed) * 9]);
            let signature = signer.sign(&message).to_bytes();
            assert!(agrees(&key, &message, &signature));
            for at in (usize::from(seed) % 8..512).step_by(8) {
                let mut altered = signature;
                altered[at / 8] ^= 1 << (at % 8);
                assert!(!agrees(&key, &message, &altered));
            }
            for at in (usize::from(seed) % 16..256).step_by(16) {
                let mut altered = key;
                altered[at / 8] ^= 1 << (at % 8);
                assert!(!agrees(&altered, &message, &signature));
            }
            assert!(!agrees(&key, &[&message[..], b"."].concat(), &signature));
        }
    }

    #[test]
    fn numbers_that_are_not_reduced_and_points_of_small_order_are_refused() {
        let signer = SigningKey::from_bytes(&[9; 32]);
        let key = signer.verifying_key().to_bytes();
        let signature = signer.sign(b"text").to_bytes();
        // S + L is another text of the same number.
        let scalar = BigUint::from_bytes_le(&signature[32..]) + order();
        let mut other = signature;
        other[32..].copy_from_slice(&scalar.to_bytes_le());
        assert!(!agrees(&key, b"text", &other));
        // y = 0, 1, -1, p, p + 1 and the two of order 8, either sign; each as key and as R.
        let p = (BigUint::from(1u32) << 255u32) - 19u32;
        let eight =
            BigUint::parse_bytes(b"7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d706a17c7", 16).unwrap();
        for y in [BigUint::ZERO, 1u32.into(), &p - 1u32, p.clone(), &p + 1u32, eight.clone(), &p - &eight] {
            for sign in [0, 0x80] {
                let mut point = [0; 32];
                point[..y.to_bytes_le().len()].copy_from_slice(&y.to_bytes_le());
                point[31] |= sign;
                let mut zero = [0; 64];
                zero[..32].copy_from_slice(&point);
                assert!(!agrees(&point, b"text", &zero) && !agrees(&point, b"text", &signature));
                assert!(!agrees(&key, b"text", &zero));
            }
        }
    }
}
