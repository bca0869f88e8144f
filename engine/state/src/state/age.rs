#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watch {
    pub age: u32,
    pub written: u32,
    pub is_writing: bool,
}

impl Watch {
    pub fn is_on(self) -> bool {
        self.age > 0
    }
}

impl PartialEq for Watch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Watch {}
