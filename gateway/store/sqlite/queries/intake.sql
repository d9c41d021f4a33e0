-- Intake: what one offered message needs, on the writer thread.

-- name: known_fingerprints
-- Nothing: these bytes, and no others, were ever seen under this key.
SELECT f.sha256, f.row, coalesce(f.settled_at, m.settled_at)
FROM fingerprints f LEFT JOIN messages m ON m.id = f.row
WHERE f.channel_id = ?1 AND f.key = ?2;

-- name: replayed
-- Nothing: the row of the fingerprint is gone.
SELECT m.state, m.sequence, m.live, m.flags, c.commit_answer, r.application_answer
FROM messages m
JOIN contents c ON c.row = m.id
LEFT JOIN replies r ON r.row = m.id
WHERE m.id = ?1;

-- name: count_repeat
-- Returns nothing, ever.
UPDATE messages SET repeats = repeats + 1 WHERE id = ?1;

-- name: flag_row
-- Returns nothing, ever.
UPDATE messages SET flags = ?2 WHERE id = ?1;

-- name: next_number
-- Always gives one number: last + 1, or 1.
INSERT INTO sequences (channel_id, scope, last) VALUES (?1, '', 1)
ON CONFLICT (channel_id, scope) DO UPDATE SET last = last + 1
RETURNING last;

-- name: insert_message
-- Returns nothing; the row's number is the connection's last inserted rowid.
INSERT INTO messages (channel_id, state, live, partition, barrier, settled_at, error_code, answer_state, sequence,
                      received_at, dedupe_key, sha256, size, control_id, message_type, sender, version,
                      inbound_sequence, declared_charset, encoding, flags, remote)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22);

-- name: insert_content
-- Returns nothing, ever.
INSERT INTO contents (row, commit_answer, original) VALUES (?1, ?2, ?3);

-- name: insert_fingerprint
-- Returns nothing; a fingerprint whose window is over passes to the new row.
INSERT INTO fingerprints (channel_id, key, sha256, row) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (channel_id, key, sha256) DO UPDATE SET row = excluded.row, settled_at = NULL;

-- name: insert_event
-- Returns nothing, ever.
INSERT INTO events (row, channel_id, at, actor, kind, from_state, to_state, send, epoch, code, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: same_refusal
-- Nothing: these bytes were not refused with this code on this channel before.
SELECT id, repeats FROM messages
WHERE state = 'nacked' AND channel_id = ?1 AND sha256 = ?2 AND error_code = ?3
LIMIT 1;

-- name: answer_of
-- Nothing: the row is not settled, or no application answer is stored.
SELECT r.application_answer
FROM messages m JOIN replies r ON r.row = m.id
WHERE m.id = ?1 AND m.live = 0 AND r.application_answer IS NOT NULL;

-- name: pending_answers
-- Nothing: no answer is owed to this sender any more.
SELECT m.id, r.application_answer
FROM messages m JOIN replies r ON r.row = m.id
WHERE m.answer_state = 'pending' AND m.channel_id = ?1 AND m.live = 0 AND m.sender = ?2 AND m.settled_at >= ?3
      AND r.application_answer IS NOT NULL
ORDER BY m.id;

-- name: record_answer
-- Nothing: the row owes no answer.
UPDATE messages SET answer_state = ?2 WHERE id = ?1 AND answer_state = 'pending'
RETURNING channel_id;
