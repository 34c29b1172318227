-- Pressroom's tables, version 2 (user_version). This file is built into the program, and
-- `pressroom check --create` runs it as it stands. A database whose tables differ from these is refused, and so is one
-- that holds anything else: no trigger, no view and no function is ever run on behalf of whoever can write the file.
--
-- Times are whole milliseconds since 1970-01-01 00:00:00 UTC, durations whole milliseconds, sizes bytes. To read a
-- time by hand: datetime(submitted / 1000, 'unixepoch').
-- An index is described by the statement that it serves. Nothing here becomes slower with the number of rows:
-- what is looked up is found by an index; what is counted is counted by the statement that changes it, in the same
-- transaction, or is as few as what can run.

PRAGMA application_id = 0x50726573; -- "Pres": refuse any other program's database
PRAGMA user_version = 2;

-- One row for each wanted file that is queued (0), started (1) or failed (2 and 3). There is no row for a finished
-- file: that it lies in the cache says so. Who moves a row from one status to another: docs/states.md.
CREATE TABLE job (
    id            INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, so that what an admin wrote down stays true
    filename      TEXT NOT NULL UNIQUE,              -- below cache/, 'epub/Candide-fr-serif.epub'; compared byte for byte
    exporter      TEXT NOT NULL,
    params        TEXT NOT NULL CHECK (json_valid(params) AND json_type(params) = 'object'), -- after defaults
    queue         TEXT NOT NULL,
    priority      INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10), -- higher is sooner
    client        TEXT,                              -- who asked first: a keyed hash, or the name from the command line
    source        TEXT,                              -- the filename of the job that this one is made from
    source_after  INTEGER,                           -- and its making must have begun then or later
    status        INTEGER NOT NULL DEFAULT 0 CHECK (status IN (0, 1, 2, 3)),
                                                     -- queued, started, failed_timeout, failed_unknown
    waits         INTEGER NOT NULL DEFAULT 0 CHECK (waits IN (0, 1, 2)),
                                                     -- while queued, for nothing (it is ready), its time, its source
    rank          INTEGER NOT NULL,                  -- due in steps of ten minutes - priority + jobs that its client
                                                     -- had pending when it was queued; the smallest is claimed first
    submitted     INTEGER NOT NULL,                  -- fresh when a request queues a failed job again
    run_after     INTEGER NOT NULL,                  -- not started before
    due           INTEGER NOT NULL DEFAULT 0,        -- the later of both: the rank counts from here. Not computed by the
                                                     -- database, whose indexes would not cover it then
    queued_since  INTEGER NOT NULL,                  -- when it was last queued, retries included, or run_after if that
                                                     -- is later: queued_ttl counts from here, without any standstill
    last_asked    INTEGER NOT NULL,                  -- by a request; abandon_after counts from here
    started       INTEGER,                           -- the running attempt, or that which failed
    failed        INTEGER,                           -- for good; failure_ttl and failure_keep count from here
    attempt       TEXT,                              -- id of the running or the last attempt
    attempts      INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0), -- counted at the claim: a crash is one too
    shutdowns     INTEGER NOT NULL DEFAULT 0 CHECK (shutdowns >= 0), -- in a row; the first three are no attempts
    percent       INTEGER CHECK (percent BETWEEN 0 AND 100), -- as the exporter says
    message       TEXT,                              -- for the visitor: of the exporter, or why it failed
    result        TEXT CHECK (result IN ('ok', 'timeout', 'cpu', 'memory', 'file_size', 'exit', 'signal', 'no_output',
                                         'spawn', 'lost', 'cancelled', 'shutdown', 'dropped')), -- of the last attempt
    limits        TEXT CHECK (limits IS NULL OR json_valid(limits)), -- of the next attempt, in place of configured ones
    again         INTEGER,                           -- one more run has to follow, not before this moment
    cancel        INTEGER NOT NULL DEFAULT 0 CHECK (cancel IN (0, 1)), -- the admin wants the attempt to end
    reported      INTEGER NOT NULL DEFAULT 0 CHECK (reported IN (0, 1)), -- the failure has been told to the admin

    -- What exists in which status.
    CHECK (CASE status
        WHEN 0 THEN started IS NULL AND failed IS NULL AND percent IS NULL AND again IS NULL AND cancel = 0
        WHEN 1 THEN started IS NOT NULL AND failed IS NULL AND attempt IS NOT NULL AND attempts > 0 AND waits = 0
        ELSE failed IS NOT NULL AND result IS NOT NULL AND again IS NULL AND cancel = 0 AND waits = 0
    END),
    CHECK (waits <> 2 OR source IS NOT NULL)
) STRICT;

-- The next job of a queue, and the place of one:
--   WHERE queue = ? AND status = 0 AND waits = 0 AND exporter NOT IN (…) ORDER BY rank, due, id LIMIT 1
-- With the exporter, so that jobs of one that is held back are passed over without reading their rows.
CREATE INDEX job_ready ON job (queue, rank, due, id, exporter) WHERE status = 0 AND waits = 0;

-- What to wake, and when to come back: WHERE status = 0 AND waits = 1 AND run_after <= ? ORDER BY run_after
CREATE INDEX job_wake ON job (run_after) WHERE status = 0 AND waits = 1;

-- Overdue and abandoned ones: WHERE exporter = ? AND queue = ? AND status = 0 AND queued_since < ?
CREATE INDEX job_queued ON job (exporter, queue, queued_since) WHERE status = 0;

-- Reap, and the seats that are taken: WHERE status = 1 [GROUP BY queue]
CREATE INDEX job_started ON job (queue, exporter) WHERE status = 1;

-- Failures to forget: WHERE exporter = ? AND status >= 2 AND failed < ?
CREATE INDEX job_failed ON job (exporter, failed, status) WHERE status >= 2;

-- Failures beyond the number that is kept: WHERE status >= 2 AND reported = 1 ORDER BY failed
CREATE INDEX job_forgettable ON job (failed) WHERE status >= 2 AND reported = 1;

-- How many have failed in which queue: WHERE status >= 2 GROUP BY queue, status
CREATE INDEX job_failed_in ON job (queue, status) WHERE status >= 2;

-- Failures to report: WHERE status >= 2 AND reported = 0 ORDER BY id
CREATE INDEX job_unreported ON job (reported) WHERE status >= 2 AND reported = 0;

-- Whether a file is the source of something, and who waits for it: WHERE source = ?
CREATE INDEX job_source ON job (source) WHERE source IS NOT NULL;

-- A queue gets its row with its first job. Its limits are in the configuration.
CREATE TABLE queue (
    name          TEXT NOT NULL PRIMARY KEY,
    mode          TEXT NOT NULL DEFAULT 'open' CHECK (mode IN ('open', 'paused', 'draining')),
    queued        INTEGER NOT NULL DEFAULT 0,        -- jobs with status 0
    delayed       INTEGER NOT NULL DEFAULT 0,        -- those of them that wait for their time (waits = 1)
    served        INTEGER NOT NULL DEFAULT 0         -- when a job of it was claimed last; the smallest is next
) STRICT, WITHOUT ROWID;

-- The time in which nothing of a queue ('' for any) and of an exporter ('' for any) could be started: the queue was not
-- open, the breaker was, the disk was low, nobody ticked. Each full round of a tick notes it, for as long as jobs are queued
-- that were queued before its end.
CREATE TABLE standstill (
    queue         TEXT NOT NULL,
    exporter      TEXT NOT NULL,
    since         INTEGER NOT NULL,
    until         INTEGER NOT NULL,                  -- as far as the last full round knows
    lasts         INTEGER NOT NULL CHECK (lasts IN (0, 1)), -- whether it was still so at that round
    PRIMARY KEY (queue, exporter, since)
) STRICT, WITHOUT ROWID;

-- Who has how much pending where; the rows that would say 0 are not kept.
CREATE TABLE client (
    queue         TEXT NOT NULL,
    client        TEXT NOT NULL,
    pending       INTEGER NOT NULL,                  -- jobs with status 0 or 1
    PRIMARY KEY (queue, client)
) STRICT, WITHOUT ROWID;

-- When each client queued new work where, for as long as its rate is counted (new_per_client).
CREATE TABLE arrival (
    queue         TEXT NOT NULL,
    client        TEXT NOT NULL,
    at            INTEGER NOT NULL,
    count         INTEGER NOT NULL,                  -- jobs of this millisecond
    PRIMARY KEY (queue, client, at)
) STRICT, WITHOUT ROWID;

-- Arrivals that no rate counts any more: WHERE at < ?
CREATE INDEX arrival_at ON arrival (at);

-- One row for each run of an exporter, kept for history.keep when the job is long gone. A job that is dropped while it
-- is queued leaves one, too, with the number 0 and no log.
CREATE TABLE attempt (
    id            TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 26), -- a ULID, also the name of its work directory and log
    job           INTEGER NOT NULL,                  -- its id; there may be no such row any more
    filename      TEXT NOT NULL,
    exporter      TEXT NOT NULL,
    params        TEXT NOT NULL,
    queue         TEXT NOT NULL,
    client        TEXT,
    number        INTEGER NOT NULL CHECK (number >= 0), -- which attempt of its job, from 1; 0: it was dropped
    submitted     INTEGER NOT NULL,                  -- of the job: started - submitted is the wait
    started       INTEGER NOT NULL,
    counts_from   INTEGER NOT NULL,                  -- the start that counts for --after: for a derived file its source's
    limits        TEXT NOT NULL CHECK (json_valid(limits)), -- that it ran under
    -- From here on NULL until it has ended.
    ended         INTEGER,
    result        TEXT CHECK (result IN ('ok', 'timeout', 'cpu', 'memory', 'file_size', 'exit', 'signal', 'no_output',
                                         'spawn', 'lost', 'cancelled', 'shutdown', 'dropped')),
    duration      INTEGER CHECK (duration >= 0),     -- on a clock that nobody sets
    exit_code     INTEGER,
    signal        INTEGER,
    peak_memory   INTEGER,                           -- resident, of the whole process tree
    cpu_used      INTEGER,                           -- milliseconds, user and system, of the whole tree
    output_size   INTEGER,
    log_tail      TEXT,                              -- the last 4 KiB of its log
    message       TEXT,                              -- for the visitor
    detail        TEXT,                              -- for the admin: what exactly was wrong
    drop_reason   TEXT CHECK (drop_reason IN ('too_old', 'abandoned', 'no_exporter', 'cancelled')), -- of a dropped job
    restarted     INTEGER NOT NULL DEFAULT 0,        -- 1: it was lost, but that was no fault of its exporter's: the machine
                                                     -- was restarted, or the job was removed
    log           INTEGER NOT NULL DEFAULT 1 CHECK (log IN (0, 1)), -- whether log/<id>.log is still kept
    log_size      INTEGER NOT NULL DEFAULT 0,        -- bytes of that file when the attempt ended; 0 when it is not kept
    row_size      INTEGER NOT NULL DEFAULT 0,        -- bytes that this row takes, as history.max_size counts them

    CHECK ((ended IS NULL) = (result IS NULL) AND (ended IS NULL) = (duration IS NULL)),
    CHECK ((result IS 'dropped') = (drop_reason IS NOT NULL))
) STRICT;

-- The attempts at a file, the newest first: WHERE filename = ? ORDER BY rowid DESC
CREATE INDEX attempt_file ON attempt (filename);

-- What became of a job whose row is gone: WHERE job = ? ORDER BY rowid DESC
CREATE INDEX attempt_job ON attempt (job);

-- The one that made the file in the cache: WHERE filename = ? AND result = 'ok' ORDER BY rowid DESC LIMIT 1
CREATE INDEX attempt_ok ON attempt (filename) WHERE result = 'ok';

-- How long an exporter takes: WHERE exporter = ? AND result = 'ok' ORDER BY ended DESC LIMIT ?
CREATE INDEX attempt_result ON attempt (exporter, result, ended) WHERE ended IS NOT NULL;

-- The breaker: WHERE exporter = ? AND number = 1 AND ended IS NOT NULL ORDER BY ended DESC LIMIT ?
CREATE INDEX attempt_first ON attempt (exporter, ended) WHERE number = 1 AND ended IS NOT NULL;

-- History to forget, failures of the last hour: WHERE ended < ? ORDER BY ended; WHERE ended >= ?
CREATE INDEX attempt_ended ON attempt (ended, result) WHERE ended IS NOT NULL;

-- What was dropped in the last hour, and why: WHERE result = 'dropped' AND ended >= ? GROUP BY drop_reason
CREATE INDEX attempt_dropped ON attempt (ended, drop_reason) WHERE result = 'dropped';

-- Those without an end, which are as few as what runs, unless somebody has removed their jobs: WHERE ended IS NULL
CREATE INDEX attempt_unended ON attempt (id) WHERE ended IS NULL;

-- Logs of successes to forget, and then their rows: WHERE result = 'ok' AND log = ? AND ended < ? ORDER BY ended
CREATE INDEX attempt_log ON attempt (log, ended) WHERE result = 'ok';

-- How often each exporter's attempts ended in which way, how long they ran, how long jobs waited for their first one,
-- and how often they were dropped for which reason: counted from the beginning, as monitoring wants it, while old attempts are forgotten.
CREATE TABLE tally (
    exporter      TEXT NOT NULL,
    measure       TEXT NOT NULL CHECK (measure IN ('wait', 'run', 'dropped')),
    result        TEXT NOT NULL,                     -- of the attempt, or why the job was dropped
    bound         INTEGER NOT NULL,                  -- it took at most so long, and longer than the bound before; 0: longer
                                                     -- than every bound
    count         INTEGER NOT NULL,
    total         INTEGER NOT NULL,                  -- milliseconds, of all of them together
    PRIMARY KEY (exporter, measure, result, bound)
) STRICT, WITHOUT ROWID;

-- Attempts that succeeded and that no round has looked at yet. A round makes notices of them, or forgets them where nobody
-- wants to hear of successes.
CREATE TABLE news (
    attempt       TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- What notify.command has to be told, until it has been handed over or given up. It stands for itself: the job may be queued
-- again, or forgotten, before that.
CREATE TABLE notice (
    id            INTEGER PRIMARY KEY,
    event         TEXT NOT NULL CHECK (event IN ('failed', 'ok')),
    at            INTEGER NOT NULL,                  -- when that happened
    job           INTEGER NOT NULL,
    filename      TEXT NOT NULL,
    exporter      TEXT NOT NULL,
    params        TEXT NOT NULL,
    queue         TEXT NOT NULL,
    client        TEXT,
    status        INTEGER,                           -- that the job had then, 2 or 3
    result        TEXT NOT NULL,
    source        TEXT,                              -- with which it failed, without an attempt of its own
    attempt       TEXT,                              -- the last one
    attempts      INTEGER NOT NULL,
    mailed        INTEGER NOT NULL CHECK (mailed IN (0, 1)), -- whether tick has said it on stderr
    tries         INTEGER NOT NULL DEFAULT 0,        -- how often the command has failed with it
    next          INTEGER NOT NULL DEFAULT 0         -- not tried again before
) STRICT;

-- What to tell next: WHERE mailed = 1 AND event = ? AND next <= ? ORDER BY next, id
CREATE INDEX notice_next ON notice (mailed, event, next, id);

-- When a schedule came due last, and when it will next. What it queues is in the configuration.
CREATE TABLE schedule (
    name          TEXT NOT NULL PRIMARY KEY,
    last          INTEGER NOT NULL,
    next          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What administrators did of late, by a command or on the status page. Each full round of tick copies what is new into the
-- activity log, which is not for everybody who may write here.
CREATE TABLE action (
    id            INTEGER PRIMARY KEY,
    at            INTEGER NOT NULL,
    who           TEXT NOT NULL,                     -- REMOTE_USER, or the user of the command
    what          TEXT NOT NULL,                     -- the sentence that the command prints
    logged        INTEGER NOT NULL DEFAULT 0 CHECK (logged IN (0, 1)) -- it is in the activity log
) STRICT;

-- What is to be copied into the activity log: WHERE logged = 0 ORDER BY id
CREATE INDEX action_unlogged ON action (id) WHERE logged = 0;

-- When an administrator closed an exporter's breaker, by a retry or a trial that succeeded: attempts that ended until then do
-- not count for it.
CREATE TABLE breaker (
    exporter      TEXT NOT NULL PRIMARY KEY,
    closed        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How full the queues were, once a minute for a week: the plots of the status page.
CREATE TABLE sample (
    at            INTEGER NOT NULL,
    queue         TEXT NOT NULL,
    queued        INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    PRIMARY KEY (at, queue)
) STRICT, WITHOUT ROWID;

-- One row about the site itself. The figures of the cache are those that the last full round of a tick has seen.
CREATE TABLE meta (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    machine_id    TEXT NOT NULL DEFAULT '',          -- whose ticks it belongs to; '' is not compared
    client_key    BLOB NOT NULL CHECK (length(client_key) = 32), -- of the hashes in job.client
    tick_at       INTEGER,                           -- the last round of a tick
    tick_boottime INTEGER,                           -- the same moment since boot, in milliseconds
    tick_boot_id  TEXT,                              -- which boot that was
    tick_gap      INTEGER NOT NULL DEFAULT 0,        -- the time between it and the full round before
    lost_notices  INTEGER NOT NULL DEFAULT 0,        -- that notify.command did not take within a day: given up
    tick_begun    INTEGER,                           -- when the last tick began its first round
    tick_until    INTEGER,                           -- until when it stays (tick --for); when it began, if it does not
    tick_every    INTEGER,                           -- between the beginnings of the last two ticks; 0: not known
    history_size  INTEGER NOT NULL DEFAULT 0,        -- the sum of attempt.log_size and attempt.row_size
    cache_files   INTEGER,
    cache_size    INTEGER,

    CHECK ((tick_at IS NULL) = (tick_boottime IS NULL) AND (tick_at IS NULL) = (tick_boot_id IS NULL))
) STRICT;
INSERT INTO meta (one, client_key) VALUES (1, randomblob(32));
