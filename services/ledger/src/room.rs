use bytes::{Bytes, BytesMut};

#[derive(Default)]
pub(crate) struct Room {
    block: BytesMut,
    record: Vec<u8>,
}

impl Room {
    const BLOCK: usize = 64 << 10;

    pub(crate) fn encode(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
        self.record.clear();
        write(&mut self.record);
        if self.block.capacity() < self.record.len() {
            self.block = BytesMut::with_capacity(Self::BLOCK.max(self.record.len()));
        }
        self.block.extend_from_slice(&self.record);
        self.block.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_was_written_wherever_they_lie() {
        let lengths = [1, 0, 700, Room::BLOCK - 701, 1, Room::BLOCK, Room::BLOCK + 1, 40_000, 40_000, 5];
        let (mut room, mut held) = (Room::default(), vec![]);
        for (length, byte) in lengths.into_iter().zip(1..) {
            let record = vec![byte; length];
            held.push((room.encode(|bytes| bytes.extend_from_slice(&record)), record));
        }
        assert!(held.iter().all(|(held, record)| held == record));
    }
}
