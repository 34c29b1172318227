//! Lists whose members carry a weight: `de;q=0.8, en` (RFC 9110, section 12.4.2).

/// The members and their weights in thousandths, as they come. A weight that is none counts as nothing.
pub(super) fn list(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let members = text.split(',').map(|member| {
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        (name, weight.map_or(1000, thousandths))
    });
    members.filter(|(name, _)| !name.is_empty())
}

/// `0`, `0.8`, `1.000`: one digit and at most three more.
fn thousandths(weight: &str) -> u16 {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() != 1 || fraction.len() > 3 || !digits(whole) || !digits(fraction) {
        return 0;
    }
    format!("{whole}{fraction:0<3}").parse().ok().filter(|weight| *weight <= 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_without_a_weight_has_the_highest() {
        let read: Vec<_> = list("de;q=0.8, en , ;q=1, fr ;Q=0, x;q=nan, y;level=1;q=0.123, z;q=1.001").collect();
        assert_eq!(read, [("de", 800), ("en", 1000), ("fr", 0), ("x", 0), ("y", 123), ("z", 0)]);
    }
}
