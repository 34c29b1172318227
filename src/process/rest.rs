//! Giving memory back before a long sleep.

use std::fs;

/// Gives the pages of the program's own instructions back: a process that sleeps for long need not keep them mapped.
/// The kernel has them in its cache, from where they come again one by one as they are needed.
pub fn give_back() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let Ok(program) = fs::read_link("/proc/self/exe") else { return };
    let ours = maps.lines().filter(|line| line.split_once('/').is_some_and(|(_, path)| program.ends_with(path)));
    for (start, end) in ours.filter_map(instructions) {
        // SAFETY: the mapping is private, of the program's file and not writable, and nothing has relocated it: it holds
        // what is in the file, and is read from there again when it is touched.
        unsafe {
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED);
        }
    }
}

/// The bounds of a mapping that can be executed and not written, from a line of `/proc/self/maps`.
fn instructions(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, mode) = (words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    if mode == "r-xp" { Some((number(start)?, number(end)?)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_executed_and_never_written_is_given_back() {
        let line = |mode| format!("003b1000-009eb000 {mode} 001b0000 fe:00 123 /usr/bin/pressroom");
        assert_eq!(instructions(&line("r-xp")), Some((0x003b_1000, 0x009e_b000)));
        for mode in ["r--p", "rw-p", "rwxp", "r-xs"] {
            assert_eq!(instructions(&line(mode)), None);
        }
        assert_eq!(instructions("nonsense"), None);
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
