-- The sequence number protocol: messages out of sequence, and link messages, which leave an event and no row.
-- Its counters stand in `sequences`, one for every sender of a channel: the scope is MSH-3 and MSH-4, joined by `|`.

INSERT INTO error_codes (code) VALUES ('out-of-sequence');
INSERT INTO event_kinds (kind) VALUES ('sequence-link');
