//! Circuit breaker of a wallet. The circuit opens after unanswered calls for [`PLAYERS_MAX`] players without an answer in
//! between. While open, it admits one call as a probe after each wait ([`REST_MS`]); an answer closes it.

const PLAYERS_MAX: usize = 5;

/// Shortest and longest wait before a probe, in milliseconds. Each failed probe doubles the wait.
const REST_MS: (u64, u64) = (100, 10_000);

/// Times are in milliseconds of a monotonic clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Breaker {
    failed: Vec<String>,
    rests: u32,
    closed_until_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    Given,
    Probe,
}

impl Breaker {
    pub fn leave(&mut self, now_ms: u64) -> Option<Leave> {
        if self.is_whole() {
            return Some(Leave::Given);
        }
        let ends = now_ms >= self.closed_until_ms;
        ends.then(|| {
            self.closed_until_ms = now_ms.saturating_add(self.rest_ms());
            Leave::Probe
        })
    }

    #[must_use]
    pub fn left_ms(&self, now_ms: u64) -> u64 {
        if self.is_whole() { 0 } else { self.closed_until_ms.saturating_sub(now_ms) }
    }

    pub fn answered(&mut self) {
        *self = Self::default();
    }

    /// The failure of a call that began before the circuit opened does not prolong the open time.
    pub fn failed(&mut self, leave: Leave, player: &str, now_ms: u64) {
        match leave {
            _ if self.is_whole() => {
                if self.failed.iter().all(|failed| failed != player) {
                    self.failed.push(player.to_owned());
                }
            }
            Leave::Given => return,
            Leave::Probe => self.rests = self.rests.saturating_add(1),
        }
        self.closed_until_ms = now_ms.saturating_add(self.rest_ms());
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.failed.len() < PLAYERS_MAX
    }

    fn rest_ms(&self) -> u64 {
        let (first, longest) = REST_MS;
        (first << self.rests.min(16)).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(players: usize, now_ms: u64) -> Breaker {
        let mut breaker = Breaker::default();
        for player in 0..players {
            breaker.failed(Leave::Given, &format!("p{player}"), now_ms);
        }
        breaker
    }

    #[test]
    fn pl_31_a_wallet_that_does_not_answer_is_left_alone_for_longer_and_longer_and_tried_by_one_call() {
        assert_eq!(
            after(PLAYERS_MAX - 1, 1_000).leave(1_000),
            Some(Leave::Given),
            "a few failures must not open the circuit"
        );
        let mut breaker = after(PLAYERS_MAX, 1_000);
        assert_eq!(breaker.leave(1_099), None);
        assert_eq!(breaker.left_ms(1_040), 60);
        assert_eq!(breaker.leave(1_100), Some(Leave::Probe), "one probe must be permitted");
        assert_eq!(breaker.leave(1_100), None, "only one probe must be permitted");
        let mut rests = vec![];
        for _ in 0..10 {
            breaker.failed(Leave::Probe, "p0", 5_000);
            rests.push(breaker.left_ms(5_000));
        }
        assert_eq!(rests, [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000]);
        breaker.answered();
        assert_eq!([breaker.leave(5_000); 2], [Some(Leave::Given); 2]);
        assert_eq!(breaker.left_ms(5_000), 0);
    }

    #[test]
    fn pl_31_calls_that_were_under_way_when_a_wallet_stopped_answering_are_one_failure() {
        let mut breaker = after(PLAYERS_MAX, 1_000);
        for call in 0..1_000 {
            breaker.failed(Leave::Given, &format!("q{call}"), 1_050);
        }
        assert_eq!(breaker.left_ms(1_050), 50, "further failures must not prolong the open time");
    }

    #[test]
    fn pl_31_a_player_whose_calls_fail_again_and_again_does_not_close_the_wallet_to_the_others() {
        let mut breaker = after(PLAYERS_MAX - 1, 0);
        for _ in 0..1_000 {
            breaker.failed(Leave::Given, "p0", 0);
            assert_eq!(breaker.leave(0), Some(Leave::Given));
        }
        breaker.failed(Leave::Given, "another", 0);
        assert_eq!(breaker.left_ms(0), REST_MS.0, "the first open time must be the shortest");
    }
}
