//! The first few of many in a stable order, without keeping the many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Keeps the smallest `limit` items it is offered and counts the others.
#[derive(Debug)]
pub(super) struct First<T> {
    limit: usize,
    kept: BinaryHeap<T>,
    beyond: u64,
}

impl<T: Ord> First<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::with_capacity(limit + 1), beyond: 0 }
    }

    /// Offers an item that is only made when it has a chance. `order` says how it compares to a kept one.
    pub(super) fn offer(&mut self, order: impl FnOnce(&T) -> Ordering, make: impl FnOnce() -> T) {
        if self.kept.len() >= self.limit {
            self.beyond += 1;
            if self.kept.peek().is_none_or(|last| order(last) != Ordering::Less) {
                return;
            }
            self.kept.pop();
        }
        self.kept.push(make());
    }

    /// The kept items in order, and how many were not kept.
    pub(super) fn finish(self) -> (Vec<T>, u64) {
        (self.kept.into_sorted_vec(), self.beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_of(limit: usize, items: &[u32]) -> (Vec<u32>, u64) {
        let mut first = First::new(limit);
        for item in items {
            first.offer(|kept| item.cmp(kept), || *item);
        }
        first.finish()
    }

    // spec: SEARCH-05
    #[test]
    fn the_order_of_arrival_does_not_matter() {
        let expected = (vec![1, 2, 3], 2);
        assert_eq!(first_of(3, &[5, 4, 3, 2, 1]), expected);
        assert_eq!(first_of(3, &[1, 2, 3, 4, 5]), expected);
        assert_eq!(first_of(3, &[3, 5, 1, 4, 2]), expected);
    }

    #[test]
    fn a_full_house_drops_nothing() {
        assert_eq!(first_of(3, &[2, 3, 1]), (vec![1, 2, 3], 0));
        assert_eq!(first_of(3, &[]), (vec![], 0));
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_sorting(items: Vec<u32>, limit in 1usize..20) {
            let mut sorted = items.clone();
            sorted.sort_unstable();
            sorted.truncate(limit);
            let beyond = (items.len() - sorted.len()) as u64;
            proptest::prop_assert_eq!(first_of(limit, &items), (sorted, beyond));
        }
    }
}
