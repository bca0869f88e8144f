//! An accepted decimal, formatted and parsed again, must give the same number.
#![cfg_attr(feature = "libfuzzer", no_main)]

use motherlode_fuzz::fuzz_target;
use motherlode_state::{CoinValue, Currency, FxRate, Minor, Nano, cash, contribution};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let nano = text.parse::<Nano>();
    let coin = text.parse::<CoinValue>();
    let rate = text.parse::<FxRate>();
    assert!(plain || (nano.is_err() && coin.is_err() && rate.is_err()), "{text:?}");
    if let Ok(figure) = nano {
        assert_eq!(figure.to_string().parse(), Ok(figure), "{text}");
    }
    if let Ok(value) = coin {
        assert_eq!(value.to_string().parse(), Ok(value), "{text}");
        for currency in [Currency::EUR, Currency::JPY, Currency::KWD] {
            for coins in [1, 15, u64::from(u32::MAX), u64::MAX] {
                let _ = cash(coins, value, currency);
            }
        }
    }
    if let Ok(figure) = rate {
        assert_eq!(figure.to_string().parse(), Ok(figure), "{text}");
        for minor in [0, 1, 1_000_000, i64::MAX, i64::MIN] {
            let _ = contribution(Minor(minor), Currency::JPY, figure, 5_000);
        }
        for eur in [Nano(1), Nano::major(10), Nano(i128::MAX), Nano(i128::MIN)] {
            let _ = figure.minor_within(eur, Currency::KWD);
        }
    }
    let _ = text.parse::<Currency>();
});
