use motherlode_slots::Draws;
use motherlode_slots::contract::par::Exact;
use num_bigint::BigInt;

/// Shuffles a strip so that no two neighbours on the ring are equal.
pub fn shuffle(strip: &str, draws: &mut Draws) -> String {
    let mut codes: Vec<&str> = strip.split_whitespace().collect();
    codes.sort_unstable();
    loop {
        for last in (1..codes.len()).rev() {
            let n = u32::try_from(last + 1).expect("a strip is short");
            codes.swap(last, draws.below(n) as usize);
        }
        if (0..codes.len()).all(|i| codes[i] != codes[(i + 1) % codes.len()]) {
            return codes.join(" ");
        }
    }
}

pub fn lcm(a: BigInt, b: &BigInt) -> BigInt {
    let ratio = Exact::new(a, b.clone());
    ratio.numer() * b
}

pub fn grouped(n: &BigInt) -> String {
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
