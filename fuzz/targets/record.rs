//! Decodes records of the log and of operators' copies. Encoding the result must give the same bytes.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_proto::{
    convert::{copied, event, play, record, refused},
    log::v1,
    round::v1::{Choice, Outcome},
};
use prost::Message;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(logged) = record::decode(bytes) {
        let written = record::encode(&[7; 32], &logged);
        assert_eq!(record::decode(&written).as_ref(), Ok(&logged));
        let _ = logged.commit.copies();
        let _ = logged.commit.concerns("acme");
    }
    if let Ok(copy) = copied::decode(bytes) {
        let written = copied::encode(&[7; 32], &copy);
        assert_eq!(copied::decode(&written).as_ref(), Ok(&copy));
        let _ = record::decode(&copy.record);
    }
    if let Ok(message) = v1::Event::decode(bytes)
        && let Ok(read) = event::from_log(message)
    {
        assert_eq!(event::from_log(event::to_log(&read)).as_ref(), Ok(&read));
    }
    if let Ok(message) = v1::Refused::decode(bytes)
        && let Ok(read) = refused::from_wire(&message)
    {
        assert_eq!(refused::from_wire(&refused::to_wire(&read)).as_ref(), Ok(&read));
    }
    if let Ok(message) = Choice::decode(bytes)
        && let Ok(read) = play::choice_from_wire(&message)
    {
        assert_eq!(play::choice_from_wire(&play::choice_to_wire(&read)).as_ref(), Ok(&read));
    }
    let _ = Outcome::decode(bytes);
});
