//! Names of data sets: one spelling per account, and none that a reader would take for another.
//!
//! A second account under a look-alike name would be a second budget for the same rows.

use super::error::LedgerError;
use unicode_normalization::UnicodeNormalization;

/// Most characters of a name.
const LONGEST: usize = 200;

/// The one spelling of a name: NFKC, lower case, blanks single, nothing invisible.
pub(super) fn normal(name: &str) -> Result<String, LedgerError> {
    let folded: String = name.nfkc().flat_map(char::to_lowercase).nfkc().filter(|c| !is_invisible(*c)).collect();
    let normal = folded.split(char::is_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if normal.is_empty() || normal.chars().count() > LONGEST || normal.chars().any(char::is_control) {
        return Err(LedgerError::Name { longest: LONGEST });
    }
    match normal.nfkd().find(|c| is_copied(*c)) {
        Some(letter) => Err(LedgerError::Letter { letter }),
        None => Ok(normal),
    }
}

/// What a quick eye sees of a normal name: letters and digits, look-alikes as one.
pub(super) fn skeleton(normal: &str) -> String {
    // Decomposed, so that accents fall away.
    let letters: String = normal.nfkd().map(look_alike).filter(|c| c.is_alphanumeric()).collect();
    if letters.is_empty() { normal.to_owned() } else { letters.replace("rn", "m").replace("vv", "w") }
}

/// Characters that take no space: joiners, marks of direction, soft hyphens, variation selectors, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Letters of phonetics and of scripts that nobody names data in, drawn like Latin ones.
fn is_copied(c: char) -> bool {
    matches!(c,
        '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}' | '\u{13a0}'..='\u{13ff}' | '\u{ab30}'..='\u{abbf}'
        | '\u{2c60}'..='\u{2cff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{a720}'..='\u{a7ff}' | '\u{10280}'..='\u{1044f}'
        | '\u{1d400}'..='\u{1d7ff}')
}

/// The Latin letter that a lower-case letter, a digit or a bar looks like.
fn look_alike(c: char) -> char {
    match c {
        '0' | 'о' | 'ο' | 'օ' => 'o',
        '1' | 'l' | '|' | 'і' | 'ι' | 'ı' | 'ӏ' => 'i',
        'а' | 'α' => 'a',
        'в' | 'β' | 'ß' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' => 'e',
        'һ' | 'н' => 'h',
        'ј' | 'ϳ' => 'j',
        'к' | 'κ' => 'k',
        'м' => 'm',
        'п' | 'η' => 'n',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ѡ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_has_one_spelling() {
        for name in [
            "Mail 2024",
            " mail  2024 ",
            "MAIL\u{a0}2024",
            "ｍａｉｌ 2024",
            "ma\u{200b}il 2024",
            "mail\u{2003}２０２４",
        ] {
            assert_eq!(normal(name).unwrap(), "mail 2024", "{name:?}");
        }
        assert_eq!(normal("cafe\u{301}").unwrap(), normal("CAFÉ").unwrap());
        // Open a, Lisu, Coptic, iota, small capitals, a turned w.
        for name in ["m\u{251}il", "\u{a4df}ail", "\u{2c98}ail", "ma\u{269}l", "\u{1d0d}ail", "\u{28d}ail"] {
            assert!(matches!(normal(name), Err(LedgerError::Letter { .. })), "{name:?}");
        }
        for name in ["", " ", "\u{200b}", "a\u{7}b", &"x".repeat(201)] {
            assert!(normal(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn look_alikes_share_a_skeleton() {
        let of = |name: &str| skeleton(&normal(name).unwrap());
        for (a, b) in [
            ("mail", "mаil"),
            ("mail", "mai|"),
            ("mail-2024", "mail_2024"),
            ("users", "u sers"),
            ("café", "cafe"),
            ("l0g", "log"),
        ] {
            assert_eq!(of(a), of(b), "{a} {b}");
        }
        for (a, b) in [("mail", "mails"), ("q2", "q3"), ("train", "test"), ("日本", "中国"), ("-", "--")] {
            assert_ne!(of(a), of(b), "{a} {b}");
        }
    }
}
