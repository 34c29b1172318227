//! Single values: what a duration, a size or a range looks like in the file.

use std::time::Duration;

use toml::{
    Spanned,
    de::{DeInteger, DeValue},
};

use crate::model::clock;

pub(super) const DURATION: &str = r#"a duration such as "10m""#;
pub(super) const DURATION_OR_NONE: &str = r#"a duration such as "10m", or "none""#;
pub(super) const SIZE: &str = r#"a size with its unit, such as "512MB""#;
pub(super) const SIZE_OR_NONE: &str = r#"a size with its unit, such as "512MB", or "none""#;

pub(super) fn text<'t>(value: &'t DeValue<'_>) -> Option<&'t str> {
    value.as_str().filter(|text| !text.is_empty() && !text.contains('\0'))
}

pub(super) fn duration(value: &DeValue<'_>) -> Option<Duration> {
    clock::parse_duration(value.as_str()?).ok()
}

/// Longer than nothing, as times count here: in milliseconds.
pub(super) fn some_duration(value: &DeValue<'_>) -> Option<Duration> {
    duration(value).filter(|duration| !duration.is_zero()).map(|duration| duration.max(Duration::from_millis(1)))
}

/// More bytes than any disk has, and all that the database can count.
const MOST_BYTES: u64 = i64::MAX.unsigned_abs();

/// Bytes. A bare number is refused: nobody knows tomorrow whether it meant bytes or megabytes. Beyond eight exbibytes
/// all sizes are the same.
pub(super) fn size(value: &DeValue<'_>) -> Option<u64> {
    let text = value.as_str()?;
    let has_unit = text == "0" || text.ends_with(|c: char| c.is_ascii_alphabetic());
    Some(text.parse::<bytesize::ByteSize>().ok().filter(|_| has_unit)?.as_u64().min(MOST_BYTES))
}

pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    number(value.as_integer()?)
}

fn number(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A factor: a float, or an integer for people who leave out the `.0`.
pub(super) fn factor(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => integer(value)?.to_string().parse().ok(),
    }
}

/// A string that can be an argument of a program.
pub(super) fn plain(text: &str) -> Option<String> {
    (!text.contains('\0')).then(|| text.to_owned())
}

pub(super) fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().and_then(plain);
    value.as_array()?.iter().map(text).collect()
}

/// A parameter's value: a string, or an integer in its shortest form.
pub(super) fn scalar(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| integer(value).map(|number| number.to_string()))
}

/// Bytes from hexadecimal digits.
pub(super) fn hex(value: &DeValue<'_>) -> Option<Vec<u8>> {
    let text = value.as_str().filter(|text| text.is_ascii() && text.len() % 2 == 0)?;
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).ok().filter(|_| !text[at..].starts_with('+'));
    (0..text.len()).step_by(2).map(byte).collect()
}

/// `..20`, `5..`, `1..9`: bounds that belong to it, one of them at least.
pub(super) fn range(text: &str) -> Option<(Option<i64>, Option<i64>)> {
    let (low, high) = text.split_once("..")?;
    let bound = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let (low, high) = (bound(low.trim())?, bound(high.trim())?);
    let in_order = low.zip(high).is_none_or(|(low, high)| low <= high);
    ((low.is_some() || high.is_some()) && in_order).then_some((low, high))
}

/// So many items of a list are shown.
const SHOWN_ITEMS: usize = 5;

/// What stands there, for an error sentence.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() > 60 => {
            format!("{:?}...", text.chars().take(60).collect::<String>())
        }
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(items) if items.is_empty() => "an empty list".to_owned(),
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().take(SHOWN_ITEMS).map(|item| shown(item.get_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> DeValue<'_> {
        DeValue::parse(text).unwrap().into_inner()
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size(&value("'512MB'")), Some(512_000_000));
        assert_eq!(size(&value("'64 KiB'")), Some(65536));
        assert_eq!(size(&value("'1B'")), Some(1));
        for wrong in ["'512'", "512", "'-1MB'", "'MB'", "'1 parsec'", "''"] {
            assert_eq!(size(&value(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration(&value("'1h 30m'")), Some(Duration::from_mins(90)));
        assert_eq!(duration(&value("600")), None);
    }

    #[test]
    fn hexadecimal_digits_come_in_pairs() {
        assert_eq!(hex(&value("'504b0304'")), Some(vec![0x50, 0x4b, 3, 4]));
        for wrong in ["'504'", "'5g'", "'+1'", "'é'", "50"] {
            assert_eq!(hex(&value(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn a_range_has_a_bound_and_they_are_in_order() {
        assert_eq!(range("..20"), Some((None, Some(20))));
        assert_eq!(range("5.."), Some((Some(5), None)));
        assert_eq!(range("-3..9"), Some((Some(-3), Some(9))));
        for wrong in ["..", "9..1", "a..b", "1-9", "1...9"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_factor_may_be_whole() {
        assert_eq!(factor(&value("2")), Some(2.0));
        assert_eq!(factor(&value("1.5")), Some(1.5));
        assert_eq!(factor(&value("'2'")), None);
    }
}
