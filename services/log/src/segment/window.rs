use std::{io, sync::Arc};

use bytes::Bytes;

use crate::disk::File;

#[derive(Debug)]
pub(super) struct Window {
    pub file: Arc<dyn File>,
    pub offset: u64,
    pub bytes: Bytes,
}

impl Window {
    pub fn new(file: Arc<dyn File>, offset: u64) -> Self {
        Self { file, offset, bytes: Bytes::new() }
    }

    pub fn fill(&mut self, needed: usize, ahead: u64) -> io::Result<()> {
        if self.bytes.len() < needed {
            self.bytes = self.file.read_up_to(ahead.max(needed as u64), self.offset)?.into();
        }
        Ok(())
    }

    pub fn advance(&mut self, bytes: usize) {
        self.bytes = self.bytes.split_off(bytes.min(self.bytes.len()));
        self.offset += bytes as u64;
    }
}
