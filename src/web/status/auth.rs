//! Who looks at the status page and what they may see; and the tokens by which we know our own forms and notices again.
//!
//! A token is a hash under a key that is derived from the one that only the database has. It is bound to a purpose, a user
//! and an hour, and is valid in that hour and the next.

use crate::{
    config::StatusRules,
    model::clock::Stamp,
    web::{
        request::Method,
        variables::{self, Variables},
    },
};

use super::request::{StatusPage, StatusRequest};

/// How much a visitor may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorSees {
    Nothing,
    /// The overview's numbers.
    Counts,
    Everything,
}

#[derive(Debug)]
pub(super) struct Visitor<'a> {
    /// The name under which the visitor has logged in, as the server has checked it.
    pub(super) user: Option<&'a [u8]>,
    pub(super) sees: VisitorSees,
    pub(super) is_admin: bool,
}

impl<'a> Visitor<'a> {
    pub(super) fn of(variables: &'a Variables, rules: &StatusRules) -> Self {
        let user = variables::user(variables);
        let sees = match user {
            Some(_) => VisitorSees::Everything,
            None if rules.public => VisitorSees::Counts,
            None => VisitorSees::Nothing,
        };
        let is_admin = user.is_some_and(|user| rules.admins.iter().any(|admin| admin.as_bytes() == user));
        Self { user, sees, is_admin }
    }

    /// Whether this visitor may have an answer to this request at all; `None`: a request that cannot be read.
    pub(super) fn may(&self, request: Option<&StatusRequest>) -> bool {
        match self.sees {
            VisitorSees::Nothing => false,
            VisitorSees::Counts => {
                request.is_some_and(|request| request.page == StatusPage::Overview && request.method != Method::Post)
            }
            VisitorSees::Everything => true,
        }
    }
}

/// Sets these tokens apart from everything else that is derived from the same key.
const KEY_CONTEXT: &str = "pressroom 2026 seals of the status page";
/// How long a token of the current window stays valid at least, in milliseconds.
const WINDOW: i64 = 3_600_000;

pub(super) struct TokenSigner {
    key: [u8; 32],
    now: Stamp,
}

impl TokenSigner {
    pub(super) fn new(site_key: &[u8; 32], now: Stamp) -> Self {
        Self { key: blake3::derive_key(KEY_CONTEXT, site_key), now }
    }

    /// The token for these parts, the first of which is the purpose.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> String {
        self.hash(parts, self.window()).to_hex().to_string()
    }

    /// Whether `token` is one for these parts, from this hour or the one before. Hashes are compared in constant time.
    pub(super) fn is_valid(&self, parts: &[&[u8]], token: &str) -> bool {
        let Ok(token) = blake3::Hash::from_hex(token) else { return false };
        let now = self.window();
        [now, now - 1].iter().any(|window| self.hash(parts, *window) == token)
    }

    const fn window(&self) -> i64 {
        self.now.0.div_euclid(WINDOW)
    }

    /// The lengths are hashed too, so that no byte can move from one part into the next.
    fn hash(&self, parts: &[&[u8]], window: i64) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&window.to_le_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(user: &str, public: bool) -> (VisitorSees, bool) {
        let variables = Variables::of(&[("REMOTE_USER", user), ("HTTP_REMOTE_USER", "anna")]);
        let visitor = Visitor::of(&variables, &StatusRules { public, admins: vec!["anna".into()] });
        (visitor.sees, visitor.is_admin)
    }

    #[test]
    fn only_the_server_says_who_somebody_is() {
        assert_eq!(visitor("", false), (VisitorSees::Nothing, false));
        assert_eq!(visitor("", true), (VisitorSees::Counts, false));
        assert_eq!(visitor("bert", false), (VisitorSees::Everything, false));
        assert_eq!(visitor("anna", false), (VisitorSees::Everything, true));
        assert_eq!(visitor("Anna", true), (VisitorSees::Everything, false));
    }
}

#[cfg(test)]
mod token_tests {
    use super::*;

    fn at(ms: i64) -> TokenSigner {
        TokenSigner::new(&[7; 32], Stamp(ms))
    }

    #[test]
    fn a_token_is_valid_for_its_purpose_its_user_and_its_time() {
        let token = at(WINDOW).sign(&[b"form", b"anna"]);
        let holds = |signer: TokenSigner, parts: &[&[u8]]| signer.is_valid(parts, &token);
        assert!(holds(at(WINDOW), &[b"form", b"anna"]) && holds(at(3 * WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(3 * WINDOW), &[b"form", b"anna"]) && !holds(at(WINDOW - 1), &[b"form", b"anna"]));
        assert!(!holds(at(WINDOW), &[b"form", b"bert"]) && !holds(at(WINDOW), &[b"said", b"anna"]));
        assert!(
            !holds(at(WINDOW), &[b"for", b"manna"])
                && !holds(TokenSigner::new(&[8; 32], Stamp(WINDOW)), &[b"form", b"anna"])
        );
        for wrong in ["", "0", "x", &token[1..], &format!("{token}0")] {
            assert!(!at(WINDOW).is_valid(&[b"form", b"anna"], wrong), "{wrong}");
        }
    }
}
