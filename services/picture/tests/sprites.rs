#![allow(clippy::unwrap_used, reason = "a test may panic")]

use motherlode_picture::{round, sprite};
use motherlode_proto::{
    convert::play::hex,
    round::v1::{Account, Outcome, Round, SpinKind, SpinResult, Step, Win},
};
use motherlode_slots::{games, latest};

#[test]
fn pl_19_every_symbol_of_every_game_has_a_drawing_with_its_name() {
    let mut drawn = 0;
    for game in games() {
        let svg = sprite::for_game(game.name()).unwrap();
        for symbol in &game.info().symbols {
            let begins = format!("\n<symbol id=\"{}\" viewBox=\"0 0 100 100\"", symbol.code.to_lowercase());
            let found: Vec<_> =
                svg.split(&begins).skip(1).map(|rest| rest.split("</symbol>").next().unwrap()).collect();
            let [part] = found[..] else { panic!("{}: {begins} {} times", game.name(), found.len()) };
            let title = format!("<title>{}</title>", symbol.name);
            assert!(part.contains(&title), "{}: {title}", game.name());
            drawn += 1;
        }
    }
    assert!(drawn >= 66, "{drawn}");
    assert!(sprite::for_game("chess").is_none());
}

#[test]
fn pl_19_drawings_have_no_style_no_script_and_name_only_what_there_is() {
    for game in games() {
        let svg = sprite::for_game(game.name()).unwrap();
        for refused in ["style", "<script", "<text", "<image", " on", "data:", "xlink"] {
            assert!(!svg.contains(refused), "{}: {refused}", game.name());
        }
        for how in ["href=\"#", "url(#"] {
            for name in svg.split(how).skip(1).map(|rest| rest.split(['"', ')']).next().unwrap()) {
                let there = svg.matches(&format!(" id=\"{name}\"")).count();
                assert_eq!(there, 1, "{}: {name}", game.name());
            }
        }
    }
}

fn unclosed(markup: &str) -> Option<String> {
    let mut open = vec![];
    for tag in markup.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.trim_start_matches('/').split(char::is_whitespace).next().unwrap();
        match tag {
            _ if tag.starts_with('!') || tag.ends_with('/') => {}
            _ if tag.starts_with('/') => {
                if open.pop() != Some(name) {
                    return Some(name.to_owned());
                }
            }
            _ => open.push(name),
        }
    }
    open.pop().map(str::to_owned)
}

#[test]
fn pl_19_sprites_are_well_formed() {
    for game in games() {
        assert_eq!(unclosed(sprite::for_game(game.name()).unwrap()), None, "{}", game.name());
    }
    assert_eq!(unclosed("<!DOCTYPE html><g><path/></g><symbol>"), Some("symbol".to_owned()));
    assert_eq!(unclosed("<g><symbol></g>"), Some("g".to_owned()));
}

#[test]
fn pl_19_the_page_of_60_free_spins_has_every_window_and_at_most_100_kb() {
    let game = latest("bewitched").unwrap();
    let symbols = game.info().symbols.len();
    let spin = |at: usize| SpinResult {
        kind: SpinKind::Free.into(),
        stops: vec![11, 12, 13, 14, 15],
        rows: 3,
        cells: (0..15).map(|cell| u8::try_from((cell * 5 + at) % symbols).unwrap()).collect(),
        multiplier: 2,
        wins: vec![Win { line: 3, symbol: 5, count: 3, coins: 20 + at as u64, ways: 0 }],
        win_coins: 20 + at as u64,
        ..SpinResult::default()
    };
    let outcome = Outcome { spins: (0..60).map(spin).collect(), ..Outcome::default() };
    let round = Round {
        round_id: "demo/alice/1".into(),
        account: Some(Account { currency_code: "EUR".into(), ..Account::default() }),
        game: "bewitched".into(),
        rules_version: game.rules_version().into(),
        model_hash: hex(&game.model_hash()),
        steps: vec![Step { number: 1, outcome: Some(outcome), ..Step::default() }],
        ..Round::default()
    };
    let page = round::page(&round);
    assert_eq!(unclosed(&page), None, "each element is closed in its place");
    assert!(page.len() <= 100_000, "{}", page.len());
    assert_eq!(page.matches("<svg class=\"reels\"").count(), 60);
    assert_eq!(page.matches("<use href=\"#C").count(), 60 * 15);
    for symbol in &game.info().symbols {
        let id = symbol.code.to_lowercase();
        assert_eq!(page.matches(&format!("<symbol id=\"{id}\"")).count(), 1, "{id} is embedded once");
        assert!(page.contains(&format!("<use href=\"#C{id}\"")), "{id} is shown");
    }
    for at in 0..60 {
        assert!(page.contains(&format!(">+{}</text>", 20 + at)), "the coins of each line stand beside it");
    }
}

#[test]
fn pl_19_the_page_of_60_free_spins_with_many_lines_has_at_most_100_kb() {
    let game = games().iter().max_by_key(|game| game.info().lines.len()).unwrap();
    let (info, symbols) = (game.info(), game.info().symbols.len());
    let cells = usize::try_from(info.reels * info.rows).unwrap();
    let win = |line: u32| Win { line, symbol: line % 8, count: 3 + line % 3, coins: 20, ways: 0 };
    let spin = |at: usize| SpinResult {
        kind: SpinKind::Free.into(),
        stops: vec![111; usize::try_from(info.reels).unwrap()],
        rows: info.rows,
        cells: (0..cells).map(|cell| u8::try_from((cell * 5 + at) % symbols).unwrap()).collect(),
        multiplier: 1,
        wins: (1..=4).map(|line| win(line * 12)).collect(),
        win_coins: 80,
        ..SpinResult::default()
    };
    let outcome = Outcome { spins: (0..60).map(spin).collect(), ..Outcome::default() };
    let round = Round {
        round_id: "demo/alice/1".into(),
        account: Some(Account { currency_code: "EUR".into(), ..Account::default() }),
        game: game.name().into(),
        rules_version: game.rules_version().into(),
        model_hash: hex(&game.model_hash()),
        steps: vec![Step { number: 1, outcome: Some(outcome), ..Step::default() }],
        ..Round::default()
    };
    let page = round::page(&round);
    assert_eq!(unclosed(&page), None, "each element is closed in its place");
    assert_eq!(page.matches("<svg class=\"reels\"").count(), 60);
    assert!(page.len() <= 100_000, "{}", page.len());
}
