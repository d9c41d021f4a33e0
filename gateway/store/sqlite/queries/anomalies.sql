-- Anomalies: oddities of senders' bytes, and captures of their frames.

-- name: add
-- Returns nothing.
INSERT INTO anomalies (channel_id, at, peer, kind, at_byte, size, bytes_hex) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: count
-- Returns nothing.
INSERT INTO anomaly_tallies (channel_id, kind, times, size, last_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (channel_id, kind) DO UPDATE
SET times = times + excluded.times, size = size + excluded.size, last_at = max(last_at, excluded.last_at);

-- name: prune
-- Returns nothing. The newest ?2 of the channel stay.
DELETE FROM anomalies
WHERE channel_id = ?1
  AND id <= (SELECT id FROM anomalies WHERE channel_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2);

-- name: newest
-- Nothing: the channel has none above ?2.
SELECT id, at, peer, kind, at_byte, size, bytes_hex FROM anomalies
WHERE channel_id = ?1 AND id > ?2
ORDER BY id DESC
LIMIT ?3;

-- name: tallies
-- Nothing: the channel's senders are faultless.
SELECT kind, times FROM anomaly_tallies WHERE channel_id = ?1 ORDER BY kind;

-- name: open_captures
-- Nothing: nobody asked.
SELECT p.id, c.name, p.wanted, p.taken, p.size, p.who, p.why, p.since, p.until
FROM captures p JOIN channels c ON c.id = p.channel_id
WHERE p.ended IS NULL;

-- name: open_capture
-- Nothing: it has ended, or there never was one.
SELECT channel_id, wanted, taken, size, until FROM captures WHERE id = ?1 AND ended IS NULL;

-- name: capture_of
-- Nothing: no capture of the channel is open.
SELECT id, who, until FROM captures WHERE channel_id = ?1 AND ended IS NULL;

-- name: ask_capture
-- Always gives its number.
INSERT INTO captures (channel_id, wanted, who, why, since, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
RETURNING id;

-- name: take_frame
-- Returns nothing.
UPDATE captures SET taken = taken + 1, size = size + ?2 WHERE id = ?1;

-- name: end_capture
-- Nothing: it has ended already.
UPDATE captures SET ended = ?2, ended_at = ?3 WHERE id = ?1 AND ended IS NULL
RETURNING channel_id, taken;
