-- Leases: who leads a dispatch group, and what recovery finds when that changes.

-- name: lease
-- Nothing: nobody ever led this group.
SELECT holder, epoch, expires_boot, expires_ms, granted FROM leases WHERE grp = ?1;

-- name: take
-- Always gives the new epoch.
INSERT INTO leases (grp, holder, epoch, expires_boot, expires_ms) VALUES (?1, ?2, 1, ?3, ?4)
ON CONFLICT (grp) DO UPDATE
SET holder = excluded.holder, epoch = epoch + 1, expires_boot = excluded.expires_boot,
    expires_ms = excluded.expires_ms, link = 'down'
RETURNING epoch;

-- name: renew
-- Nothing: the term is over.
UPDATE leases SET expires_boot = ?4, expires_ms = ?5 WHERE grp = ?1 AND holder = ?2 AND epoch = ?3
RETURNING 1;

-- name: release
-- Nothing: the term is over already.
UPDATE leases SET holder = NULL, expires_boot = NULL, expires_ms = NULL, link = 'down'
WHERE grp = ?1 AND holder = ?2 AND epoch = ?3
RETURNING 1;

-- name: note_link
-- Returns nothing; a stale term notes nothing.
UPDATE leases SET link = ?4 WHERE grp = ?1 AND holder = ?2 AND epoch = ?3;

-- name: note_granted
-- Returns nothing; a stale term notes nothing.
UPDATE leases SET granted = ?4, dedupe_window = ?5 WHERE grp = ?1 AND holder = ?2 AND epoch = ?3;

-- name: left_behind
-- Nothing: every earlier term left the group's rows settled or queued.
-- CROSS JOIN keeps the order: from the group's few channels to their few rows in the air, never over all rows.
SELECT m.id, c.name, m.state, m.generation, m.sends, m.attempts, m.link_losses, m.policy_id,
       m.first_sent_boot, m.first_sent_ms, m.first_sent_wall
FROM channels c CROSS JOIN messages m ON m.channel_id = c.id
WHERE c.grp = ?1 AND m.state IN ('claimed', 'inflight') AND m.epoch < ?2
ORDER BY m.id;

-- name: late_answer
-- Nothing: no earlier leader learned too late what the server decided about this send.
SELECT verdict, code FROM late_answers
WHERE row = ?1 AND generation = ?2 AND send = ?3 AND verdict IN ('accepted', 'refused')
ORDER BY id DESC LIMIT 1;

-- name: rebase_dues
-- Returns nothing; rows that waited under another boot of the machine are due after the shortest wait.
UPDATE messages SET due_boot = ?2, due_ms = ?3
WHERE due_boot IS NOT NULL AND due_boot <> ?2 AND channel_id IN (SELECT id FROM channels WHERE grp = ?1);

-- name: leases
-- Nothing: no group was ever led.
SELECT grp, holder, epoch, expires_boot, expires_ms, link FROM leases ORDER BY grp;
