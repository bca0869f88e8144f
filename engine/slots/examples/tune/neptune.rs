use motherlode_slots::Draws;
use motherlode_slots::contract::par::{Exact, decimal, exact, ratio};
use motherlode_slots::games::neptune::data::GameData;
use motherlode_slots::games::neptune::model::Model;
use motherlode_slots::games::neptune::moments::Window;
use motherlode_slots::math::moments;
use motherlode_slots::parts::file;
use num_traits::{One, Signed};

use crate::shared::{grouped, lcm, shuffle};

const ORDERS: u8 = 120;
/// Target hit frequency in thousandths, if the player bets on all lines.
const HITS_PER_MILLE: u64 = 320;
const OBJECTS: u8 = 12;
const MAX_COINS: u64 = 2500;
/// Treasure amounts in coins and their weights in thousandths. Tuning changes only the weights of the first two amounts.
const AMOUNTS: [(u64, u64); 12] = [
    (10, 100),
    (20, 180),
    (25, 104),
    (30, 120),
    (40, 110),
    (50, 100),
    (75, 90),
    (100, 100),
    (150, 50),
    (200, 25),
    (300, 14),
    (500, 7),
];

pub fn tune(text: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut data: GameData = file::parse(text)?;
    data.reels.strips = order(&data)?;
    let treasure = solve(&Model::new(&data)?)?;
    let strips: String = data.reels.strips.iter().map(|s| format!("  \"{s}\",\n")).collect();
    Ok(format!("[reels]\nstrips = [\n{strips}]\n\n{treasure}"))
}

fn order(data: &GameData) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut best: Option<(u64, Vec<String>)> = None;
    for number in 0..ORDERS {
        let mut draws = Draws::from_seed([number; 32]);
        let mut candidate = data.clone();
        candidate.reels.strips = data.reels.strips.iter().map(|s| shuffle(s, &mut draws)).collect();
        let Ok(model) = Model::new(&candidate) else { continue };
        let wanted = model.windows.reels.cycle() * HITS_PER_MILLE / 1000;
        let off = moments::hits(&model.windows, model.limits.lines.1).abs_diff(wanted);
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, candidate.reels.strips));
        }
    }
    Ok(best.ok_or("no order of the strips compiles")?.1)
}

/// Computes the mean treasure amount that gives the target return, and from it the weights of the first two amounts.
///
/// ```text
/// R = (l + s + m n) + phi / (1 - phi) (k l + s + m n)
/// R: return, m: mean amount, n: mean of `N` in `moments.rs`; the other letters are the means in `moments.rs`
/// ```
fn solve(model: &Model) -> Result<String, Box<dyn std::error::Error>> {
    let window = Window::new(model, 1);
    let phi = &window.spins;
    let target = ratio(model.rtp_micros, 1_000_000);
    let lines = &window.lines * (Exact::one() + phi * exact(model.multiplier - 1));
    let mean = (target * (Exact::one() - phi) - lines - &window.scatter) / &window.objects;

    let mille = |n: u64| ratio(n, 1000);
    let [(low, low_share), (high, high_share), rest @ ..] = &AMOUNTS;
    let others: Exact = rest.iter().map(|&(coins, share)| mille(share * coins)).sum();
    let both = mille(low_share + high_share);
    let of_high = (mean.clone() - others - &both * exact(*low)) / exact(high - low);
    let of_low = &both - &of_high;
    eprintln!(
        "lines {} scatter {} phi {} mean treasure {} of {} objects: low {} high {}",
        decimal(&window.lines, 6),
        decimal(&window.scatter, 6),
        decimal(phi, 6),
        decimal(&mean, 4),
        decimal(&window.objects, 6),
        decimal(&of_low, 6),
        decimal(&of_high, 6),
    );
    if of_high.is_negative() || of_low.is_negative() {
        return Err(
            "no weights of the two lowest treasures meet the return: change the paytable or the other treasures".into(),
        );
    }
    let mut amounts = vec![(*low, of_low), (*high, of_high)];
    amounts.extend(rest.iter().map(|&(coins, share)| (coins, mille(share))));
    let total = amounts.iter().fold(exact(1), |total, (_, share)| exact(lcm(total.to_integer(), share.denom())));
    let weight = |share: &Exact| grouped(&(share * &total).to_integer());
    let rows = amounts.iter().map(|(coins, share)| format!("  {{ coins = {coins}, weight = {} }},\n", weight(share)));
    let rows: String = rows.collect();
    Ok(format!("[treasure]\nobjects = {OBJECTS}\nmax_coins = {MAX_COINS}\namounts = [\n{rows}]\n"))
}
