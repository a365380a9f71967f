//! The names in a directory.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Dir, FileType, statat};

/// The names in a directory, in byte order; directories end in `/`.
#[derive(Debug, Default)]
pub struct Listing {
    /// The names.
    pub names: Vec<String>,
    /// Names that are not valid UTF-8 and therefore name nothing a tool could be called with.
    pub unnamed: usize,
}

/// Lists an open directory.
pub fn list(directory: impl AsFd) -> io::Result<Listing> {
    let mut found: Vec<(String, bool)> = Vec::new();
    let mut unnamed = 0;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        match entry.file_name().to_str() {
            Ok("." | "..") => {}
            Ok(name) => {
                let is_directory = match entry.file_type() {
                    FileType::Unknown => is_directory(&directory, name),
                    known => known == FileType::Directory,
                };
                found.push((name.to_owned(), is_directory));
            }
            Err(_) => unnamed += 1,
        }
    }
    found.sort_unstable();
    let names = found.into_iter().map(|(name, is_directory)| if is_directory { name + "/" } else { name }).collect();
    Ok(Listing { names, unnamed })
}

/// Some file systems do not say the kind in the directory itself.
fn is_directory(directory: impl AsFd, name: &str) -> bool {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Directory)
}

/// Up to three names that look like the wanted one, best first.
pub fn similar(names: &[String], wanted: &str) -> Vec<String> {
    const ENOUGH: f64 = 0.6;
    let folded = wanted.to_lowercase();
    let mut scored: Vec<(f64, &String)> = names
        .iter()
        .map(|name| {
            let candidate = name.trim_end_matches('/').to_lowercase();
            let same_stem = stem(&candidate) == stem(&folded);
            let score = strsim::normalized_damerau_levenshtein(&candidate, &folded);
            (if same_stem { score.max(ENOUGH) } else { score }, name)
        })
        .filter(|(score, _)| *score >= ENOUGH)
        .collect();
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    scored.into_iter().take(3).map(|(_, name)| name.clone()).collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_close_ones_or_the_same_stem() {
        let names: Vec<String> =
            ["README.md", "main.rs", "mian.rs", "main.rs.bak", "config.yaml", "x"].map(String::from).into();
        assert_eq!(similar(&names, "readme.md"), ["README.md"]);
        assert_eq!(similar(&names, "man.rs"), ["main.rs", "mian.rs"]);
        assert_eq!(similar(&names, "config.json"), ["config.yaml"]);
        assert!(similar(&names, "quite-another").is_empty());
    }

    #[test]
    fn names_are_in_byte_order_and_whole() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "B", "a b", "-v", "a\nb", "c\\d", "é"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"bad\xff")), "").unwrap();
        std::os::unix::fs::symlink("a", folder.path().join("link")).unwrap();
        let listing = list(std::fs::File::open(folder.path()).unwrap()).unwrap();
        assert_eq!(listing.names, ["-v", "B", "a/", "a\nb", "a b", "b", "c\\d", "link", "é"]);
        assert_eq!(listing.unnamed, 1);
    }
}
