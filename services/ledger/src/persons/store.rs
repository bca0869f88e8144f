//! Files that map an operator's persons to player ids (PL-37). They are kept outside the log and the sled database,
//! because both keep removed values.
//!
//! A file contains a random key and one row per person: HMAC-SHA-256(key, reference), player id, checksum.

use data_encoding::HEXLOWER;
use motherlode_runtime::{Reason, Refusal};
use parking_lot::Mutex;
use ring::hmac;
use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Maximum number of persons per operator; each uses about 100 bytes of memory.
pub(crate) const PERSONS_MAX: usize = 1_000_000;
const OPERATORS_MAX: usize = 1_024;

const HEAD: &[u8; 16] = b"motherlode/pers1";
const HEAD_BYTES: usize = HEAD.len() + 32 + CHECKSUM;
const CHECKSUM: usize = 8;
const ROW_BYTES: usize = 32 + 16 + CHECKSUM;

type Digest = [u8; 32];
type Id = [u8; 16];

#[derive(Debug, Clone)]
pub(crate) enum Person {
    Reference(String),
    PlayerId(String),
}

#[derive(Debug, Clone)]
pub struct Persons(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    persons_max: usize,
    tables: Mutex<BTreeMap<String, Arc<Mutex<Table>>>>,
}

impl Persons {
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self::with_max(folder, PERSONS_MAX)
    }

    fn with_max(path: PathBuf, persons_max: usize) -> Self {
        Self(Arc::new(Folder { path, persons_max, tables: Mutex::default() }))
    }

    pub(crate) fn issue(&self, operator: &str, reference: &str) -> Result<String, Refusal> {
        let table = self.0.table(operator)?.map_or_else(|| self.0.new_table(operator), Ok)?;
        let id = table.lock().issue(reference, self.0.persons_max)?;
        Ok(HEXLOWER.encode(&id))
    }

    /// Erases the person's row if `check` allows it for the player id. Returns false if there is no such row.
    pub(crate) fn erase(
        &self,
        operator: &str,
        person: &Person,
        check: impl FnOnce(&str) -> Result<(), Refusal>,
    ) -> Result<bool, Refusal> {
        match self.0.table(operator)? {
            Some(table) => table.lock().erase(person, check),
            None => Ok(false),
        }
    }
}

impl Folder {
    fn table(&self, operator: &str) -> Result<Option<Arc<Mutex<Table>>>, Refusal> {
        let mut tables = self.tables.lock();
        if let Some(table) = tables.get(operator) {
            return Ok(Some(Arc::clone(table)));
        }
        let path = self.path.join(operator);
        Ok(path.try_exists().map_err(|error| unavailable(&path, &error))?.then(|| add(&mut tables, operator, path)))
    }

    fn new_table(&self, operator: &str) -> Result<Arc<Mutex<Table>>, Refusal> {
        self.make().map_err(|error| unavailable(&self.path, &error))?;
        let entries = fs::read_dir(&self.path).map_err(|error| unavailable(&self.path, &error))?;
        let mut tables = self.tables.lock();
        if entries.count().max(tables.len()) >= OPERATORS_MAX {
            return Err(Refusal::new(
                Reason::PersonsFull,
                format!("at most {OPERATORS_MAX} operators can use IssuePlayerId"),
            )
            .with("operators_max", OPERATORS_MAX));
        }
        let path = self.path.join(operator);
        Ok(tables.get(operator).map(Arc::clone).unwrap_or_else(|| add(&mut tables, operator, path)))
    }

    fn make(&self) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(&self.path) {
            Ok(()) => self.path.parent().map_or(Ok(()), |data| File::open(data)?.sync_all()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn add(tables: &mut BTreeMap<String, Arc<Mutex<Table>>>, operator: &str, path: PathBuf) -> Arc<Mutex<Table>> {
    let table = Arc::new(Mutex::new(Table { path, rows: None }));
    tables.insert(operator.to_owned(), Arc::clone(&table));
    table
}

fn full(most: usize) -> Refusal {
    Refusal::new(
        Reason::PersonsFull,
        format!("IssuePlayerId issues at most {most} player ids per operator: erase a person"),
    )
    .with("persons_max", most)
}

fn unavailable(path: &Path, error: &io::Error) -> Refusal {
    tracing::error!(file = %path.display(), %error, "failed to read or write the file of an operator's persons");
    Refusal::new(Reason::PersonsUnavailable, "the file of the operator's persons and player ids could not be accessed")
}

#[derive(Debug)]
struct Table {
    path: PathBuf,
    rows: Option<Rows>,
}

#[derive(Debug)]
struct Rows {
    secret: [u8; 32],
    key: hmac::Key,
    ids: HashMap<Digest, Id>,
    /// File to which rows are appended. `None` after a failure; the next write then replaces the file.
    file: Option<File>,
}

impl Table {
    fn issue(&mut self, reference: &str, persons_max: usize) -> Result<Id, Refusal> {
        let path = self.path.clone();
        let rows = self.rows().map_err(|error| unavailable(&path, &error))?;
        let digest = rows.digest(reference);
        if let Some(id) = rows.ids.get(&digest) {
            return Ok(*id);
        }
        if rows.ids.len() >= persons_max {
            return Err(full(persons_max));
        }
        rows.add(&path, digest).map_err(|error| unavailable(&path, &error))
    }

    fn erase(&mut self, person: &Person, check: impl FnOnce(&str) -> Result<(), Refusal>) -> Result<bool, Refusal> {
        let path = self.path.clone();
        let rows = self.rows().map_err(|error| unavailable(&path, &error))?;
        let Some((digest, id)) = rows.find(person) else { return Ok(false) };
        check(&HEXLOWER.encode(&id))?;
        rows.remove(&path, digest).map_err(|error| unavailable(&path, &error))?;
        Ok(true)
    }

    fn rows(&mut self) -> io::Result<&mut Rows> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => match self.path.try_exists()? {
                true => Rows::read(&self.path)?,
                false => Rows::new()?,
            },
        };
        Ok(self.rows.insert(rows))
    }
}

impl Rows {
    fn new() -> io::Result<Self> {
        Ok(Self::with(random()?))
    }

    fn with(secret: [u8; 32]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Self { secret, key, ids: HashMap::new(), file: None }
    }

    /// Syncs the file, because a process that was killed may not have synced its last row.
    fn read(path: &Path) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        let damaged = || io::Error::other("the file is damaged: restore it from a backup");
        let (head, all) = bytes.split_at_checked(HEAD_BYTES).ok_or_else(damaged)?;
        let secret = head.strip_prefix(HEAD).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
        let mut rows = Self::with(*secret);
        if rows.head() != head {
            return Err(damaged());
        }
        let (whole, torn) = all.as_chunks::<ROW_BYTES>();
        let mut is_torn = !torn.is_empty();
        for (number, row) in whole.iter().enumerate() {
            let (digest, id) = fields(row);
            if rows.row(&digest, &id) == *row {
                rows.ids.insert(digest, id);
            } else if number + 1 == whole.len() && (row.starts_with(&[0]) || row.ends_with(&[0])) {
                is_torn = true;
            } else {
                return Err(damaged());
            }
        }
        match fs::remove_file(unfinished(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().write(true).open(path)?;
        file.sync_all()?;
        sync_folder(path)?;
        // The request that wrote a torn row was never answered, so the row may be lost. The next write replaces the
        // file.
        rows.file = (!is_torn).then_some(file);
        Ok(rows)
    }

    fn digest(&self, reference: &str) -> Digest {
        self.mac(&[reference.as_bytes()])
    }

    fn mac(&self, parts: &[&[u8]]) -> Digest {
        let mut context = hmac::Context::with_key(&self.key);
        parts.iter().for_each(|part| context.update(part));
        context.sign().as_ref().try_into().unwrap_or_default()
    }

    fn checksum(&self, parts: &[&[u8]]) -> [u8; CHECKSUM] {
        self.mac(&[&[HEAD as &[u8]], parts].concat()).first_chunk().copied().unwrap_or_default()
    }

    fn head(&self) -> Vec<u8> {
        [HEAD as &[u8], &self.secret, &self.checksum(&[])].concat()
    }

    fn row(&self, digest: &Digest, id: &Id) -> [u8; ROW_BYTES] {
        let row = [digest as &[u8], id, &self.checksum(&[digest, id])].concat();
        row.try_into().unwrap_or([0; ROW_BYTES])
    }

    fn find(&self, person: &Person) -> Option<(Digest, Id)> {
        match person {
            Person::Reference(reference) => {
                let digest = self.digest(reference);
                self.ids.get(&digest).map(|id| (digest, *id))
            }
            Person::PlayerId(id) => {
                let wanted: Id = HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?;
                self.ids.iter().find(|(_, id)| **id == wanted).map(|(digest, id)| (*digest, *id))
            }
        }
    }

    fn add(&mut self, path: &Path, digest: Digest) -> io::Result<Id> {
        let id = random()?;
        match self.file.take() {
            Some(file) => {
                let end = file.metadata()?.len();
                file.write_all_at(&self.row(&digest, &id), end)?;
                file.sync_data()?;
                self.file = Some(file);
            }
            None => {
                let more = [(&digest, &id)];
                self.file = Some(self.replace(path, self.ids.iter().chain(more))?);
            }
        }
        self.ids.insert(digest, id);
        Ok(id)
    }

    fn remove(&mut self, path: &Path, digest: Digest) -> io::Result<()> {
        self.file = None;
        self.file = Some(self.replace(path, self.ids.iter().filter(|(of, _)| **of != digest))?);
        self.ids.remove(&digest);
        Ok(())
    }

    fn replace<'a>(&self, path: &Path, rows: impl Iterator<Item = (&'a Digest, &'a Id)>) -> io::Result<File> {
        let new = unfinished(path);
        let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
        let mut writer = BufWriter::new(file);
        writer.write_all(&self.head())?;
        for (digest, id) in rows {
            writer.write_all(&self.row(digest, id))?;
        }
        let file = writer.into_inner()?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_folder(path)?;
        Ok(file)
    }
}

/// No other file has this name, because operators' names contain no plus sign.
fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("+new");
    PathBuf::from(name)
}

fn fields(row: &[u8; ROW_BYTES]) -> (Digest, Id) {
    let digest = row.first_chunk().copied().unwrap_or_default();
    (digest, row[digest.len()..].first_chunk().copied().unwrap_or_default())
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn sync_folder(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(persons: &Persons, reference: &str) -> String {
        persons.issue("acme", reference).unwrap()
    }

    fn erase(persons: &Persons, reference: &str) -> bool {
        persons.erase("acme", &Person::Reference(reference.to_owned()), |_| Ok(())).unwrap()
    }

    fn contains(folder: &Path, wanted: &[u8]) -> bool {
        let mut files = fs::read_dir(folder).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
        files.any(|bytes| bytes.windows(wanted.len()).any(|window| window == wanted))
    }

    #[test]
    fn pl_37_a_reference_has_one_id_until_it_is_erased_and_then_another() {
        let data = tempfile::tempdir().unwrap();
        let folder = data.path().join("persons");
        let persons = Persons::new(folder.clone());
        assert!(!erase(&persons, "anna@example.com") && !folder.exists());
        let [anna, berta] = ["anna@example.com", "berta@example.com"].map(|person| issue(&persons, person));
        assert!(motherlode_state::is_opaque_id(&anna) && anna != berta);
        assert_ne!(persons.issue("other", "anna@example.com").unwrap(), anna);
        for persons in [&persons, &Persons::new(folder.clone())] {
            assert_eq!([issue(persons, "anna@example.com"), issue(persons, "berta@example.com")], [&*anna, &*berta]);
        }
        let id = HEXLOWER.decode(anna.as_bytes()).unwrap();
        assert!(contains(&folder, &id) && !contains(&folder, b"anna@example.com"));
        let refused = Refusal::field("x", "y");
        let checked = persons.erase("acme", &Person::PlayerId(anna.clone()), |player| {
            assert_eq!(player, anna);
            Err(refused.clone())
        });
        assert_eq!(checked, Err(refused));
        assert!(erase(&persons, "anna@example.com") && !erase(&persons, "anna@example.com"));
        assert!(!contains(&folder, &id));
        assert_ne!(issue(&persons, "anna@example.com"), anna);
        for persons in [&persons, &Persons::new(folder.clone())] {
            assert_eq!(issue(persons, "berta@example.com"), berta);
        }
        let by_id = |operator| persons.erase(operator, &Person::PlayerId(berta.clone()), |_| Ok(())).unwrap();
        assert!(!by_id("other") && by_id("acme") && !by_id("acme"));
    }

    #[test]
    fn pl_37_the_number_of_persons_is_limited() {
        let data = tempfile::tempdir().unwrap();
        let persons = Persons::with_max(data.path().join("persons"), 2);
        let anna = issue(&persons, "anna");
        issue(&persons, "berta");
        let refused = persons.issue("acme", "carla").unwrap_err();
        assert_eq!((refused.reason(), refused.metadata("persons_max")), (Reason::PersonsFull, Some("2")));
        assert_eq!(issue(&persons, "anna"), anna);
        assert!(erase(&persons, "berta"));
        issue(&persons, "carla");
    }

    #[test]
    fn pl_37_a_write_stopped_at_any_byte_loses_no_person() {
        let data = tempfile::tempdir().unwrap();
        let (folder, file) = (data.path().join("persons"), data.path().join("persons/acme"));
        let persons = Persons::new(folder.clone());
        let ids = ["anna", "berta"].map(|person| issue(&persons, person));
        let before = fs::read(&file).unwrap();
        issue(&persons, "carla");
        let after = fs::read(&file).unwrap();
        assert_eq!((after.len(), &after[..before.len()]), (before.len() + ROW_BYTES, &*before));
        for end in before.len()..after.len() {
            let zeros = [&after[..end], &vec![0; after.len() - end][..]].concat();
            let is_row = |torn: &[u8]| torn == after;
            for torn in [&after[..end], &zeros].into_iter().filter(|torn| !is_row(torn)) {
                // An interrupted erasure can also leave an unfinished file.
                fs::write(folder.join("acme+new"), &before[..end.min(before.len()) / 2]).unwrap();
                fs::write(&file, torn).unwrap();
                let persons = Persons::new(folder.clone());
                assert_eq!(["anna", "berta"].map(|person| issue(&persons, person)), ids, "{end}");
                let carla = issue(&persons, "carla");
                assert!(!folder.join("acme+new").exists(), "{end}");
                let persons = Persons::new(folder.clone());
                assert_eq!(issue(&persons, "carla"), carla, "{end}");
                assert_eq!(fs::read(&file).unwrap().len(), after.len());
            }
        }
    }

    #[test]
    fn pl_37_a_damaged_file_of_persons_is_refused_and_kept() {
        let data = tempfile::tempdir().unwrap();
        let (folder, file) = (data.path().join("persons"), data.path().join("persons/acme"));
        let persons = Persons::new(folder.clone());
        issue(&persons, "anna");
        // A last row with a zero at either end would count as torn instead of damaged.
        let may_be_torn = |bytes: &[u8]| bytes[bytes.len() - ROW_BYTES] == 0 || bytes.ends_with(&[0]);
        let mut others = 0;
        while others == 0 || may_be_torn(&fs::read(&file).unwrap()) {
            others += 1;
            issue(&persons, &format!("person-{others}"));
        }
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= if whole[at] == 0x11 { 0x22 } else { 0x11 };
            fs::write(&file, &damaged).unwrap();
            let persons = Persons::new(folder.clone());
            assert_eq!(persons.issue("acme", "anna").unwrap_err().reason(), Reason::PersonsUnavailable, "{at}");
            assert_eq!(fs::read(&file).unwrap(), damaged);
        }
    }
}
