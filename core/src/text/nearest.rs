//! The known name that a wrong one was probably meant to be.

/// Names further away than this are no typing mistakes.
const FARTHEST: usize = 3;

/// The nearest of the known names by edit distance, ties by order; `None` when none is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= FARTHEST && *distance < name.chars().count().max(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["filePath", "offset", "limit"];
        assert_eq!(nearest("filepath", known), Some("filePath"));
        assert_eq!(nearest("file_path", known), Some("filePath"));
        assert_eq!(nearest("ofset", known), Some("offset"));
        assert_eq!(nearest("somethingElse", known), None);
        assert_eq!(nearest("x", ["y"]), Some("y"));
    }
}
