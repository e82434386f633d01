//! Public facts as a tree: what a certificate prints about a mechanism's integers, and what a digest covers.

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(digit).collect()
}

/// SHA-256 of these bytes, end to end.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into()
}

/// A public fact. Fields keep their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// No fact.
    None,
    /// A whole number.
    Integer(i128),
    /// A double, by its bits.
    Number(f64),
    /// Words, or a number too large for other readers' JSON.
    Text(String),
    /// Several facts.
    List(Vec<Fact>),
    /// Named facts.
    Fields(Vec<(&'static str, Fact)>),
}

impl Fact {
    /// A number in decimal digits, since JSON readers round large numbers.
    pub fn decimal(number: u64) -> Self {
        Self::Text(number.to_string())
    }

    /// A list of facts.
    pub fn list<T: Into<Fact>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// SHA-256 of the tree. No two trees share an encoding: every part begins with its kind and its length.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        self.absorb(&mut hash);
        hash.finalize().into()
    }

    fn absorb(&self, hash: &mut Sha256) {
        let mut part = |kind: u8, bytes: &[u8]| {
            hash.update([kind]);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        match self {
            Self::None => part(0, &[]),
            Self::Integer(number) => part(1, &number.to_le_bytes()),
            Self::Number(number) => part(2, &number.to_bits().to_le_bytes()),
            Self::Text(text) => part(3, text.as_bytes()),
            Self::List(items) => {
                part(4, &(items.len() as u64).to_le_bytes());
                items.iter().for_each(|item| item.absorb(hash));
            }
            Self::Fields(fields) => {
                part(5, &(fields.len() as u64).to_le_bytes());
                for (name, fact) in fields {
                    Self::Text((*name).into()).absorb(hash);
                    fact.absorb(hash);
                }
            }
        }
    }
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => serializer.serialize_u64(number),
                (_, Ok(number)) => serializer.serialize_i64(number),
                _ => serializer.collect_str(number),
            },
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Fields(fields) => serializer.collect_map(fields.iter().map(|(name, fact)| (name, fact))),
        }
    }
}

macro_rules! integer {
    ($($type:ty),*) => {
        $(impl From<$type> for Fact {
            fn from(number: $type) -> Self {
                Self::Integer(number as i128)
            }
        })*
    };
}
integer!(u8, u32, u64, usize, i32, i64, bool);

impl From<f64> for Fact {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Fact>> From<Option<T>> for Fact {
    fn from(fact: Option<T>) -> Self {
        fact.map_or(Self::None, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_that_differ_have_different_digests() {
        let trees = [
            Fact::None,
            Fact::Integer(1),
            Fact::Number(1.0),
            Fact::from("1"),
            Fact::list([1u64]),
            Fact::List(vec![Fact::list([1u64])]),
            Fact::list(["ab", "c"]),
            Fact::list(["a", "bc"]),
            Fact::Fields(vec![("a", Fact::Integer(1))]),
            Fact::Fields(vec![("b", Fact::Integer(1))]),
        ];
        for (i, a) in trees.iter().enumerate() {
            assert!(trees[..i].iter().all(|b| a.digest() != b.digest()), "{a:?}");
        }
    }

    #[test]
    fn facts_are_plain_json() {
        let fact = Fact::Fields(vec![("a", u64::MAX.into()), ("b", Fact::from(-3i64)), ("c", None::<u64>.into())]);
        assert_eq!(serde_json::to_string(&fact).unwrap(), r#"{"a":18446744073709551615,"b":-3,"c":null}"#);
    }
}
