use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use motherlode_slots::games::bewitched::model::Model;
use motherlode_slots::math::scan;
use motherlode_slots::parts::file;
use motherlode_slots::{Carried, Choice, Draws, Game, Outcome, Stake, Terms, games, latest, simulate};

const STAKE: Stake = Stake { coin_value_micros: 10_000, lines: 15, coins_per_line: 1, buy_feature: false };

fn bewitched() -> &'static dyn Game {
    latest("bewitched").expect("bewitched is built in")
}

fn scan(c: &mut Criterion) {
    let model = file::parse(include_str!("../golden/bewitched/1.6.1.toml")).and_then(|data| Model::new(&data));
    let model = model.expect("a test loads it");
    let from = model.windows.reels.cycle() / 3;
    let mut group = c.benchmark_group("scan");
    group.throughput(Throughput::Elements(1_000_000)).sample_size(10);
    group.bench_function("combinations", |b| {
        b.iter(|| scan::scan(&model.windows, 15, black_box(from)..from + 1_000_000))
    });
    group.finish();
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("simulate");
    group.throughput(Throughput::Elements(100_000)).sample_size(10);
    for game in games() {
        let limits = &game.info().limits;
        let coin_value_micros = limits.coin_values_micros.first().copied().unwrap_or_default();
        let (lines, coins_per_line) = (limits.lines.1, limits.coins_per_line.0);
        let stake = Stake { coin_value_micros, lines, coins_per_line, buy_feature: false };
        group.bench_function(game.name(), |b| {
            b.iter(|| simulate(*game, &stake, Carried::default(), 100_000, black_box([7; 32])));
        });
    }
    group.finish();
}

fn step(c: &mut Criterion) {
    let game = bewitched();
    let mut out = Outcome::default();
    let mut seed = [0; 32];
    let mut number = 0u64;
    c.bench_function("step/open and spin from a fresh seed", |b| {
        b.iter(|| {
            number += 1;
            seed[..8].copy_from_slice(&number.to_le_bytes());
            let mut round = game.open(&STAKE, &Terms::plain(Carried::default())).ok()?;
            let mut draws = Draws::from_seed(seed);
            black_box(round.resolve(&Choice::Spin, &mut draws, &mut out)).is_ok().then_some(())
        });
    });
}

fn par(c: &mut Criterion) {
    let mut group = c.benchmark_group("par");
    group.sample_size(10);
    group.bench_function("15 lines", |b| b.iter(|| bewitched().par(&STAKE)));
    group.finish();
}

criterion_group!(benches, scan, rounds, step, par);
criterion_main!(benches);
