use crate::node_forgeries::{Service, client, join};
use motherlode_ledger::DrawKeys;
use motherlode_proto::convert::{play::choice_to_wire, record};
use motherlode_rounds::{Live, StepEvents, round_name};
use motherlode_runtime::config::Role;
use motherlode_slots::{Choice, Outcome};
use motherlode_spin::Dealer;
use motherlode_state::{
    Draw, DrawName, DrawSealed, Event, GenerationBegun, Minor, PlayerState, RoundStarted, SealReason, StartEvidence,
    StepResolved, StreamId, draw,
};
use motherlode_tests::{bet, dealer, reason};
use prost::Message as _;
use tonic::Code;

const REQUEST: &str = "forged";

impl Service {
    fn alice(&self) -> PlayerState {
        self.ledger.ledger().player(&self.stream()).unwrap().unwrap()
    }

    fn bet(&self) -> RoundStarted {
        let records = self.ledger.ledger().records(1, usize::MAX, usize::MAX).unwrap();
        let events = records.iter().flat_map(|stored| record::decode(&stored.bytes).unwrap().commit.events);
        let bets = events.filter_map(|event| match event {
            Event::RoundStarted(started) => Some((*started).clone()),
            _ => None,
        });
        RoundStarted { round: self.alice().rounds_started + 1, ..bets.last().unwrap() }
    }

    fn played(&self, keys: &DrawKeys) -> Vec<Event> {
        let (stream, player, started) = (self.stream(), self.alice(), self.bet());
        let next = player.draw.unwrap();
        let generations = self.ledger.ledger().generations();
        let dealt = keys.dealt_under(&stream, &next, &generations).unwrap();
        let (sealed, next_seal) = keys.seal(&stream, next.number + 1, &generations).unwrap();
        let draw = Draw {
            number: next.number,
            epoch: next.epoch,
            generation: next.generation,
            client_seed: vec![],
            next_epoch: sealed.epoch,
            next_generation: sealed.generation,
            next_seal,
            sealed_by: None,
        };
        let name = round_name(&stream, started.round);
        let seed = draw::seed(&dealt, draw.client_seed(REQUEST), &name, 1);
        let (mut live, mut outcome, mut bytes) = (Live::open(&started).unwrap(), Outcome::default(), vec![]);
        live.resolve(&Choice::Spin, seed, &mut outcome).unwrap();
        live.write(&outcome, &mut bytes);
        let due = StepEvents::from_outcome(&outcome, started.contribution.is_some(), None).unwrap();
        let step = StepResolved {
            round: started.round,
            step: 1,
            seed: None,
            draw: Some(draw),
            choice: choice_to_wire(&Choice::Spin).encode_to_vec(),
            outcome: bytes,
            win: due.win,
            automatic: None,
        };
        let (round, over, pool) = (started.round, due.over, started.contribution.as_ref().map(|of| of.pool.clone()));
        let mut events = vec![Event::RoundStarted(started.into()), Event::StepResolved(step.into())];
        due.add_to(round, pool, &mut events);
        events.extend(over.then(|| Event::DrawsRevealed { round, dealt: vec![dealt] }));
        events
    }

    async fn forged(&self, change: impl Fn(&mut StepResolved)) -> String {
        let mut events = self.played(dealer().keys());
        for event in &mut events {
            if let Event::StepResolved(step) = event {
                change(step);
            }
        }
        self.refused("spin", &self.stream(), events).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e3_a_win_against_the_outcome_is_refused_by_the_writer() {
    let service = Service::start().await;
    service.player().await;
    let (alice, most) = (service.stream(), Minor(1_000_000_000_000));
    assert_eq!(service.forged(|step| step.win = most).await, "OUTCOME_DIFFERS");
    assert_eq!(service.forged(|step| step.outcome.push(0)).await, "OUTCOME_DIFFERS");
    let mut settled = service.played(dealer().keys());
    for event in &mut settled {
        match event {
            Event::StepResolved(step) => step.win = most,
            Event::RoundSettled { win, .. } => *win = most,
            _ => {}
        }
    }
    assert_eq!(service.refused("spin", &alice, settled).await, "OUTCOME_DIFFERS");
    let mut hit = service.played(dealer().keys());
    hit.insert(2, Event::JackpotHit { round: service.bet().round, pool: "bewitched".into() });
    assert_eq!(service.refused("spin", &alice, hit).await, "OUTCOME_DIFFERS");
    let unfounded = vec![Event::RoundSettled { round: 1, win: most }];
    assert_eq!(service.refused("spin", &alice, unfounded).await, "OUTCOME_DIFFERS");
    let credited = vec![Event::WinCredited { round: 1, amount: most }];
    assert_eq!(service.refused("spin", &alice, credited).await, "OUTCOME_DIFFERS");
    let blind = service.played(dealer().keys());
    assert_eq!(service.refused_at("spin", &alice, REQUEST, None, blind).await, "VERSION_MISSING");
    service.accepted("spin", &alice, service.played(dealer().keys())).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e1_seals_that_the_draw_keys_do_not_give_are_refused() {
    let service = Service::start().await;
    service.player().await;
    let alice = service.stream();
    let chosen = draw::seal(&[7; 32]);
    let change = |seal| move |step: &mut StepResolved| step.draw.iter_mut().for_each(|draw| draw.next_seal = seal);
    assert_eq!(service.forged(change(chosen)).await, "SEAL_FORGED");
    let unknown = |step: &mut StepResolved| step.draw.iter_mut().for_each(|draw| draw.next_epoch = [9; 4]);
    assert_eq!(service.forged(unknown).await, "SEAL_FORGED");
    let unsealed = |step: &mut StepResolved| (step.draw, step.seed) = (None, Some([7; 32]));
    assert_eq!(service.forged(unsealed).await, "STEP_UNSEALED");
    let next = service.alice().draw.unwrap();
    let number = next.number + 1;
    let generations = service.ledger.ledger().generations();
    let (DrawName { epoch, generation, .. }, seal) = dealer().keys().seal(&alice, number, &generations).unwrap();
    let sealed = |reason, seal| vec![Event::DrawSealed(DrawSealed { number, epoch, generation, seal, reason })];
    let lost = SealReason::KeyLost;
    assert_eq!(service.refused("spin", &alice, sealed(lost, seal)).await, "DRAW_KEY_PRESENT");
    assert_eq!(service.refused("spin", &alice, sealed(lost, chosen)).await, "DRAW_KEY_PRESENT");
    assert_eq!(service.refused("spin", &alice, sealed(SealReason::Unsealed, chosen)).await, "SEAL_FORGED");
    let later = |step: &mut StepResolved| step.draw.iter_mut().for_each(|draw| draw.next_generation = 7);
    assert_eq!(service.forged(later).await, "SEAL_FORGED");
    let named = vec![Event::GeneratorReseeded { key: Some([9; 4]) }];
    assert_eq!(service.refused("spin", &StreamId::System, named).await, "DRAW_KEY_UNKNOWN");
    let begun = GenerationBegun {
        number: generations.current().number + 1,
        salt: [7; 32],
        unused_seals_end: true,
        evidence: StartEvidence::Missing,
        lost_to: 0,
        keys_added: vec![],
        keys_lost: vec![],
    };
    for role in ["spin", "jackpot"] {
        let begun = vec![Event::GenerationBegun(begun.clone().into())];
        assert_eq!(service.refused(role, &StreamId::System, begun).await, "KIND_NOT_ALLOWED");
    }
    service.accepted("spin", &alice, service.played(dealer().keys())).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e1_a_process_with_draw_keys_of_its_own_plays_nothing() {
    let service = Service::start().await;
    let account = service.player().await;
    let thief = join(
        &service.config,
        Role::Spin,
        service.config.data.as_path(),
        &service.ledger,
        "spin",
        Dealer::from_master([66; 32]),
    )
    .await;
    let before = (service.ledger.ledger().durable(), service.alice());
    let refused = client(&thief, "acme").await.spin(bet("stolen", &account, "0.01"), None).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::PermissionDenied, "PROPOSAL_NOT_ALLOWED"), "{refused:?}");
    assert!(refused.message().contains("DRAW_KEY_PRESENT"), "{refused:?}");
    assert_eq!((service.ledger.ledger().durable(), service.alice()), before);
    thief.stop().await.unwrap();
    service.stop().await;
}
