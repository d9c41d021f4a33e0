-- Outbox: reading and moving rows on their way. Every write stands behind `holds_term`.

-- name: holds_term
-- Nothing: the term is over. The first statement of every dispatch transaction.
SELECT 1 FROM leases WHERE grp = ?1 AND holder = ?2 AND epoch = ?3;

-- name: heads
-- Nothing: no live row behind this one.
SELECT id, partition, barrier, state, generation, sends, attempts, link_losses, due_boot, due_ms, policy_id,
       first_sent_boot, first_sent_ms, first_sent_wall
FROM messages
WHERE live = 1 AND channel_id = ?1 AND id > ?2
ORDER BY id
LIMIT ?3;

-- name: head
-- Nothing: the row is not live.
SELECT id, partition, barrier, state, generation, sends, attempts, link_losses, due_boot, due_ms, policy_id,
       first_sent_boot, first_sent_ms, first_sent_wall
FROM messages
WHERE id = ?1 AND live = 1;

-- name: inflight
-- Nothing: no row of the channel is in flight.
SELECT id, partition, barrier, state, generation, sends, attempts, link_losses, due_boot, due_ms, policy_id,
       first_sent_boot, first_sent_ms, first_sent_wall
FROM messages
WHERE state IN ('claimed', 'inflight') AND state = 'inflight' AND channel_id = ?1
ORDER BY id;

-- name: content
-- Nothing: the row is gone, or its content is.
SELECT m.control_id, c.original, m.encoding, m.sequence, m.sha256, m.remote, m.answer_state,
       m.received_at
FROM messages m JOIN contents c ON c.row = m.id
WHERE m.id = ?1 AND c.original IS NOT NULL;

-- name: halts
-- Nothing: the channel is not halted anywhere.
SELECT partition, row, who, why, since FROM halts WHERE channel_id = ?1 ORDER BY id;

-- name: claim
-- Nothing: not queued, another generation or group, not due, not its partition's head, in a barrier's way, or halted.
-- ?9 is the state to reach: `claimed`, or `inflight` at once while the link is live, with the moment in ?10 to ?12.
UPDATE messages AS m
SET state = ?9, sends = sends + 1, epoch = ?1, policy_id = coalesce(policy_id, ?2), due_boot = NULL, due_ms = NULL,
    first_send = coalesce(first_send, iif(?10 IS NULL, NULL, sends + 1)),
    first_sent_boot = coalesce(first_sent_boot, ?10), first_sent_ms = coalesce(first_sent_ms, ?11),
    first_sent_wall = coalesce(first_sent_wall, ?12)
WHERE id = ?3 AND channel_id = ?4 AND state = 'queued' AND generation = ?5
  AND (due_boot IS NULL OR due_boot <> ?6 OR due_ms <= ?7)
  AND EXISTS (SELECT 1 FROM channels c WHERE c.id = ?4 AND c.grp = ?8)
  AND NOT EXISTS (SELECT 1 FROM messages o
                  WHERE m.partition <> '' AND o.live = 1 AND o.partition <> '' AND o.channel_id = ?4
                    AND o.partition = m.partition AND o.id < ?3)
  AND NOT EXISTS (SELECT 1 FROM messages o
                  WHERE m.partition = '' AND o.live = 1 AND o.channel_id = ?4 AND o.partition = '' AND o.id < ?3)
  AND NOT EXISTS (SELECT 1 FROM messages o
                  WHERE o.live = 1 AND o.barrier = 1 AND o.channel_id = ?4 AND o.id < ?3)
  AND NOT EXISTS (SELECT 1 FROM messages o
                  WHERE m.barrier = 1 AND o.live = 1 AND o.channel_id = ?4 AND o.id < ?3)
  AND NOT EXISTS (SELECT 1 FROM messages o
                  WHERE o.state IN ('claimed', 'inflight') AND o.channel_id = ?4
                    AND (o.partition = m.partition OR o.barrier = 1 OR m.barrier = 1))
  AND NOT EXISTS (SELECT 1 FROM halts h
                  WHERE h.channel_id = ?4 AND (h.partition IS NULL OR h.partition = m.partition))
RETURNING partition, generation, sends, attempts, link_losses, policy_id,
          first_sent_boot, first_sent_ms, first_sent_wall;

-- name: mark_sent
-- Nothing: the row is not claimed by this term any more.
UPDATE messages
SET state = 'inflight', first_send = coalesce(first_send, sends), first_sent_boot = coalesce(first_sent_boot, ?3),
    first_sent_ms = coalesce(first_sent_ms, ?4), first_sent_wall = coalesce(first_sent_wall, ?5)
WHERE id = ?1 AND state = 'claimed' AND epoch = ?2
  AND EXISTS (SELECT 1 FROM channels c WHERE c.id = channel_id AND c.grp = ?6)
RETURNING channel_id, sends;

-- name: settle
-- Nothing: no such send of this row is in that state, or the row is another group's.
UPDATE messages
SET state = ?5, live = ?6, epoch = ?7, attempts = attempts + ?8, link_losses = link_losses + ?9,
    due_boot = ?10, due_ms = ?11, settled_at = ?12, error_code = ?13
WHERE id = ?1 AND generation = ?2 AND sends = ?3 AND state = ?4
  AND EXISTS (SELECT 1 FROM channels c WHERE c.id = channel_id AND c.grp = ?14)
RETURNING channel_id, partition;

-- name: release
-- Nothing: as for `settle`. A first write that never was one does not start the horizon.
UPDATE messages
SET state = 'queued', epoch = ?5, due_boot = NULL, due_ms = NULL,
    first_sent_boot = CASE WHEN first_send = sends THEN NULL ELSE first_sent_boot END,
    first_sent_ms = CASE WHEN first_send = sends THEN NULL ELSE first_sent_ms END,
    first_sent_wall = CASE WHEN first_send = sends THEN NULL ELSE first_sent_wall END,
    first_send = CASE WHEN first_send = sends THEN NULL ELSE first_send END
WHERE id = ?1 AND generation = ?2 AND sends = ?3 AND state = ?4
  AND EXISTS (SELECT 1 FROM channels c WHERE c.id = channel_id AND c.grp = ?6)
RETURNING channel_id, partition;

-- name: late_target
-- Nothing: the row is gone, or another group's.
SELECT m.channel_id, m.partition, m.state, m.generation, m.sends, m.first_send
FROM messages m JOIN channels c ON c.id = m.channel_id
WHERE m.id = ?1 AND c.grp = ?2;

-- name: settle_late
-- Returns nothing, ever.
UPDATE messages
SET state = ?2, live = 0, epoch = ?3, due_boot = NULL, due_ms = NULL, settled_at = ?4, error_code = ?5
WHERE id = ?1;

-- name: store_reply
-- Returns nothing; what a later answer leaves out stays as it was.
INSERT INTO replies (row, server_status, server_body, ack_code, application_answer) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (row) DO UPDATE
SET server_status = coalesce(excluded.server_status, server_status),
    server_body = coalesce(excluded.server_body, server_body),
    ack_code = coalesce(excluded.ack_code, ack_code),
    application_answer = coalesce(excluded.application_answer, application_answer);

-- name: insert_halt
-- Returns nothing; a row halts its partition once.
INSERT INTO halts (channel_id, partition, row, who, why, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (row) DO NOTHING;

-- name: lift_row_halt
-- Nothing: this row halts nothing.
DELETE FROM halts WHERE row = ?1 RETURNING channel_id;

-- name: insert_late_answer
-- Returns nothing, ever.
INSERT INTO late_answers (row, generation, send, epoch, verdict, code, status, body_sha256, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: channel_of
-- Nothing: there is no such row.
SELECT channel_id, sends, epoch FROM messages WHERE id = ?1;

-- name: known_policy
-- Nothing: this policy was never frozen on a row.
SELECT id FROM policies WHERE digest = ?1;

-- name: insert_policy
-- Returns nothing; the same policy is stored once.
INSERT INTO policies (digest, strategy, initial, max, jitter, attempts, horizon) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (digest) DO NOTHING;

-- name: policy
-- Nothing: there is no such policy.
SELECT strategy, initial, max, jitter, attempts, horizon FROM policies WHERE id = ?1;

-- name: acts
-- Always gives one number: it grows with every act that moves rows a leader holds in memory.
SELECT acts FROM meta;

-- name: count_act
-- Returns nothing, ever.
UPDATE meta SET acts = acts + 1;
