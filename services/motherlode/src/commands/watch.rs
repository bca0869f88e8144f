//! A broken stream of jackpots is reopened with exponential backoff.

use super::Failure;
use crate::{
    client::{self, Client},
    draw, figures,
    target::Target,
};
use motherlode_proto::jackpot::v1::{PoolStatus, WatchCountersRequest, WatchCountersResponse};
use motherlode_runtime::stop;
use motherlode_state::Currency;
use std::{
    io::{self, ErrorKind, Write},
    time::Duration,
};
use tonic::Status;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Show the jackpot for each coin value, and each update by the service.
    Jackpots(Jackpots),
}

#[derive(Debug, Clone, clap::Args)]
struct Jackpots {
    #[command(flatten)]
    target: Target,
    /// Pool to watch.
    #[arg(long, value_name = "NAME", default_value_t = motherlode_slots::standard_pool().to_owned())]
    pool: String,
    /// Currency in which the jackpots are shown.
    #[arg(long, value_name = "CODE", default_value_t = Currency::EUR)]
    currency: Currency,
    /// Number of updates to show; default: all until Ctrl-C.
    #[arg(long, value_name = "N", value_parser = figures::count)]
    updates: Option<u64>,
}

const FAILURES_MAX: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LAST_WAIT: Duration = Duration::from_secs(8);

pub fn run(args: &Args) -> Result<(), Failure> {
    let What::Jackpots(args) = &args.what;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::found)?;
    runtime.block_on(async {
        let signalled = stop::signalled().map_err(Failure::found)?;
        let terminal = draw::colour_wanted(&io::stdout());
        let mut view = View::new(io::stdout(), terminal, args.currency);
        tokio::select! {
            watched = watch(args, &mut view) => watched,
            _ = signalled => Ok(()),
        }
    })
}

async fn watch<W: Write>(args: &Jackpots, view: &mut View<W>) -> Result<(), Failure> {
    let mut client = Client::connect(&args.target).await?;
    let mut left = args.updates.unwrap_or(u64::MAX);
    let (mut failures, mut wait) = (0, FIRST_WAIT);
    loop {
        let broken = match follow(&mut client, args, view, &mut left).await? {
            Followed::Enough => return Ok(()),
            Followed::Broken { status, updated } => {
                if updated {
                    (failures, wait) = (0, FIRST_WAIT);
                }
                status
            }
        };
        failures += 1;
        if !client::may_pass(&broken) || failures == FAILURES_MAX {
            return Err(client::explain(&broken));
        }
        view.away(wait)?;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LAST_WAIT);
    }
}

enum Followed {
    Enough,
    /// The stream broke. `updated` states whether the stream had sent an update before it broke.
    Broken {
        status: Status,
        updated: bool,
    },
}

async fn follow<W: Write>(
    client: &mut Client,
    args: &Jackpots,
    view: &mut View<W>,
    left: &mut u64,
) -> Result<Followed, Failure> {
    let request =
        WatchCountersRequest { pool_id: args.pool.clone(), coin_values: vec![], currency_code: String::new() };
    let mut updated = false;
    let broken = |status, updated| Ok(Followed::Broken { status, updated });
    let mut stream = match client.jackpot.watch_counters(request).await {
        Ok(response) => response.into_inner(),
        Err(status) => return broken(status, updated),
    };
    loop {
        match stream.message().await {
            Ok(Some(counters)) => {
                if !view.update(&counters)? {
                    return Ok(Followed::Enough);
                }
                updated = true;
                *left -= 1;
                if *left == 0 {
                    return Ok(Followed::Enough);
                }
            }
            Ok(None) => return broken(Status::unavailable("the service ended the stream of updates"), updated),
            Err(status) => return broken(status, updated),
        }
    }
}

struct View<W> {
    output: W,
    terminal: bool,
    currency: Currency,
    drawn: usize,
}

impl<W: Write> View<W> {
    fn new(output: W, terminal: bool, currency: Currency) -> Self {
        Self { output, terminal, currency, drawn: 0 }
    }

    fn update(&mut self, counters: &WatchCountersResponse) -> Result<bool, Failure> {
        let text = if self.terminal { table(counters, self.currency) } else { line(counters, self.currency) };
        let up = match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\x1b[J"),
        };
        self.drawn = if self.terminal { text.lines().count() } else { 0 };
        self.write(&format!("{up}{text}"))
    }

    fn away(&mut self, wait: Duration) -> Result<bool, Failure> {
        let text = format!("the stream of updates broke; reopening it in {:.2} s\n", wait.as_secs_f64());
        self.drawn += usize::from(self.terminal);
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> Result<bool, Failure> {
        match self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Failure::found(format!("the output cannot be written: {error}"))),
        }
    }
}

fn line(counters: &WatchCountersResponse, currency: Currency) -> String {
    let figures: Vec<_> =
        counters.counters.iter().map(|counter| format!("{}={}", counter.coin_value, counter.figure)).collect();
    let (time, status) = (time(counters), status(counters).0);
    format!("{time} {} {status} position {} {currency} {}\n", counters.pool_id, counters.position, figures.join(" "))
}

fn table(counters: &WatchCountersResponse, currency: Currency) -> String {
    let (status, colour) = status(counters);
    let mut text = format!(
        "\x1b[1mJackpots of {}\x1b[0m, in {currency}: \x1b[{colour}m{status}\x1b[0m\n\n{:>12} {:>18}\n",
        counters.pool_id, "coin value", "jackpot"
    );
    for counter in &counters.counters {
        let digits = usize::try_from(currency.digits()).unwrap_or_default();
        let whole = |point: usize| if digits > 0 { point + 1 + digits } else { point };
        let cents = counter.figure.find('.').map_or(counter.figure.len(), whole);
        let (cash, rest) = counter.figure.split_at_checked(cents).unwrap_or((&counter.figure, ""));
        let cash = figures::grouped(cash);
        text.push_str(&format!("{:>12} \x1b[1;33m{cash:>18}\x1b[0;2m{rest}\x1b[0m\n", counter.coin_value));
    }
    let position = figures::grouped(&counters.position.to_string());
    text + &format!("\n\x1b[2mas of log position {position}, {}\x1b[0m\n", time(counters))
}

fn status(counters: &WatchCountersResponse) -> (&'static str, u8) {
    match counters.status() {
        PoolStatus::Active => ("active", 32),
        PoolStatus::Suspended => ("suspended", 33),
        PoolStatus::Retired => ("retired", 31),
        PoolStatus::Unspecified => ("unknown", 31),
    }
}

fn time(counters: &WatchCountersResponse) -> String {
    let seconds = counters.refresh_time.as_ref().map_or(0, |time| time.seconds).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use motherlode_ledger::Options;
    use motherlode_log::MemoryStore;
    use motherlode_proto::jackpot::v1::Counter;
    use motherlode_runtime::Config;
    use motherlode_server::Server;
    use motherlode_spin::Dealer;

    fn counters(position: u64) -> WatchCountersResponse {
        let counter = |coin: &str, figure: &str| Counter { coin_value: coin.to_owned(), figure: figure.to_owned() };
        WatchCountersResponse {
            pool_id: "bewitched".to_owned(),
            status: PoolStatus::Suspended.into(),
            counters: vec![counter("0.01", "20.00005"), counter("10", "20000.05")],
            position,
            refresh_time: Some(prost_types::Timestamp { seconds: 86_400 + 3 * 3600 + 4 * 60 + 5, nanos: 0 }),
        }
    }

    #[test]
    fn bw_14_each_refresh_is_a_line_with_its_position_where_there_is_no_terminal() {
        let mut output = vec![];
        let mut view = View::new(&mut output, false, Currency::EUR);
        view.update(&counters(7)).unwrap();
        view.update(&counters(9)).unwrap();
        let text = String::from_utf8(output).unwrap();
        let line =
            |position| format!("03:04:05 UTC bewitched suspended position {position} EUR 0.01=20.00005 10=20000.05\n");
        assert_eq!(text, line(7) + &line(9));
    }

    #[test]
    fn on_a_terminal_an_update_is_drawn_over_the_one_before() {
        let mut output = vec![];
        let mut view = View::new(&mut output, true, Currency::SEK);
        view.update(&counters(7)).unwrap();
        let first = String::from_utf8(view.output.clone()).unwrap();
        view.update(&counters(1_234)).unwrap();
        let second = String::from_utf8(output).unwrap().split_off(first.len());
        assert!(second.starts_with(&format!("\x1b[{}A\x1b[J", first.lines().count())), "{second:?}");
        assert!(second.contains("position 1,234") && second.contains("20,000.05"), "{second}");
    }

    #[test]
    fn bw_13_figures_are_grouped_and_cut_by_the_digits_of_their_currency() {
        let mut counters = counters(7);
        counters.counters[0].figure = "1234567.89125".to_owned();
        let shown = |code: &str| table(&counters, code.parse().unwrap());
        for (code, cash, rest) in
            [("EUR", "1,234,567.89", "125"), ("JPY", "1,234,567", ".89125"), ("KWD", "1,234,567.891", "25")]
        {
            let wanted = format!("{cash}\x1b[0;2m{rest}\x1b[0m");
            assert!(shown(code).contains(&wanted), "{code}: {:?}", shown(code));
        }
    }

    #[tokio::test]
    async fn bw_13_a_new_pool_shows_the_seed_of_each_coin_value() {
        let data = tempfile::tempdir().unwrap();
        let config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.path().to_owned(), ..Config::default() };
        let store = Box::new(MemoryStore::new(0));
        let server = Server::start(&config, store, Options::default(), Dealer::from_master([7; 32])).await.unwrap();
        let mut args = Jackpots {
            target: Target::open(format!("http://{}", server.address())),
            pool: "bewitched".to_owned(),
            currency: Currency::EUR,
            updates: Some(1),
        };
        let mut output = vec![];
        watch(&args, &mut View::new(&mut output, false, Currency::EUR)).await.unwrap();
        let text = String::from_utf8(output).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        for figure in [" active ", " 0.01=20.00 ", " 0.2=400.00 ", " 10=20000.00\n"] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
        args.pool = "unheard-of".to_owned();
        let failure = watch(&args, &mut View::new(vec![], false, Currency::EUR)).await.unwrap_err();
        assert_eq!((failure.code, failure.message.lines().next()), (1, Some("POOL_UNKNOWN: there is no such pool")));
        server.stop().await.unwrap();
    }
}
