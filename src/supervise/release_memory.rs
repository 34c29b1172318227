//! Giving memory back before a long sleep.

use std::fs;

/// Gives the pages of the program's own instructions and constants back: a process that sleeps for long need not keep them mapped.
/// The kernel has them in its cache, from where they come again one by one as they are needed.
pub fn give_back() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Ok(program) = fs::read_link("/proc/self/exe") else { return };
    let ours = maps.lines().filter(|line| line.split_once('/').is_some_and(|(_, path)| program.ends_with(path)));
    for (start, end) in ours.filter_map(untouched) {
        // SAFETY: the mapping is private, of the program's file and not writable, and nothing has relocated it: it holds
        // what is in the file, and is read from there again when it is touched.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
        }
    }
}

/// The bounds of a mapping that nobody has ever written to, from a line of `/proc/self/maps`: what is executed, and what
/// stands at the beginning of the file. (Constants that hold addresses are written once and then protected; they lie
/// behind.)
fn untouched(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, mode, offset) = (words.next()?, words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let untouched = mode == "r-xp" || mode == "r--p" && number(offset)? == 0;
    if untouched { Some((number(start)?, number(end)?)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_is_given_back() {
        let line = |mode| format!("003b1000-009eb000 {mode} fe:00 123 /usr/bin/pressroom");
        for mode in ["r-xp 001b0000", "r--p 00000000"] {
            assert_eq!(untouched(&line(mode)), Some((0x003b_1000, 0x009e_b000)));
        }
        for mode in ["r--p 00100000", "rw-p 00000000", "rwxp 00000000", "r-xs 001b0000"] {
            assert_eq!(untouched(&line(mode)), None);
        }
        assert_eq!(untouched("nonsense"), None);
    }

    #[test]
    fn the_program_goes_on_with_less_memory() {
        let mapped = || {
            let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let before = mapped();
        give_back();
        assert!(mapped() < before, "{before} kB before");
    }
}
