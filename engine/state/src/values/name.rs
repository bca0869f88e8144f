/// Returns whether a name has 1 to 64 characters, all of them from `[A-Za-z0-9._~-]`.
#[must_use]
pub fn is_id(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'~' | b'-'))
}

#[must_use]
pub fn is_name(name: &str) -> bool {
    is_id(name) && name.bytes().any(|b| b != b'.')
}

/// Returns whether an id is a UUID, a ULID, or 32 or more hexadecimal digits. Base32 and base64url are not accepted,
/// because ordinary long names can be valid in them.
#[must_use]
pub fn is_opaque_id(id: &str) -> bool {
    const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_uuid = || id.split('-').map(str::len).eq(UUID_GROUPS) && id.split('-').all(is_hex);
    let is_ulid = || {
        let is_crockford = |b: u8| b.is_ascii_alphanumeric() && !b"ILOU".contains(&b.to_ascii_uppercase());
        id.len() == 26 && id.bytes().all(is_crockford) && id.bytes().next().is_some_and(|b| (b'0'..=b'7').contains(&b))
    };
    is_name(id) && ((id.len() >= 32 && is_hex(id)) || is_uuid() || is_ulid())
}

/// Parses decimal digits. Returns `None` if the text has a sign or a leading zero, or on overflow.
#[must_use]
pub fn number<T: core::str::FromStr>(digits: &str) -> Option<T> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !plain || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    digits.parse().ok()
}

/// Returns whether a character is visible: not in the Unicode 16 categories Cc, Cf, Zl, Zp or Co, and not
/// default-ignorable.
#[must_use]
pub fn is_visible(letter: char) -> bool {
    !matches!(letter,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}'
        | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}')
}

/// Returns whether a text has only [visible](is_visible) characters and spaces, and at least one visible character.
#[must_use]
pub fn is_text(text: &str, characters_max: usize) -> bool {
    text.len() <= characters_max.saturating_mul(4)
        && text.chars().count() <= characters_max
        && text.chars().all(is_visible)
        && !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uf_09_a_number_has_one_name() {
        for (text, wanted) in [("0", 0), ("20", 20), ("18446744073709551615", u64::MAX)] {
            assert_eq!(number::<u64>(text), Some(wanted));
        }
        for bad in ["", "+20", "-0", "00020", "00", " 20", "20 ", "2_0", "٢٠", "18446744073709551616", "1e3", "0x14"]
        {
            assert_eq!(number::<u64>(bad), None, "{bad:?}");
        }
        assert_eq!(number::<u32>("4294967296"), None);
    }

    #[test]
    fn uf_09_dots_alone_are_no_name_but_logs_may_hold_them() {
        for dots in [".", "..", "..."] {
            assert!(!is_name(dots) && is_id(dots));
        }
        for name in ["a", "a.b", ".a", "a..", "~", "-", "A-Z_0~9."] {
            assert!(is_name(name), "{name}");
        }
        for bad in ["", "a/b", "a b", "ä", "a\u{202e}", "a\0", &"x".repeat(65)] {
            assert!(!is_name(bad) && !is_id(bad), "{bad:?}");
        }
    }

    #[test]
    fn pl_37_uuids_ulids_and_long_hexadecimal_numbers_are_opaque_ids() {
        for opaque in [
            "6f1c2f2e-7a4b-4e53-9c1d-0b8a2f6f3c11",
            "6F1C2F2E-7A4B-4E53-9C1D-0B8A2F6F3C11",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01arz3ndektsv4rrffq69g5fav",
            "6f1c2f2e7a4b4e539c1d0b8a2f6f3c11",
            &"0a".repeat(32),
        ] {
            assert!(is_opaque_id(opaque), "{opaque}");
        }
        for named in [
            "",
            "anna",
            "anna.smith.1985",
            "maria-magdalena-gonzalez-perez",
            "mariamagdalenagonzalezperezr",
            "Maria_Magdalena_Gonzalez_1985",
            "6f1c2f2e7a4b4e539c1d0b8a2f6f3c1",
            "6f1c2f2e7a4b4e539c1d0b8a2f6f3c1g",
            "6f1c2f2e-7a4b-4e53-9c1d-0b8a2f6f3c1g",
            "6f1c2f2e-7a4b4-e53-9c1d-0b8a2f6f3c11",
            "81ARZ3NDEKTSV4RRFFQ69G5FAV",
            "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "bWFyaWFAZXhhbXBsZS5jb20",
            &"0a".repeat(33),
        ] {
            assert!(!is_opaque_id(named), "{named}");
        }
    }

    #[test]
    fn uf_09_what_cannot_be_seen_or_turns_the_writing_is_no_text() {
        let hidden = [
            "\0",
            "\n",
            "\t",
            "\u{1b}",
            "\u{7f}",
            "\u{85}",
            "\u{9b}",
            "\u{ad}",
            "\u{34f}",
            "\u{61c}",
            "\u{180e}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{200e}",
            "\u{200f}",
            "\u{2028}",
            "\u{2029}",
            "\u{202a}",
            "\u{202d}",
            "\u{202e}",
            "\u{2060}",
            "\u{2064}",
            "\u{2066}",
            "\u{2069}",
            "\u{206f}",
            "\u{3164}",
            "\u{fe0f}",
            "\u{feff}",
            "\u{fff9}",
            "\u{e000}",
            "\u{e0041}",
            "\u{e01ef}",
            "\u{10ffff}",
        ];
        for letter in hidden {
            assert!(!is_text(letter, 256), "{letter:?}");
            assert!(!is_text(&format!("reel 3 {letter} stuck"), 256), "{letter:?}");
        }
        for text in ["reel 3 stuck", "Walze 3 hängt", "リール3", "بكرة", "a\u{a0}b", "x = y², 5 €", "emoji 🎰", "é"]
        {
            assert!(is_text(text, 256), "{text}");
        }
        for blank in ["", " ", "   ", "\u{a0}", "\u{3000}"] {
            assert!(!is_text(blank, 256), "{blank:?}");
        }
        assert!(
            is_text(&"ä".repeat(256), 256) && !is_text(&"ä".repeat(257), 256) && !is_text(&"x".repeat(60_000), 256)
        );
    }
}
