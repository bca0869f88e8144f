use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::currency::Currency;
use super::money::Nano;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerCurrency<T>(SmallVec<[(Currency, T); 1]>);

impl<T> Default for PerCurrency<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T> PerCurrency<T> {
    fn place(&self, currency: Currency) -> Result<usize, usize> {
        self.0.binary_search_by_key(&currency, |(of, _)| *of)
    }

    #[must_use]
    pub fn get(&self, currency: Currency) -> Option<&T> {
        self.0.get(self.place(currency).ok()?).map(|(_, figure)| figure)
    }

    pub fn set(&mut self, currency: Currency, figure: T) {
        match self.place(currency) {
            Ok(place) => self.0[place].1 = figure,
            Err(place) => {
                self.0.reserve_exact(1);
                self.0.insert(place, (currency, figure));
            }
        }
    }

    pub fn entry(&mut self, currency: Currency) -> &mut T
    where
        T: Default,
    {
        let place = self.place(currency).unwrap_or_else(|place| {
            self.0.insert(place, (currency, T::default()));
            place
        });
        &mut self.0[place].1
    }

    pub fn iter(&self) -> impl Iterator<Item = (Currency, &T)> {
        self.0.iter().map(|(currency, figure)| (*currency, figure))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PerCurrency<Nano> {
    #[must_use]
    pub fn amount(&self, currency: Currency) -> Nano {
        self.get(currency).copied().unwrap_or_default()
    }

    /// A currency whose sum becomes zero is removed, so that maps with the same sums are equal. An overflow
    /// would take more than 2^33 postings of the largest amount.
    pub(crate) fn post(&mut self, currency: Currency, amount: Nano) {
        match self.place(currency) {
            _ if amount == Nano::ZERO => {}
            Err(place) => self.0.insert(place, (currency, amount)),
            Ok(place) => match Nano(self.0[place].1.0 + amount.0) {
                Nano::ZERO => _ = self.0.remove(place),
                sum => self.0[place].1 = sum,
            },
        }
    }

    pub(crate) fn add(&mut self, more: &Self) {
        for (currency, amount) in more.iter() {
            self.post(currency, *amount);
        }
    }
}
