//! Writes output of the service's random number generator for statistical tests (PL-28). GLI-19 requires tests of the raw
//! output and of the numbers scaled for games.
//!
//! As in the service, a secret key determines a sequence of 32-byte values. Each value and a request id determine a
//! seed (see [`draw`]), from which [`Draws`] generates numbers. As in a step of a round, at most [`DRAWS_PER_SEED`]
//! numbers come from one seed. `tests/python/test_rng.py` runs NIST SP 800-22 on the raw and the scaled output.
//!
//! On 22 November 2026 dieharder 3.31.1 rated none of 51 p-values FAILED, and one WEAK
//! (`rng --bytes 0 --seed $SEED | dieharder -g 200 -d $TEST`).

use super::{Failure, simulate};
use crate::figures;
use motherlode_rounds::round_name;
use motherlode_slots::{Draws, Seed};
use motherlode_state::{StreamId, draw};
use std::{
    io::{self, BufWriter, ErrorKind, Write},
    num::NonZeroU32,
};

/// Numbers per seed. Never change this number, because the exported numbers depend on it.
const DRAWS_PER_SEED: u32 = 64;
const BUFFER_BYTES: usize = 1 << 16;

#[derive(Debug, Clone, clap::Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["bytes", "scaled"]),
    after_help = "Numbers are derived as in the service: a key (--seed) determines 32-byte ChaCha20 seeds, each of \
    which yields 64 words of 32 bits, or 64 scaled numbers."
)]
pub struct Args {
    /// Write N raw bytes of the generator's output, as little-endian 32-bit words; 0 for no limit.
    #[arg(long, value_name = "N", value_parser = number)]
    bytes: Option<u64>,
    /// Write whole numbers from 0 to K-1, drawn in the same way as reel stops.
    #[arg(long, value_name = "K", value_parser = scale)]
    scaled: Option<NonZeroU32>,
    /// Write N numbers (with --format dieharder: N 32-bit words); 0 for no limit.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0", conflicts_with = "bytes")]
    count: u64,
    /// Format of the numbers.
    #[arg(long, value_enum, default_value_t, conflicts_with = "bytes")]
    format: Format,
    /// Key of 64 hexadecimal digits that determines all numbers, for a reproducible export; random by default.
    #[arg(long, value_name = "HEX", value_parser = simulate::seed)]
    seed: Option<Seed>,
}

fn scale(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "must be a whole number from 1 to 4294967295".to_owned())
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One decimal number per line.
    #[default]
    Lines,
    /// File for `dieharder -g 202`. The numbers' bits are packed into 32-bit words, with the first number in the
    /// highest bits. A number that does not fit is split: its low bits start the next word. --scaled must be a power of
    /// two, so that every bit is uniformly random.
    Dieharder,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    if args.format == Format::Dieharder {
        check_dieharder(args)?;
    }
    let mut chain = Chain::new(args.seed).map_err(Failure::found)?;
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock());
    match export(args, &mut chain, &mut output).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::found(format!("cannot write the random numbers: {error}")))
        }
        _ => Ok(()),
    }
}

fn check_dieharder(args: &Args) -> Result<(), Failure> {
    if !args.scaled.is_some_and(|bound| bound.is_power_of_two() && bound.get() > 1) {
        return Err(Failure::unusable(
            "the bits of the numbers fill 32-bit words: --scaled must be a power of two, at least 2",
        ));
    }
    if args.count == 0 {
        return Err(Failure::unusable("dieharder's header states the number of words: --count is required"));
    }
    Ok(())
}

fn export(args: &Args, chain: &mut Chain, to: &mut impl Write) -> io::Result<()> {
    match (args.scaled, args.format) {
        (None, _) => raw(args.bytes.unwrap_or(0), chain, to),
        (Some(bound), Format::Lines) => lines(bound, args.count, chain, to),
        (Some(bound), Format::Dieharder) => dieharder(bound, args.count, chain, to),
    }
}

fn raw(bytes: u64, chain: &mut Chain, to: &mut impl Write) -> io::Result<()> {
    let mut left = Left::new(bytes);
    while !left.none() {
        let word = chain.draws().word().to_le_bytes();
        let taken = left.take(word.len());
        to.write_all(&word[..taken])?;
    }
    Ok(())
}

fn lines(bound: NonZeroU32, count: u64, chain: &mut Chain, to: &mut impl Write) -> io::Result<()> {
    let mut left = Left::new(count);
    while left.take(1) == 1 {
        writeln!(to, "{}", chain.draws().below(bound.get()))?;
    }
    Ok(())
}

fn dieharder(bound: NonZeroU32, words: u64, chain: &mut Chain, to: &mut impl Write) -> io::Result<()> {
    let each = bound.trailing_zeros();
    writeln!(to, "# motherlode rng --scaled {bound} --format dieharder\ntype: d\ncount: {words}\nnumbit: 32")?;
    let (mut gathered, mut bits) = (0u64, 0);
    for _ in 0..words {
        while bits < u32::BITS {
            gathered = gathered << each | u64::from(chain.draws().below(bound.get()));
            bits += each;
        }
        bits -= u32::BITS;
        writeln!(to, "{}", gathered >> bits)?;
        gathered &= (1 << bits) - 1;
    }
    Ok(())
}

struct Chain {
    key: Seed,
    player: StreamId,
    number: u64,
    draws: Draws,
    left: u32,
}

impl Chain {
    fn new(key: Option<Seed>) -> Result<Self, getrandom::Error> {
        let key = match key {
            Some(key) => key,
            None => {
                let mut key = Seed::default();
                getrandom::fill(&mut key)?;
                key
            }
        };
        let player = StreamId::player("rng", "export");
        Ok(Self { key, player, number: 0, draws: Draws::from_seed(key), left: 0 })
    }

    fn deal(&mut self) -> Seed {
        self.number += 1;
        let dealt = draw::deal(&self.key, &self.player, self.number);
        draw::seed(&dealt, self.number.to_string().as_bytes(), &round_name(&self.player, self.number), 1)
    }

    fn draws(&mut self) -> &mut Draws {
        if self.left == 0 {
            self.draws = Draws::from_seed(self.deal());
            self.left = DRAWS_PER_SEED;
        }
        self.left -= 1;
        &mut self.draws
    }
}

struct Left(Option<u64>);

impl Left {
    fn new(count: u64) -> Self {
        Self((count > 0).then_some(count))
    }

    fn none(&self) -> bool {
        self.0 == Some(0)
    }

    fn take(&mut self, most: usize) -> usize {
        let Some(left) = &mut self.0 else { return most };
        let taken = usize::try_from(*left).map_or(most, |left| left.min(most));
        *left -= taken as u64;
        taken
    }
}

fn number(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { figures::count(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::collections::BTreeSet;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    const SEED: &str = "0707070707070707070707070707070707070707070707070707070707070707";

    fn args(line: &str) -> Result<Args, String> {
        let line = Line::try_parse_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        Ok(line.args)
    }

    fn exported(line: &str) -> Vec<u8> {
        let args = args(&format!("rng {line} --seed {SEED}")).unwrap();
        let mut written = vec![];
        export(&args, &mut Chain::new(args.seed).unwrap(), &mut written).unwrap();
        written
    }

    fn numbers(line: &str) -> Vec<u32> {
        String::from_utf8(exported(line)).unwrap().lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn words(seeds: usize) -> Vec<u32> {
        let mut dealer = Chain::new(Some([7; 32])).unwrap();
        let blocks = (0..seeds).map(|_| Draws::from_seed(dealer.deal()));
        blocks.flat_map(|mut draws| (0..64).map(move |_| draws.word())).collect()
    }

    #[test]
    fn pl_28_raw_bytes_are_the_words_of_the_dealt_seeds() {
        let words: Vec<u8> = words(3).into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(exported("--bytes 768"), words);
        assert_eq!(exported("--bytes 259"), words[..259]);
    }

    #[test]
    fn pl_28_scaled_numbers_are_drawn_as_reels_are() {
        let mut dealer = Chain::new(Some([7; 32])).unwrap();
        let blocks = (0..2).map(|_| Draws::from_seed(dealer.deal()));
        let drawn: Vec<_> = blocks.flat_map(|mut draws| (0..64).map(move |_| draws.below(3 << 30))).collect();
        assert_eq!(numbers("--scaled 3221225472 --count 100"), drawn[..100]);
    }

    #[test]
    fn pl_28_dieharder_reads_the_numbers_bits_without_a_gap() {
        let text = String::from_utf8(exported("--scaled 8 --count 12 --format dieharder")).unwrap();
        let header = "# motherlode rng --scaled 8 --format dieharder\ntype: d\ncount: 12\nnumbit: 32\n";
        let given: String = text.strip_prefix(header).unwrap().lines().fold(String::new(), |bits, line| {
            let word: u32 = line.parse().unwrap();
            bits + &format!("{word:032b}")
        });
        let wanted: String = words(2).iter().map(|word| format!("{:03b}", word >> 29)).collect();
        assert_eq!(given, wanted);
    }

    #[test]
    fn pl_28_without_a_seed_no_two_exports_are_the_same() {
        let args = args("rng --bytes 32").unwrap();
        let exports: BTreeSet<Vec<u8>> = (0..3)
            .map(|_| {
                let mut written = vec![];
                export(&args, &mut Chain::new(args.seed).unwrap(), &mut written).unwrap();
                written
            })
            .collect();
        assert_eq!(exports.len(), 3);
    }

    /// Fails like a closed pipe after this number of bytes.
    struct Closing(usize);

    impl Write for Closing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn without_a_count_it_goes_on_until_nobody_reads() {
        for line in ["rng --bytes 0", "rng --scaled 32"] {
            let args = args(line).unwrap();
            let error = export(&args, &mut Chain::new(None).unwrap(), &mut Closing(1000)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let contradictions =
            ["rng", "rng --bytes 1 --scaled 2", "rng --bytes 1 --count 1", "rng --bytes 1 --format dieharder"];
        for bad in contradictions.into_iter().chain(["rng --scaled 0", "rng --bytes -1", "rng --bytes 1 --seed 07"]) {
            assert!(args(bad).is_err(), "{bad}");
        }
        for bad in ["rng --scaled 30 --count 1", "rng --scaled 1 --count 1", "rng --scaled 32"] {
            assert_eq!(run(&args(&format!("{bad} --format dieharder")).unwrap()).unwrap_err().code, 2, "{bad}");
        }
    }
}
