use std::collections::BTreeMap;

use motherlode_slots::contract::round::choice_for;
use motherlode_slots::games::dwarf_mine::data::GameData;
use motherlode_slots::games::dwarf_mine::model::Model;
use motherlode_slots::parts::file;
use motherlode_slots::{
    Carried, Choice, Draws, Game, MarkKind, Outcome, Round, Seed, Spin, SpinKind, Stake, Terms, game,
};

pub const FILE: &str = include_str!("../../../golden/dwarf-mine/1.0.toml");

pub fn dwarf_mine() -> &'static dyn Game {
    game("dwarf-mine", "1.0").unwrap()
}

pub fn model_of(text: &str) -> Model {
    Model::new(&file::parse::<GameData>(text).unwrap()).unwrap()
}

pub fn stake(coin_value_micros: u64) -> Stake {
    Stake { coin_value_micros, lines: 1, coins_per_line: 25, buy_feature: false }
}

pub fn seed(number: u64) -> Seed {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

pub fn carried(crystals: [i64; 4], micros: [i64; 4], gifted: i64) -> Carried {
    let mut carried = Carried::default();
    carried.0[..4].copy_from_slice(&crystals);
    carried.0[4..8].copy_from_slice(&micros);
    (carried.0[8], carried.0[9]) = (gifted, 1);
    carried
}

pub fn step(round: &mut dyn Round, choice: Choice, draws: &mut Draws) -> Outcome {
    let mut out = Outcome::default();
    round.resolve(&choice, draws, &mut out).unwrap();
    out
}

pub fn play(round: &mut dyn Round, draws: &mut Draws) -> Vec<Outcome> {
    let mut steps = Vec::new();
    while let Some(choice) = choice_for(round.awaiting(), None) {
        steps.push(step(round, choice, draws));
    }
    steps
}

pub fn open(coin_value_micros: u64, carried: Carried) -> Box<dyn Round> {
    dwarf_mine().open(&stake(coin_value_micros), &Terms::plain(carried)).unwrap()
}

pub fn rounds(number: usize, seed_number: u64) -> Vec<(Carried, Vec<Outcome>)> {
    let mut draws = Draws::from_seed(seed(seed_number));
    let mut carried = Carried::default();
    let mut round = open(10_000, carried);
    let mut all = Vec::new();
    for _ in 0..number {
        round.reopen(&carried);
        let steps = play(round.as_mut(), &mut draws);
        let before = carried;
        carried = steps[0].carried.unwrap_or(carried);
        all.push((before, steps));
    }
    all
}

pub struct Naive {
    pub codes: Vec<String>,
    pub roles: Vec<String>,
    pub pays: BTreeMap<String, Vec<u64>>,
    pub base: Vec<Vec<String>>,
    pub free: Vec<Vec<String>>,
    pub weights: BTreeMap<String, u64>,
    pub crystal: u64,
}

impl Naive {
    pub fn read(text: &str) -> Self {
        let table: toml::Table = text.parse().unwrap();
        let symbols = table["symbols"].as_array().unwrap();
        let text = |of: &toml::Value, key: &str| of[key].as_str().unwrap().to_owned();
        let number = |of: &toml::Value| u64::try_from(of.as_integer().unwrap()).unwrap();
        let strips = |key: &str| {
            let strips = table["reels"][key].as_array().unwrap().iter();
            strips.map(|s| s.as_str().unwrap().split_whitespace().map(str::to_owned).collect()).collect()
        };
        let pays = symbols.iter().map(|of| {
            let pays = of.get("pays").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            (text(of, "code"), pays.iter().map(number).collect())
        });
        let cells = table["expansion"]["symbols"].as_array().unwrap();
        Self {
            pays: pays.collect(),
            codes: symbols.iter().map(|of| text(of, "code")).collect(),
            roles: symbols.iter().map(|of| text(of, "role")).collect(),
            base: strips("base"),
            free: strips("free"),
            weights: cells.iter().map(|of| (text(of, "code"), number(&of["weight"]))).collect(),
            crystal: number(&table["expansion"]["crystal"]),
        }
    }

    pub fn index(&self, code: &str) -> u8 {
        u8::try_from(self.codes.iter().position(|of| of == code).unwrap()).unwrap()
    }

    pub fn role(&self, code: &str) -> &str {
        &self.roles[usize::from(self.index(code))]
    }

    pub fn strips(&self, kind: SpinKind) -> Vec<Vec<String>> {
        let with = |super_high: Option<&String>| {
            let symbol = |code: &String| if code == "*" { super_high.cloned() } else { Some(code.clone()) };
            self.free.iter().map(|strip| strip.iter().filter_map(symbol).collect()).collect()
        };
        match kind {
            SpinKind::Base => self.base.clone(),
            SpinKind::Collection(symbol) => with(Some(&self.codes[usize::from(symbol)])),
            _ => with(None),
        }
    }

    pub fn window(&self, spin: &Spin) -> Vec<Vec<String>> {
        let code = |reel: u8, row: u8| {
            self.codes[usize::from(spin.cell(usize::from(reel), usize::from(row)).unwrap())].clone()
        };
        (0..spin.reels).map(|reel| (0..spin.rows).map(|row| code(reel, row)).collect()).collect()
    }

    pub fn wins(&self, window: &[Vec<String>]) -> BTreeMap<String, (u8, u64, u64)> {
        let mut wins = BTreeMap::new();
        for (code, pays) in &self.pays {
            let on_reels = window.iter().take_while(|column| column.contains(code)).count();
            let pay = if on_reels == 0 { 0 } else { pays.get(on_reels - 1).copied().unwrap_or(0) };
            if pay > 0 {
                let ways = walk(code, &window[..on_reels]);
                wins.insert(code.clone(), (u8::try_from(on_reels).unwrap(), ways, pay * ways));
            }
        }
        wins
    }
}

fn walk(code: &str, reels: &[Vec<String>]) -> u64 {
    match reels.split_first() {
        None => 1,
        Some((first, rest)) => first.iter().filter(|cell| *cell == code).map(|_| walk(code, rest)).sum(),
    }
}

pub fn crystals(out: &Outcome) -> Vec<u8> {
    let marks = out.marks_of(&out.spins[0]).iter().filter(|mark| mark.kind == MarkKind::Crystal);
    marks.map(|mark| u8::try_from(mark.value).unwrap()).collect()
}
