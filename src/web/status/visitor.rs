//! Who looks, and what that one may see and do.

use super::asked::{Asked, StatusPage};
use crate::{
    config::StatusRules,
    web::{login, request::Method, variables::Variables},
};

/// How much somebody may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorSees {
    Nothing,
    /// The overview's numbers.
    Counts,
    Everything,
}

#[derive(Debug)]
pub(super) struct Visitor<'a> {
    /// As the server names whoever has logged in.
    pub(super) user: Option<&'a [u8]>,
    pub(super) sight: VisitorSees,
    pub(super) is_admin: bool,
}

impl<'a> Visitor<'a> {
    pub(super) fn of(variables: &'a Variables, rules: &StatusRules) -> Self {
        let user = login::user(variables);
        let sight = match user {
            Some(_) => VisitorSees::Everything,
            None if rules.public => VisitorSees::Counts,
            None => VisitorSees::Nothing,
        };
        let is_admin = user.is_some_and(|user| rules.admins.iter().any(|admin| admin.as_bytes() == user));
        Self { user, sight, is_admin }
    }

    /// Whether this one may have an answer to this request at all; `None`: one that cannot be read.
    pub(super) fn may(&self, asked: Option<&Asked>) -> bool {
        match self.sight {
            VisitorSees::Nothing => false,
            VisitorSees::Counts => {
                asked.is_some_and(|asked| asked.page == StatusPage::Overview && asked.method != Method::Post)
            }
            VisitorSees::Everything => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(user: &str, public: bool) -> (VisitorSees, bool) {
        let variables = Variables::of(&[("REMOTE_USER", user), ("HTTP_REMOTE_USER", "anna")]);
        let visitor = Visitor::of(&variables, &StatusRules { public, admins: vec!["anna".into()] });
        (visitor.sight, visitor.is_admin)
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
