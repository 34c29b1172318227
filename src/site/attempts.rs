//! What attempts have left in `work/` and `log/`.

use std::{collections::BTreeSet, fs, io, path::Path};

use super::{Site, dir::Dir, lock::absent_is_fine};

/// Whether `name` is an attempt's id: a ULID in its canonical form.
pub fn is_attempt(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(&byte));
    name.len() == 26 && name.bytes().all(digit) && name.as_bytes()[0] <= b'7'
}

/// An id that is to become part of a path, or an error: nothing else may be made or removed.
pub(super) fn checked(attempt: &str) -> io::Result<&str> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("`{attempt}` is not the id of an attempt"));
    is_attempt(attempt).then_some(attempt).ok_or_else(wrong)
}

impl Site {
    /// The ids that have a work directory or a lock, in order. Names that are not ours are passed over.
    pub fn attempts_on_disk(&self) -> io::Result<Vec<String>> {
        ids(&self.work(), |name| Some(name.strip_suffix(".lock").unwrap_or(name)))
    }

    /// Removes an attempt's log. Its absence is success.
    pub fn remove_log(&self, attempt: &str) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.log_of(checked(attempt)?)))
    }
}

fn ids(dir: &Path, id: impl Fn(&str) -> Option<&str>) -> io::Result<Vec<String>> {
    let names = Dir::open_real(dir)?.names(usize::MAX)?;
    let ids = names.iter().filter_map(|name| id(name.to_str()?)).filter(|id| is_attempt(id));
    Ok(ids.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_named_by_a_ulid_and_nothing_else() {
        assert!(is_attempt(&ulid::Ulid::generate().to_string()));
        for name in ["", "..", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01arz3ndektsv4rrffq69g5fav", "81ARZ3NDEKTSV4RRFFQ69G5FAV"]
        {
            assert!(!is_attempt(name), "{name}");
            assert!(checked(name).is_err(), "{name}");
        }
    }
}
