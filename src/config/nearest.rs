//! "did you mean": the known word that is nearest to a mistyped one.

/// `; did you mean "ttl"?`, or nothing if no word is near.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map(|near| format!("; did you mean {near:?}?")).unwrap_or_default()
}

pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3).min(3);
    let near = |known: &&'a str| distance(word, known) <= limit;
    known.into_iter().filter(near).min_by_key(|known| distance(word, known))
}

/// Letters to insert, remove, replace or swap with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<_>, Vec<_>) = (one.to_lowercase().chars().collect(), two.chars().collect());
    let (mut before, mut last) = (Vec::new(), (0..=two.len()).collect::<Vec<_>>());
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let mut steps = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["ttl", "grace", "stale", "max_size"];

    #[test]
    fn a_near_miss_is_recognised_and_a_strange_word_is_not() {
        assert_eq!(hint("ttll", KNOWN), "; did you mean \"ttl\"?");
        assert_eq!(hint("tlt", KNOWN), "; did you mean \"ttl\"?");
        assert_eq!(hint("maxsize", KNOWN), "; did you mean \"max_size\"?");
        assert_eq!(hint("Stale", KNOWN), "; did you mean \"stale\"?");
        assert_eq!(hint("colour", KNOWN), "");
        assert_eq!(hint("x", KNOWN), "");
    }

    #[test]
    fn a_swap_is_one_step() {
        assert_eq!(distance("grcae", "grace"), 1);
        assert_eq!(distance("", "ab"), 2);
    }
}
