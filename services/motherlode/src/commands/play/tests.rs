use super::*;
use clap::Parser;
use motherlode_ledger::Options;
use motherlode_log::MemoryStore;
use motherlode_runtime::Config;
use motherlode_server::Server;
use motherlode_spin::Dealer;
use std::path::Path;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

async fn serve(data: &Path) -> Server {
    let config = Config { listen: ([127, 0, 0, 1], 0).into(), data: data.to_owned(), ..Config::default() };
    let dealer = Dealer::from_master([7; 32]);
    Server::start(&config, Box::new(MemoryStore::new(0)), Options::default(), dealer).await.unwrap()
}

async fn played(server: &Server, words: &str, input: &str) -> (String, Result<(), Failure>) {
    played_of(server, "bewitched", words, input).await
}

async fn played_of(server: &Server, game: &str, words: &str, input: &str) -> (String, Result<(), Failure>) {
    let line = format!("play {game} --target http://{} {words}", server.address());
    let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
    let mut output = vec![];
    let ended = play(&cli.args, &mut Console::new(&mut output, input.as_bytes(), false)).await;
    (String::from_utf8(output).unwrap(), ended)
}

#[tokio::test]
async fn a_new_player_is_opened_funded_and_plays_all_rounds_alone() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (text, ended) = played(&server, "--auto --double --rounds 60", "").await;
    assert_eq!(ended, Ok(()), "{text}");
    assert!(text.starts_with("Opened an account in EUR for demo/alice.\nDeposited 300.00 EUR.\n"), "{text}");
    assert_eq!(text.matches("── round demo/alice/").count(), 60);
    assert_eq!(text.matches("log position").count(), 60);
    assert!(text.contains("\n60 rounds: bet 90.00 EUR, won "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_game_fits_a_narrow_terminal() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    for game in ["bewitched", "dwarf-mine", "mystery-elves", "neptune", "witch-feature"] {
        for columns in [40, 60, 79] {
            let line = format!("play {game} --target http://{} --auto --rounds 12", server.address());
            let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
            let mut output = vec![];
            let mut console = Console::new(&mut output, &b""[..], true).with_columns(columns);
            assert_eq!(play(&cli.args, &mut console).await, Ok(()), "{game}");
            let text = plain(&String::from_utf8(output).unwrap());
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{game} in {columns} columns: {text}");
            assert!(text.contains("log position"), "{text}");
        }
    }
    server.stop().await.unwrap();
}

fn plain(text: &str) -> String {
    let parts = text.split('\x1b').enumerate();
    parts.map(|(at, part)| if at == 0 { part } else { part.split_once('m').unwrap().1 }).collect()
}

#[tokio::test]
async fn pl_17_demo_play_is_funded_by_the_service_and_begins_anew_when_it_is_lost() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (text, ended) = played(&server, "--demo --auto --coin-value 2 --coins 10 --rounds 30", "").await;
    assert_eq!(ended, Ok(()), "{text}");
    assert!(!text.contains("Opened an account") && !text.contains("Deposited"), "{text}");
    assert_eq!(text.matches("── round demo/alice/").count(), 30);
    assert!(text.contains("30 rounds: bet 9,000.00 XTS, won "), "{text}");
    let (text, ended) = played(&server, "--demo --auto", "").await;
    assert_eq!(ended, Ok(()), "{text}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn every_game_is_played_and_drawn() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    for game in motherlode_slots::games() {
        let double = if game.info().doubles_max > 0 { "--double" } else { "" };
        let words = format!("--auto {double} --rounds 150 --player {}", game.name());
        let (text, ended) = played_of(&server, game.name(), &words, "").await;
        assert_eq!(ended, Ok(()), "{text}");
        assert!(text.contains("\n150 rounds: bet "), "{text}");
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{}", game.name());
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn dm_14_dm_18_the_collection_and_the_coin_view_stand_with_the_round() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (text, ended) = played_of(&server, "dwarf-mine", "--auto --coin-value 0.004", "").await;
    assert_eq!(ended, Ok(()), "{text}");
    let shelf = text.lines().find(|line| line.starts_with("  Crystals   Green ")).unwrap();
    assert!(shelf.ends_with("Red ●●●○○") || shelf.ends_with("Red ●●●●○"), "{text}");
    let last = text.lines().rfind(|line| line.contains("balance")).unwrap();
    let (_, balance) = last.split_once("balance ").unwrap();
    let (cash, coins) = balance.split_once(" EUR (").unwrap();
    let minor: u64 = cash.replace(['.', ','], "").parse().unwrap();
    let coins: u64 = coins.split_once(" coins of 0.004").unwrap().0.replace(',', "").parse().unwrap();
    assert_eq!(coins, minor * 5 / 2, "{last}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn np_10_a_player_picks_treasures_on_the_terminal() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let input = "12 2 3\n12 2 3 4\n12 2 3 4 5\n".repeat(200);
    let (text, ended) = played_of(&server, "neptune", "--rounds 1500", &input).await;
    assert_eq!(ended, Ok(()), "{text}");
    assert!(text.contains("\n  Treasure: pick 3 different numbers from 1 to 12, such as 1 2 3: "), "{text}");
    assert!(text.contains(
        "\n  alice opens the objects 12, 2 and 3\n  ╭─────────┬─────────┬─────────╮\n  │ no. 12  │  no. 2  │  no. 3  │\n"
    ));
    server.stop().await.unwrap();
}

#[tokio::test]
async fn money_is_brought_in_again_when_it_runs_out() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (_, ended) = played(&server, "--auto --coin-value 0.01", "").await;
    assert_eq!(ended, Ok(()));
    let (text, ended) = played(&server, "--auto --coins 10 --coin-value 10", "").await;
    assert_eq!(ended, Ok(()));
    assert!(text.starts_with("Deposited 300,000.00 EUR.\n"), "{text}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn pl_02_a_round_left_open_is_played_on_by_the_next_call() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (text, ended) = played(&server, "--double --rounds 1000", "what?\nwhite\n").await;
    assert_eq!(ended, Ok(()));
    assert_eq!(text.matches("Which witch comes along").count(), 2, "{text}");
    let left = text.lines().last().unwrap();
    let left = if left.contains("rounds: bet") { text.lines().rev().nth(2).unwrap() } else { left };
    assert!(left.ends_with("is still open; run play again to continue it."), "{text}");
    let round = left.split(' ').nth(2).unwrap();

    let (text, ended) = played(&server, "--auto", "").await;
    assert_eq!(ended, Ok(()));
    let again = format!("\nContinuing an open round.\n\n── round {round} ");
    assert!(text.starts_with(&again), "{text}");
    assert_eq!(text.matches("── round demo/alice/").count(), 2, "{text}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn pl_12_a_refused_stake_is_explained_and_costs_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = serve(data.path()).await;
    let (text, ended) = played(&server, "--auto --lines 16", "").await;
    let failure = ended.unwrap_err();
    assert_eq!(failure.code, 1);
    assert!(
        failure.message.starts_with("INVALID_STAKE: the number of lines must be 1 to 15, not 16"),
        "{}",
        failure.message
    );
    assert!(failure.message.contains("\n  lines_max = 15"), "{}", failure.message);
    assert_eq!(text, "");
    server.stop().await.unwrap();
}

#[test]
fn unusable_arguments_are_refused_by_name() {
    for (words, at_fault) in [
        ("--rounds 0", "--rounds"),
        ("--coin-value dear", "--coin-value"),
        ("--currency XYZ", "--currency"),
        ("--witch grey", "--witch"),
        ("--lines -1", "-1"),
    ] {
        let line = format!("play bewitched {words}");
        let error = Cli::try_parse_from(line.split_whitespace()).err().unwrap().to_string();
        assert!(error.contains(at_fault), "{words}: {error}");
    }
}
