use crate::contract::draws::Draws;
use crate::parts::file::ModelError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights<T> {
    items: Vec<(T, u32)>,
    total: u32,
}

impl<T: Copy> Weights<T> {
    pub fn new(part: &'static str, items: Vec<(T, u32)>) -> Result<Self, ModelError> {
        let total = items.iter().try_fold(0u32, |sum, item| sum.checked_add(item.1));
        match total {
            Some(total) if total > 0 => Ok(Self { items, total }),
            _ => Err(ModelError::part(part, "the sum of the weights is 0 or exceeds 32 bits")),
        }
    }

    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> T {
        let mut place = draws.below(self.total);
        for &(item, weight) in &self.items {
            match place.checked_sub(weight) {
                None => return item,
                Some(rest) => place = rest,
            }
        }
        self.items[0].0
    }

    #[must_use]
    pub fn items(&self) -> &[(T, u32)] {
        &self.items
    }

    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }
}
