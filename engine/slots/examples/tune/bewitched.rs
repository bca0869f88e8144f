use motherlode_slots::Draws;
use motherlode_slots::contract::par::{Exact, decimal};
use motherlode_slots::games::bewitched::data::GameData;
use motherlode_slots::games::bewitched::model::Model;
use motherlode_slots::games::bewitched::moments::Window;
use motherlode_slots::math::moments;
use motherlode_slots::parts::file;
use num_traits::{One, Signed};

use crate::shared::{grouped, lcm, shuffle};

const ORDERS: u8 = 120;
/// Target hit frequency in thousandths, if the player bets on all lines.
const HITS_PER_MILLE: u64 = 290;
/// Money prizes in coins and their weights in thousandths. Tuning changes only the weights of the first two prizes.
const MONEY: [(u32, u64); 12] = [
    (15, 300),
    (20, 180),
    (25, 90),
    (30, 60),
    (40, 40),
    (50, 30),
    (75, 18),
    (100, 12),
    (125, 8),
    (150, 6),
    (200, 4),
    (300, 2),
];
const FREE_SPINS: [(u32, u64); 6] = [(15, 130), (20, 60), (25, 30), (30, 15), (45, 10), (60, 5)];

pub fn tune(text: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut data: GameData = file::parse(text)?;
    data.wheel.jackpot_per_coin = 0;
    data.reels.strips = order(&data)?;
    let model = Model::new(&data)?;
    let wheel = solve(&model)?;
    let strips: String = data.reels.strips.iter().map(|s| format!("  \"{s}\",\n")).collect();
    Ok(format!("[reels]\nstrips = [\n{strips}]\n\n{wheel}"))
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

/// Computes the mean money prize that gives the target return, and from it the weights of the first two prizes and of the
/// jackpot.
///
/// ```text
/// T = (l + s + y m) + phi / (1 - phi) (k l + s + y m)    phi = z + y g
/// T: return, m: mean money; the other letters are the means in `moments.rs`
/// ```
fn solve(model: &Model) -> Result<String, Box<dyn std::error::Error>> {
    let window = Window::new(model, &moments::spin_table(&model.windows, 1), 1);
    let whole = |n: u64| Exact::from_integer(n.into());
    let mille = |n: u64| Exact::new(n.into(), 1000.into());
    let g: Exact = FREE_SPINS.iter().map(|&(n, share)| mille(share * u64::from(n))).sum();
    let phi = &window.spins + &window.bonus * g;
    let dies = Exact::one() - &phi;
    let target = Exact::new(model.rtp_micros.into(), 1_000_000.into());
    let lines = &window.lines * (Exact::one() + &phi * whole(u64::from(model.multiplier) - 1));
    let money = (target * &dies - lines - &window.scatter) / &window.bonus;
    let per_coin = &dies / (whole(model.jackpot.odds) * &window.bonus);

    let [(low, low_share), (high, high_share), rest @ ..] = &MONEY;
    let others: Exact = rest.iter().map(|&(m, share)| mille(share * u64::from(m))).sum();
    let both = mille(low_share + high_share);
    let above_low = money.clone() - others - &both * whole(u64::from(*low));
    let of_high = above_low / whole(u64::from(high - low));
    let of_low = both - &of_high;
    eprintln!(
        "lines {} scatter {} phi {} money {}: low {} high {} jackpot a coin {}",
        decimal(&window.lines, 6),
        decimal(&window.scatter, 6),
        decimal(&phi, 6),
        decimal(&money, 4),
        decimal(&of_low, 6),
        decimal(&of_high, 6),
        decimal(&per_coin, 9),
    );
    if of_high.is_negative() || of_low.is_negative() {
        return Err(
            "no weights of the first two prizes meet the return: change the paytable or the other prizes".into()
        );
    }
    let mut prizes = vec![("multiple", *low, of_low), ("multiple", *high, of_high)];
    prizes.extend(rest.iter().map(|&(m, share)| ("multiple", m, mille(share))));
    prizes.extend(FREE_SPINS.iter().map(|&(n, share)| ("free_spins", n, mille(share))));
    let total = prizes.iter().map(|p| p.2.denom()).fold(per_coin.denom().clone(), lcm);
    let weight = |share: &Exact| grouped(&(share * Exact::from_integer(total.clone())).to_integer());
    let rows = prizes.iter().map(|(kind, n, share)| format!("  {{ {kind} = {n}, weight = {} }},\n", weight(share)));
    Ok(format!(
        "[wheel]\n# The weight that each coin staked moves to the jackpot; see wheel.rs for the trade.\n\
         jackpot_per_coin = {}\nprizes = [\n{}]\n",
        weight(&per_coin),
        rows.collect::<String>(),
    ))
}
