//! Batches: files with images of players, in order of their hashed names, that never change once they are written.
//!
//! ```text
//! header    256 bytes: MAGIC, the SHA-256 of the rest of it, a Header in postcard's wire format, zeros
//! blocks    entries, some 4 KB a block: a name (8 bytes), the length of an image (4 bytes), the image
//! filter    blocks of 32 bytes, see `requests::filter`
//! table     for each block its first name (8 bytes), where it begins (8 bytes), its CRC-32C (4 bytes)
//! ```
//!
//! All integers are little-endian. An image is operator, player and state in postcard's wire format. Header, filter and table are verified
//! when a batch is opened, a block each time that it's read. Cost: 1.5 bytes of memory an image for the filter, 20 a block for the
//! table; to find an image is one read of a block.

use crate::{
    error::ImageError,
    region::Region,
    requests::{
        Key, Name,
        filter::{BLOCK, Filter, Making, blocks},
    },
};
use motherlode_books::PlayerState;
use motherlode_log::Hash;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// The first bytes of a batch, with the version of its format.
const MAGIC: [u8; 8] = *b"MLIMG001";
/// Bytes of the header.
const HEADER: usize = 256;
/// Where what its digest is of begins.
const SEALED: usize = MAGIC.len() + 32;
/// Bytes of a block, about.
const BLOCK_BYTES: usize = 4096;
/// Bytes of a block's place in the table.
const PLACE: usize = 20;

/// A player's image: what stands in a batch.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) name: Name,
    /// Operator, player and state.
    pub(super) bytes: Vec<u8>,
}

impl Image {
    pub(super) fn of(key: Key, operator: &str, player: &str, state: &PlayerState) -> Result<Self, ImageError> {
        let bytes = postcard::to_allocvec(&(operator, player, state)).map_err(io::Error::other)?;
        Ok(Self { name: key.player(operator, player), bytes })
    }

    /// Operator and player.
    pub(super) fn whose(&self) -> Result<(&str, &str), ImageError> {
        Ok(self.split()?.0)
    }

    pub(super) fn state(&self) -> Result<PlayerState, ImageError> {
        postcard::from_bytes(self.split()?.1).map_err(|_| ImageError::Damaged)
    }

    fn split(&self) -> Result<((&str, &str), &[u8]), ImageError> {
        postcard::take_from_bytes(&self.bytes).map_err(|_| ImageError::Damaged)
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    key: Key,
    partition: u32,
    /// Images; where several files became one, the filter has room for more.
    count: u64,
    named: u64,
    /// Where the blocks end, and so the filter begins.
    end: u64,
    blocks: u64,
    filter: Hash,
    table: Hash,
}

/// A batch that is open for reading.
#[derive(Debug)]
pub(super) struct Batch {
    /// The digest of its header, and so of all of it.
    pub(super) id: Hash,
    pub(super) count: u64,
    /// Bytes of its blocks.
    pub(super) bytes: u64,
    file: File,
    filter: Filter,
    table: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    first: Name,
    at: u64,
    sum: u32,
}

impl Batch {
    /// The name of a batch's file.
    pub(super) fn file_name(id: &Hash) -> String {
        let hex: String = id.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}.images")
    }

    /// Opens a file and verifies all but its blocks. It must be of this partition and this key.
    pub(super) fn open(path: &Path, partition: u32, key: Key) -> Result<Self, ImageError> {
        let file = File::open(path)?;
        let header = read(&file, 0, HEADER as u64)?;
        let rest = header.strip_prefix(&MAGIC).ok_or(ImageError::Damaged)?;
        let (digest, sealed) = rest.split_first_chunk::<32>().ok_or(ImageError::Damaged)?;
        if Sha256::digest(sealed)[..] != digest[..] {
            return Err(ImageError::Damaged);
        }
        let header: Header = postcard::take_from_bytes(sealed).map_err(|_| ImageError::Damaged)?.0;
        let filter_bytes = blocks(header.named).saturating_mul(BLOCK as u64);
        let table_at = header.end.saturating_add(filter_bytes);
        let table_bytes = header.blocks.saturating_mul(PLACE as u64);
        let is_whole = file.metadata()?.len() == table_at.saturating_add(table_bytes) && header.end >= HEADER as u64;
        if !is_whole || header.partition != partition || header.key != key {
            return Err(ImageError::Damaged);
        }
        let verified = |from, bytes, digest: Hash| {
            let bytes = read(&file, from, bytes)?;
            if Sha256::digest(&bytes)[..] == digest[..] { Ok(bytes) } else { Err(ImageError::Damaged) }
        };
        let filter = Filter::new(verified(header.end, filter_bytes, header.filter)?);
        let table = verified(table_at, table_bytes, header.table)?;
        let table = table.chunks_exact(PLACE).filter_map(place).collect();
        Ok(Self { id: *digest, count: header.count, bytes: header.end - HEADER as u64, file, filter, table })
    }

    /// False of no player that is there.
    pub(super) fn may_hold(&self, name: Name) -> bool {
        self.filter.may_hold(name)
    }

    /// A player's image.
    pub(super) fn find(&self, name: Name, operator: &str, player: &str) -> Result<Option<Image>, ImageError> {
        let first = self.table.partition_point(|place| place.first < name).saturating_sub(1);
        for block in first..self.table.len() {
            if self.table.get(block).is_none_or(|place| place.first > name) {
                break;
            }
            for image in self.block(block)? {
                if image.name == name && image.whose()? == (operator, player) {
                    return Ok(Some(image));
                }
            }
        }
        Ok(None)
    }

    /// All images in order, read block by block.
    pub(super) fn images(&self) -> impl Iterator<Item = Result<Image, ImageError>> {
        (0..self.table.len()).flat_map(|block| {
            let (images, error) = match self.block(block) {
                Ok(images) => (images, None),
                Err(error) => (vec![], Some(Err(error))),
            };
            images.into_iter().map(Ok).chain(error)
        })
    }

    fn block(&self, block: usize) -> Result<Vec<Image>, ImageError> {
        let place = self.table.get(block).ok_or(ImageError::Damaged)?;
        let end = self.table.get(block + 1).map_or(HEADER as u64 + self.bytes, |next| next.at);
        let bytes = read(&self.file, place.at, end.checked_sub(place.at).ok_or(ImageError::Damaged)?)?;
        if crc32c::crc32c(&bytes) != place.sum {
            return Err(ImageError::Block { file: Self::file_name(&self.id), at: place.at });
        }
        let mut rest = &bytes[..];
        let mut images = vec![];
        while let Some((name, after)) = rest.split_first_chunk::<8>() {
            let (length, after) = after.split_first_chunk::<4>().ok_or(ImageError::Damaged)?;
            let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| ImageError::Damaged)?;
            let (image, after) = after.split_at_checked(length).ok_or(ImageError::Damaged)?;
            images.push(Image { name: Name(u64::from_le_bytes(*name)), bytes: image.to_vec() });
            rest = after;
        }
        Ok(images)
    }
}

fn place(bytes: &[u8]) -> Option<Place> {
    let (first, rest) = bytes.split_first_chunk::<8>()?;
    let (at, sum) = rest.split_first_chunk::<8>()?;
    Some(Place {
        first: Name(u64::from_le_bytes(*first)),
        at: u64::from_le_bytes(*at),
        sum: u32::from_le_bytes(sum.try_into().ok()?),
    })
}

fn read(file: &File, at: u64, bytes: u64) -> Result<Vec<u8>, ImageError> {
    let mut buffer = vec![0; usize::try_from(bytes).map_err(|_| ImageError::Damaged)?];
    file.read_exact_at(&mut buffer, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ImageError::Damaged,
        _ => ImageError::Io(error),
    })?;
    Ok(buffer)
}

/// Writes a batch and syncs it. The images come in order, at most `most` of them; their making may fail.
pub(super) fn write(
    path: &PathBuf,
    partition: u32,
    key: Key,
    most: u64,
    images: impl Iterator<Item = Result<Image, ImageError>>,
) -> Result<(), ImageError> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let mut body = Region::new(&file, HEADER as u64);
    let (mut filter, mut making) = (vec![], Making::of(most));
    let mut put = |block: &[u8]| {
        filter.extend_from_slice(block);
        Ok::<_, ImageError>(())
    };
    let (mut table, mut block, mut count) = (vec![], vec![], 0);
    let mut first = Name(0);
    let mut full = |first: Name, block: &mut Vec<u8>| {
        table.extend_from_slice(&first.0.to_le_bytes());
        table.extend_from_slice(&body.at().to_le_bytes());
        table.extend_from_slice(&crc32c::crc32c(block).to_le_bytes());
        body.put(block)?;
        block.clear();
        Ok::<_, ImageError>(())
    };
    for image in images {
        let image = image?;
        if block.is_empty() {
            first = image.name;
        }
        making.take(image.name, &mut put)?;
        block.extend_from_slice(&image.name.0.to_le_bytes());
        block.extend_from_slice(&u32::try_from(image.bytes.len()).map_err(io::Error::other)?.to_le_bytes());
        block.extend_from_slice(&image.bytes);
        count += 1;
        if block.len() >= BLOCK_BYTES {
            full(first, &mut block)?;
        }
    }
    if !block.is_empty() {
        full(first, &mut block)?;
    }
    making.end(&mut put)?;
    let end = body.at();
    body.end()?;
    let mut rest = Region::new(&file, end);
    rest.put(&filter)?;
    rest.put(&table)?;
    rest.end()?;
    let (blocks, filter) = ((table.len() / PLACE) as u64, Sha256::digest(&filter).into());
    let header =
        Header { key, partition, count, named: most, end, blocks, filter, table: Sha256::digest(&table).into() };
    let encoded = postcard::to_allocvec(&header).map_err(io::Error::other)?;
    let mut sealed = [0; HEADER - SEALED];
    sealed.get_mut(..encoded.len()).ok_or(ImageError::Damaged)?.copy_from_slice(&encoded);
    file.write_all_at(&[&MAGIC[..], &Sha256::digest(sealed), &sealed].concat(), 0)?;
    Ok(file.sync_all()?)
}
