use std::io::{self, Write};

pub const PAYLOAD: [u8; 213] = [0xA5; 213];

pub fn print(what: &str, names: &[&str], rates: &[Vec<f64>]) -> io::Result<()> {
    let first = rates.first().map_or(&[][..], Vec::as_slice);
    for (name, of) in names.iter().zip(rates) {
        let (low, share, high) = spread(of.iter().zip(first).map(|(rate, first)| rate / first).collect());
        let rate = spread(of.clone()).1;
        writeln!(io::stdout(), "{what:<10} {name:<22} {rate:>9.0}  {share:.3} ({low:.3} to {high:.3})")?;
    }
    Ok(())
}

fn spread(mut figures: Vec<f64>) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    let at = |place: usize| figures.get(place).copied().unwrap_or(f64::NAN);
    (at(0), at(figures.len() / 2), at(figures.len().saturating_sub(1)))
}
