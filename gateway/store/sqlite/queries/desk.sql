-- Desk: what people read, and the acts they do.

-- name: row_exists
-- Nothing: there is no such row.
SELECT 1 FROM messages WHERE id = ?1;

-- name: stored
-- Nothing: there is no such row.
SELECT c.original, c.commit_answer, r.application_answer, r.server_status, r.server_body
FROM messages m
LEFT JOIN contents c ON c.row = m.id
LEFT JOIN replies r ON r.row = m.id
WHERE m.id = ?1;

-- name: events
-- Nothing: nothing happened since.
SELECT e.id, e.row, c.name, e.at, e.actor, e.kind, e.from_state, e.to_state, e.send, e.epoch, e.code, e.reason
FROM events e LEFT JOIN channels c ON c.id = e.channel_id
WHERE e.id > ?1
ORDER BY e.id
LIMIT ?2;

-- name: events_of_row
-- Nothing: nothing happened to the row since.
SELECT e.id, e.row, c.name, e.at, e.actor, e.kind, e.from_state, e.to_state, e.send, e.epoch, e.code, e.reason
FROM events e LEFT JOIN channels c ON c.id = e.channel_id
WHERE e.row = ?3 AND e.id > ?1
ORDER BY e.id
LIMIT ?2;

-- name: first_live
-- Nothing: the channel has no live row.
SELECT id, state, attempts, due_boot, due_ms, error_code, received_at FROM messages
WHERE live = 1 AND channel_id = ?1
ORDER BY id
LIMIT 1;

-- name: count_live
-- Always gives one number.
SELECT count(*) FROM messages WHERE live = 1 AND channel_id = ?1;

-- name: count_flying
-- Nothing: no row is claimed or in flight.
SELECT state, count(*) FROM messages
WHERE state IN ('claimed', 'inflight') AND channel_id = ?1
GROUP BY state;

-- name: count_review
-- Nothing: no row is in review.
SELECT state, count(*) FROM messages
WHERE state IN ('failed', 'rejected') AND channel_id = ?1
GROUP BY state;

-- name: tallies
-- Nothing: no row rests.
SELECT state, n FROM tallies WHERE channel_id = ?1 AND n > 0;

-- name: last_review
-- Nothing: no row is in review.
SELECT error_code FROM messages
WHERE state IN ('failed', 'rejected') AND channel_id = ?1
ORDER BY id DESC
LIMIT 1;

-- name: last_number
-- Nothing: the channel never numbered a message.
SELECT last FROM sequences WHERE channel_id = ?1 AND scope = '';

-- name: counters
-- Nothing: the channel counts nothing.
SELECT nullif(scope, ''), last FROM sequences WHERE channel_id = (SELECT id FROM channels WHERE name = ?1)
ORDER BY scope;

-- name: counter
-- Nothing: the sender has no number yet.
SELECT last FROM sequences WHERE channel_id = ?1 AND scope = ?2;

-- name: target
-- Nothing: there is no such row.
SELECT m.channel_id, c.name, m.state, m.generation, m.sends, m.flags, m.dedupe_key, m.sha256
FROM messages m JOIN channels c ON c.id = m.channel_id
WHERE m.id = ?1;

-- name: requeue
-- Returns nothing, ever.
UPDATE messages
SET state = 'queued', live = 1, generation = generation + 1, attempts = 0, link_losses = 0, due_boot = NULL,
    due_ms = NULL, first_send = NULL, first_sent_boot = NULL, first_sent_ms = NULL, first_sent_wall = NULL,
    settled_at = NULL, error_code = NULL
WHERE id = ?1;

-- name: end
-- Returns nothing, ever.
UPDATE messages
SET state = ?2, live = 0, due_boot = NULL, due_ms = NULL, settled_at = ?3, error_code = ?4
WHERE id = ?1;

-- name: forget
-- Returns nothing, ever.
DELETE FROM fingerprints WHERE channel_id = ?1 AND key = ?2 AND sha256 = ?3 AND row = ?4;

-- name: flag
-- Returns nothing, ever.
UPDATE messages SET flags = ?2 WHERE id = ?1;

-- name: delivered_later
-- Nothing: no later row of the partition was delivered.
SELECT 1 FROM messages o JOIN messages m ON m.id = ?1
WHERE o.id > m.id AND o.channel_id = m.channel_id AND o.partition = m.partition AND o.state = 'processed'
LIMIT 1;

-- name: channel_halt
-- Nothing: the channel is not halted as a whole.
SELECT who, since FROM halts WHERE channel_id = ?1 AND partition IS NULL;

-- name: add_channel_halt
-- Returns nothing, ever.
INSERT INTO halts (channel_id, partition, row, who, why, since) VALUES (?1, NULL, NULL, ?2, ?3, ?4);

-- name: lift_halts
-- Nothing: the channel is not halted anywhere.
DELETE FROM halts WHERE channel_id = ?1 RETURNING id;

-- name: apply_policy
-- Nothing: the channel has no live row.
UPDATE messages SET policy_id = ?2 WHERE live = 1 AND channel_id = ?1 RETURNING 1;
