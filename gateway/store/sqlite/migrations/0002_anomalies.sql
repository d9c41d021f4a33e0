-- What was odd about senders' bytes, and the captures of frames that people asked for. Never content of a message.

INSERT INTO event_kinds (kind)
VALUES ('capture-asked'), ('capture-ended');

-- The newest of each channel; older ones go as new ones come.
CREATE TABLE anomalies (
    id         INTEGER PRIMARY KEY, -- order of writing
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    at         INTEGER NOT NULL,
    peer       TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    at_byte    INTEGER NOT NULL, -- of the first byte it is about, in its connection or frame
    size       INTEGER NOT NULL, -- how many bytes it is about
    bytes_hex  TEXT    NOT NULL CHECK (length(bytes_hex) <= 32) -- '': payload, not kept
) STRICT;

CREATE INDEX anomalies_channel ON anomalies (channel_id, id);

-- How many there were of each kind, also of those that are not kept any more.
CREATE TABLE anomaly_tallies (
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    kind       TEXT    NOT NULL,
    times      INTEGER NOT NULL CHECK (times >= 0),
    size       INTEGER NOT NULL CHECK (size >= 0),
    last_at    INTEGER NOT NULL,
    PRIMARY KEY (channel_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE captures (
    id         INTEGER PRIMARY KEY,
    channel_id INTEGER NOT NULL REFERENCES channels (id),
    wanted     INTEGER NOT NULL CHECK (wanted >= 1),
    taken      INTEGER NOT NULL DEFAULT 0 CHECK (taken BETWEEN 0 AND wanted),
    size       INTEGER NOT NULL DEFAULT 0 CHECK (size >= 0),
    who        TEXT    NOT NULL,
    why        TEXT    NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER NOT NULL CHECK (until > since),
    ended      TEXT CHECK (ended = 'complete' OR ended = 'too-large' OR ended = 'expired' OR ended = 'cannot-write'),
    ended_at   INTEGER CHECK ((ended_at IS NULL) = (ended IS NULL))
) STRICT;

CREATE UNIQUE INDEX captures_open ON captures (channel_id) WHERE ended IS NULL;
