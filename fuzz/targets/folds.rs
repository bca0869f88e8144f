//! The folds of the writer and of a replay agree, postings balance, and no balance is negative.
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
