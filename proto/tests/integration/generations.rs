//! Samples of events about generations of draws (PL-40).

use crate::record::sealed_step;
use motherlode_books::{DrawSealed, Epoch, Event, GenerationBegun, SealReason, StartEvidence};

pub fn events_of_generations() -> Vec<Event> {
    vec![
        Event::GeneratorReseeded { key: Some([1, 2, 3, 4]) },
        begun(StartEvidence::EmptyLog, vec![]),
        begun(StartEvidence::MemoryPage, vec![[1; 4]]),
        begun(StartEvidence::StopMark, vec![]),
        begun(StartEvidence::Followed, vec![]),
        begun(StartEvidence::Missing, vec![]),
        begun(StartEvidence::Restored, vec![[1; 4], [2; 4]]),
        sealed(79, 5, SealReason::SealsEnded),
        sealed_step(vec![1], Some([6; 32]), (4, 5)),
    ]
}

fn begun(evidence: StartEvidence, keys: Vec<Epoch>) -> Event {
    Event::GenerationBegun(Box::new(GenerationBegun {
        number: 7,
        salt: [8; 32],
        unused_seals_end: true,
        evidence,
        lost_to: 90,
        keys_added: keys.clone(),
        keys_lost: keys,
    }))
}

pub fn sealed(number: u64, generation: u64, reason: SealReason) -> Event {
    Event::DrawSealed(DrawSealed { number, epoch: [1, 2, 3, 4], generation, seal: [9; 32], reason })
}
