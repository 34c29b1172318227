//! What a visitor or a tick waits for is found by an index: the cost does not grow with the rows.

use super::*;
use crate::{
    model::status::Status,
    store::{
        AttemptOrder, AttemptQuery, JobFilter, JobOrder, JobQuery,
        sqlite::{
            claim, copying, counting, enqueue, finishing, history, keeping, listing, mend, notices, past, settings,
            standing, standstill, view,
        },
    },
};

/// How SQLite would answer the statement, one step a line.
fn plan(base: &Base, sql: &str) -> String {
    let mut statement = base.store.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // Raw: a plan needs no values for the parameters.
    let steps = statement.raw_query().mapped(|row| row.get::<_, String>("detail"));
    steps.map(|step| step.unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_hot_statement_uses_its_index() {
    let base = Base::new();
    let mut wrong = Vec::new();
    for (sql, index) in [
        (view::JOB, "SEARCH job USING INDEX sqlite_autoindex_job_1 (filename=?)"),
        (view::JOBS_NAMED, "SEARCH job USING INDEX sqlite_autoindex_job_1 (filename>? AND filename<?)"),
        (view::JOB_BY_ATTEMPT, "SEARCH attempt USING INDEX sqlite_autoindex_attempt_1 (id=?)"),
        (view::STARTED, "USING INDEX job_started"),
        (view::WAITING_FOR, "SEARCH job USING INDEX job_source (source=?)"),
        (view::PINNED, "SEARCH job USING INDEX job_source (source=?)"),
        (claim::READY, "SEARCH job USING INDEX job_ready (queue=?)"),
        (standing::RUNNING, "USING INDEX job_started"),
        (standing::BEFORE, "SEARCH job USING COVERING INDEX job_ready (queue=? AND (rank,due)<(?,?))"),
        (standing::WAITING, "SEARCH job USING COVERING INDEX job_ready (queue=?)"),
        (copying::STARTED, "USING COVERING INDEX job_started"),
        (copying::FIRST_IN_QUEUE, "SEARCH job USING COVERING INDEX job_ready (queue=?)"),
        (copying::FIRST_DELAYED, "USING COVERING INDEX job_wake"),
        (copying::WAITING_FOR, "SEARCH job USING INDEX job_source (source=?)"),
        (copying::MADE_FROM, "SEARCH job USING INDEX job_source (source=?)"),
        (copying::NAMED, "SEARCH job USING COVERING INDEX sqlite_autoindex_job_1 (filename=?)"),
        (copying::FIRSTS, "SEARCH attempt USING COVERING INDEX attempt_first (exporter=? AND ended>?)"),
        (
            copying::SUCCESSES,
            "SEARCH attempt USING COVERING INDEX attempt_result (exporter=? AND result=? AND ended>?)",
        ),
        (copying::LATEST_OK, "SEARCH attempt USING COVERING INDEX attempt_ok (filename=?)"),
        (claim::NEXT_WAKE, "USING COVERING INDEX job_wake"),
        (enqueue::WAKE, "SEARCH job USING COVERING INDEX job_wake (run_after<?)"),
        (enqueue::INSERT, "SEARCH client USING PRIMARY KEY (queue=? AND client=?)"),
        (enqueue::REQUEUE, "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)"),
        (enqueue::WAITING, "SEARCH job USING INDEX job_source (source=?)"),
        (claim::CLAIM, "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)"),
        (counting::CLIENT_PENDING, "SEARCH client USING PRIMARY KEY (queue=? AND client=?)"),
        (counting::ARRIVALS, "SEARCH arrival USING PRIMARY KEY (queue=? AND client=? AND at>? AND at<?)"),
        (counting::RUNNING_BY_QUEUE, "USING COVERING INDEX job_started"),
        (counting::RUNNING_BY_EXPORTER, "USING COVERING INDEX job_started"),
        (counting::EXPORTERS, "SEARCH job USING COVERING INDEX job_queued (exporter>?)"),
        (counting::FAILED_SINCE, "USING INDEX job_failed_in"),
        (counting::QUEUED_EXPORTERS, "SEARCH job USING COVERING INDEX job_queued (exporter>?)"),
        (counting::QUEUED_OF, "SEARCH job USING COVERING INDEX job_queued (exporter=?)"),
        (counting::FAILED_BY_QUEUE, "USING COVERING INDEX job_failed_in"),
        (counting::OLDEST_QUEUED_JOB, "SEARCH job USING INDEX job_queued (exporter=? AND queue=?)"),
        (standstill::QUEUES_OF, "SEARCH job USING COVERING INDEX job_queued (exporter=? AND queue>?)"),
        (standstill::OLDEST_OF, "SEARCH job USING COVERING INDEX job_queued (exporter=? AND queue=?)"),
        (finishing::DROPPED_SINCE, "SEARCH attempt USING COVERING INDEX attempt_dropped (ended>?)"),
        (notices::UNMAILED, "SEARCH notice USING INDEX notice_next (mailed=?)"),
        (notices::NOTICES_DUE, "SEARCH notice USING INDEX notice_next (mailed=? AND event=? AND next<?)"),
        (settings::QUEUE, "SEARCH queue USING PRIMARY KEY (name=?)"),
        (history::ATTEMPT, "SEARCH attempt USING INDEX sqlite_autoindex_attempt_1 (id=?)"),
        (history::LATEST_OK, "SEARCH attempt USING INDEX attempt_ok (filename=?)"),
        (history::ATTEMPTS_OF, "SEARCH attempt USING INDEX attempt_file (filename=?)"),
        (history::ATTEMPTS_OF_JOB, "SEARCH attempt USING INDEX attempt_job (job=?)"),
        (past::KNOWS_EXPORTER, "SEARCH job USING COVERING INDEX job_queued (exporter=?)"),
        (past::KNOWS_EXPORTER, "SEARCH attempt USING COVERING INDEX attempt_result (exporter=?)"),
        (past::ROWS_OF_FILE, "SEARCH attempt USING COVERING INDEX attempt_file (filename=?)"),
        (past::ROWS_OF_JOB, "SEARCH attempt USING COVERING INDEX attempt_job (job=?)"),
        (history::FILES_NAMED, "SEARCH attempt USING COVERING INDEX attempt_file (filename>? AND filename<?)"),
        (history::FIRST_ATTEMPTS, "SEARCH attempt USING INDEX attempt_first (exporter=? AND ended>?)"),
        (history::OK_DURATIONS, "SEARCH attempt USING INDEX attempt_result (exporter=? AND result=? AND ended>?)"),
        (history::OUTCOMES_SINCE, "SEARCH attempt USING COVERING INDEX attempt_ended (ended>?)"),
        (settings::UNLOGGED, "USING INDEX action_unlogged"),
        (history::SAMPLES, "SEARCH sample USING PRIMARY KEY (at>?)"),
        (history::ENDED, "SEARCH attempt USING INDEX attempt_ended (ended>?)"),
        (keeping::OVERDUE, "SEARCH job USING INDEX job_queued (exporter=? AND queue=? AND queued_since<?)"),
        (keeping::ABANDONED, "SEARCH job USING INDEX job_queued (exporter=? AND queue=? AND queued_since<?)"),
        (keeping::OLD_FAILURES, "SEARCH job USING INDEX job_failed (exporter=? AND failed<?)"),
        (keeping::UNREPORTED, "SEARCH job USING INDEX job_unreported (reported=?)"),
        (keeping::FORGETTABLE, "USING INDEX job_forgettable"),
        (keeping::TRIM_ARRIVALS, "SEARCH arrival USING COVERING INDEX arrival_at (at<?)"),
        (keeping::TRIM_ARRIVALS_AHEAD, "SEARCH arrival USING COVERING INDEX arrival_at (at>?)"),
        (keeping::TRIM_SAMPLES, "SEARCH sample USING PRIMARY KEY (at<?)"),
        (keeping::SET_ALL_REPORTED, "SEARCH job USING INDEX job_unreported (reported=?)"),
        (keeping::OK_LOGS, "SEARCH attempt USING INDEX attempt_log (log=? AND ended<?)"),
        (keeping::OK_ROWS, "SEARCH attempt USING INDEX attempt_log (log=? AND ended<?)"),
        (keeping::ROWS, "SEARCH attempt USING INDEX attempt_ended (ended<?)"),
        (mend::HAS_LATE_RETRIES, "SEARCH job USING INDEX job_wake (run_after>?)"),
        (mend::LIFT_ATTEMPTS, "SEARCH attempt USING COVERING INDEX attempt_ended (ended>? AND ended<?)"),
        (mend::AHEAD, "SEARCH attempt USING COVERING INDEX attempt_ended (ended>?)"),
        (mend::HEAL_ATTEMPTS, "INDEX attempt_ended (ended>?)"),
    ] {
        let plan = plan(&base, sql);
        if !plan.contains(index) {
            wrong.push(format!("{sql}\nshould use: {index}\nbut does:\n{plan}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn no_hot_statement_sorts_what_an_index_has_sorted() {
    let base = Base::new();
    for sql in [
        view::JOBS_NAMED,
        claim::READY,
        claim::NEXT_WAKE,
        counting::RUNNING_BY_QUEUE,
        counting::OLDEST_QUEUED_JOB,
        history::LATEST_OK,
        history::ATTEMPTS_OF,
        history::ATTEMPTS_OF_JOB,
        past::ROWS_OF_FILE,
        past::ROWS_OF_JOB,
        history::FIRST_ATTEMPTS,
        history::OK_DURATIONS,
        history::SAMPLES,
        history::ENDED,
        keeping::OVERDUE,
        keeping::ABANDONED,
        keeping::OLD_FAILURES,
        keeping::UNREPORTED,
        keeping::FORGETTABLE,
        keeping::OK_LOGS,
        keeping::OK_ROWS,
        keeping::ROWS,
    ] {
        let plan = plan(&base, sql);
        assert!(!plan.contains("TEMP B-TREE"), "{sql}\n{plan}");
    }
}

#[test]
fn no_hot_statement_reads_a_whole_table() {
    let base = Base::new();
    for sql in [view::STARTED, view::PINNED, standing::BEFORE, enqueue::WAKE, counting::EXPORTERS, claim::CLAIM] {
        let plan = plan(&base, sql);
        assert!(!plan.lines().any(|step| step == "SCAN job"), "{sql}\n{plan}");
    }
}

#[test]
fn the_lists_of_attempts_walk_along_an_index_without_sorting() {
    const BY_OUTCOME: &str = "SEARCH attempt USING COVERING INDEX attempt_result (exporter=? AND result=? AND ended";
    const ALL: &str = "attempt USING COVERING INDEX attempt_ended (ended";
    let base = Base::new();
    let about = JobFilter { exporter: Some("epub".into()), since: Some(NOON), ..JobFilter::default() };
    let of_exporter = AttemptQuery {
        about,
        outcomes: vec![],
        order: AttemptOrder::Ended,
        reverse: true,
        limit: Some(50),
        below: None,
    };
    let of_all = AttemptQuery { about: JobFilter::default(), outcomes: vec![Outcome::Ok], ..of_exporter.clone() };
    for (query, index, times) in [(of_exporter, BY_OUTCOME, Outcome::ALL.len()), (of_all, ALL, 1)] {
        for sql in past::statements(&query) {
            let plan = plan(&base, &sql);
            assert_eq!(plan.matches(index).count(), times, "{sql}\n{plan}");
            // Ends within one millisecond are put into the order of their rows.
            assert!(!plan.replace("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "").contains("TEMP B-TREE"), "{plan}");
        }
    }
}

/// Of the status page, which shows the newest first: the next page is found without what stands before it, and only
/// attempts that ended in the same millisecond are sorted.
#[test]
fn the_next_page_of_a_list_begins_where_the_last_one_ended() {
    let base = Base::new();
    let about = JobFilter { exporter: Some("epub".into()), queue: Some("default".into()), ..JobFilter::default() };
    let jobs = JobQuery {
        about,
        statuses: vec![Status::Queued, Status::FailedUnknown],
        order: JobOrder::Id,
        reverse: true,
        limit: Some(51),
        below: Some(7),
    };
    let by_id = "SEARCH job USING INTEGER PRIMARY KEY (rowid<?)";
    let all = JobQuery { about: JobFilter::default(), statuses: vec![], ..jobs.clone() };
    for query in [&jobs, &all] {
        assert_eq!(plan(&base, &listing::job_statement(query)), by_id);
    }
    let started = JobQuery { statuses: vec![Status::Started], ..all };
    assert!(plan(&base, &listing::job_statement(&started)).contains("INDEX job_started"));
    let attempts = AttemptQuery {
        about: JobFilter::default(),
        outcomes: vec![],
        order: AttemptOrder::Ended,
        reverse: true,
        limit: Some(51),
        below: format!("{}.7", NOON.0).parse().ok(),
    };
    let steps = plan(&base, &past::statements(&attempts)[0]);
    assert!(steps.starts_with("SEARCH attempt USING COVERING INDEX attempt_ended (ended>? AND ended<?)"), "{steps}");
    assert!(!steps.contains("TEMP B-TREE") || steps.contains("FOR LAST TERM OF ORDER BY"), "{steps}");
}

#[test]
fn a_look_back_walks_along_an_index_and_sorts_only_what_fits() {
    let base = Base::new();
    let about = JobFilter { clients: vec!["ann".into()], ..JobFilter::default() };
    let query = AttemptQuery {
        about,
        outcomes: vec![],
        order: AttemptOrder::Memory,
        reverse: true,
        limit: Some(50),
        below: None,
    };
    let [look, beyond] = &past::statements(&query)[..] else { panic!("two statements") };
    assert_eq!(plan(&base, beyond), "SEARCH attempt USING COVERING INDEX attempt_ended (ended>?)");
    let plan = plan(&base, look);
    assert!(plan.contains("SEARCH attempt USING INDEX attempt_ended (ended>?)"), "{plan}");
    assert!(plan.contains("CO-ROUTINE") && plan.matches("TEMP B-TREE").count() == 1, "{plan}");
}
