//! Metrics for a collector. Pool amounts are floating-point numbers, which suffice for graphs and alarms.

use crate::{
    refused_starts,
    tasks::{Kind, Tasks},
};
use motherlode_ledger::{Handle, Ledgers, ReaderKind, Standing};
use motherlode_log::Position;
use motherlode_proofs::{Extent, Proofs};
use motherlode_report::{Counts, Follower, VoidShare};
use motherlode_runtime::connections::Admission;
use motherlode_state::{Nano, UnpaidAward};
use opentelemetry::{
    KeyValue, global,
    metrics::{AsyncInstrument, Meter},
};
use parking_lot::RwLock;
use rustix::fs::{StatVfs, statvfs};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::watch;

/// Service that the meter's callbacks read. The service is removed when it closes; otherwise, the callbacks would keep its
/// index open.
#[derive(Clone)]
pub struct Metrics(Arc<RwLock<Option<Source>>>);

pub struct Source {
    pub ledgers: Ledgers,
    pub follower: Option<Follower>,
    pub proofs: Option<Proofs>,
    pub data: PathBuf,
    pub tasks: watch::Receiver<Tasks>,
    pub admission: Admission,
    pub sessions: Option<Box<dyn Fn() -> usize + Send + Sync>>,
}

impl Metrics {
    pub fn start(source: Source) -> Self {
        let (reports, signs) = (source.follower.is_some(), source.proofs.is_some());
        let observed = Self(Arc::new(RwLock::new(Some(source))));
        let meter = global::meter("motherlode");
        refused_starts::counter().add(0, &[]);
        observed.logs(&meter);
        observed.standings(&meter);
        observed.pools(&meter);
        observed.readers(&meter);
        observed.disk(&meter);
        observed.callers(&meter);
        if signs {
            observed.proofs(&meter);
        }
        observed.tasks(&meter);
        if reports {
            observed.reports(&meter);
        }
        observed
    }

    pub fn end(&self) {
        *self.0.write() = None;
    }

    fn ledgers(&self, see: impl FnOnce(&Ledgers)) {
        if let Some(Source { ledgers, .. }) = &*self.0.read() {
            see(ledgers);
        }
    }

    fn follower(&self, see: impl FnOnce(&Follower)) {
        if let Some(Source { follower: Some(follower), .. }) = &*self.0.read() {
            see(follower);
        }
    }

    /// The counter of ended tasks is exported even while it is 0, so that an alarm detects the first increase.
    fn tasks(&self, meter: &Meter) {
        let observed = self.clone();
        let ended = meter.u64_observable_counter("motherlode.tasks.ended");
        ended
            .with_description("Number of unexpected ends of background tasks.")
            .with_callback(move |seen| {
                if let Some(Source { tasks, .. }) = &*observed.0.read() {
                    let tasks = tasks.borrow();
                    for kind in Kind::ALL.iter().copied() {
                        let count = tasks.ended.get(&kind).copied().unwrap_or_default();
                        seen.observe(count, &[KeyValue::new("task", kind.name())]);
                    }
                }
            })
            .build();
    }

    fn logs(&self, meter: &Meter) {
        let log = |name, what, read: fn(&Handle) -> u64| {
            let observed = self.clone();
            gauge(meter, name, what, move |seen| {
                observed.ledgers(|ledgers| {
                    for ledger in ledgers.all() {
                        seen.observe(read(ledger), &[KeyValue::new("partition", i64::from(ledger.partition()))]);
                    }
                });
            });
        };
        log("motherlode.log.position", "Log position of the last durable commit.", Handle::durable);
        log("motherlode.log.writable", "1 while the log can be written; 0 otherwise.", |ledger| {
            ledger.writable().into()
        });
        log("motherlode.log.records_unverified", "Number of log records not yet verified since startup.", |ledger| {
            let verification = ledger.verification();
            let verification = verification.borrow();
            verification.unread - verification.verified
        });
        log(
            "motherlode.index.behind",
            "Number of log commits whose index entries are only in memory.",
            Handle::index_behind,
        );
        log("motherlode.requests.bytes", "Memory used by the idempotency table in bytes.", Handle::request_bytes);
        log("motherlode.players.in_memory", "Number of players in memory.", Handle::players_in_memory);
        log(
            "motherlode.players.reloads",
            "Number of players reloaded into memory since startup.",
            Handle::player_reloads,
        );
        log("motherlode.queue.depth", "Number of proposed commits that wait for the partition's writer.", |ledger| {
            ledger.waiting() as u64
        });
        let what = "Age of the oldest unfinished append; 0 if no append is in flight.";
        self.ages(meter, "motherlode.log.append_age", what, |ledger| Some(ledger.append_age()));
        let what = "Age of the oldest record after the latest snapshot; 0 if there is no such record.";
        self.ages(meter, "motherlode.snapshot.age", what, |ledger| ledger.age_after(ledger.snapshot()).ok());
        log("motherlode.switched_off", "Number of active switches that stop new rounds.", |ledger| {
            ledger.books(|books| books.switched_off().count() as u64)
        });
    }

    fn ages(&self, meter: &Meter, name: &'static str, what: &'static str, read: fn(&Handle) -> Option<Duration>) {
        let observed = self.clone();
        seconds(meter, name, what, move |seen| {
            observed.ledgers(|ledgers| {
                for ledger in ledgers.all().filter(|ledger| !ledger.is_replica()) {
                    if let Some(age) = read(ledger) {
                        let partition = KeyValue::new("partition", i64::from(ledger.partition()));
                        seen.observe(age.as_secs_f64(), &[partition]);
                    }
                }
            });
        });
    }

    fn standings(&self, meter: &Meter) {
        let observed = self.clone();
        let what = "1 while appends are refused for the cause in the label; 0 otherwise.";
        gauge(meter, "motherlode.log.stopped", what, move |seen| {
            observed.ledgers(|ledgers| {
                for ledger in ledgers.all() {
                    let cause = ledger.standing().borrow().cause();
                    for of in Standing::CAUSES {
                        let partition = KeyValue::new("partition", i64::from(ledger.partition()));
                        seen.observe(u64::from(cause == Some(of)), &[partition, KeyValue::new("cause", of)]);
                    }
                }
            });
        });
    }

    fn readers(&self, meter: &Meter) {
        let written = |ledgers: &Ledgers, see: &mut dyn FnMut(&Handle, KeyValue)| {
            for ledger in ledgers.all().filter(|ledger| !ledger.is_replica()) {
                see(ledger, KeyValue::new("partition", i64::from(ledger.partition())));
            }
        };
        let observed = self.clone();
        gauge(
            meter,
            "motherlode.log.readers",
            "Number of processes that follow the log, by kind: replica, standby, copy.",
            move |seen| {
                observed.ledgers(|ledgers| {
                    written(ledgers, &mut |ledger, partition| {
                        let readers = ledger.readers();
                        for kind in ReaderKind::ALL {
                            let count = readers.iter().filter(|reader| reader.kind == kind).count();
                            seen.observe(count as u64, &[partition.clone(), KeyValue::new("kind", kind.name())]);
                        }
                    });
                });
            },
        );
        let observed = self.clone();
        let what =
            "Number of log records not yet sent to the slowest process of the kind; 0 if no such process follows.";
        gauge(meter, "motherlode.log.readers_behind", what, move |seen| {
            observed.ledgers(|ledgers| {
                written(ledgers, &mut |ledger, partition| {
                    let (readers, end) = (ledger.readers(), ledger.durable());
                    for kind in ReaderKind::ALL {
                        let of_kind = readers.iter().filter(|reader| reader.kind == kind);
                        let behind = of_kind.map(|reader| end.saturating_sub(reader.sent)).max().unwrap_or_default();
                        seen.observe(behind, &[partition.clone(), KeyValue::new("kind", kind.name())]);
                    }
                });
            });
        });
        let observed = self.clone();
        let what =
            "Highest log position sent since startup to a process that copies the whole log; 0 if nothing was sent.";
        gauge(meter, "motherlode.log.copied", what, move |seen| {
            observed.ledgers(|ledgers| {
                written(ledgers, &mut |ledger, partition| seen.observe(ledger.copied(), &[partition]));
            });
        });
        let what = "Age of the oldest record not yet sent to a process that copies the whole log; 0 if all were sent.";
        self.ages(meter, "motherlode.log.copy_age", what, |ledger| match ledger.copied() {
            0 => None,
            copied => ledger.age_after(copied).ok(),
        });
    }

    fn callers(&self, meter: &Meter) {
        let observed = self.clone();
        gauge(meter, "motherlode.connections", "Number of open connections of all listeners.", move |seen| {
            if let Some(Source { admission, .. }) = &*observed.0.read() {
                seen.observe(admission.connections() as u64, &[]);
            }
        });
        let observed = self.clone();
        gauge(meter, "motherlode.sessions", "Open sessions.", move |seen| {
            if let Some(Source { sessions: Some(sessions), .. }) = &*observed.0.read() {
                seen.observe(sessions() as u64, &[]);
            }
        });
    }

    fn disk(&self, meter: &Meter) {
        type Read = fn(&StatVfs) -> u64;
        let figures: [(&'static str, &'static str, Read); 2] = [
            ("motherlode.disk.free", "Free space of the data folder's file system.", |of| of.f_bavail * of.f_frsize),
            ("motherlode.disk.size", "Size of the data folder's file system.", |of| of.f_blocks * of.f_frsize),
        ];
        for (name, what, read) in figures {
            let observed = self.clone();
            let gauge = meter.u64_observable_gauge(name).with_unit("By").with_description(what);
            gauge
                .with_callback(move |seen| {
                    let found = observed.0.read().as_ref().map(|source| statvfs(&source.data));
                    if let Some(Ok(found)) = found {
                        seen.observe(read(&found), &[]);
                    }
                })
                .build();
        }
    }

    fn proofs(&self, meter: &Meter) {
        type Read = fn(&Extent) -> Option<Position>;
        let figures: [(&'static str, &'static str, Read); 2] = [
            ("motherlode.proofs.position", "Number of log records covered by the last signed checkpoint.", |of| {
                Some(of.signed)
            }),
            (
                "motherlode.proofs.cosigned",
                "Number of log records covered by the last checkpoint that witnesses cosigned.",
                |of| of.cosigned,
            ),
        ];
        for (name, what, read) in figures {
            let observed = self.clone();
            gauge(meter, name, what, move |seen| {
                let Some(Source { proofs: Some(proofs), .. }) = &*observed.0.read() else { return };
                for extent in proofs.extents() {
                    if let Some(position) = read(&extent) {
                        seen.observe(position, &[KeyValue::new("partition", i64::from(extent.partition))]);
                    }
                }
            });
        }
        type Covered = fn(&Extent) -> Option<Position>;
        let ages: [(&'static str, &'static str, Covered); 3] = [
            (
                "motherlode.proofs.tree_age",
                "Age of the oldest log record not yet in the Merkle tree; 0 if the tree is complete.",
                |of| Some(of.grown),
            ),
            (
                "motherlode.proofs.checkpoint_age",
                "Age of the oldest log record that no signed checkpoint covers; 0 if every record is covered.",
                |of| Some(of.signed),
            ),
            (
                "motherlode.proofs.witness_age",
                "Age of the oldest log record that no cosigned checkpoint covers; 0 if every record is covered.",
                |of| of.cosigned,
            ),
        ];
        for (name, what, read) in ages {
            let observed = self.clone();
            seconds(meter, name, what, move |seen| {
                let Some(Source { proofs: Some(proofs), ledgers, .. }) = &*observed.0.read() else { return };
                for extent in proofs.extents() {
                    let ledger = ledgers.all().find(|ledger| ledger.partition() == extent.partition);
                    if let Some((ledger, position)) = ledger.zip(read(&extent))
                        && let Ok(age) = ledger.age_after(position)
                    {
                        let partition = KeyValue::new("partition", i64::from(extent.partition));
                        seen.observe(age.as_secs_f64(), &[partition]);
                    }
                }
            });
        }
    }

    fn reports(&self, meter: &Meter) {
        let counts = |name, what, read: fn(&Counts) -> Vec<(String, u64)>, key: &'static str| {
            let observed = self.clone();
            meter
                .u64_observable_counter(name)
                .with_description(what)
                .with_callback(move |seen| {
                    observed.follower(|follower| {
                        for (of, count) in read(&follower.counts()) {
                            seen.observe(count, &[KeyValue::new(key, of)]);
                        }
                    });
                })
                .build();
        };
        counts("motherlode.rounds", "Rounds settled.", |counts| counts.rounds.clone(), "game");
        let significant = |counts: &Counts| counts.significant.clone();
        counts("motherlode.significant_events", "Number of significant events.", significant, "kind");
        let voids = |name, what, read: fn(VoidShare) -> u64| {
            let observed = self.clone();
            gauge(meter, name, what, move |seen| {
                observed.follower(|follower| {
                    for (operator, share) in follower.counts().voids {
                        seen.observe(read(share), &[KeyValue::new("operator", operator)]);
                    }
                });
            });
        };
        voids("motherlode.voids.today", "Number of rounds voided since midnight UTC.", |share| share.voids);
        voids(
            "motherlode.voids.today_max",
            "Number of voids per day above which an alarm is raised.",
            VoidShare::voids_max,
        );
        let reports = self.clone();
        gauge(
            meter,
            "motherlode.reports.position",
            "Log position up to which the reports have read the log.",
            move |seen| {
                reports.follower(|follower| {
                    for (partition, position) in (0_i64..).zip(follower.counts().positions) {
                        seen.observe(position, &[KeyValue::new("partition", partition)]);
                    }
                });
            },
        );
        let open = self.clone();
        gauge(meter, "motherlode.rounds.open", "Number of open rounds, which wait for their players.", move |seen| {
            open.follower(|follower| seen.observe(follower.counts().open, &[]));
        });
    }

    fn pools(&self, meter: &Meter) {
        type Read = fn(&motherlode_state::PoolState) -> Nano;
        let figures: [(&'static str, &'static str, Read); 4] = [
            (
                "motherlode.pool.increments.EUR",
                "Sum of the contributions to the pool since the last jackpot hit.",
                |pool| pool.increments,
            ),
            (
                "motherlode.pool.reserve.EUR",
                "Money kept from earlier jackpot cycles to pay the next starting amounts (seeds).",
                |pool| pool.reserve,
            ),
            (
                "motherlode.pool.contributions.EUR",
                "Sum of all contributions to the pool, less returned contributions.",
                |pool| pool.contributions,
            ),
            ("motherlode.pool.paid.EUR", "Sum of all awards that were paid from the pool.", |pool| pool.paid),
        ];
        for (name, what, read) in figures {
            let observed = self.clone();
            let gauge = meter.f64_observable_gauge(name).with_description(what);
            gauge
                .with_callback(move |seen| {
                    observed.ledgers(|ledgers| {
                        let of = |pool: &motherlode_state::PoolState| (Arc::clone(&pool.name), read(pool));
                        let figures: Vec<_> = ledgers.home().books(|books| books.pools().map(of).collect());
                        for (pool, figure) in figures {
                            seen.observe(approximately(figure), &[KeyValue::new("pool", pool.to_string())]);
                        }
                    });
                })
                .build();
        }
        let unpaid = self.clone();
        gauge(
            meter,
            "motherlode.pool.awards_unpaid",
            "Number of unpaid awards, excluding awards held by a proposed void.",
            move |seen| {
                unpaid.ledgers(|ledgers| {
                    let unpaid = ledgers.all().map(unpaid_awards);
                    seen.observe(unpaid.sum(), &[]);
                });
            },
        );
    }
}

fn unpaid_awards(ledger: &Handle) -> u64 {
    let now_ms = ledger.now_ms();
    ledger.books(|books| {
        let is_held = |award: &UnpaidAward| {
            books.player(&award.stream).is_some_and(|player| player.waiting_void(award.round, now_ms).is_some())
        };
        books.unpaid_awards().filter(|(.., award)| !is_held(award)).count() as u64
    })
}

fn gauge(
    meter: &Meter,
    name: &'static str,
    what: &'static str,
    read: impl Fn(&dyn AsyncInstrument<u64>) + Send + Sync + 'static,
) {
    meter.u64_observable_gauge(name).with_description(what).with_callback(read).build();
}

fn seconds(
    meter: &Meter,
    name: &'static str,
    what: &'static str,
    read: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static,
) {
    meter.f64_observable_gauge(name).with_unit("s").with_description(what).with_callback(read).build();
}

#[allow(clippy::cast_precision_loss, reason = "graphs and alarms need no exact integers")]
fn approximately(figure: Nano) -> f64 {
    figure.0 as f64 / 1e9
}
