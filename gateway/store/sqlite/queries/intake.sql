-- Intake: what one offered message needs, on the writer thread.

-- name: look_up
-- Always gives a row: the newest row and the last number of the scope (NULL: none yet), and for every fingerprint of the
-- key its bytes' hash, its row and when that was settled (NULLs: nothing was ever seen under this key).
SELECT (SELECT max(id) FROM messages), (SELECT last FROM sequences WHERE channel_id = ?1 AND scope = ?3),
       f.sha256, f.row, coalesce(f.settled_at, m.settled_at)
FROM (SELECT 1)
LEFT JOIN fingerprints f ON f.channel_id = ?1 AND f.key = ?2
LEFT JOIN messages m ON m.id = f.row;

-- name: set_last
-- Returns nothing, ever.
INSERT INTO sequences (channel_id, scope, last) VALUES (?1, ?2, ?3)
ON CONFLICT (channel_id, scope) DO UPDATE SET last = excluded.last;

-- name: clear_last
-- Returns nothing, ever.
DELETE FROM sequences WHERE channel_id = ?1 AND scope = ?2;

-- name: newest
-- Always gives one number: the newest row's, or NULL.
SELECT max(id) FROM messages;

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

-- name: revivable
-- Nothing: the row is not in review, or a person must decide: a counted attempt or a doubt is in its history.
SELECT m.state, m.sends FROM messages m
WHERE m.id = ?1 AND m.state = 'failed' AND m.error_code = 'retry-exhausted' AND m.attempts = 0 AND m.link_losses = 0
      AND NOT EXISTS (SELECT 1 FROM events e
                      WHERE e.row = m.id
                            AND (e.kind = 'in-doubt'
                                 OR e.code IN ('response-timeout', 'interrupted', 'answer-mismatch')));

-- name: insert_arrival
-- Returns nothing; writes the row, its content, its fingerprint (if it has a key), its number and its first event.
INSERT INTO arrivals (id, channel_id, state, live, partition, barrier, settled_at, error_code, answer_state, sequence,
                      received_at, dedupe_key, sha256, size, control_id, message_type, sender, version,
                      inbound_sequence, declared_charset, encoding, flags, remote, commit_answer, original, kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
        ?25, ?26);

-- name: insert_event
-- Returns nothing, ever.
INSERT INTO events (row, channel_id, at, actor, kind, from_state, to_state, send, epoch, code, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);

-- name: insert_two_events
-- Returns nothing, ever.
INSERT INTO events (row, channel_id, at, actor, kind, from_state, to_state, send, epoch, code, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11), (?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22);

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
