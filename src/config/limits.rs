//! The limits of an exporter and how far a retry may raise them.

use std::time::Duration;

use super::{reader::TableReader, sections::MINUTE};
use crate::model::limits::Limits;

/// What retries may multiply a limit by, unless `limits_max` says otherwise.
const GROWTH: u32 = 4;

fn base() -> Limits {
    Limits {
        timeout: 5 * MINUTE,
        kill_after: Duration::from_secs(5),
        memory: Some(2_000_000_000),
        cpu: Some(4 * MINUTE),
        file_size: Some(200_000_000),
        work_size: Some(1_000_000_000),
        open_files: Some(1024),
        ..Limits::default()
    }
}

/// `timeout` and `kill_after` stand in the exporter's own table, the rest in `limits`.
pub(super) fn read(exporter: &TableReader<'_>) -> Limits {
    let base = base();
    let times = Limits {
        timeout: exporter.some_duration("timeout", base.timeout),
        kill_after: exporter.duration("kill_after", base.kill_after),
        ..base
    };
    let Some(table) = exporter.table("limits") else { return times };
    let limits = Limits {
        memory: table.size_or_none("memory", times.memory),
        cpu: table.duration_or_none("cpu", times.cpu),
        file_size: table.size_or_none("file_size", times.file_size),
        work_size: table.size_or_none("work_size", times.work_size),
        open_files: table.count_or_none("open_files", times.open_files),
        data: table.size_or_none("data", times.data),
        address_space: table.size_or_none("address_space", times.address_space),
        processes: table.count_or_none("processes", times.processes),
        ..times
    };
    refuse_zeros(&table, &limits);
    table.done();
    limits
}

fn refuse_zeros(table: &TableReader<'_>, limits: &Limits) {
    let sizes = [
        ("memory", limits.memory),
        ("file_size", limits.file_size),
        ("work_size", limits.work_size),
        ("data", limits.data),
        ("address_space", limits.address_space),
        ("processes", limits.processes),
    ];
    let zeros = sizes.into_iter().filter(|(_, size)| *size == Some(0)).map(|(name, _)| name);
    for key in zeros.chain(limits.cpu.filter(Duration::is_zero).map(|_| "cpu")) {
        table.note(key, r#"is zero, so that no program could run; for no limit, write "none""#);
    }
    if limits.open_files.is_some_and(|files| files < 3) {
        table.note("open_files", "is less than 3, and stdin, stdout and stderr need 3");
    }
}

/// `limits_max`; what it does not name may grow to four times the limit.
pub(super) fn read_max(exporter: &TableReader<'_>, limits: &Limits) -> Limits {
    let grown = grown(limits);
    let Some(table) = exporter.table("limits_max") else { return grown };
    let most = Limits {
        timeout: table.duration("timeout", grown.timeout),
        memory: table.size_or_none("memory", grown.memory),
        cpu: table.duration_or_none("cpu", grown.cpu),
        file_size: table.size_or_none("file_size", grown.file_size),
        work_size: table.size_or_none("work_size", grown.work_size),
        ..grown
    };
    refuse_smaller(&table, limits, &most);
    table.done();
    most
}

fn grown(limits: &Limits) -> Limits {
    let size = |size: Option<u64>| size.map(|bytes| bytes.saturating_mul(GROWTH.into()));
    Limits {
        timeout: limits.timeout.saturating_mul(GROWTH),
        memory: size(limits.memory),
        cpu: limits.cpu.map(|cpu| cpu.saturating_mul(GROWTH)),
        file_size: size(limits.file_size),
        work_size: size(limits.work_size),
        ..limits.clone()
    }
}

fn refuse_smaller(table: &TableReader<'_>, limits: &Limits, most: &Limits) {
    let smaller = [
        ("timeout", most.timeout < limits.timeout),
        ("memory", is_smaller(most.memory, limits.memory)),
        ("cpu", is_smaller(most.cpu, limits.cpu)),
        ("file_size", is_smaller(most.file_size, limits.file_size)),
        ("work_size", is_smaller(most.work_size, limits.work_size)),
    ];
    for (key, _) in smaller.into_iter().filter(|(_, smaller)| *smaller) {
        table.note(key, "is smaller than the limit of the first attempt");
    }
}

fn is_smaller<T: PartialOrd>(most: Option<T>, limit: Option<T>) -> bool {
    most.zip(limit).is_some_and(|(most, limit)| most < limit)
}
