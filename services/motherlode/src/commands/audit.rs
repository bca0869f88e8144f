//! The exit code is 1 if a divergence is found, and 2 if there is no log. The same data always gives the same standard
//! output.

mod archived;
mod args;
mod from_base;
mod json;
mod own;
mod signed;
mod sums;
mod text;

pub use args::Args;

use super::{DAMAGED, Failure, Format, NO_LOG, progress::shown, say};
use motherlode_audit::{Digest, Options, Whole, audit_all, digest};
use motherlode_ledger::DrawKeys;
use motherlode_server::{LocalLog, copy_folder, log_folder};
use motherlode_state::HOME;
use std::{sync::Arc, time::Instant};

pub fn run(args: &Args) -> Result<(), Failure> {
    if copy_folder(&args.data, HOME).is_dir() && !log_folder(&args.data, HOME).is_dir() {
        return own::run(args);
    }
    let local = args.access.local(&args.data)?;
    if let Some(data) = &args.from_base {
        return from_base::run(args, data, &local);
    }
    let mut options = parts(&local);
    let copy = |place| shown("archived records verified", |done| archived::WholeLog::new(place, &local, done));
    let copied = args.archive.as_deref().map(copy).transpose()?;
    if let Some(copied) = &copied {
        options.iter_mut().for_each(|partition| partition.log = copied.log(partition.partition));
    }
    signed::add(args, &mut options)?;
    options.iter_mut().zip(&args.base).for_each(|(partition, base)| partition.base = Some(*base));
    if let Some(file) = &args.draw_keys {
        let step = "Name the log's draw key file with --draw-keys, such as keys/draws in the data folder";
        let draws = DrawKeys::open(file).map_err(|error| Failure::unusable(error).with_step(step))?;
        if draws.is_none() {
            return Err(Failure::unusable(format!("{} contains no draw keys", file.display())).with_step(step));
        }
        options.iter_mut().for_each(|partition| partition.draws = Some(draws.clone()));
    }
    let started = Instant::now();
    let whole = shown("records read", |read| {
        options.iter_mut().for_each(|partition| partition.read = Some(Arc::clone(read)));
        audit_all(&options)
    });
    let whole = whole.map_err(|error| Failure::unusable(error).with_step(NO_LOG))?;
    let digests = match &args.operator {
        Some(operator) if whole.divergence().is_none() => digests(args, &whole, &options, operator)?,
        _ => vec![],
    };
    let rounds: u64 = whole.partitions.iter().flat_map(|report| &report.returns).map(|of| of.rounds).sum();
    say(&match args.format {
        Format::Text => text::text(&whole) + &digests.iter().map(own::digest_text).collect::<String>(),
        Format::Json => {
            let mut found = json::whole(&whole);
            match &digests[..] {
                [] => {}
                [digest] => found["operator"] = own::digest_json(digest),
                digests => found["operator"] = digests.iter().map(own::digest_json).collect(),
            }
            super::json(&found)?
        }
    })?;
    let seconds = started.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "for display")]
    let rate = rounds as f64 / seconds.max(1e-9);
    eprintln!("{seconds:.2} s, {rate:.0} rounds/s");
    match whole.divergence() {
        Some(_) => Err(Failure::found(DAMAGED)),
        None => Ok(()),
    }
}

fn parts(local: &LocalLog) -> Vec<Options> {
    let of = |partition| Options {
        log: local.log(partition),
        index: Some(local.index(partition)),
        partition,
        ..Options::default()
    };
    (0..local.partitions()).map(of).collect()
}

fn digests(args: &Args, whole: &Whole, options: &[Options], operator: &str) -> Result<Vec<Digest>, Failure> {
    let ends = whole.partitions.iter().map(|report| report.position);
    let to = ends.enumerate().map(|(at, end)| args.to.get(at).copied().unwrap_or(end));
    let digests = options.iter().zip(to).map(|(options, to)| digest(&options.log, operator, to));
    digests.collect::<Result<_, _>>().map_err(Failure::unusable)
}

#[cfg(test)]
mod tests {
    use super::{sums::*, *};
    use crate::commands::config_file::LogAccess;
    use motherlode_runtime::Config;
    use motherlode_server::{Server, open_stores};
    use motherlode_spin::Dealer;
    use motherlode_state::Currency;
    use std::{fs, path::Path};

    async fn data() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut config =
            Config { listen: ([127, 0, 0, 1], 0).into(), data: folder.path().to_owned(), ..Config::default() };
        config.limits.segment_bytes = 64 << 10;
        let store = open_stores(&config).unwrap();
        let (ledger, dealer) = (motherlode_ledger::Options::default(), Dealer::from_master([7; 32]));
        let server = Server::start(&config, store, ledger, dealer).await.unwrap();
        server.stop().await.unwrap();
        folder
    }

    fn code(data: &Path, format: Format) -> u8 {
        run(&Args {
            data: data.to_owned(),
            access: LogAccess::default(),
            operator: None,
            to: vec![],
            key: None,
            draw_keys: None,
            checkpoints: vec![],
            base: vec![],
            archive: None,
            from_base: None,
            format,
        })
        .map_or_else(|failure| failure.code, |()| 0)
    }

    #[tokio::test]
    async fn the_exit_code_tells_a_sound_log_from_a_damaged_one_and_from_none() {
        let folder = data().await;
        for format in [Format::Text, Format::Json] {
            assert_eq!(code(folder.path(), format), 0);
            assert_eq!(code(&folder.path().join("missing"), format), 2);
            assert_eq!(code(&folder.path().join("log"), format), 2);
        }
        let segment = log_folder(folder.path(), HOME).join("00000000000000000001.log");
        let mut bytes = fs::read(&segment).unwrap();
        bytes[120] ^= 1;
        fs::write(&segment, bytes).unwrap();
        for format in [Format::Text, Format::Json] {
            assert_eq!(code(folder.path(), format), 1);
        }
    }

    #[tokio::test]
    async fn the_json_report_says_ok_or_where_not() {
        let folder = data().await;
        let mut found = audit_all(&parts(&LogAccess::default().local(folder.path()).unwrap())).unwrap();
        let report = json::whole(&found);
        assert_eq!(report["ok"], true);
        assert_eq!((&report["commits"], &report["index"]["compared"]), (&1.into(), &true.into()));
        assert_eq!(report["pools"][0]["base_pool"], "20000.00 EUR");

        let (what, expected, found_instead) = ("a win".to_owned(), "1".to_owned(), "2".to_owned());
        found.partitions[0].divergence = Some(motherlode_audit::Divergence {
            partition: 0,
            position: 7,
            file: None,
            offset: None,
            what,
            expected,
            found: found_instead,
        });
        let wanted =
            r#"{"divergence":{"expected":"1","found":"2","partition":0,"position":7,"what":"a win"},"ok":false}"#;
        assert_eq!(json::whole(&found).to_string(), wanted);
        assert!(text::text(&found).starts_with("DIVERGENCE at partition 0, position 7: a win\n"));
    }

    #[test]
    fn pl_09_sums_are_printed_with_the_digits_of_their_currency_beyond_64_bits_too() {
        assert_eq!(cash(123_450, Currency::EUR), "1234.50 EUR");
        assert_eq!(cash(123_450, Currency::JPY), "123450 JPY");
        assert_eq!(cash(i128::from(i64::MAX) + 1, Currency::KWD), "9223372036854775.808 KWD");
        assert_eq!(returned(1, 0), None);
    }
}
