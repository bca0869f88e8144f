use motherlode_slots::Draws;
use motherlode_slots::contract::par::{Exact, decimal, exact, ratio};
use motherlode_slots::games::mystery_elves::data::GameData;
use motherlode_slots::games::mystery_elves::model::Model;
use motherlode_slots::games::mystery_elves::moments::{FeatureMoments, Window, hits};
use motherlode_slots::games::mystery_elves::par::{base, buy_feature};
use motherlode_slots::parts::file;
use num_traits::{Signed, ToPrimitive};

const ORDERS: u8 = 60;
const HITS_PER_MILLE: u64 = 250;
const VALUES: [u32; 18] = [
    250_000, 195_000, 150_000, 110_000, 82_000, 60_000, 43_000, 31_000, 22_000, 16_000, 11_500, 8_500, 6_300, 4_700,
    3_500, 2_700, 2_100, 1_700,
];
const LOW: usize = 0;
const HIGH: usize = 7;
const MYSTERY: u32 = 36_000;
const MULTIPLYING: u32 = 80_000;
const BUY_BETS: u32 = 70;
const GROUPS: usize = 12;
const FILLERS: &str = "La Mu Be Co Ow La Mu Be Co Ar La Mu Be Co Qu La Mu Be Co Ki";

pub fn tune(text: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut data: GameData = file::parse(text)?;
    data.bonus.values = VALUES.to_vec();
    (data.bonus.mystery, data.bonus.multiplying) = (MYSTERY, MULTIPLYING);
    data.buy.bets = BUY_BETS;
    data.buy.strips = bought(0);
    data.reels.strips = order(&data)?;
    weigh(&mut data)?;
    (data.buy.rtp, data.buy.strips) = buy(&mut data)?;
    let strips = |strips: &[String]| strips.iter().map(|s| format!("  \"{s}\",\n")).collect::<String>();
    let values: Vec<String> = data.bonus.values.chunks(6).map(|row| format!("  {},\n", list(row))).collect();
    Ok(format!(
        "[reels]\nstrips = [\n{}]\n\n\
         # Weights of what a Bonus symbol carries: of the values 1, 2, ... 18, of Mystery, and on the middle reel of\n\
         # Multiplying besides.\n\
         [bonus]\nvalues = [\n{}]\nmystery = {}\nmultiplying = {}\n\n\
         # The price of the feature in bets, what it returns in its price, and the reels of the spin that comes with it.\n\
         [buy]\nbets = {}\nrtp = \"{}\"\nstrips = [\n{}]\n",
        strips(&data.reels.strips),
        values.concat(),
        data.bonus.mystery,
        data.bonus.multiplying,
        data.buy.bets,
        data.buy.rtp,
        strips(&data.buy.strips),
    ))
}

fn list(row: &[u32]) -> String {
    row.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn order(data: &GameData) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut best: Option<(u64, Vec<String>)> = None;
    for number in 0..ORDERS {
        let mut draws = Draws::from_seed([number; 32]);
        let mut candidate = data.clone();
        candidate.reels.strips = data.reels.strips.iter().map(|s| shuffle(s, &mut draws)).collect();
        let model = Model::new(&candidate)?;
        let found = hits(&model.windows, model.hold_and_win.symbol, model.hold_and_win.needs);
        let off = found.abs_diff(model.windows.reels.cycle() * HITS_PER_MILLE / 1000);
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, candidate.reels.strips));
        }
    }
    Ok(best.ok_or("no orders")?.1)
}

fn shuffle(strip: &str, draws: &mut Draws) -> String {
    let codes: Vec<&str> = strip.split_whitespace().collect();
    let mut runs: Vec<&[&str]> = codes.chunk_by(|a, b| a == b).collect();
    runs.sort_unstable();
    loop {
        for last in (1..runs.len()).rev() {
            let n = u32::try_from(last + 1).expect("a strip is short");
            runs.swap(last, draws.below(n) as usize);
        }
        if (0..runs.len()).all(|i| runs[i][0] != runs[(i + 1) % runs.len()][0]) {
            return runs.concat().join(" ");
        }
    }
}

fn weigh(data: &mut GameData) -> Result<(), Box<dyn std::error::Error>> {
    let returns = |moved: u32| -> Result<Exact, Box<dyn std::error::Error>> {
        let mut candidate = data.clone();
        candidate.bonus.values[LOW] -= moved;
        candidate.bonus.values[HIGH] += moved;
        let model = Model::new(&candidate)?;
        Ok(base(&model, &FeatureMoments::new(&model)))
    };
    let model = Model::new(data)?;
    let window = Window::new(&model.windows, model.hold_and_win.symbol);
    let (lines, starts) = (window.lines(), window.starts(model.hold_and_win.needs));
    eprintln!("lines {}, feature once in {}", decimal(&lines, 6), decimal(&starts.recip(), 2));
    let most = 100_000u32;
    let (from, to) = (returns(0)?, returns(most)?);
    let wanted = ratio(file::micros("rtp", &data.rtp)?, 1_000_000);
    let moved = ((&wanted - &from) / (&to - &from) * exact(most)).round();
    eprintln!("returns {} to {}, moved {}", decimal(&from, 6), decimal(&to, 6), decimal(&moved, 0));
    let moved = moved.to_integer().to_i64().ok_or("no weight meets the return")?;
    let shifted = |weight: u32, by: i64| u32::try_from(i64::from(weight) + by);
    data.bonus.values[LOW] = shifted(data.bonus.values[LOW], -moved)?;
    data.bonus.values[HIGH] = shifted(data.bonus.values[HIGH], moved)?;
    Ok(())
}

fn buy(data: &mut GameData) -> Result<(String, Vec<String>), Box<dyn std::error::Error>> {
    let wanted = ratio(file::micros("rtp", &data.rtp)?, 1_000_000);
    let feature = FeatureMoments::new(&Model::new(data)?);
    let mut best: Option<(Exact, Exact, Vec<String>)> = None;
    for extra in 0..=4 * GROUPS {
        data.buy.strips = bought(extra);
        let rtp = buy_feature(&Model::new(data)?, &feature);
        let off = (&rtp - &wanted).abs();
        if best.as_ref().is_none_or(|(least, ..)| off < *least) {
            best = Some((off, rtp, data.buy.strips.clone()));
        }
    }
    let (_, rtp, strips) = best.ok_or("no reels")?;
    Ok((decimal(&rtp, 6), strips))
}

fn bought(extra: usize) -> Vec<String> {
    let reel = |reel: usize| {
        let mut fillers = FILLERS.split_whitespace().cycle().skip(3 * reel);
        let more = extra / 4 + usize::from([0, 1, 4, 2, 3][reel] < extra % 4);
        let group = |group: usize| {
            let two = reel == 2 || (group + 1) * more / GROUPS > group * more / GROUPS;
            (0..3).map(|place| place < 1 + usize::from(two)).collect::<Vec<bool>>()
        };
        let stops = (0..GROUPS).flat_map(group);
        let codes = stops.map(|bonus| if bonus { "Bo" } else { fillers.next().unwrap_or("La") });
        codes.collect::<Vec<_>>().join(" ")
    };
    (0..5).map(reel).collect()
}
