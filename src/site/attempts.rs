//! What attempts have left in `work/` and `log/`.

use std::io;

use super::Site;

/// Whether `name` is an attempt's id: a ULID in its canonical form.
pub fn is_attempt(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (byte.is_ascii_uppercase() && !b"ILOU".contains(&byte));
    name.len() == 26 && name.bytes().all(digit) && name.as_bytes()[0] <= b'7'
}

impl Site {
    /// The ids that have a work directory or a lock, in order. Names that are not ours are passed over.
    pub fn attempts_on_disk(&self) -> io::Result<Vec<String>> {
        todo!()
    }

    /// The ids that have a log, in order.
    pub fn logs_on_disk(&self) -> io::Result<Vec<String>> {
        todo!()
    }

    /// Removes an attempt's log. Its absence is success.
    pub fn remove_log(&self, _attempt: &str) -> io::Result<()> {
        todo!()
    }
}
