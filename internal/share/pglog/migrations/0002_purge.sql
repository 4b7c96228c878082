-- Purges. A purge replaces records and parts of snapshots; the hashes of rows stay, so the chain does.
ALTER TABLE memsidecar.log ADD COLUMN replaced bytea; -- SHA-256 of hash and record, where a purge replaced the record

CREATE TABLE memsidecar.purge (
  space bigint NOT NULL REFERENCES memsidecar.space (id) ON DELETE CASCADE,
  seq   bigint NOT NULL,                    -- row of the log that announces it; what is before is erased
  id    text NOT NULL,
  at    timestamptz NOT NULL,               -- shown, never compared
  ids   text[] NOT NULL,                    -- of memories
  texts text,                               -- JSON; NULL once every member is behind seq
  PRIMARY KEY (space, seq)
);
