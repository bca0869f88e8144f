//! The writer and a replay must fold commits to the same state, postings must balance, and no balance may be negative.
#![cfg_attr(feature = "libfuzzer", no_main)]

use arbitrary::Unstructured;
use motherlode_fuzz::fuzz_target;
use motherlode_fuzz::story::Story;

fuzz_target!(|bytes: &[u8]| {
    let mut choose = Unstructured::new(bytes);
    let mut story = Story::default();
    while !choose.is_empty() && story.len() < 100 {
        if story.tell(&mut choose).is_err() {
            break;
        }
    }
    story.end();
});
