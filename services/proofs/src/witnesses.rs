use crate::{
    http1::post,
    proofs::{Partition, Proofs, ProofsError, Signed},
};
use futures_util::future::{BoxFuture, join_all};
use http::StatusCode;
use motherlode_runtime::Config;
use motherlode_tiles::{AddCheckpoint, KeyKind, Note, Signature, VerifierKey, consistency};
use opentelemetry::{KeyValue, global};
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

const PAUSE: Duration = Duration::from_secs(5);
const EVERY: Duration = Duration::from_secs(1);

/// Maximum wait at startup for all witnesses, which are called concurrently.
const START_MAX: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct Witnesses(Arc<[Witness]>);

#[derive(Clone)]
struct Witness {
    url: String,
    key: VerifierKey,
}

impl Witnesses {
    pub fn from_config(config: &Config) -> Result<Self, ProofsError> {
        let of = |witness: &motherlode_runtime::config::Witness| {
            let fault = |fault: String| ProofsError::Witness { url: witness.url.clone(), fault };
            let key: VerifierKey = witness.key.parse().map_err(|error| fault(format!("{error}")))?;
            if key.kind() != KeyKind::Witness {
                return Err(fault("the witness's key is not of the type for witnesses (0x04)".to_owned()));
            }
            match witness.url.starts_with("http://") {
                true => Ok(Witness { url: witness.url.trim_end_matches('/').to_owned(), key }),
                false => Err(fault("the witness's address must begin with http://".to_owned())),
            }
        };
        Ok(Self(config.proofs.witnesses.iter().map(of).collect::<Result<Vec<_>, _>>()?.into()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the log sizes that witnesses have cosigned, per partition. Each request claims that the witness has
    /// cosigned nothing yet; a witness that has cosigned records therefore refuses it and returns their number.
    #[must_use]
    pub fn sizes<'a>(&'a self, proofs: &'a Proofs) -> BoxFuture<'a, BTreeMap<u32, u64>> {
        Box::pin(async move {
            let asked = self.0.iter().flat_map(|witness| proofs.partitions().iter().map(move |of| witness.size(of)));
            let mut sizes = BTreeMap::new();
            for (partition, size) in join_all(asked).await.into_iter().flatten() {
                let largest: &mut u64 = sizes.entry(partition).or_default();
                *largest = size.max(*largest);
            }
            sizes
        })
    }

    pub fn run(self, proofs: Proofs) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let each = self.0.iter().flat_map(|witness| proofs.partitions().iter().map(move |of| witness.follow(of)));
            join_all(each).await;
        })
    }
}

impl Witness {
    async fn size(&self, partition: &Arc<Partition>) -> Option<(u32, u64)> {
        let checkpoint = partition.published().borrow().last.as_ref()?.note.clone();
        let request = AddCheckpoint { old: 0, path: vec![], checkpoint };
        let url = format!("{}/add-checkpoint", self.url);
        match timeout(START_MAX, post(&url, request.to_string())).await {
            Ok(Ok((StatusCode::CONFLICT, answer))) => {
                answer.trim_end().parse().ok().map(|size| (partition.ledger.partition(), size))
            }
            _ => None,
        }
    }

    async fn follow(&self, partition: &Arc<Partition>) {
        let mut published = partition.published();
        let (mut seen, mut said) = (0, false);
        let what = "Number of cosignatures requested from a witness.";
        let meter = global::meter("motherlode");
        let counter = meter.u64_counter("motherlode.proofs.cosignatures").with_description(what).build();
        let count = |outcome, times| {
            let (witness, outcome) = (self.key.name().to_owned(), KeyValue::new("outcome", outcome));
            counter.add(times, &[KeyValue::new("witness", witness), outcome]);
        };
        // The counters of granted and refused requests start at 0, so that an alarm can detect their first increase.
        count("done", 0);
        count("refused", 0);
        loop {
            let last = published.borrow_and_update().last.clone();
            let asked = match &last {
                Some(last) => self.ask(partition, last, &mut seen).await,
                None => Ok(()),
            };
            match asked {
                Ok(()) => {
                    count("done", u64::from(last.is_some()));
                    said = false;
                    sleep(EVERY).await;
                    let next = |of: &crate::proofs::Published| {
                        let size = |signed: &Option<Arc<Signed>>| signed.as_ref().map(|signed| signed.checkpoint.size);
                        size(&of.last) != size(&last)
                    };
                    if published.wait_for(next).await.is_err() {
                        return;
                    }
                }
                Err(why) => {
                    count("refused", 1);
                    if !said {
                        tracing::warn!(witness = self.key.name(), url = self.url, %why, "failed to get a cosignature");
                    }
                    said = true;
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn ask(&self, partition: &Arc<Partition>, signed: &Signed, seen: &mut u64) -> io::Result<()> {
        let url = format!("{}/add-checkpoint", self.url);
        for _ in 0..2 {
            let size = signed.checkpoint.size;
            if *seen > size {
                partition.lost(self.key.name(), *seen);
                return Err(io::Error::other(format!(
                    "the witness has cosigned {seen} records, but the log has {size}"
                )));
            }
            let (files, old) = (Arc::clone(&partition.files), *seen);
            let path = tokio::task::spawn_blocking(move || consistency(&*files, old, size));
            let request =
                AddCheckpoint { old, path: path.await.map_err(io::Error::other)??, checkpoint: signed.note.clone() };
            let (status, answer) = post(&url, request.to_string()).await?;
            match status {
                StatusCode::OK => {
                    let signature = self
                        .valid(&signed.note, &answer)
                        .ok_or_else(|| io::Error::other("the witness's answer has no valid cosignature by its key"))?;
                    *seen = size;
                    partition.cosigned(signed, signature);
                    return Ok(());
                }
                StatusCode::CONFLICT => {
                    let known = answer
                        .trim_end()
                        .parse()
                        .map_err(|_| io::Error::other("the witness answered 409 without a valid size"))?;
                    *seen = known;
                }
                status => {
                    return Err(io::Error::other(format!(
                        "{status}: {}",
                        motherlode_runtime::refusal::excerpt(answer.trim_end())
                    )));
                }
            }
        }
        Err(io::Error::other("at each attempt, the witness named a different size for its last checkpoint"))
    }

    fn valid(&self, note: &Note, answer: &str) -> Option<Signature> {
        let mut lines = answer.lines().filter_map(|line| line.parse::<Signature>().ok());
        lines.find(|line| note.clone().with(vec![line.clone()]).verify(&self.key).is_ok())
    }
}
