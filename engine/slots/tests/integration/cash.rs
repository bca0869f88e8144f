use motherlode_slots::contract::game::Edition;
use motherlode_slots::contract::par::{Exact, decimal, exact, ratio};
use motherlode_slots::contract::rounding::{CoinFraction, Rounding};
use motherlode_slots::contract::stake::COIN_MICROS_MAX;
use motherlode_slots::math::cash::{CoinRefused, cash_return};
use motherlode_slots::parts::ladder::LaddersData;
use motherlode_slots::*;
use num_traits::{Signed, ToPrimitive};

fn dwarf_mine() -> &'static dyn Game {
    latest("dwarf-mine").unwrap()
}

fn minor_micros(currency: &str) -> Option<u64> {
    Some(match currency {
        "JPY" => 1_000_000,
        "KWD" => 1_000,
        "CLF" => 100,
        _ => 10_000,
    })
}

fn in_cash(coin_micros: u64, minor_micros: u64) -> Exact {
    let rounding = dwarf_mine().rounding(CoinFraction::new(coin_micros, minor_micros)).unwrap();
    rounding.rtp + rounding.adds
}

#[test]
fn dm_19_the_exact_return_in_cash_of_coins_below_a_cent() {
    assert_eq!(decimal(&in_cash(4_000, 10_000), 5), "0.96777");
    assert_eq!(decimal(&in_cash(40_000, 1_000_000), 4), "0.9467");
    assert_eq!(in_cash(10_000, 10_000), dwarf_mine().rounding(CoinFraction::new(1, 1)).unwrap().rtp);
    let offered = cash_return(dwarf_mine(), 4_000, 10_000).unwrap();
    assert!(!offered.whole && offered.adds.is_negative());
    let refused = cash_return(dwarf_mine(), 40_000, 1_000_000).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the return with rounded wins, 0.9467, differs by more than 0.0005 from the published return, 0.9680"
    );
}

#[test]
fn dm_19_a_coin_value_makes_whole_bets_or_is_refused() {
    assert_eq!(cash_return(dwarf_mine(), 5_000, 10_000), Err(CoinRefused::Bet { coins: 25 }));
    for (game, coins) in [("bewitched", 1), ("neptune", 1), ("mystery-elves", 10), ("witch-feature", 50)] {
        let game = latest(game).unwrap();
        assert_eq!(game.info().limits.bet_unit(), coins);
        let whole = cash_return(game, 10_000, 10_000).unwrap();
        assert!(whole.whole && whole.adds == exact(0) && whole.mixed_at_most == exact(0));
        let part = 10_000 / coins;
        let refused = if coins == 1 { CoinRefused::Bet { coins } } else { CoinRefused::Win };
        assert_eq!(cash_return(game, if coins == 1 { 5_000 } else { part }, 10_000), Err(refused));
        assert_eq!(cash_return(game, 0, 10_000), Err(CoinRefused::Range));
        assert_eq!(cash_return(game, COIN_MICROS_MAX + 1, 10_000), Err(CoinRefused::Range));
    }
}

#[test]
fn dm_17_rounds_return_in_cash_what_was_worked_out() {
    for (coin_value_micros, minor_micros) in [(4_000, 10_000), (40_000, 1_000_000)] {
        let stake = Stake { coin_value_micros, lines: 1, coins_per_line: 25, buy_feature: false };
        let terms = Terms { minor_micros, ..Terms::plain(Carried::default()) };
        let mut round = dwarf_mine().open(&stake, &terms).unwrap();
        let mut draws = Draws::from_seed([7; 32]);
        let (mut out, mut carried) = (Outcome::default(), Carried::default());
        let (mut sum, mut squares, rounds) = (0.0, 0.0, 200_000);
        for _ in 0..rounds {
            round.reopen(&carried);
            while let Some(choice) = round.automatic() {
                round.resolve(&choice, &mut draws, &mut out).unwrap();
                carried = out.carried.unwrap_or(carried);
            }
            let coins = out.round_win_coins as f64 * coin_value_micros as f64 / minor_micros as f64;
            let added = out.round_win_minor as f64 - coins;
            sum += added;
            squares += added * added;
        }
        let bet = 25.0 * coin_value_micros as f64 / minor_micros as f64;
        let (mean, error) = (sum / f64::from(rounds) / bet, squares.sqrt() / f64::from(rounds) / bet);
        let adds = dwarf_mine().rounding(CoinFraction::new(coin_value_micros, minor_micros)).unwrap().adds;
        let apart = (mean - adds.to_f64().unwrap()).abs();
        assert!(apart < 5.0 * error, "{mean} is {apart} from {adds}, with an error of {error}");
    }
}

#[test]
fn pl_35_the_ladders_beside_the_games_hold_what_all_must() {
    let ladders = Ladders::standard(minor_micros).unwrap();
    ladders.check().unwrap();
    let at_least = "EUR USD GBP CAD SEK NOK DKK CHF PLN CZK HUF JPY KWD BRL INR XTS";
    for currency in at_least.split(' ') {
        for game in latest_games() {
            let ladder = ladders.for_game(*game, currency).unwrap();
            assert!(ladder.coins_micros.len() >= 4 && ladder.coins_micros.contains(&ladder.default_micros));
            for coin in ladder.coins_micros {
                assert!(ladders.offers(*game, currency, coin) && !ladders.offers(*game, currency, coin + 1));
                let cash = cash_return(*game, coin, minor_micros(currency).unwrap()).unwrap();
                assert!(cash.adds.abs() < ratio(5, 10_000), "DM-19");
            }
        }
    }
    assert_eq!(ladders.currencies().count(), 16);
    assert!(!ladders.enabled("CLF") && ladders.for_game(dwarf_mine(), "CLF").is_none());
}

#[test]
fn pl_35_ladders_are_replaced_and_refused_with_the_reason() {
    let one = |game: &str, currency: &str, coins: &str, default: &str| -> LaddersData {
        let ladder = LadderData { coin_values: coins.into(), default: default.into() };
        [(game.into(), [(currency.into(), ladder)].into())].into()
    };
    let said = |ladders: &LaddersData, enabled: &[String]| Ladders::new(Some(enabled), ladders, minor_micros);
    let clf = ["CLF".to_owned()];
    let ladders = said(&one("neptune", "CLF", "0.0001 0.0002", "0.0001"), &clf).unwrap();
    let neptune = latest("neptune").unwrap();
    assert_eq!(ladders.for_game(neptune, "CLF").unwrap().coins_micros, [100, 200]);
    assert!(ladders.offers(neptune, "CLF", 100) && ladders.for_game(dwarf_mine(), "CLF").is_none());
    assert!(ladders.enabled("XTS") && !ladders.enabled("EUR"), "only the listed currencies and play money are enabled");
    for (game, currency, coins, default, said) in [
        ("solitaire", "EUR", "1", "1", "unknown game solitaire"),
        ("neptune", "EUR", "", "1", "neptune in EUR: there must be 1 to 40 coin values"),
        ("neptune", "EUR", "2 1", "1", "neptune in EUR: coin values must be in ascending order"),
        ("neptune", "EUR", "1 2", "3", "neptune in EUR: the default coin value is not one of the ladder's coin values"),
        ("neptune", "EUR", "1 x", "1", "neptune in EUR: a coin value is not a decimal"),
        (
            "neptune",
            "EUR",
            "0.005",
            "0.005",
            "neptune in EUR, coin value 0.005000: a bet of 1 coins is not a whole number",
        ),
        (
            "dwarf-mine",
            "JPY",
            "0.04 1",
            "1",
            "dwarf-mine in JPY, coin value 0.040000: the return with rounded wins, 0.9467,",
        ),
    ] {
        let refused = Ladders::new(None, &one(game, currency, coins, default), minor_micros).unwrap_err().to_string();
        assert!(refused.starts_with(said), "{refused}");
    }
    assert!(said(&LaddersData::new(), &clf).unwrap_err().to_string().contains("no game has a coin ladder in CLF"));
    let no_currency =
        Ladders::new(Some(&["XAU".into()]), &LaddersData::new(), |code| (code != "XAU").then_some(10_000));
    assert!(no_currency.unwrap_err().to_string().starts_with("XAU is not an ISO 4217 currency"));
}

struct Listed(&'static dyn Game);

impl Game for Listed {
    fn edition(&self) -> &Edition {
        self.0.edition()
    }
    fn check_stake(&self, stake: &Stake) -> Result<u32, StakeRefused> {
        self.0.check_stake(stake)
    }
    fn open(&'static self, stake: &Stake, terms: &Terms) -> Result<Box<dyn Round>, StakeRefused> {
        self.0.open(stake, terms)
    }
    fn par(&self, _: &Stake) -> Result<Par, StakeRefused> {
        panic!("a bet waits for the mathematics")
    }
    fn highest_win(&self, _: &Stake) -> Result<HighestWin, StakeRefused> {
        panic!("a bet waits for the mathematics")
    }
    fn rounding(&self, _: CoinFraction) -> Option<Rounding> {
        panic!("a bet waits for the mathematics")
    }
}

#[test]
fn uf_03_pl_35_a_bet_of_an_older_version_waits_for_no_mathematics() {
    let ladders = Ladders::standard(minor_micros).unwrap();
    for game in games() {
        for currency in ladders.currencies() {
            let listed = ladders.for_game(&Listed(*game), currency);
            for &coin in &game.info().limits.coin_values_micros {
                let offers = ladders.offers(&Listed(*game), currency, coin);
                assert_eq!(offers, listed.as_ref().is_some_and(|of| of.coins_micros.contains(&coin)));
                if !game.info().limits.by_currency {
                    let returns = cash_return(*game, coin, minor_micros(currency).unwrap());
                    assert_eq!(offers, returns.is_ok(), "{} {currency} {coin}: {returns:?}", game.name());
                }
            }
        }
    }
}

#[test]
fn pl_35_an_older_version_offers_of_its_own_list_what_a_currency_allows() {
    let ladders = Ladders::standard(minor_micros).unwrap();
    let old = game("dwarf-mine", "1.0").unwrap();
    let micros = |currency| ladders.for_game(old, currency).unwrap().coins_micros;
    assert_eq!(micros("EUR"), old.info().limits.coin_values_micros);
    assert_eq!(micros("JPY"), [200_000, 400_000, 1_000_000, 2_000_000]);
    assert!(!ladders.offers(old, "JPY", 40_000) && !ladders.offers(old, "EUR", 5_000_000));
    assert_eq!(
        old.check_stake(&Stake { coin_value_micros: 5_000_000, lines: 1, coins_per_line: 25, buy_feature: false }),
        Err(StakeRefused::CoinValue { micros: 5_000_000 })
    );
}
