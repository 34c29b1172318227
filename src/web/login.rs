//! Who has logged in, by the word of the web server.

use super::variables::Variables;

/// Whoever has logged in.
///
/// nginx fills `$remote_user`, which Debian's `fastcgi_params` hands on as `REMOTE_USER`, with whatever name a visitor
/// claims, also where no password is asked for. So behind nginx a name counts only together with `AUTH_TYPE`
/// (RFC 3875, section 4.1.1), which the other servers set themselves.
pub(super) fn user(variables: &Variables) -> Option<&[u8]> {
    variables.bytes("REMOTE_USER").filter(|_| !is_only_claimed(variables))
}

/// Whether there is a name that no password may have been asked for.
pub(super) fn is_only_claimed(variables: &Variables) -> bool {
    let software = variables.text("SERVER_SOFTWARE").unwrap_or_default();
    let is_nginx = software.split(['/', ' ']).next().is_some_and(|name| name.eq_ignore_ascii_case("nginx"));
    is_nginx && variables.bytes("REMOTE_USER").is_some() && variables.bytes("AUTH_TYPE").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_nginx_a_name_counts_only_with_the_way_in_which_it_was_checked() {
        let of = |pairs: &[(&str, &str)]| user(&Variables::of(pairs)).map(<[u8]>::to_owned);
        let anna = ("REMOTE_USER", "anna");
        assert_eq!(of(&[anna]), Some(b"anna".to_vec()));
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "nginx/1.22.1")]), None);
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "nginx/1.22.1"), ("AUTH_TYPE", "Basic")]), Some(b"anna".to_vec()));
        assert_eq!(of(&[anna, ("SERVER_SOFTWARE", "Apache/2.4.62 (Debian)")]), Some(b"anna".to_vec()));
        assert_eq!(of(&[("HTTP_REMOTE_USER", "anna")]), None);
    }
}
