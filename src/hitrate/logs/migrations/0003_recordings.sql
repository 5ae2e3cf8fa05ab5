-- Whether the prompts of a run are kept, or hashes of them only.
ALTER TABLE runs ADD COLUMN content TEXT NOT NULL DEFAULT 'kept';  -- 'kept' or 'hashed'

-- One row a run of kind "record": how far its journal has been taken in, and what its calls do not show.
CREATE TABLE recordings (
    run              TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    segment          INTEGER NOT NULL DEFAULT 0,  -- of the journal; everything before `offset` in it is in `calls`
    offset           INTEGER NOT NULL DEFAULT 0,  -- written in the same transaction as the calls
    ended            INTEGER NOT NULL DEFAULT 0,  -- 1: the recording is over and its journal is taken in
    other_exchanges  INTEGER NOT NULL DEFAULT 0,  -- carried, and no calls of a model
    missed_exchanges INTEGER NOT NULL DEFAULT 0,  -- carried, and not kept because the journal could not be written
    missed_reason    TEXT,                        -- of the last of them
    damaged_frames   INTEGER NOT NULL DEFAULT 0,  -- of the journal, lost
    retired_calls    INTEGER NOT NULL DEFAULT 0,  -- removed by the limits of age and size
    retired_until    REAL                         -- Unix time of the newest of them
);

-- Pieces as before, which are now never given the id of a removed one; and those of a part that repeats what a model
-- said, which the reply of an earlier call is made of as well.
CREATE TABLE new_parts (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 BLOB NOT NULL UNIQUE,         -- of `bytes`; where `cut` is 1, of `bytes` and a zero byte
    bytes  BLOB NOT NULL,
    cut    INTEGER NOT NULL DEFAULT 0    -- 1: `bytes` is JSON as in calls.body, of texts.id
);
INSERT INTO new_parts (id, sha256, bytes) SELECT id, sha256, bytes FROM parts;
DROP TABLE parts;
ALTER TABLE new_parts RENAME TO parts;
CREATE TABLE texts (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 BLOB NOT NULL UNIQUE,         -- of `bytes`
    bytes  BLOB NOT NULL                 -- a string of JSON with its quotes, or JSON that many calls have alike
);

-- How often pieces that nothing uses were removed; whoever remembers their ids forgets them when this changes.
CREATE TABLE sweeps (count INTEGER NOT NULL);
INSERT INTO sweeps VALUES (0);

-- The calls as before, with an id, and with what logs say beside them.
CREATE TABLE new_calls (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,  -- grows with every call of any run
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
    written_5m_tokens INTEGER,            -- writes split by lifetime, where the vendor splits them
    written_1h_tokens INTEGER,
    output_tokens     INTEGER,
    reasoning_tokens  INTEGER,
    cached_source     TEXT NOT NULL,      -- JSON path the cached tokens were read from, "null" or "absent"
    sources           TEXT NOT NULL,      -- column name to JSON paths: JSON object or, if long, an array as in `reply`
    at                REAL,               -- Unix time the request was written; NULL when the call has no timing
    sent_at_s         REAL,               -- the same moment on the run's monotonic clock
    connect_s         REAL,
    tls_s             REAL,
    headers_s         REAL,
    ttft_s            REAL,
    first_content_s   REAL,
    total_s           REAL,
    first_read_tokens INTEGER,            -- above 1: the TTFT is an upper bound
    line              INTEGER,            -- of the log it was read from, from 1
    headers           TEXT NOT NULL,      -- JSON object or, if long, an array as in `reply`
    response_headers  TEXT NOT NULL,      -- JSON object
    waits             TEXT NOT NULL,      -- JSON array of seconds
    happenings        TEXT,               -- JSON array of {kind, detail, at}; NULL for none
    diagnosis         TEXT,               -- JSON: what the vendor says of a missed cache
    raw_usage         TEXT,               -- JSON as the engine sent it
    reply             TEXT,               -- JSON object, where "text", "reasoning" and "tool_calls" are left out if
                                          -- "message" has them; with long strings in it an array as in `body`, of texts.id
    body              TEXT NOT NULL       -- JSON array: an integer is a parts.id, a string is bytes as they stand, an
                                          -- array is bytes and the parts (or arrays of parts) that they stand between,
                                          -- where -2 stands for the two ids after the one before
);
INSERT INTO new_calls (
    run, position, session, turn, label, target, dialect, model, status, error, prompt_tokens, cached_tokens,
    written_tokens, written_5m_tokens, written_1h_tokens, output_tokens, reasoning_tokens, cached_source, sources, at,
    sent_at_s, connect_s, tls_s, headers_s, ttft_s, first_content_s, total_s, first_read_tokens, headers,
    response_headers, waits, raw_usage, reply, body
) SELECT
    run, position, session, turn, label, target, dialect, model, status, error, prompt_tokens, cached_tokens,
    written_tokens, written_5m_tokens, written_1h_tokens, output_tokens, reasoning_tokens, cached_source, sources, at,
    sent_at_s, connect_s, tls_s, headers_s, ttft_s, first_content_s, total_s, first_read_tokens, headers,
    response_headers, waits, raw_usage, reply, body
FROM calls ORDER BY run, position;
DROP TABLE calls;
ALTER TABLE new_calls RENAME TO calls;
CREATE INDEX calls_of_a_run ON calls (run, position, label, cached_tokens, prompt_tokens);
CREATE INDEX calls_of_a_session ON calls (run, session, position) WHERE session <> '';
