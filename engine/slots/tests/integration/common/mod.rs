use motherlode_slots::games::bewitched::data::GameData;
use motherlode_slots::games::bewitched::model::Model;
use motherlode_slots::parts::file;
use motherlode_slots::{Awaiting, Carried, Choice, Draws, Game, Outcome, Picked, Round, Seed, Stake, Terms, game};

pub const FILE: &str = include_str!("../../../golden/bewitched/1.6.toml");

pub const OPEN: Terms =
    Terms { jackpot: true, double: false, minor_micros: 10_000, gamble_max_minor: 0, carried: Carried([0; 12]) };
pub const WITH_DOUBLE: Terms = Terms { double: true, ..OPEN };

pub fn bewitched() -> &'static dyn Game {
    game("bewitched", "1.6").unwrap()
}

pub fn model() -> Model {
    Model::new(&file::parse(FILE).unwrap()).unwrap()
}

pub fn stake(lines: u32, coins_per_line: u32) -> Stake {
    Stake { coin_value_micros: 10_000, lines, coins_per_line, buy_feature: false }
}

pub fn pick<const N: usize>(objects: [u8; N]) -> Choice {
    Choice::Pick(Picked::new(&objects).unwrap())
}

pub fn seed(number: u64) -> Seed {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

pub fn with_strips(strips: [&str; 5]) -> Model {
    let mut data: GameData = file::parse(FILE).unwrap();
    data.reels.strips = strips.map(str::to_owned).to_vec();
    Model::new(&data).unwrap()
}

pub fn step(round: &mut dyn Round, choice: Choice, number: u64) -> Outcome {
    let mut out = Outcome::default();
    round.resolve(&choice, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
    out
}

pub fn next_choice(awaiting: Awaiting) -> Option<Choice> {
    match awaiting {
        Awaiting::Nothing => None,
        Awaiting::Spin => Some(Choice::Spin),
        Awaiting::Pick => Some(pick([5, 0, 3])),
        Awaiting::FreeSpins => Some(Choice::StartFreeSpins),
        Awaiting::Feature => Some(Choice::StartFeature),
        Awaiting::Double => Some(Choice::Collect),
    }
}

pub fn play(round: &mut dyn Round, draws: &mut Draws) -> Vec<Outcome> {
    let mut steps = Vec::new();
    while let Some(choice) = next_choice(round.awaiting()) {
        let mut out = Outcome::default();
        round.resolve(&choice, draws, &mut out).unwrap();
        steps.push(out);
    }
    steps
}

pub struct Naive {
    pub codes: Vec<String>,
    pub roles: Vec<String>,
    pub pays: Vec<Vec<u64>>,
    pub free_spins: Vec<u64>,
    pub lines: Vec<Vec<usize>>,
    pub strips: Vec<Vec<usize>>,
}

impl Naive {
    pub fn read() -> Self {
        Self::new(FILE)
    }

    pub fn new(file: &str) -> Self {
        let table: toml::Table = file.parse().unwrap();
        let symbols = table["symbols"].as_array().unwrap();
        let text = |key: &str| symbols.iter().map(|s| s[key].as_str().unwrap().to_owned()).collect();
        let numbers = |value: Option<&toml::Value>| {
            let list = value.and_then(toml::Value::as_array).cloned().unwrap_or_default();
            list.iter().map(|n| u64::try_from(n.as_integer().unwrap()).unwrap()).collect::<Vec<_>>()
        };
        let codes: Vec<String> = text("code");
        let rows = table["lines"]["rows"].as_array().unwrap().iter();
        let strips = table["reels"]["strips"].as_array().unwrap().iter();
        let place = |code: &str| codes.iter().position(|c| c == code).unwrap();
        Self {
            roles: text("role"),
            pays: symbols.iter().map(|s| numbers(s.get("pays"))).collect(),
            free_spins: symbols.iter().flat_map(|s| numbers(s.get("free_spins"))).collect(),
            lines: rows.map(|r| r.as_str().unwrap().bytes().map(|b| usize::from(b - b'0')).collect()).collect(),
            strips: strips.map(|s| s.as_str().unwrap().split_whitespace().map(place).collect()).collect(),
            codes,
        }
    }

    pub fn on_strips(&self, file: &str, set: &str) -> Self {
        let table: toml::Table = file.parse().unwrap();
        let strips = table[set]["strips"].as_array().unwrap().iter();
        let place = |code: &str| self.codes.iter().position(|c| c == code).unwrap();
        let strips = strips.map(|s| s.as_str().unwrap().split_whitespace().map(place).collect()).collect();
        Self { strips, ..Self::new(file) }
    }

    pub fn cell(&self, reel: usize, stop: usize, row: usize) -> usize {
        let strip = &self.strips[reel];
        strip[(stop + row) % strip.len()]
    }

    pub fn line(&self, line: usize, stops: &[usize]) -> u64 {
        let cells: Vec<usize> = (0..5).map(|r| self.cell(r, stops[r], self.lines[line][r])).collect();
        let tried = |symbol: usize| {
            let stands = |&&cell: &&usize| cell == symbol || self.roles[cell] == "wild";
            let count = cells.iter().take_while(stands).count();
            let on_lines = ["wild", "regular"].contains(&self.roles[symbol].as_str());
            if count > 0 && on_lines { self.pays[symbol][count - 1] } else { 0 }
        };
        (0..self.codes.len()).map(tried).max().unwrap()
    }

    pub fn count(&self, role: &str, stops: &[usize]) -> usize {
        let cells = (0..5).flat_map(|reel| (0..3).map(move |row| (reel, row)));
        cells.filter(|&(reel, row)| self.roles[self.cell(reel, stops[reel], row)] == role).count()
    }
}
