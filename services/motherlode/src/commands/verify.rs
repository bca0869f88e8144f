//! Verifies a proof. The exit code is 1 if a check fails, and 2 if the file is not a proof.

use super::{
    Failure, read_text,
    replay::{Picture, shown},
    say,
};
use motherlode_audit::{Proven, ShownDraw, verify};
use motherlode_proto::convert::play::hex;
use motherlode_state::SealReason;
use motherlode_tiles::{Checkpoint, KeyKind, Policy, Proof, VerifierKey};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// File with the output of `proof`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Public key of the log, from a source that you trust and that did not supply the proof.
    #[arg(long, value_name = "VKEY", required_unless_present = "policy")]
    key: Option<VerifierKey>,
    /// Policy (c2sp.org/tlog-policy): trusted logs, and witnesses whose cosignatures are required.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let (proof, policy) = (
        "Get the proof with: motherlode proof ROUND > FILE",
        "With --policy, specify a policy file in the format of c2sp.org/tlog-policy",
    );
    let malformed =
        |path: &Path, error, step| Failure::unusable(format!("{}: {error}", path.display())).with_step(step);
    let proof: Proof = read_text(&args.file, proof)?.parse().map_err(|error| malformed(&args.file, error, proof))?;
    let policy: Option<Policy> = match &args.policy {
        Some(path) => Some(read_text(path, policy)?.parse().map_err(|error| malformed(path, error, policy))?),
        None => None,
    };
    let key = match &args.key {
        Some(key) => key.clone(),
        None => of_policy(policy.as_ref(), &proof)?,
    };
    if key.kind() != KeyKind::Log {
        return Err(Failure::unusable(format!("{key} is a witness's key, not a log's key")));
    }
    let unproven = |error| {
        Failure::found(format!(
            "{error}\nVerdict: NOT PROVEN. Get the proof again, and check which key --key or --policy names"
        ))
    };
    let proven = verify(&proof, &key, policy.as_ref()).map_err(unproven)?;
    let round = proof_name(&proven);
    let is_proven = proven.replayed.matches();
    let verdict = match is_proven {
        true => format!("\nVerdict: PROVEN. Round {round} is in the log {} as shown.\n", proven.checkpoint.origin),
        false => format!(
            "\nVerdict: NOT PROVEN. The recomputed outcome of a step of round {round} differs from its record.\n"
        ),
    };
    let shown = shown(&round, &proven.stream, &proven.replayed, Picture::Text)?;
    say(&(shown + &checks(&proven, &key, policy.as_ref()) + &verdict))?;
    match is_proven {
        true => Ok(()),
        false => Err(Failure::found("")),
    }
}

fn of_policy(policy: Option<&Policy>, proof: &Proof) -> Result<VerifierKey, Failure> {
    let claimed: Checkpoint = proof.checkpoint.text().parse().map_err(Failure::unusable)?;
    let logs = policy.map(|policy| &policy.logs[..]).unwrap_or_default();
    let known = logs.iter().find(|key| key.name() == claimed.origin);
    known.cloned().ok_or_else(|| Failure::found(format!("the policy does not name the log {}", claimed.origin)))
}

fn proof_name(proven: &Proven) -> String {
    let stream = proven.stream.to_string();
    format!("{}/{}", stream.trim_start_matches("player/"), proven.number)
}

fn checks(proven: &Proven, key: &VerifierKey, policy: Option<&Policy>) -> String {
    let Proven { checkpoint, cosigned, positions, named, replayed, .. } = proven;
    let mut text = String::from("\nChecked\n");
    let mut say = |what: &str, found: String, rests: &str| {
        text.push_str(&format!("  {what:<11}{found}\n  {:<11}{rests}\n", ""));
    };
    say(
        "signature",
        format!("{} signed a log of {} records, root {}", key.name(), checkpoint.size, hex(&checkpoint.root)),
        "assumes that Ed25519 signatures cannot be forged, and that this is the log's key: compare it with a trusted copy",
    );
    match policy {
        None => say(
            "witnesses",
            "none required".to_owned(),
            "assumes that the log's operator is honest: without witnesses, the operator could show different logs to different people",
        ),
        Some(policy) => {
            let each: Vec<_> = cosigned.iter().map(|(name, time)| format!("{name} at Unix time {time} s")).collect();
            let found = format!(
                "{} of {} witnesses have cosigned this checkpoint: {}",
                each.len(),
                policy.witnesses.len(),
                each.join(", ")
            );
            say(
                "witnesses",
                found,
                "assumes that the witnesses are independent: a witness run by the log's operator proves nothing",
            );
        }
    }
    let places = |places: Vec<u64>| places.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let by_path = positions.iter().copied().filter(|position| !named.contains(position)).collect();
    let in_log = format!("the log has the round's records at positions {}", places(by_path));
    match named[..] {
        [] => say("inclusion", in_log, "assumes that SHA-256 has no collisions"),
        _ => {
            let found = format!(
                "{in_log}; the round's other records, at positions {}, are proven by their hashes in the proof's later records",
                places(named.clone())
            );
            say(
                "inclusion",
                found,
                "assumes that SHA-256 has no collisions; only an audit shows that the log has the \
                 other records at their positions",
            );
        }
    }
    let (steps, wrong) = (replayed.differs.len(), replayed.differs.iter().flatten().count());
    let found = match wrong {
        0 if replayed.resolved < steps => {
            format!(
                "{} of {steps} steps, recomputed from their seeds and choices, reproduce the bytes of their records; \
                 the other steps cannot be recomputed, because their draw keys are lost",
                replayed.resolved
            )
        }
        0 => format!("each of {steps} steps, recomputed from its seed and choice, reproduces the bytes of its record"),
        wrong => format!("{wrong} of {steps} steps DO NOT REPRODUCE the bytes of their records"),
    };
    let model = hex(&replayed.view.started.model_hash);
    say("steps", found, &format!("assumes that this program plays the game correctly, with model {model}"));
    let (is_shown, each) = seals(proven);
    let rests = "assumes that SHA-256 has no collisions, and that you received each seal in an answer \
         before the step's request: compare them";
    let mut lines = each.iter();
    if let Some(first) = lines.next() {
        text.push_str(&format!("  seals      {first}\n"));
        lines.for_each(|line| text.push_str(&format!("  {:<11}{line}\n", "")));
        text.push_str(&format!("  {:<11}{rests}\n", ""));
    }
    text.push_str("  not shown  ");
    if !is_shown {
        text.push_str(
            "the proof does not show whether each draw was sealed before the request that used it;\n             ",
        );
    }
    text.push_str(
        "no proof shows later changes (such as a void), the payment of a jackpot, whether the player's collection at the\n\
        \x20            start of the round matches the earlier rounds, or whether a draw was skipped (`audit` checks all of these)\n",
    );
    text
}

fn seals(proven: &Proven) -> (bool, Vec<String>) {
    let steps = proven.replayed.view.steps.iter().zip(&proven.draws);
    let each = steps.filter_map(|(step, draw)| {
        let told = match draw {
            ShownDraw::Unsealed | ShownDraw::NotShown(_) => return None,
            ShownDraw::Lost(number) => {
                format!("draw {number} cannot be revealed, because its key was lost; the round is void")
            }
            ShownDraw::Sealed(sealed, position) => {
                let again = match sealed.reason {
                    Some(SealReason::KeyLost) => ", REPLACING A DRAW WHOSE KEY WAS LOST",
                    Some(SealReason::SealsEnded) => {
                        ", REPLACING A NEVER-USED DRAW THAT THE SERVICE REVOKED WHEN IT STARTED"
                    }
                    _ => "",
                };
                let (number, seal) = (sealed.name.number, hex(&sealed.seal));
                format!("draw {number} was sealed at position {position}{again}: {seal}")
            }
        };
        Some(format!("step {}: {told}", step.logged.step))
    });
    let all = proven.draws.iter().all(|draw| matches!(draw, ShownDraw::Sealed(..)));
    (all, each.collect())
}
