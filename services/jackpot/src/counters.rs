//! Jackpot counters (BW-13, BW-14), refreshed when the Unix time is a multiple of the pool's interval. BW-17 states the
//! amount of a second win between two refreshes.

use crate::wire::status;
use motherlode_ledger::{Handle, fields, fields::timestamp, offer};
use motherlode_proto::jackpot::v1::{Counter, WatchCountersRequest, WatchCountersResponse};
use motherlode_runtime::{Reason, Refusal};
use motherlode_slots::{self as slots, Ladders};
use motherlode_state::{CoinValue, Currency, figure};
use std::time::Duration;
use tokio::sync::mpsc;
use tonic::Status;

pub(crate) struct Watch {
    pool: String,
    coins: Vec<CoinValue>,
}

impl Watch {
    pub(crate) fn parse(ledger: &Handle, ladders: &Ladders, request: &WatchCountersRequest) -> Result<Self, Refusal> {
        let pool = fields::id("pool_id", &request.pool_id)?;
        if ledger.books(|books| books.pool(pool).is_none()) {
            return Err(Refusal::new(Reason::PoolUnknown, "there is no such pool").with("pool_id", pool));
        }
        let mut coins = request
            .coin_values
            .iter()
            .map(|coin| fields::coin_value("coin_values", coin))
            .collect::<Result<Vec<_>, _>>()?;
        let currency = match request.currency_code.as_str() {
            "" => Currency::EUR,
            code => fields::currency("currency_code", code)?,
        };
        if !request.currency_code.is_empty() && !ladders.enabled(currency.code()) {
            return Err(offer::not_offered(ladders, currency));
        }
        if coins.is_empty() {
            let offered = slots::latest(pool).and_then(|game| ladders.for_game(game, currency.code()));
            coins = offered.into_iter().flat_map(|ladder| ladder.coins_micros).map(CoinValue).collect();
        }
        coins.sort();
        Ok(Self { pool: pool.to_owned(), coins })
    }

    pub(crate) async fn run(self, ledger: Handle, listener: mpsc::Sender<Result<WatchCountersResponse, Status>>) {
        loop {
            let Some((counters, interval_ms)) = self.counters(&ledger) else { return };
            if listener.send(Ok(counters)).await.is_err() {
                return;
            }
            let now = ledger.now_ms();
            let wait = Duration::from_millis((interval_ms - now.rem_euclid(interval_ms)).unsigned_abs());
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = listener.closed() => return,
            }
        }
    }

    fn counters(&self, ledger: &Handle) -> Option<(WatchCountersResponse, i64)> {
        let now = ledger.now_ms();
        ledger.books(|books| {
            let pool = books.pool(&self.pool)?;
            let interval_ms = i64::from(pool.terms.refresh_ms).max(1);
            let counter = |coin: &CoinValue| {
                Some(Counter { coin_value: coin.to_string(), figure: figure(pool, *coin).ok()?.to_string() })
            };
            let response = WatchCountersResponse {
                pool_id: self.pool.clone(),
                status: status(&pool.status).into(),
                counters: self.coins.iter().filter_map(counter).collect(),
                position: pool.pooled_position(pool.head.partition),
                refresh_time: Some(timestamp(now - now.rem_euclid(interval_ms))),
            };
            Some((response, interval_ms))
        })
    }
}
