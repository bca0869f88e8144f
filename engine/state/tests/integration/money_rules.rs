use motherlode_state::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn pl_09_pool_figures_read_and_write_as_decimals() {
    for (text, nanos) in [
        ("20000.00005", 20_000_000_050_000),
        ("0.00", 0),
        ("0.000000001", 1),
        ("-1.50", -1_500_000_000),
        ("440.00", 440_000_000_000),
    ] {
        assert_eq!(Nano(nanos).to_string(), text);
        assert_eq!(text.parse(), Ok(Nano(nanos)));
    }
    assert_eq!("5".parse(), Ok(Nano::major(5)));
    for wrong in ["", "-", ".5", "5.", "1.0000000001", "1e9", "+1", "1,5", " 1", "1.-5", "٣"] {
        assert_eq!(wrong.parse::<Nano>(), Err(MoneyError::Malformed), "{wrong:?}");
    }
    assert!("9".repeat(60).parse::<Nano>().is_err());
}

#[test]
fn pl_09_currencies_have_the_digits_of_iso_4217() {
    for currency in Currency::all() {
        assert_eq!(currency.code().parse(), Ok(currency));
    }
    let first: Vec<_> = Currency::all().take(6).map(|currency| (currency.code(), currency.digits())).collect();
    assert_eq!(first, [("EUR", 2), ("USD", 2), ("SEK", 2), ("JPY", 0), ("KWD", 3), ("XTS", 2)]);
    assert_eq!("eur".parse::<Currency>(), Err(MoneyError::UnknownCurrency));
    let four = "CLF".parse().unwrap();
    assert_eq!((Minor(12_345).to_decimal(four), Minor(1).to_nano(four)), ("1.2345".to_owned(), Nano(100_000)));
    assert_eq!(cash(3, CoinValue(50), four), Ok(Minor(2)), "three coins of half a minor unit (0.0001) round to two");
    let shown = |currency| Minor(1230).to_decimal(currency);
    assert_eq!(["12.30", "1230", "1.230"], [Currency::EUR, Currency::JPY, Currency::KWD].map(shown));
}

#[test]
fn pl_35_the_currencies_are_those_of_iso_4217() {
    let letters = || 'A'..='Z';
    let codes = letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| format!("{a}{b}{c}"))));
    let listed: BTreeMap<String, iso_currency::Currency> =
        codes.filter_map(|code| Some((code.clone(), iso_currency::Currency::from_code(&code)?))).collect();
    for (code, of) in &listed {
        match (of.exponent(), of.is_superseded(), code.parse::<Currency>()) {
            (Some(digits), None, Ok(currency)) => assert_eq!(currency.digits(), u32::from(digits), "{code}"),
            (Some(_), None, Err(_)) => panic!("{code} is missing"),
            (None, _, Ok(currency)) => assert_eq!(currency, Currency::PLAY),
            _ => {}
        }
    }
    for currency in Currency::all() {
        assert!(listed.contains_key(currency.code()), "{currency} is not in ISO 4217");
        assert!(currency.digits() <= 4 && currency.nanos_per_minor() >= 100_000);
    }
    let codes: BTreeSet<_> = Currency::all().map(Currency::code).collect();
    assert_eq!(codes.len(), Currency::all().count(), "each once");
}

#[test]
fn pl_09_cash_rounds_half_to_even() {
    let coin = |text: &str| text.parse::<CoinValue>().unwrap();
    let yen = |coins| cash(coins, coin("0.5"), Currency::JPY).unwrap().0;
    assert_eq!([1, 2, 3, 5, 7].map(yen), [0, 1, 2, 2, 4]);
    assert_eq!(cash(150, coin("0.01"), Currency::EUR), Ok(Minor(150)));
    assert_eq!(cash(3, coin("0.0125"), Currency::KWD), Ok(Minor(38)));
    assert_eq!(cash(u64::MAX, coin("1"), Currency::EUR), Err(MoneyError::OutOfRange));
}

#[test]
fn pl_09_rates_are_exact_decimals_within_limits() {
    for (text, mantissa, exponent) in [("1", 1, 0), ("0.0871", 871, -4), ("3.25", 325, -2), ("1200", 12, 2)] {
        let rate: FxRate = text.parse().unwrap();
        assert_eq!((rate.mantissa(), rate.exponent()), (mantissa, exponent));
        assert_eq!(rate.to_string(), text);
    }
    assert_eq!("1.000".parse(), Ok(FxRate::ONE), "equal rates are equal values");
    for wrong in ["0", "-1", "0.0000000000001", "1234567890123", "1.2345678901234", "x"] {
        assert!(wrong.parse::<FxRate>().is_err(), "{wrong}");
    }
    assert!(FxRate::new(0, 0).is_err() && FxRate::new(1, 7).is_err() && FxRate::new(1, -13).is_err());
}

#[test]
fn streams_are_named_as_they_are_written() {
    for text in ["player/acme/alice", "player/a.b/c_d~e-9", "pool/bewitched", "rates", "system"] {
        assert_eq!(text.parse::<StreamId>().unwrap().to_string(), text);
    }
    let long = format!("pool/{}", "x".repeat(65));
    for wrong in [
        "",
        "player",
        "player/a",
        "player/a/b/c",
        "player//b",
        "player/a/b c",
        "pool/",
        "pool/a/b",
        "rates/x",
        "Pool/x",
        &long,
    ] {
        assert!(wrong.parse::<StreamId>().is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn pl_09_every_figure_survives_its_format(nanos in any::<i64>(), high in -1_000_000i128..1_000_000) {
        let nano = Nano(i128::from(nanos) + high * i128::from(i64::MAX));
        prop_assert_eq!(nano.to_string().parse(), Ok(nano));
    }

    #[test]
    fn pl_09_every_coin_value_survives_its_format(micros in any::<u64>()) {
        let coin = CoinValue(micros);
        prop_assert_eq!(coin.to_string().parse(), Ok(coin));
    }

    #[test]
    fn pl_09_every_rate_survives_its_format(mantissa in 1..FxRate::MANTISSA_LIMIT, exponent in -12i8..=6) {
        let rate = FxRate::new(mantissa, exponent).unwrap();
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    #[test]
    fn pl_09_reading_never_panics(text in ".{0,40}") {
        let _ = text.parse::<Nano>();
        let _ = text.parse::<CoinValue>();
        let _ = text.parse::<FxRate>();
        let _ = text.parse::<StreamId>();
    }

    #[test]
    fn pl_09_digits_and_a_dot_read_as_what_they_say(whole in 0u64..1_000_000_000, part in 0u32..1_000_000_000, digits in 1usize..=9) {
        let part = &format!("{part:09}")[..digits];
        let expected = i128::from(whole) * 1_000_000_000 + format!("{part:0<9}").parse::<i128>().unwrap();
        prop_assert_eq!(format!("{whole}.{part}").parse(), Ok(Nano(expected)));
    }

    #[test]
    fn bw_11_a_contribution_is_the_nearest_nano(
        bet in 1i64..1_000_000_000,
        mantissa in 1u64..1_000_000,
        decimals in 0i8..=6,
        ppm in 0u32..=1_000_000,
        at in 0usize..Currency::all().count(),
    ) {
        let currency = Currency::all().nth(at).unwrap();
        let rate = FxRate::new(mantissa, -decimals).unwrap();
        let rounded = contribution(Minor(bet), currency, rate, ppm).unwrap();
        // `exact` is the contribution, bet x 10^-digits x mantissa x 10^-decimals x ppm x 10^-6, in units of 10^-21
        // EUR.
        let unit = 10i128.pow(9 - currency.digits()) * 10i128.pow(6 - decimals.unsigned_abs() as u32);
        let exact = i128::from(bet) * i128::from(mantissa) * i128::from(ppm) * unit;
        let scale = 10i128.pow(12);
        prop_assert!((rounded.0 * scale - exact).abs() * 2 <= scale);
    }

    #[test]
    fn bw_11_any_input_is_an_answer_or_an_error(bet in any::<i64>(), mantissa in any::<u64>(), exponent in any::<i8>(), ppm in any::<u32>()) {
        if let Ok(rate) = FxRate::new(mantissa, exponent) {
            for currency in Currency::all() {
                let _ = contribution(Minor(bet), currency, rate, ppm);
                let _ = rate.coin_within(CoinValue(mantissa), CoinValue(u64::MAX));
            }
        }
    }
}

#[test]
fn uf_11_a_place_without_a_currency_is_not_read_as_one() {
    use serde::{Deserialize, de::IntoDeserializer, de::value::Error};
    let read = |place: u8| Currency::deserialize(IntoDeserializer::<Error>::into_deserializer(place));
    let known = Currency::all().count();
    for place in 0..=u8::MAX {
        match read(place) {
            Ok(currency) => assert_eq!(Currency::all().nth(place.into()), Some(currency)),
            Err(_) => assert!(usize::from(place) >= known, "{place}"),
        }
    }
    assert!(read(u8::MAX).is_err());
}
