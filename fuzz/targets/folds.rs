//! Stories of events told to the books: they never panic, every posting has its other side, no balance is negative, and
//! what the writer's fold takes the replay's takes, with the same books at the end.
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
