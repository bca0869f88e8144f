use motherlode_slots::contract::round::choice_for;
use motherlode_slots::games::mystery_elves::data::GameData;
use motherlode_slots::games::mystery_elves::model::Model;
use motherlode_slots::games::mystery_elves::round::MysteryElvesRound;
use motherlode_slots::parts::file;
use motherlode_slots::{Carried, Choice, Draws, Game, MarkKind, Outcome, Round, Seed, Spin, Stake, Terms, game};

pub const FILE: &str = include_str!("../../../golden/mystery-elves/1.0.toml");

pub fn elves() -> &'static dyn Game {
    game("mystery-elves", "1.0").unwrap()
}

pub fn file() -> GameData {
    file::parse(FILE).unwrap()
}

pub fn with(change: impl FnOnce(&mut GameData)) -> Model {
    let mut data = file();
    change(&mut data);
    Model::new(&data).unwrap()
}

pub fn stake(coins_per_line: u32) -> Stake {
    Stake { coin_value_micros: 10_000, lines: 10, coins_per_line, buy_feature: false }
}

pub fn buy(coins_per_line: u32) -> Stake {
    Stake { buy_feature: true, ..stake(coins_per_line) }
}

pub fn terms() -> Terms {
    Terms::plain(Carried::default())
}

pub fn seed(number: u64) -> Seed {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

pub fn step(round: &mut dyn Round, choice: Choice, number: u64) -> Outcome {
    let mut out = Outcome::default();
    round.resolve(&choice, &mut Draws::from_seed(seed(number)), &mut out).unwrap();
    out
}

pub fn play(model: &Model, stake: &Stake, draws: &mut Draws) -> Vec<Outcome> {
    let mut round = MysteryElvesRound::new(model, stake, &terms()).unwrap();
    let mut steps = Vec::new();
    while let Some(choice) = choice_for(round.awaiting(), None) {
        let mut out = Outcome::default();
        round.resolve(&choice, draws, &mut out).unwrap();
        steps.push(out);
    }
    steps
}

pub fn carried(out: &Outcome, spin: &Spin) -> [Option<(MarkKind, u32)>; 15] {
    let mut cells = [None; 15];
    for mark in out.marks_of(spin) {
        assert!(cells[usize::from(mark.cell)].replace((mark.kind, mark.value)).is_none());
    }
    cells
}

pub struct Naive {
    pub codes: Vec<String>,
    pub roles: Vec<String>,
    pub pays: Vec<Vec<u64>>,
    pub lines: Vec<Vec<usize>>,
    pub strips: Vec<Vec<usize>>,
    pub bought: Vec<Vec<usize>>,
    pub bonus: usize,
}

impl Naive {
    pub fn read() -> Self {
        let table: toml::Table = FILE.parse().unwrap();
        let symbols = table["symbols"].as_array().unwrap();
        let text = |key: &str| symbols.iter().map(|s| s[key].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let pays = |s: &toml::Value| {
            let list = s.get("pays").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            list.iter().map(|n| u64::try_from(n.as_integer().unwrap()).unwrap()).collect::<Vec<_>>()
        };
        let codes = text("code");
        let strips = |section: &str| {
            let rows = table[section]["strips"].as_array().unwrap().iter();
            let place = |code: &str| codes.iter().position(|c| c == code).unwrap();
            rows.map(|s| s.as_str().unwrap().split_whitespace().map(place).collect()).collect::<Vec<Vec<usize>>>()
        };
        let rows = table["lines"]["rows"].as_array().unwrap().iter();
        let lines = rows.map(|r| r.as_str().unwrap().bytes().map(|b| usize::from(b - b'0')).collect()).collect();
        Self {
            roles: text("role"),
            pays: symbols.iter().map(pays).collect(),
            lines,
            strips: strips("reels"),
            bought: strips("buy"),
            bonus: codes.iter().position(|c| c == "Bo").unwrap(),
            codes,
        }
    }

    pub fn window(strips: &[Vec<usize>], stops: &[u16]) -> [usize; 15] {
        std::array::from_fn(|cell| {
            let strip = &strips[cell / 3];
            strip[(usize::from(stops[cell / 3]) + cell % 3) % strip.len()]
        })
    }

    pub fn line(&self, line: usize, window: &[usize; 15]) -> u64 {
        let cells: Vec<usize> = (0..5).map(|reel| window[reel * 3 + self.lines[line][reel]]).collect();
        let tried = |symbol: usize| {
            let stands = |&&cell: &&usize| cell == symbol || self.roles[cell] == "wild";
            let count = cells.iter().take_while(stands).count();
            let on_lines = self.roles[symbol] != "bonus";
            if count > 0 && on_lines { self.pays[symbol][count - 1] } else { 0 }
        };
        (0..self.codes.len()).map(tried).max().unwrap()
    }
}
