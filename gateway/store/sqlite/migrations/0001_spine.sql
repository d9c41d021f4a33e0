-- The spine: messages on their way, what they hold, who may move them, and what happened to them.
-- The database defends itself: STRICT types, CHECK lists (tested against the transition table), foreign keys, and
-- triggers for the epoch fence, for what may only be appended, and for what must not be deleted.
-- Lists are written as OR chains: SQLite builds a table for every IN list of more than two, at every single insert.

PRAGMA application_id = 1212954439; -- "HL7G"

CREATE TABLE meta (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    store_id       BLOB    NOT NULL CHECK (length(store_id) = 16),
    schema_version INTEGER NOT NULL,
    min_reader     INTEGER NOT NULL,
    acts           INTEGER NOT NULL DEFAULT 0, -- grows with every act that moves rows a leader holds in memory
    created_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    sha256     BLOB    NOT NULL CHECK (length(sha256) = 32),
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE error_codes (
    code TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

INSERT INTO error_codes (code)
VALUES ('server-error'), ('server-busy'), ('server-rejected'), ('upstream-error'), ('upstream-rejected'),
       ('answer-mismatch'), ('too-large-for-server'), ('response-timeout'), ('interrupted'), ('retry-exhausted'),
       ('quarantined'), ('storage-error'), ('duplicate-rejected'), ('bad-frame'), ('bad-header'), ('bad-encoding'),
       ('unexpected-ack'), ('not-allowed'), ('unavailable'), ('corrupt'), ('discarded');

CREATE TABLE event_kinds (
    kind TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

INSERT INTO event_kinds (kind)
VALUES ('accepted'), ('refused'), ('quarantined'), ('claimed'), ('sent'), ('released'), ('retry'), ('deferred'),
       ('exhausted'), ('in-doubt'), ('late-accept'), ('late-refusal'), ('requeued'), ('resolved'), ('discarded'),
       ('retransmitted'), ('repeat-refused'), ('receipt'), ('evidence'), ('answer-delivered'), ('halted'),
       ('resumed'), ('lease-taken'), ('lease-released'), ('policy-applied'), ('sequence-set');

CREATE TABLE channels (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    grp  TEXT NOT NULL -- the dispatch group whose lease fences this channel's rows
) STRICT;

CREATE TABLE policies (
    id       INTEGER PRIMARY KEY,
    digest   BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    strategy TEXT    NOT NULL CHECK (strategy IN ('exponential', 'linear')),
    initial  INTEGER NOT NULL,
    max      INTEGER NOT NULL,
    jitter   INTEGER NOT NULL CHECK (jitter IN (0, 1)),
    attempts INTEGER NOT NULL,
    horizon  INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
    id               INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 281474976710655), -- store order
    channel_id       INTEGER NOT NULL REFERENCES channels (id),
    state            TEXT    NOT NULL CHECK (state = 'queued' OR state = 'claimed' OR state = 'inflight'
                                             OR state = 'processed' OR state = 'rejected'
                                             OR state = 'failed' OR state = 'discarded'
                                             OR state = 'nacked'),
    -- Partial indexes ask for `live`, not for states, so that claiming and marking touch no index of the queue.
    live             INTEGER NOT NULL CHECK (live = (state = 'queued' OR state = 'claimed'
                                                     OR state = 'inflight')),
    partition        TEXT    NOT NULL,
    barrier          INTEGER NOT NULL CHECK (barrier IN (0, 1)),
    generation       INTEGER NOT NULL DEFAULT 0 CHECK (generation >= 0),
    sends            INTEGER NOT NULL DEFAULT 0 CHECK (sends >= 0),
    attempts         INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    link_losses      INTEGER NOT NULL DEFAULT 0 CHECK (link_losses >= 0),
    epoch            INTEGER CHECK (epoch IS NOT NULL OR state NOT IN ('claimed', 'inflight')),
    policy_id        INTEGER REFERENCES policies (id) CHECK (policy_id IS NOT NULL
                                                             OR state NOT IN ('claimed', 'inflight')),
    due_boot         TEXT CHECK ((due_boot IS NULL) = (due_ms IS NULL)),
    due_ms           INTEGER,
    -- The first write of this generation; `first_send` is its number.
    first_send       INTEGER CHECK (first_send IS NOT NULL OR state <> 'inflight'),
    first_sent_boot  TEXT CHECK ((first_sent_boot IS NULL) = (first_send IS NULL)),
    first_sent_ms    INTEGER CHECK ((first_sent_ms IS NULL) = (first_send IS NULL)),
    first_sent_wall  INTEGER CHECK ((first_sent_wall IS NULL) = (first_send IS NULL)),
    settled_at       INTEGER CHECK ((settled_at IS NULL) = (live OR state = 'nacked')),
    error_code       TEXT REFERENCES error_codes (code)
                     CHECK (error_code IS NOT NULL
                            OR (state <> 'failed' AND state <> 'rejected' AND state <> 'nacked')),
    answer_state     TEXT    NOT NULL CHECK (answer_state = 'not_owed' OR answer_state = 'pending'
                                             OR answer_state = 'delivered'
                                             OR answer_state = 'undelivered'),
    sequence         INTEGER CHECK (sequence >= 1),
    repeats          INTEGER NOT NULL DEFAULT 0 CHECK (repeats >= 0),
    received_at      INTEGER NOT NULL,
    dedupe_key       BLOB CHECK (length(dedupe_key) = 16),
    sha256           BLOB    NOT NULL CHECK (length(sha256) = 32),
    size             INTEGER NOT NULL CHECK (size >= 0),
    control_id       BLOB    NOT NULL,
    message_type     TEXT    NOT NULL,
    sender           TEXT    NOT NULL,
    version          TEXT    NOT NULL,
    inbound_sequence TEXT    NOT NULL,
    declared_charset TEXT    NOT NULL,
    encoding         TEXT    NOT NULL,
    flags            TEXT    NOT NULL, -- fixed words with one space between them
    remote           TEXT    NOT NULL
) STRICT;

CREATE INDEX messages_live ON messages (channel_id, id) WHERE live = 1;
-- Rows of the default partition are found by messages_live: in a strict channel there are no others.
CREATE INDEX messages_partition ON messages (channel_id, partition, id) WHERE live = 1 AND partition <> '';
CREATE INDEX messages_barrier ON messages (channel_id, id) WHERE live = 1 AND barrier = 1;
CREATE INDEX messages_flying ON messages (channel_id, partition, barrier) WHERE state IN ('claimed', 'inflight');
CREATE INDEX messages_due ON messages (channel_id, id) WHERE due_boot IS NOT NULL;
CREATE INDEX messages_review ON messages (channel_id, id) WHERE state IN ('failed', 'rejected');
CREATE INDEX messages_nacked ON messages (channel_id, sha256, error_code) WHERE state = 'nacked';
CREATE INDEX messages_pending ON messages (channel_id, id) WHERE answer_state = 'pending';

CREATE TABLE contents (
    row           INTEGER PRIMARY KEY REFERENCES messages (id),
    commit_answer BLOB NOT NULL, -- before the original, so that a replay never reads the original's pages
    original      BLOB           -- NULL: not kept, or taken by retention
) STRICT;

CREATE TABLE replies (
    row                INTEGER PRIMARY KEY REFERENCES messages (id),
    server_status      INTEGER,
    server_body        TEXT,
    ack_code           TEXT,
    application_answer BLOB
) STRICT;

-- Dedupe: which bytes were seen under which key. `settled_at` is filled when the row goes and its header with it;
-- until then the row knows. No foreign key: fingerprints outlive rows.
CREATE TABLE fingerprints (
    channel_id INTEGER NOT NULL,
    key        BLOB    NOT NULL CHECK (length(key) = 16),
    sha256     BLOB    NOT NULL CHECK (length(sha256) = 32),
    row        INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (channel_id, key, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE sequences (
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    scope      TEXT    NOT NULL, -- '' for the channel's own counter
    last       INTEGER NOT NULL CHECK (last >= 0),
    PRIMARY KEY (channel_id, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    grp           TEXT    NOT NULL PRIMARY KEY,
    holder        TEXT, -- NULL: released
    epoch         INTEGER NOT NULL CHECK (epoch >= 1),
    expires_boot  TEXT CHECK ((expires_boot IS NULL) = (expires_ms IS NULL)),
    expires_ms    INTEGER,
    granted       TEXT    NOT NULL DEFAULT '', -- extensions the server last granted, one space between them
    dedupe_window REAL,
    link          TEXT    NOT NULL DEFAULT 'down'
) STRICT, WITHOUT ROWID;

CREATE TABLE halts (
    id         INTEGER PRIMARY KEY,
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    partition  TEXT, -- NULL: the whole channel
    row        INTEGER UNIQUE REFERENCES messages (id),
    who        TEXT    NOT NULL,
    why        TEXT    NOT NULL,
    since      INTEGER NOT NULL
) STRICT;

CREATE INDEX halts_channel ON halts (channel_id, partition);

-- What a leader whose term was over still learned from the server. The next holder reads it before it decides.
CREATE TABLE late_answers (
    id          INTEGER PRIMARY KEY,
    row         INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    send        INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    verdict     TEXT    NOT NULL REFERENCES event_kinds (kind),
    code        TEXT REFERENCES error_codes (code),
    status      INTEGER,
    body_sha256 BLOB,
    at          INTEGER NOT NULL
) STRICT;

CREATE INDEX late_answers_row ON late_answers (row, generation, send);

CREATE TABLE events (
    id         INTEGER PRIMARY KEY,
    row        INTEGER,
    channel_id INTEGER,
    at         INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    kind       TEXT    NOT NULL REFERENCES event_kinds (kind),
    from_state TEXT CHECK (from_state = 'queued' OR from_state = 'claimed' OR from_state = 'inflight'
                           OR from_state = 'processed' OR from_state = 'rejected'
                           OR from_state = 'failed' OR from_state = 'discarded' OR from_state = 'nacked'),
    to_state   TEXT CHECK (to_state = 'queued' OR to_state = 'claimed' OR to_state = 'inflight'
                           OR to_state = 'processed' OR to_state = 'rejected' OR to_state = 'failed'
                           OR to_state = 'discarded' OR to_state = 'nacked'),
    send       INTEGER,
    epoch      INTEGER,
    code       TEXT,
    reason     TEXT,
    hmac       BLOB -- reserved for the chain over operator acts and leadership
) STRICT;

CREATE INDEX events_row ON events (row, id) WHERE row IS NOT NULL;

-- Everything one message brings, in one statement: its row, content, fingerprint, number and event of birth.
CREATE VIEW arrivals AS
SELECT m.id, m.channel_id, m.state, m.live, m.partition, m.barrier, m.settled_at, m.error_code, m.answer_state,
       m.sequence, m.received_at, m.dedupe_key, m.sha256, m.size, m.control_id, m.message_type, m.sender, m.version,
       m.inbound_sequence, m.declared_charset, m.encoding, m.flags, m.remote, c.commit_answer, c.original, '' AS kind
FROM messages m JOIN contents c ON c.row = m.id;

CREATE TRIGGER arrive INSTEAD OF INSERT ON arrivals
BEGIN
    INSERT INTO messages (id, channel_id, state, live, partition, barrier, settled_at, error_code, answer_state,
                          sequence, received_at, dedupe_key, sha256, size, control_id, message_type, sender, version,
                          inbound_sequence, declared_charset, encoding, flags, remote)
    VALUES (NEW.id, NEW.channel_id, NEW.state, NEW.live, NEW.partition, NEW.barrier, NEW.settled_at, NEW.error_code,
            NEW.answer_state, NEW.sequence, NEW.received_at, NEW.dedupe_key, NEW.sha256, NEW.size, NEW.control_id,
            NEW.message_type, NEW.sender, NEW.version, NEW.inbound_sequence, NEW.declared_charset, NEW.encoding,
            NEW.flags, NEW.remote);
    INSERT INTO contents (row, commit_answer, original) VALUES (NEW.id, NEW.commit_answer, NEW.original);
    -- A fingerprint whose window is over passes to the new row; a refused message has none.
    INSERT INTO fingerprints (channel_id, key, sha256, row)
    SELECT NEW.channel_id, NEW.dedupe_key, NEW.sha256, NEW.id WHERE NEW.dedupe_key IS NOT NULL
    ON CONFLICT (channel_id, key, sha256) DO UPDATE SET row = excluded.row, settled_at = NULL;
    INSERT INTO sequences (channel_id, scope, last)
    SELECT NEW.channel_id, '', NEW.sequence WHERE NEW.sequence IS NOT NULL
    ON CONFLICT (channel_id, scope) DO UPDATE SET last = excluded.last;
    INSERT INTO events (row, channel_id, at, actor, kind, to_state, code)
    VALUES (NEW.id, NEW.channel_id, NEW.received_at, 'system', NEW.kind, NEW.state, NEW.error_code);
END;

-- How many rows rest in the states that hold most of them, so that nobody counts a million rows for a status line.
CREATE TABLE tallies (
    channel_id INTEGER NOT NULL,
    state      TEXT    NOT NULL CHECK (state = 'processed' OR state = 'discarded' OR state = 'nacked'),
    n          INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (channel_id, state)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER messages_tally_birth AFTER INSERT ON messages
WHEN NEW.state = 'nacked'
BEGIN
    INSERT INTO tallies VALUES (NEW.channel_id, NEW.state, 1)
    ON CONFLICT (channel_id, state) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER messages_tally_end AFTER UPDATE OF state ON messages
WHEN NEW.state IN ('processed', 'discarded') AND OLD.state <> NEW.state
BEGIN
    INSERT INTO tallies VALUES (NEW.channel_id, NEW.state, 1)
    ON CONFLICT (channel_id, state) DO UPDATE SET n = n + 1;
END;

CREATE TRIGGER messages_tally_gone AFTER DELETE ON messages
WHEN OLD.state = 'processed' OR OLD.state = 'discarded' OR OLD.state = 'nacked'
BEGIN
    UPDATE tallies SET n = n - 1 WHERE channel_id = OLD.channel_id AND state = OLD.state;
END;

-- A leader whose term is over changes no state of a row on its way (the fence's last line).
CREATE TRIGGER messages_fence BEFORE UPDATE OF state ON messages
WHEN (OLD.state IN ('claimed', 'inflight') OR NEW.state IN ('claimed', 'inflight'))
     AND coalesce(NEW.epoch, 0) < coalesce((SELECT l.epoch
                                            FROM channels c JOIN leases l ON l.grp = c.grp
                                            WHERE c.id = NEW.channel_id), 0)
BEGIN
    SELECT RAISE(ABORT, 'stale-epoch');
END;

CREATE TRIGGER messages_end BEFORE UPDATE OF state ON messages
WHEN (OLD.state = 'processed' OR OLD.state = 'discarded' OR OLD.state = 'nacked') AND NEW.state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'state-is-final');
END;

CREATE TRIGGER messages_numbers BEFORE UPDATE OF sends, generation ON messages
WHEN NEW.sends < OLD.sends OR NEW.generation < OLD.generation
BEGIN
    SELECT RAISE(ABORT, 'number-lowered');
END;

CREATE TRIGGER messages_identity BEFORE UPDATE OF id, channel_id, sha256, sequence, control_id, partition ON messages
BEGIN
    SELECT RAISE(ABORT, 'identity-changed');
END;

-- The newest row stays, whatever it is, so that no number is ever used twice.
CREATE TRIGGER messages_newest BEFORE DELETE ON messages
WHEN OLD.id = (SELECT max(id) FROM messages)
BEGIN
    SELECT RAISE(ABORT, 'newest');
END;

CREATE TRIGGER messages_keep BEFORE DELETE ON messages
WHEN OLD.state <> 'processed' AND OLD.state <> 'discarded' AND OLD.state <> 'nacked'
BEGIN
    SELECT RAISE(ABORT, 'undelivered');
END;

CREATE TRIGGER contents_keep BEFORE DELETE ON contents
WHEN (SELECT state FROM messages WHERE id = OLD.row) NOT IN ('processed', 'discarded', 'nacked')
BEGIN
    SELECT RAISE(ABORT, 'undelivered');
END;

CREATE TRIGGER contents_fixed BEFORE UPDATE ON contents
WHEN NEW.row IS NOT OLD.row OR NEW.commit_answer IS NOT OLD.commit_answer
     OR (NEW.original IS NOT OLD.original
         AND (NEW.original IS NOT NULL
              OR (SELECT state FROM messages WHERE id = OLD.row) NOT IN ('processed', 'discarded', 'nacked')))
BEGIN
    SELECT RAISE(ABORT, 'content-is-fixed');
END;

CREATE TRIGGER events_fixed BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'events-are-append-only');
END;

-- Events of a row may go once its content has gone; acts of people and leadership stay.
CREATE TRIGGER events_keep BEFORE DELETE ON events
WHEN OLD.row IS NULL OR OLD.actor <> 'system'
     OR EXISTS (SELECT 1 FROM contents WHERE row = OLD.row AND original IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'events-are-append-only');
END;

CREATE TRIGGER events_newest BEFORE DELETE ON events
WHEN OLD.id = (SELECT max(id) FROM events)
BEGIN
    SELECT RAISE(ABORT, 'newest');
END;

CREATE TRIGGER policies_fixed BEFORE UPDATE ON policies
BEGIN
    SELECT RAISE(ABORT, 'policies-are-fixed');
END;

CREATE TRIGGER leases_epoch BEFORE UPDATE OF epoch ON leases
WHEN NEW.epoch < OLD.epoch
BEGIN
    SELECT RAISE(ABORT, 'epoch-lowered');
END;

CREATE TRIGGER leases_keep BEFORE DELETE ON leases
BEGIN
    SELECT RAISE(ABORT, 'epoch-lowered');
END;
