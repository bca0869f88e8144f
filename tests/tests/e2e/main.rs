//! The service end to end: in this process and in processes of its own, over real sockets. One binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod apart;
mod autoplay;
mod autospin;
mod award;
mod backup;
mod buffers;
mod campaigns;
mod ceilings;
mod changes;
mod connections;
mod console;
mod copy;
mod crash;
mod currencies;
mod day;
mod demo;
mod descriptions;
mod disk;
mod follow;
mod games;
mod health;
mod history;
mod interruption;
mod jackpot;
mod jackpot_model;
mod jetstream;
mod jetstream_tls;
mod lost_end;
mod matrix;
mod model;
mod new_node;
mod partitions;
mod partitions_audit;
mod partitions_jackpot;
mod partitions_jetstream;
mod play;
mod power;
mod profiles;
mod proofs;
mod proofs_apart;
mod proofs_files;
mod races;
mod repeats;
mod replica_link;
mod replicas;
mod reports;
mod requests;
mod roles;
mod seals;
mod sessions;
mod set_aside;
mod shares;
mod standby;
mod starts;
mod switches;
mod telemetry;
mod traces;
mod upgrade;
mod voids;
mod wire;

/// The service with the tests' dealer, for those who start it as a process.
const PROGRAM: &str = env!("CARGO_BIN_EXE_motherlode-under-test");
