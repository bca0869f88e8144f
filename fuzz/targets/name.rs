//! If a name is accepted, formatting it must give the same text, so that no object has two names.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_state::{StreamId, is_id, is_name, is_text, is_visible, number};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(stream) = text.parse::<StreamId>() {
        assert_eq!(stream.to_string(), text);
        assert!(stream.is_valid());
        assert!(stream.partition(7) < 7);
    }
    if let Some(read) = number::<u64>(text) {
        assert_eq!(read.to_string(), text);
    }
    assert!(number::<u32>(text).is_none() || number::<u64>(text).is_some());
    if is_name(text) {
        assert!(is_id(text) && is_text(text, 64) && text.contains(|letter| letter != '.'));
    }
    if is_text(text, 256) {
        assert!(text.chars().all(is_visible) && (1..=256).contains(&text.chars().count()));
        assert!(!text.chars().any(char::is_control));
    }
});
