//! Byte windows over output that is kept elsewhere. A cursor is an absolute byte offset; a window is
//! `[from, end)`, and `end` is where the next window starts.

/// Bytes of a window when nothing is asked for.
pub const DEFAULT_LIMIT: u64 = 16_384;
/// Bytes of a window a model can get. Fixed: a retrieval is how withheld output is read back, so a lower inline
/// threshold must not shrink it.
pub const MODEL_CEILING: u64 = 51_200;
/// Bytes of a window a host can get.
pub const HOST_CEILING: u64 = 1 << 20;

/// Where a window starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this offset.
    At(u64),
    /// So that it ends at the end of the data.
    Newest,
}

/// One window over data of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first byte.
    pub from: u64,
    /// Behind its last byte: where the next window starts.
    pub end: u64,
    /// Size of the data.
    pub total: u64,
}

/// The size of a window in effect: the default when none is asked for, never above the ceiling, never empty.
pub fn effective_limit(asked: Option<u64>, ceiling: u64) -> u64 {
    asked.unwrap_or(DEFAULT_LIMIT).clamp(1, ceiling.max(1))
}

impl Window {
    /// The window of at most `limit` bytes. Past the end it is empty and stands at the end.
    pub fn new(start: Start, limit: u64, total: u64) -> Self {
        let from = match start {
            Start::At(cursor) => cursor.min(total),
            Start::Newest => total.saturating_sub(limit),
        };
        Self { from, end: from.saturating_add(limit).min(total), total }
    }

    /// Bytes in it.
    pub fn len(&self) -> u64 {
        self.end - self.from
    }

    /// Holds nothing.
    pub fn is_empty(&self) -> bool {
        self.end == self.from
    }

    /// Data follows.
    pub fn has_more(&self) -> bool {
        self.end < self.total
    }

    /// Data stands in front.
    pub fn has_earlier(&self) -> bool {
        self.from > 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slice<'a>(data: &'a [u8], window: &Window) -> &'a [u8] {
        &data[window.from as usize..window.end as usize]
    }

    // spec: BG-14
    #[test]
    fn a_window_is_exactly_what_was_asked_for() {
        let window = Window::new(Start::At(100), 50, 1_000);
        assert_eq!((window.from, window.end), (100, 150));
        assert!(window.has_more() && window.has_earlier());
    }

    // spec: BG-17
    // spec: BG-18
    #[test]
    fn the_limit_has_a_default_and_a_ceiling() {
        assert_eq!(effective_limit(None, MODEL_CEILING), 16_384);
        assert_eq!(effective_limit(Some(51_200), MODEL_CEILING), 51_200);
        assert_eq!(effective_limit(Some(10_000_000), MODEL_CEILING), 51_200);
        assert_eq!(effective_limit(Some(u64::MAX), HOST_CEILING), 1_048_576);
        assert_eq!(effective_limit(Some(0), MODEL_CEILING), 1);
    }

    // spec: BG-25
    // spec: BG-27
    #[test]
    fn the_newest_window_ends_at_the_end_and_pages_backwards() {
        let total = 102_400;
        let newest = Window::new(Start::Newest, DEFAULT_LIMIT, total);
        assert_eq!((newest.from, newest.end, newest.has_more()), (total - 16_384, total, false));
        let before = Window::new(Start::At(newest.from.saturating_sub(DEFAULT_LIMIT)), DEFAULT_LIMIT, total);
        assert_eq!(before.end, newest.from);
    }

    #[test]
    fn past_the_end_it_is_empty_at_the_end() {
        for cursor in [10, 11, u64::MAX] {
            let window = Window::new(Start::At(cursor), u64::MAX, 10);
            assert_eq!((window.from, window.end, window.has_more(), window.is_empty()), (10, 10, false, true));
        }
        assert!(Window::new(Start::Newest, 5, 0).is_empty());
    }

    proptest! {
        // spec: BG-15
        #[test]
        fn windows_in_a_row_are_the_data(data in prop::collection::vec(any::<u8>(), 0..2_000), limit in 1_u64..300) {
            let total = data.len() as u64;
            let (mut read, mut cursor) = (Vec::new(), 0);
            loop {
                let window = Window::new(Start::At(cursor), limit, total);
                prop_assert!(window.len() <= limit);
                read.extend_from_slice(slice(&data, &window));
                cursor = window.end;
                if !window.has_more() {
                    break;
                }
            }
            prop_assert_eq!(read, data);
        }

        // spec: BG-16
        // spec: BG-27
        #[test]
        fn windows_backwards_are_the_data(data in prop::collection::vec(any::<u8>(), 0..2_000), limit in 1_u64..300) {
            let total = data.len() as u64;
            let mut window = Window::new(Start::Newest, limit, total);
            let mut read = slice(&data, &window).to_vec();
            while window.has_earlier() {
                let from = window.from.saturating_sub(limit);
                let before = Window::new(Start::At(from), window.from - from, total);
                prop_assert_eq!(before.end, window.from);
                read.splice(0..0, slice(&data, &before).iter().copied());
                window = before;
            }
            prop_assert_eq!(window.from, 0);
            prop_assert_eq!(read, data);
        }

        #[test]
        fn any_numbers_stay_in_order(cursor in any::<u64>(), limit in 1..=u64::MAX, total in any::<u64>()) {
            for start in [Start::At(cursor), Start::Newest] {
                let window = Window::new(start, limit, total);
                prop_assert!(window.from <= window.end && window.end <= total && window.len() <= limit);
            }
        }
    }
}
