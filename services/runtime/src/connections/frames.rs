//! Limit on a connection's HTTP/2 control frames.
//!
//! A client can send control frames (such as PING, unknown frames and empty DATA) at almost no cost. Each frame takes
//! its payload's bytes plus [`FRAME`] from the connection's allowance; if the allowance is used up, the connection is
//! closed. The allowance grows with time, by [`CALL`] bytes with each call, and by the bytes sent, because clients
//! acknowledge data with control frames.

use std::time::Instant;

const FRAME: u64 = 64;
const CALL: u64 = 8 * FRAME;
const FULL_AFTER: u64 = 10;
/// Length of the client preface (RFC 9113, 3.4).
const MAGIC: usize = 24;
/// Length of a frame header (RFC 9113, 4.1).
const HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;

pub(super) struct Frames {
    skipped: usize,
    head: [u8; HEAD],
    come: usize,
    begun: bool,
    allowance: Allowance,
}

impl Frames {
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        let per_second = u64::from(per_second) * FRAME;
        let allowance = Allowance { per_second, left: per_second * FULL_AFTER, since: now };
        Self { skipped: MAGIC, head: [0; HEAD], come: 0, begun: false, allowance }
    }

    pub(super) fn have_begun(&self) -> bool {
        self.begun
    }

    pub(super) fn take(&mut self, mut bytes: &[u8], now: impl Fn() -> Instant) -> bool {
        loop {
            let skipped = self.skipped.min(bytes.len());
            (self.skipped, bytes) = (self.skipped - skipped, &bytes[skipped..]);
            if bytes.is_empty() {
                return true;
            }
            let part = bytes.len().min(HEAD - self.come);
            self.head[self.come..][..part].copy_from_slice(&bytes[..part]);
            (self.come, bytes) = (self.come + part, &bytes[part..]);
            if self.come < HEAD {
                return true;
            }
            (self.come, self.begun) = (0, true);
            let [a, b, c, kind, flags, ..] = self.head;
            self.skipped = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            match kind {
                HEADERS => self.allowance.add(CALL),
                CONTINUATION => {}
                DATA if self.skipped > 0 || flags & END_STREAM != 0 => {}
                _ if self.allowance.take(FRAME + self.skipped as u64, &now) => {}
                _ => return false,
            }
        }
    }

    pub(super) fn sent(&mut self, bytes: usize) {
        self.allowance.add(bytes as u64);
    }
}

struct Allowance {
    per_second: u64,
    left: u64,
    since: Instant,
}

impl Allowance {
    fn add(&mut self, bytes: u64) {
        self.left = (self.left + bytes).min(self.per_second * FULL_AFTER);
    }

    fn take(&mut self, bytes: u64, now: impl Fn() -> Instant) -> bool {
        if self.left < bytes {
            let now = now();
            let passed = u64::try_from(now.saturating_duration_since(self.since).as_micros()).unwrap_or(u64::MAX);
            self.since = now;
            self.add(passed.saturating_mul(self.per_second) / 1_000_000);
        }
        let Some(left) = self.left.checked_sub(bytes) else { return false };
        self.left = left;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], &vec![0; payload]].concat()
    }

    fn begun(now: Instant) -> Frames {
        let mut frames = Frames::new(10, now);
        assert!(frames.take(&[b'P'; MAGIC], || now) && !frames.have_begun());
        frames
    }

    fn taken(frames: &mut Frames, frame: &[u8], now: Instant) -> usize {
        (0..1_000).take_while(|_| frames.take(frame, || now)).count()
    }

    #[test]
    fn at_b2_frames_without_a_call_are_counted_with_their_bytes_however_they_are_cut() {
        let now = Instant::now();
        let ping = frame(6, 0, 8);
        assert_eq!(taken(&mut begun(now), &ping, now), 100 * 64 / 72);
        let mut frames = begun(now);
        assert!((0..88).all(|_| frames.take(&ping, || now)));
        assert_eq!(
            taken(&mut frames, &ping, now + Duration::from_secs(1)),
            10 * 64 / 72 + 1,
            "88 of 100 frames were taken before"
        );
        let mut cut = begun(now);
        let pieces = ping.repeat(200);
        assert_eq!(pieces.iter().take_while(|byte| cut.take(&[**byte], || now)).count(), 88 * 17 + 8);
        assert_eq!(taken(&mut begun(now), &frame(4, 0, 16_384), now), 0, "a long frame counts as many");
        for kind in [2, 3, 7, 8, 10, 255] {
            assert!(taken(&mut begun(now), &frame(kind, 0, 4), now) < 100, "{kind}");
        }
        assert_eq!(taken(&mut begun(now), &frame(DATA, 0, 0), now), 100, "empty DATA counts as a control frame");
    }

    #[test]
    fn at_b2_calls_and_what_is_sent_allow_for_more() {
        let now = Instant::now();
        let mut frames = begun(now);
        let window = frame(8, 0, 4);
        for _ in 0..1_000 {
            assert!(frames.take(&frame(HEADERS, 4, 90), || now));
            assert!(frames.take(&frame(DATA, END_STREAM, 60), || now));
            frames.sent(120);
            assert!((0..4).all(|_| frames.take(&window, || now)));
        }
        for _ in 0..1_000 {
            frames.sent(200);
            assert!((0..2).all(|_| frames.take(&window, || now)));
        }
        assert_eq!(taken(&mut frames, &frame(DATA, 0, 1), now), 1_000);
        frames.sent(1 << 30);
        assert!(taken(&mut frames, &window, now) < 100, "the allowance does not exceed its maximum");
    }
}
