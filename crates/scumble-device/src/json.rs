//! A small strict reader of JSON: what a campaign needs, nothing repaired, nothing guessed.

use scumble_core::exact;
use scumble_core::facts::Fact;

/// The deepest nesting that is read.
const DEEPEST: usize = 16;
/// The most fields of one object that are read.
const MOST_FIELDS: usize = 64;

/// A value. Numbers keep their digits, so that integers are compared as they are written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number's own text.
    Number(&'a str),
    /// A string without its escapes.
    Text(String),
    /// `[..]`.
    List(Vec<Json<'a>>),
    /// `{..}`, every name once.
    Fields(Vec<(String, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole text.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        (reader.at == text.len()).then_some(value)
    }

    /// A field of an object.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Self::Fields(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The double nearest to a number.
    pub fn double(&self) -> Option<f64> {
        match self {
            Self::Number(digits) => exact::read(digits),
            _ => None,
        }
    }

    /// A whole number of a Rust type, if its digits are one.
    pub fn number<T: TryFrom<i128>>(&self) -> Option<T> {
        T::try_from(self.integer()?).ok()
    }

    /// Digits of at most 64 bits, with a sign: one reader for all types.
    fn integer(&self) -> Option<i128> {
        let Self::Number(text) = self else { return None };
        let digits = text.strip_prefix('-').unwrap_or(text);
        let digit = |sum: u64, byte: u8| {
            let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
            sum.checked_mul(10)?.checked_add(digit.into())
        };
        let size = i128::from(digits.bytes().try_fold(0, digit).filter(|_| !digits.is_empty())?);
        Some(if digits.len() < text.len() { -size } else { size })
    }

    /// The items of a list.
    pub fn list(&self) -> Option<&[Json<'a>]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// True when this is how the core's fact is written.
    pub fn states(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (Self::Null, Fact::None) => true,
            (Self::Number(_), Fact::Integer(number)) => self.number() == Some(*number),
            (Self::Number(_), Fact::Number(number)) => self.double() == Some(*number),
            (Self::Text(text), Fact::Text(other)) => text == other,
            (Self::List(items), Fact::List(facts)) => {
                items.len() == facts.len() && items.iter().zip(facts).all(|(item, fact)| item.states(fact))
            }
            (Self::Fields(fields), Fact::Fields(facts)) => {
                let same = |((name, value), (of, fact)): (&(String, Json<'_>), &(&str, Fact))| {
                    name == of && value.states(fact)
                };
                fields.len() == facts.len() && fields.iter().zip(facts).all(same)
            }
            _ => false,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn blanks(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| b" \n\r\t".contains(byte)).count();
    }

    /// Takes this byte, after blanks.
    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let there = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Option<Json<'a>> {
        self.text[self.at..].starts_with(word).then(|| {
            self.at += word.len();
            value
        })
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        self.blanks();
        match self.text.as_bytes().get(self.at)? {
            _ if depth > DEEPEST => None,
            b'n' => self.word("null", Json::Null),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'"' => self.string().map(Json::Text),
            b'[' => self.list(depth),
            b'{' => self.fields(depth),
            _ => self.number(),
        }
    }

    /// Digits, dot, exponent. Whether they make a number is for the type that reads them to say.
    fn number(&mut self) -> Option<Json<'a>> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)).count();
        self.at += length;
        let digits = &rest[..length];
        (digits.starts_with(|c: char| c.is_ascii_digit() || c == '-')).then_some(Json::Number(digits))
    }

    fn list(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Some(Json::List(items));
            }
            self.take(b',').then_some(())?;
        }
    }

    fn fields(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut fields: Vec<(String, Json<'a>)> = Vec::new();
        if self.take(b'}') {
            return Some(Json::Fields(fields));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.take(b':').then_some(())?;
            // Two values under one name: readers would differ in which they take.
            if fields.len() == MOST_FIELDS || fields.iter().any(|(other, _)| *other == name) {
                return None;
            }
            fields.push((name, self.value(depth + 1)?));
            if self.take(b'}') {
                return Some(Json::Fields(fields));
            }
            self.take(b',').then_some(())?;
        }
    }

    fn string(&mut self) -> Option<String> {
        let rest = self.text[self.at..].strip_prefix('"')?;
        let mut out = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 2;
                    return Some(out);
                }
                '\\' => out.push(match chars.next()?.1 {
                    c @ ('"' | '\\' | '/') => c,
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'u' => {
                        let code = (0..4).try_fold(0, |code, _| Some(code * 16 + chars.next()?.1.to_digit(16)?))?;
                        char::from_u32(code)?
                    }
                    _ => return None,
                }),
                c if c < ' ' => return None,
                c => out.push(c),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_serde_writes_is_read() {
        let value = serde_json::json!({
            "a": [1, -2.5, 1e-6, u64::MAX, null, true, false],
            "b": { "c": "quote \" slash \\ line \n bell \u{7} ä 漢" , "d": [] , "e": {} },
        });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let json = Json::parse(&text).unwrap();
            assert_eq!(json.get("a").unwrap().list().unwrap()[3].number(), Some(u64::MAX));
            assert_eq!(json.get("a").unwrap().list().unwrap()[2].double(), Some(1e-6));
            let words = json.get("b").unwrap().get("c").unwrap().text().unwrap();
            assert_eq!(words, value["b"]["c"].as_str().unwrap());
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(40) + &"]".repeat(40);
        for text in [
            "",
            "{",
            "}",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "\"open",
            "\"\\x\"",
            "\"\\ud800\"",
            "nul",
            "1 2",
            "+1",
            "{\"a\":1,\"a\":2}",
            "\"line\nbreak\"",
            &deep,
        ] {
            assert_eq!(Json::parse(text), None, "{text}");
        }
    }

    #[test]
    fn facts_are_compared_by_kind_and_value() {
        let fact = Fact::Fields(vec![("a", Fact::list([1u64, u64::MAX])), ("b", Fact::None), ("c", Fact::from("x"))]);
        let text = serde_json::to_string(&fact).unwrap();
        assert!(Json::parse(&text).unwrap().states(&fact));
        for (from, to) in [
            ("null", "0"),
            ("\"x\"", "\"y\""),
            ("[1,", "[2,"),
            ("\"b\"", "\"d\""),
            ("\"c\":\"x\"", "\"c\":\"x\",\"e\":1"),
        ] {
            assert!(!Json::parse(&text.replace(from, to)).unwrap().states(&fact), "{to}");
        }
    }
}
