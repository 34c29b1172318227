//! Who asks: a name for the limit on pending jobs.

use super::variables::Variables;
pub(super) use crate::model::client::hashed;

/// The visitor as `REMOTE_USER` or the configured variable names him. `None`: he is not counted.
pub(super) fn named<'a>(variables: &'a Variables, variable: &str) -> Option<&'a [u8]> {
    variables.bytes("REMOTE_USER").or_else(|| variables.bytes(variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_counts_before_an_address() {
        let both = Variables::of(&[("REMOTE_USER", "anna"), ("REMOTE_ADDR", "::1")]);
        assert_eq!(named(&both, "REMOTE_ADDR"), Some(&b"anna"[..]));
        assert_eq!(named(&Variables::of(&[("HTTP_X", "1")]), "HTTP_X"), Some(&b"1"[..]));
        assert_eq!(named(&Variables::default(), ""), None);
    }
}
