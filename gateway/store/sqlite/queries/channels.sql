-- Channels: names, numbers, and the group whose lease fences them.

-- name: channels
-- Nothing: no channel was ever registered.
SELECT id, name FROM channels ORDER BY id;

-- name: channel
-- Nothing: the channel was never registered.
SELECT id, grp FROM channels WHERE name = ?1;

-- name: add_channel
-- Returns nothing, ever.
INSERT INTO channels (name, grp) VALUES (?1, ?2);

-- name: move_channel
-- Returns nothing, ever.
UPDATE channels SET grp = ?2 WHERE id = ?1;

-- name: flying
-- Nothing: no row of the channel is claimed or in flight.
SELECT 1 FROM messages WHERE state IN ('claimed', 'inflight') AND channel_id = ?1 LIMIT 1;

-- name: led
-- Nothing: nobody holds the group's lease, or never did.
SELECT 1 FROM leases WHERE grp = ?1 AND holder IS NOT NULL;

-- name: forget_epochs
-- Returns nothing, ever.
UPDATE messages SET epoch = 0 WHERE state IN ('claimed', 'inflight') AND channel_id = ?1;
