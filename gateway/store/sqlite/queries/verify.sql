-- Verification: every promise the file can prove by itself. Read by pages, so that no read transaction stays open.

-- name: quick_check
-- Always gives `ok`, or what is damaged.
PRAGMA quick_check(20);

-- name: tables
-- Always gives the tables of the store.
SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name;

-- name: check_table
-- Always gives `ok`, or what is damaged in this table or its indexes.
SELECT * FROM pragma_quick_check(?1);

-- name: foreign_keys
-- Nothing: every reference is met.
PRAGMA foreign_key_check;

-- name: page
-- Nothing: no row behind this one.
SELECT m.id, m.channel_id, m.state, m.sequence, m.sha256, m.size, m.flags, m.generation, m.sends,
       c.row IS NOT NULL, c.original, f.row
FROM messages m
LEFT JOIN contents c ON c.row = m.id
LEFT JOIN fingerprints f ON f.channel_id = m.channel_id AND f.key = m.dedupe_key AND f.sha256 = m.sha256
WHERE m.id > ?1
ORDER BY m.id
LIMIT ?2;

-- name: history
-- Nothing: nothing is known of the row.
SELECT kind, from_state, to_state, send FROM events WHERE row = ?1 ORDER BY id;

-- name: tallies
-- Nothing: no channel counts anything.
SELECT channel_id, state, n FROM tallies WHERE n > 0 ORDER BY channel_id, state;

-- name: counted
-- Nothing: no row rests.
SELECT channel_id, state, count(*) FROM messages
WHERE state IN ('processed', 'discarded', 'nacked')
GROUP BY channel_id, state
ORDER BY channel_id, state;

-- name: sequences
-- Nothing: no channel numbers its messages.
SELECT s.channel_id, s.last, (SELECT sequence FROM messages m
                              WHERE m.channel_id = s.channel_id AND m.sequence IS NOT NULL
                              ORDER BY m.id DESC LIMIT 1)
FROM sequences s WHERE s.scope = '';

-- name: stray_fingerprints
-- Nothing: every fingerprint names a row of the same bytes, or outlived its row.
SELECT f.row FROM fingerprints f JOIN messages m ON m.id = f.row
WHERE m.sha256 <> f.sha256 OR m.state = 'nacked' OR m.channel_id <> f.channel_id;

-- name: halts_without_review
-- Nothing: every halting row waits for a person.
SELECT h.row FROM halts h CROSS JOIN messages m ON m.id = h.row WHERE m.state NOT IN ('failed', 'rejected');
