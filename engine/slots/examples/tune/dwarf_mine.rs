use std::error::Error;

use motherlode_slots::Draws;
use motherlode_slots::contract::par::{Exact, decimal};
use motherlode_slots::games::dwarf_mine::data::{CellData, GameData, SUPER_HIGH};
use motherlode_slots::games::dwarf_mine::model::{Model, ROWS};
use motherlode_slots::games::dwarf_mine::moments::Returns;
use motherlode_slots::parts::file;
use num_traits::{Signed, ToPrimitive};

const ORDERS: u8 = 60;
const HITS_PER_MILLE: i64 = 280;
const WEIGHT: u32 = 100_000_000;
const FIRST_CRYSTAL: u32 = 330_000;

/// Per symbol: code, height of its highest stack, number of stops on each paid strip, number of stops on each free strip,
/// and weight in thousandths in added rows.
type Contents = (&'static str, usize, [usize; 5], [usize; 5], u32);

const CONTENTS: [Contents; 9] = [
    ("Pi", 2, [4, 4, 4, 4, 4], [4, 4, 4, 4, 4], 80),
    ("Ha", 2, [4, 4, 5, 4, 4], [4, 4, 5, 4, 4], 90),
    ("Ax", 2, [5, 5, 4, 5, 5], [5, 5, 4, 5, 5], 110),
    ("Sh", 2, [5, 5, 5, 5, 5], [5, 5, 5, 5, 5], 120),
    ("He", 3, [6, 7, 6, 6, 6], [6, 7, 6, 6, 6], 140),
    ("Di", 3, [7, 6, 6, 7, 6], [7, 6, 6, 7, 6], 140),
    ("Cl", 3, [6, 7, 7, 6, 7], [6, 7, 7, 6, 7], 160),
    ("Sp", 3, [7, 6, 7, 7, 7], [7, 6, 7, 7, 7], 160),
    ("Bo", 1, [2, 0, 2, 0, 2], [0; 5], 0),
];
const SUPER_HIGH_STACKS: [&[usize]; 5] = [&[3, 1], &[2, 2], &[2, 2], &[2, 2], &[2, 2]];

pub fn tune(text: &str) -> Result<String, Box<dyn Error>> {
    let mut data: GameData = file::parse(text)?;
    data.expansion.symbols = CONTENTS
        .iter()
        .filter(|of| of.4 > 0)
        .map(|of| CellData { code: of.0.to_owned(), weight: of.4 * (WEIGHT / 1000) })
        .collect();
    data.expansion.crystal = FIRST_CRYSTAL;
    order(&mut data)?;
    weigh(&mut data)?;
    let strips = |strips: &[String]| strips.iter().map(|s| format!("  \"{s}\",\n")).collect::<String>();
    let cell = |of: &CellData| format!("  {{ code = \"{}\", weight = {} }},\n", of.code, grouped(of.weight));
    Ok(format!(
        "[reels]\n# The paid spin's strips.\nbase = [\n{}]\n# Free spins' strips; `*` is the super-high symbol of the \
         colour, there in Collection Free Spins only.\nfree = [\n{}]\n\n[expansion]\n# Weight of each of the four \
         crystals, until it has landed, next to those of the symbols.\ncrystal = {}\nsymbols = [\n{}]\n",
        strips(&data.reels.base),
        strips(&data.reels.free),
        grouped(data.expansion.crystal),
        data.expansion.symbols.iter().map(cell).collect::<String>(),
    ))
}

fn order(data: &mut GameData) -> Result<(), Box<dyn Error>> {
    let mut best: Option<(Exact, GameData)> = None;
    for number in 0..ORDERS {
        let mut draws = Draws::from_seed([number; 32]);
        let mut candidate = data.clone();
        candidate.reels.base = (0..5).map(|reel| shuffle(&stacks(|of| of.2[reel]), &mut draws)).collect();
        candidate.reels.free = (0..5).map(|reel| shuffle(&free_stacks(reel), &mut draws)).collect();
        let model = Model::new(&candidate)?;
        let nothing = motherlode_slots::games::dwarf_mine::paid_spin::PaidSpin::new(&model).nothing;
        let off = (nothing - Exact::new((1000 - HITS_PER_MILLE).into(), 1000.into())).abs();
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, candidate));
        }
    }
    *data = best.ok_or("no order")?.1;
    Ok(())
}

fn stacks(number: impl Fn(&Contents) -> usize) -> Vec<(&'static str, usize)> {
    let mut all = Vec::new();
    for of in &CONTENTS {
        let mut left = number(of);
        while left > 0 {
            all.push((of.0, left.min(of.1)));
            left -= left.min(of.1);
        }
    }
    all
}

fn free_stacks(reel: usize) -> Vec<(&'static str, usize)> {
    let super_high = SUPER_HIGH_STACKS[reel].iter().map(|&stack| (SUPER_HIGH, stack));
    stacks(|of| of.3[reel]).into_iter().chain(super_high).collect()
}

fn shuffle(stacks: &[(&'static str, usize)], draws: &mut Draws) -> String {
    let mut stacks = stacks.to_vec();
    loop {
        for last in (1..stacks.len()).rev() {
            stacks.swap(last, draws.below(u32::try_from(last + 1).expect("a strip is short")) as usize);
        }
        let mut codes: Vec<&str> = stacks.iter().flat_map(|&(code, rows)| std::iter::repeat_n(code, rows)).collect();
        let text = codes.join(" ");
        let bonuses: Vec<usize> = (0..codes.len()).filter(|&at| codes[at] == "Bo").collect();
        let apart = |at: usize, other: usize| (other + codes.len() - at) % codes.len() >= ROWS || at == other;
        let bonuses_apart = bonuses.iter().all(|&at| bonuses.iter().all(|&other| apart(at, other)));
        let neighbours =
            |stacks: &[(&str, usize)]| (0..stacks.len()).all(|at| stacks[at].0 != stacks[(at + 1) % stacks.len()].0);
        codes.clear();
        let without: Vec<_> = stacks.iter().copied().filter(|of| of.0 != SUPER_HIGH).collect();
        if bonuses_apart && neighbours(&stacks) && neighbours(&without) {
            return text;
        }
    }
}

fn weigh(data: &mut GameData) -> Result<(), Box<dyn Error>> {
    let promised = Exact::new(file::micros("rtp", &data.rtp)?.into(), 1_000_000.into());
    let mut at = |crystal: u32| -> Result<Exact, Box<dyn Error>> {
        data.expansion.crystal = crystal;
        Ok(Returns::new(&Model::new(data)?).total() - &promised)
    };
    let (mut low, mut high) = (1, WEIGHT / 20);
    let (below, above) = (at(low)?, at(high)?);
    if below.is_positive() || above.is_negative() {
        let print = |off: &Exact| decimal(off, 6);
        eprintln!("off by {} to {}: change paytable or contents", print(&below), print(&above));
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if at(middle)?.is_negative() { low = middle } else { high = middle }
    }
    let nearest = if at(low)?.abs() < at(high)?.abs() { low } else { high };
    data.expansion.crystal = nearest;
    report(data)
}

fn report(data: &GameData) -> Result<(), Box<dyn Error>> {
    let model = Model::new(data)?;
    let returns = Returns::new(&model);
    let paid = &returns.paid;
    eprintln!(
        "total {} base {} free {} collections {}",
        decimal(&returns.total(), 9),
        decimal(&returns.base(), 6),
        decimal(&returns.free_spins(), 6),
        decimal(&returns.collections(), 6)
    );
    eprintln!(
        "nothing {} rows {:?} crystal 1/{}",
        decimal(&paid.nothing, 6),
        [1, 2, 3].map(|k| paid.bonuses(k).to_f64()),
        decimal(&paid.crystal().recip(), 2)
    );
    eprintln!(
        "free spin {} collection {:?}",
        decimal(&returns.free.coins, 3),
        returns.collection.each_ref().map(|of| decimal(&of.coins, 3))
    );
    Ok(())
}

fn grouped(n: u32) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}
