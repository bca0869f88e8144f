use motherlode_slots::Draws;
use motherlode_slots::contract::par::{Exact, decimal, exact, ratio};
use motherlode_slots::games::witch_feature::data::{ChanceData, GameData};
use motherlode_slots::games::witch_feature::model::Model;
use motherlode_slots::games::witch_feature::moments::Means;
use motherlode_slots::math::moments;
use motherlode_slots::parts::data::ReelsData;
use motherlode_slots::parts::file;
use num_traits::{Signed, ToPrimitive};

const ORDERS: u8 = 24;
const HITS_PER_MILLE: u64 = 350;

pub fn tune(text: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut data: GameData = file::parse(text)?;
    order(&mut data, |data| &mut data.reels)?;
    order(&mut data, |data| &mut data.respin_reels)?;
    order(&mut data, |data| &mut data.free_reels)?;
    let with = |times| -> Result<Exact, Box<dyn std::error::Error>> {
        let data = GameData { explosion_chance: ChanceData { times, of: 1 }, ..data.clone() };
        let model = Model::new(&data)?;
        let means = Means::new(&model);
        for (part, value) in model_parts(&means, &model) {
            eprintln!("  {part:<16}{value}");
        }
        Ok(means.rtp(&model, 4))
    };
    let (never, always) = (with(0)?, with(1)?);
    let promised = ratio(file::micros("rtp", &data.rtp)?, 1_000_000);
    let chance = (promised - &never) / (&always - &never);
    eprintln!(
        "return without Explosions {}, with one after every other combination {}: chance {}",
        decimal(&never, 6),
        decimal(&always, 6),
        decimal(&chance, 6)
    );
    if chance.is_negative() || chance > exact(1) {
        return Err("no probability of the Explosion meets the return: change the paytable or the features".into());
    }
    let of = 1_000_000_000_000_000u64;
    let times = (chance * exact(of)).round().to_integer().to_u64().ok_or("a chance below 1 has 64 bits")?;
    let section = |name: &str, strips: &[String]| {
        let strips: String = strips.iter().map(|strip| format!("  \"{strip}\",\n")).collect();
        format!("[{name}]\nstrips = [\n{strips}]\n\n")
    };
    Ok([
        section("reels", &data.reels.strips),
        section("respin_reels", &data.respin_reels.strips),
        section("free_reels", &data.free_reels.strips),
        format!("[explosion_chance]\ntimes = {times}\nof = {of}\n"),
    ]
    .concat())
}

fn model_parts(means: &Means, model: &Model) -> Vec<(&'static str, String)> {
    let names = ["base_lines", "high_symbols", "random_wilds", "multiplier", "mega_wild", "explosion", "free_spins"];
    let parts = means.parts(model, 4);
    let mut all: Vec<_> = names.into_iter().zip(parts.iter().map(|part| decimal(part, 6))).collect();
    let of_features = ["mean of HS", "mean of RW", "mean of Mx", "mean of MW"];
    all.extend(of_features.into_iter().zip(means.features.iter().map(|mean| decimal(mean, 4))));
    all.push(("respins win", decimal(&means.respin_wins, 4)));
    all
}

fn order(data: &mut GameData, of: fn(&mut GameData) -> &mut ReelsData) -> Result<(), Box<dyn std::error::Error>> {
    let mut best: Option<(u64, Vec<String>)> = None;
    for number in 0..ORDERS {
        let mut draws = Draws::from_seed([number; 32]);
        let mut candidate = data.clone();
        let strips = &mut of(&mut candidate).strips;
        *strips = strips.iter().map(|strip| crate::shared::shuffle(strip, &mut draws)).collect();
        let strips = strips.clone();
        let model = Model::new(&GameData { reels: ReelsData { strips: strips.clone() }, ..candidate.clone() });
        let Ok(model) = model else { continue };
        let wanted = model.base.reels.cycle() / 1000 * HITS_PER_MILLE;
        let off = moments::hits(&model.base, 50).abs_diff(wanted);
        if best.as_ref().is_none_or(|(least, _)| off < *least) {
            best = Some((off, strips));
        }
    }
    of(data).strips = best.ok_or("no order of the strips compiles")?.1;
    Ok(())
}
