-- One row a run of `test` or `bench` (or any command that makes calls).
CREATE TABLE runs (
    id         TEXT PRIMARY KEY,   -- short, for people: "r7k2m9"
    kind       TEXT NOT NULL,      -- "test", "bench", ...
    target     TEXT NOT NULL,
    model      TEXT,
    command    TEXT NOT NULL,      -- as typed
    started_at TEXT NOT NULL,      -- ISO 8601
    result     TEXT                -- the JSON that --json prints; NULL while the run goes on or when it was cut off
);

-- Each distinct piece of a request body once. A body is put together again by its recipe, see calls.body.
CREATE TABLE parts (
    id     INTEGER PRIMARY KEY,
    sha256 BLOB NOT NULL UNIQUE,   -- of `bytes`
    bytes  BLOB NOT NULL
);

-- One row a request, in the order it was added. NULL is "not known", never 0. Times are seconds.
-- Text that is no valid Unicode is stored as a BLOB (UTF-8 with surrogates passed through),
-- a count beyond 64 bits as a BLOB of its decimal digits.
CREATE TABLE calls (
    run               TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position          INTEGER NOT NULL,   -- from 1
    session           TEXT NOT NULL,
    turn              INTEGER NOT NULL,   -- from 1; 0 when there are no turns
    label             TEXT NOT NULL,
    target            TEXT NOT NULL,
    dialect           TEXT NOT NULL,
    model             TEXT,
    status            INTEGER,            -- HTTP status
    error             TEXT,
    prompt_tokens     INTEGER,
    cached_tokens     INTEGER,
    written_tokens    INTEGER,
    output_tokens     INTEGER,
    reasoning_tokens  INTEGER,
    cached_source     TEXT NOT NULL,      -- JSON path the cached tokens were read from, "null" or "absent"
    at                REAL,               -- Unix time the request was written; NULL when the call has no timing
    sent_at_s         REAL,               -- the same moment on the run's monotonic clock
    connect_s         REAL,
    tls_s             REAL,
    headers_s         REAL,
    ttft_s            REAL,
    first_content_s   REAL,
    total_s           REAL,
    first_read_tokens INTEGER,            -- above 1: the TTFT is an upper bound
    headers           TEXT NOT NULL,      -- JSON object
    response_headers  TEXT NOT NULL,      -- JSON object
    waits             TEXT NOT NULL,      -- JSON array of seconds
    raw_usage         TEXT,               -- JSON as the engine sent it
    reply             TEXT,               -- JSON
    body              TEXT NOT NULL,      -- JSON array: an integer is a parts.id, a string the bytes between parts
    PRIMARY KEY (run, position)
) WITHOUT ROWID;
