use crate::node_forgeries::{Service, acted, client, join, terms};
use motherlode_proto::{
    ledger::v1::SetExchangeRateRequest, log::v1::verdict::Outcome as Verdict, round::v1::Account, spin::v1::SpinRequest,
};
use motherlode_runtime::config::{Role, Rules};
use motherlode_slots::latest;
use motherlode_state::{
    Award, Campaign, CoinValue, Currency, Event, FxRate, InternalRequest, LiabilityReserved, Minor, MirroredAward,
    Nano, PartitionReported, PoolMirrored, PoolStatus, StreamId, StretchEnd,
};
use motherlode_tests::{EUR, Force, bet, campaign, dealer, pool::POOL, reason, smallest, stake_on, vials};
use tonic::Code;

fn award(stream: &StreamId, amount: i64) -> Event {
    let (eur, most) = (Nano::major(amount), Minor(amount * 100));
    Event::JackpotAwarded(Box::new(Award {
        partition: 0,
        hit: 3,
        stream: stream.clone(),
        round: 1,
        cycle: 1,
        collision: false,
        currency: Currency::EUR,
        coin_value: CoinValue(10_000_000),
        rate: FxRate::ONE,
        amount: most,
        increments: Nano::ZERO,
        seed_from_reserve: Nano::ZERO,
        seed_from_house: eur,
        to_reserve: Nano::ZERO,
        paid: eur,
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e1_forged_awards_and_steps_of_a_pool_are_refused() {
    let service = Service::start().await;
    service.player().await;
    let (alice, pool, hit, most) = (service.stream(), StreamId::pool(POOL), 3, Nano::major(1_000_000));
    let end = service.ledger.ledger().durable();
    let report = PartitionReported {
        partition: 7,
        from: 1,
        to: 0,
        contributions: Nano::ZERO,
        end: StretchEnd::Standing { open_rounds: 0, mirrored: 0 },
        voids: vec![],
        cycle: 0,
    };
    let (from_increments, from_reserve, from_house) = (Nano::ZERO, Nano::ZERO, most);
    let forged = [
        (&pool, award(&alice, 1_000_000), "REFUSED"),
        (&pool, Event::ContributionsPooled { partition: 0, from: 1, to: end, amount: most }, "REFUSED"),
        (
            &pool,
            Event::ContributionTakenBack {
                partition: 0,
                position: hit,
                amount: most,
                from_increments,
                from_reserve,
                from_house,
            },
            "REFUSED",
        ),
        (
            &pool,
            Event::ContributionsReturned {
                incident: "none".into(),
                partition: 0,
                voids: 1,
                amount: most,
                from_increments,
                from_reserve,
                from_house,
            },
            "REFUSED",
        ),
        (
            &pool,
            Event::AwardReversed {
                partition: 0,
                position: hit,
                amount: most,
                to_house: Nano::ZERO,
                operator: "acme".into(),
            },
            "REFUSED",
        ),
        (&pool, Event::PoolReceived { from: "other".into(), increments: most, reserve: most }, "REFUSED"),
        (&pool, Event::PartitionReported(Box::new(report)), "REPORT_DIFFERS"),
        (
            &alice,
            Event::JackpotPaid {
                round: 1,
                pool: POOL.into(),
                hit,
                amount: Minor(100_000_000),
                currency: Currency::EUR,
            },
            "REFUSED",
        ),
    ];
    for (stream, event, code) in forged {
        assert_eq!(service.refused("spin", stream, vec![event.clone()]).await, "KIND_NOT_ALLOWED", "{event:?}");
        assert_eq!(service.refused("jackpot", stream, vec![event.clone()]).await, code, "{event:?}");
    }
    let steps = service.ledger.ledger().books(|books| books.pool_step(POOL)).unwrap().unwrap();
    service.accepted("jackpot", &pool, steps).await;
    service.stop().await;
}

fn player_in(partition: u32) -> String {
    let names = (0..).map(|number| format!("p{number}"));
    names.into_iter().find(|name| StreamId::player("acme", name).partition(2) == partition).unwrap()
}

impl Service {
    async fn hit(&self, player: &str) -> Account {
        let account = client(&self.ledger, "acme").await.fund(player, EUR, 1_000_000).await;
        let mut spin = client(&self.spin, "acme").await;
        let mut request = bet("hit", &account, "0.20");
        request.stake.as_mut().unwrap().coins_per_line = 10;
        let spun = spin.spin(request, Some(Force::Pick)).await.unwrap();
        spin.choose("hit.1", &spun.round_id, vials(), Some(Force::Jackpot)).await.unwrap();
        account
    }

    async fn code(&self, partition: u32, stream: &StreamId, request_id: &str, event: &Event) -> String {
        let ledger = self.ledger.ledgers().partition(partition).unwrap();
        let before = ledger.durable();
        let version = ledger.books(|books| books.head(stream).version);
        let outcome =
            self.propose("jackpot", partition, stream, request_id, Some(version), std::slice::from_ref(event)).await;
        match outcome {
            Some(Verdict::Position(_)) => return "TAKEN".to_owned(),
            _ => assert_eq!(ledger.durable(), before, "{event:?} was written"),
        }
        match outcome {
            Some(Verdict::NotTaken(not_taken)) => not_taken.reason.split(':').next().unwrap_or_default().to_owned(),
            Some(Verdict::ConflictVersion(_)) => "CONFLICT".to_owned(),
            other => panic!("{event:?}: {other:?}"),
        }
    }

    fn report(&self) -> PartitionReported {
        let ledgers = self.ledger.ledgers();
        let there = ledgers.partition(1).unwrap();
        ledgers.home().books(|home| there.books(|there| home.partition_report(POOL, 1, there))).unwrap()
    }

    fn mirror(&self) -> PoolMirrored {
        let ledgers = self.ledger.ledgers();
        let there = ledgers.partition(1).unwrap();
        ledgers.home().books(|home| there.books(|there| home.mirror_as_of_now(POOL, 1, there))).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_reports_mirrors_and_copies_follow_from_the_other_partitions_log() {
    let service = Service::start_with(2, "").await;
    let player = player_in(1);
    service.hit(&player).await;
    let pool = StreamId::pool(POOL);

    let honest = service.report();
    let StretchEnd::Decision(decision) = &honest.end else { panic!("{honest:?}") };
    let mut other = honest.clone();
    other.contributions = Nano(honest.contributions.0 * 1_000);
    let unhit = PartitionReported { end: StretchEnd::Standing { open_rounds: 0, mirrored: 0 }, ..honest.clone() };
    let early = PartitionReported { end: StretchEnd::Decision(decision.clone()), to: honest.to - 1, ..honest.clone() };
    let later = PartitionReported { to: honest.to + 1_000, ..honest.clone() };
    for (report, code) in
        [(other, "REPORT_DIFFERS"), (unhit, "REPORT_DIFFERS"), (early, "REPORT_DIFFERS"), (later, "CONFLICT")]
    {
        let event = Event::PartitionReported(Box::new(report));
        assert_eq!(service.code(0, &pool, "forged", &event).await, code, "{event:?}");
    }
    let event = Event::PartitionReported(Box::new(honest));
    assert_eq!(service.code(0, &pool, "honest", &event).await, "TAKEN");

    let steps = service.ledger.ledger().books(|books| books.pool_step(POOL)).unwrap().unwrap();
    assert!(steps.iter().any(|event| matches!(event, Event::JackpotAwarded(_))));
    service.accepted("jackpot", &pool, steps).await;
    let honest = service.mirror();
    assert_eq!(honest.awards.len(), 1);
    let mut rich = honest.clone();
    rich.awards = vec![MirroredAward { amount: Minor(1_000_000_000_000), ..honest.awards[0].clone() }];
    let suspended = PoolMirrored { status: PoolStatus::Suspended, ..honest.clone() };
    let cheap = PoolMirrored { terms: terms(), ..honest.clone() };
    let later = PoolMirrored { home_position: honest.home_position + 1_000, ..rich.clone() };
    for (mirror, code) in
        [(rich, "MIRROR_DIFFERS"), (suspended, "MIRROR_DIFFERS"), (cheap, "MIRROR_DIFFERS"), (later, "CONFLICT")]
    {
        let event = Event::PoolMirrored(Box::new(mirror));
        assert_eq!(service.code(1, &pool, "forged", &event).await, code, "{event:?}");
    }
    let event = Event::PoolMirrored(Box::new(honest));
    assert_eq!(service.code(1, &pool, "honest", &event).await, "TAKEN");

    let rate = |mantissa| Event::RateSet {
        currency: Currency::SEK,
        rate: FxRate::new(mantissa, -2).unwrap(),
        source: "x".to_owned(),
    };
    let home = service.ledger.ledgers().home();
    service.accepted("peer", &StreamId::Rates, vec![rate(9), acted("c0")]).await;
    let position = home.durable();
    for (position, event, code) in [
        (position, rate(900), "COPY_DIFFERS"),
        (position - 1, rate(9), "COPY_DIFFERS"),
        (0, rate(9), "COPY_DIFFERS"),
        (position + 1_000, rate(9), "CONFLICT"),
        (position, rate(9), "TAKEN"),
    ] {
        let request = InternalRequest::CopyHome { position }.to_string();
        assert_eq!(service.code(1, &StreamId::Rates, &request, &event).await, code, "{position}: {event:?}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_pl_41_the_writer_refuses_bets_on_superseded_versions() {
    let service = Service::start().await;
    let neptune = latest("neptune").unwrap();
    let nemo = client(&service.ledger, "acme").await.fund("nemo", EUR, 100_000).await;
    let mut config = service.config.clone();
    config.rules = Rules { superseded_enabled: vec!["neptune 1.0".to_owned()] };
    let thief = join(&config, Role::Spin, config.data.as_path(), &service.ledger, "spin", dealer()).await;
    let before = service.ledger.ledger().durable();
    let newest = stake_on(neptune, "old", &nemo, smallest(neptune));
    let old = SpinRequest { rules_version: "1.0".to_owned(), ..newest };
    let mut client = client(&thief, "acme").await;
    let refused = client.spin(old.clone(), None).await.unwrap_err();
    assert_eq!((refused.code(), &*reason(&refused)), (Code::PermissionDenied, "PROPOSAL_NOT_ALLOWED"), "{refused:?}");
    assert!(refused.message().contains("RULES_VERSION_SUPERSEDED"), "{refused:?}");
    assert_eq!(service.ledger.ledger().durable(), before);
    client.spin(SpinRequest { rules_version: String::new(), ..old }, None).await.unwrap();
    thief.stop().await.unwrap();
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_pl_36_the_writer_refuses_campaigns_without_a_reservation() {
    let service = Service::start_with(1, "campaign_liability_eur_max = 1000000\n").await;
    let neptune = latest("neptune").unwrap();
    let account = service.player().await;
    client(&service.ledger, "acme").await.fund("bob", EUR, 100).await;
    let (alice, bob) = (service.stream(), StreamId::player("acme", "bob"));
    let mut request = campaign(neptune, "free", &account, 2);
    let soon = service.ledger.ledger().now_ms() / 1_000 + 86_400;
    request.expire_time = Some(prost_types::Timestamp { seconds: soon, nanos: 0 });
    client(&service.spin, "acme").await.spin.grant_campaign(request.clone()).await.unwrap();
    let granted = service.ledger.ledger().player(&alice).unwrap().unwrap().campaigns().next().unwrap().campaign.clone();
    let expires_ms = granted.expires_ms;
    let grant = |campaign: Campaign| vec![Event::CampaignGranted(campaign), acted("acme/c0")];
    let other = Campaign { id: "gift".into(), rounds: 10_000, ..granted.clone() };
    assert_eq!(service.refused("spin", &alice, grant(other)).await, "CAMPAIGN_UNRESERVED");
    for name in [&request.request_id, "alice/free"] {
        let version = service.ledger.ledger().books_of(&bob, |books| books.head(&bob).version).unwrap();
        let refused = service.refused_at("spin", &bob, name, Some(version), grant(granted.clone())).await;
        assert_eq!(refused, "CAMPAIGN_UNRESERVED", "{name}");
    }
    let reserved = |cap| {
        let player_ids = vec!["bob".into()];
        let (operator, campaign, max_liability) = ("acme".into(), "gift".into(), Nano::major(1));
        let reserved = LiabilityReserved { operator, campaign, players: 1, max_liability, expires_ms, cap, player_ids };
        vec![Event::LiabilityReserved(reserved), acted("acme/c0")]
    };
    assert_eq!(service.refused("spin", &StreamId::System, reserved(Nano::ZERO)).await, "CAP_DIFFERS");
    assert_eq!(service.refused("spin", &StreamId::System, reserved(Nano::major(2_000_000))).await, "CAP_DIFFERS");
    service.accepted("spin", &StreamId::System, reserved(Nano::major(1_000_000))).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mf_e2_pl_36_the_writer_refuses_campaigns_that_cost_more_than_was_reserved() {
    let service = Service::start_with(1, "campaign_liability_eur_max = 1000000\n").await;
    let mut platform = client(&service.ledger, "ann").await;
    let set_rate = |request_id: &str, rate: &str| SetExchangeRateRequest {
        request_id: request_id.into(),
        currency_code: "SEK".into(),
        eur_per_unit: rate.into(),
        source: "test".into(),
    };
    platform.ledger.set_exchange_rate(set_rate("low", "0.05")).await.unwrap();
    let neptune = latest("neptune").unwrap();
    let mut accounts = vec![];
    for name in ["alice", "bob", "carol"] {
        accounts.push(client(&service.ledger, "acme").await.fund(name, "SEK", 100).await);
    }
    let mut request = campaign(neptune, "free", &accounts[0], 2);
    let soon = service.ledger.ledger().now_ms() / 1_000 + 86_400;
    request.expire_time = Some(prost_types::Timestamp { seconds: soon, nanos: 0 });
    client(&service.spin, "acme").await.spin.grant_campaign(request.clone()).await.unwrap();
    let ledger = service.ledger.ledger();
    let granted = ledger.player(&service.stream()).unwrap().unwrap().campaigns().next().unwrap().campaign.clone();
    let position = ledger.find_position(&StreamId::System, "campaign/acme/alice/grant-free").unwrap().unwrap();
    let honest = match ledger.fetch(position).unwrap().commit.events.first() {
        Some(Event::LiabilityReserved(reserved)) => reserved.clone(),
        other => panic!("{other:?}"),
    };
    let reserve = async |player: &str, max_liability| {
        let reserved = LiabilityReserved { player_ids: vec![player.into()], max_liability, ..honest.clone() };
        let events = [Event::LiabilityReserved(reserved), acted("acme/c0")];
        let id = format!("campaign/acme/{player}/forged");
        let taken = service.propose("spin", 0, &StreamId::System, &id, None, &events).await;
        assert!(matches!(taken, Some(Verdict::Position(_))), "{taken:?}");
    };
    let grant = |campaign: &Campaign| [Event::CampaignGranted(campaign.clone()), acted("acme/c0")].to_vec();
    let (bob, carol) = (StreamId::player("acme", "bob"), StreamId::player("acme", "carol"));
    reserve("bob", Nano(honest.max_liability.0 - 1)).await;
    assert_eq!(service.refused("spin", &bob, grant(&granted)).await, "RESERVATION_TOO_LOW");
    reserve("carol", honest.max_liability).await;
    platform.ledger.set_exchange_rate(set_rate("high", "0.1")).await.unwrap();
    let more = Campaign { rounds: granted.rounds + 1, ..granted.clone() };
    assert_eq!(service.refused("spin", &carol, grant(&more)).await, "RESERVATION_TOO_LOW");
    service.accepted("spin", &carol, grant(&granted)).await;
    service.stop().await;
}
