-- The log of shared spaces. One row of memsidecar.log is one operation; its sequence numbers have no gaps.
CREATE TABLE memsidecar.space (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  log        text NOT NULL UNIQUE,          -- identity of the log, made by the program that created the space
  head       bigint NOT NULL DEFAULT 0,     -- sequence number of the newest row
  hash       bytea NOT NULL,                -- hash of the newest row
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memsidecar.log (
  space     bigint NOT NULL REFERENCES memsidecar.space (id) ON DELETE CASCADE,
  seq       bigint NOT NULL,
  origin    text NOT NULL,                  -- the store that made the operation
  epoch     text NOT NULL,                  -- from a joining of that store to its next one; a copy of its directory has it too
  op        bigint NOT NULL,                -- the operation's number there
  at        timestamptz NOT NULL,           -- when, by the clock of that machine: shown, never compared
  record    text NOT NULL,                  -- JSON
  hash      bytea NOT NULL,                 -- SHA-256 over the hash of the row before and this row
  PRIMARY KEY (space, seq),
  UNIQUE (space, origin, epoch, op)
);

CREATE TABLE memsidecar.snapshot (
  space      bigint NOT NULL REFERENCES memsidecar.space (id) ON DELETE CASCADE,
  position   bigint NOT NULL,               -- sequence number of the newest row that it includes
  hash       bytea NOT NULL,                -- hash of that row
  parts      bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space, position)
);

CREATE TABLE memsidecar.snapshot_part (
  space    bigint NOT NULL,
  position bigint NOT NULL,
  part     bigint NOT NULL,
  data     text NOT NULL,                   -- JSON
  digest   bytea NOT NULL,                  -- SHA-256 of data
  PRIMARY KEY (space, position, part),
  FOREIGN KEY (space, position) REFERENCES memsidecar.snapshot (space, position) ON DELETE CASCADE
);

CREATE TABLE memsidecar.member (
  space    bigint NOT NULL REFERENCES memsidecar.space (id) ON DELETE CASCADE,
  origin   text NOT NULL,
  epoch    text NOT NULL,
  host     text NOT NULL,                   -- name of the machine, for people
  position bigint NOT NULL,                 -- up to where it has received
  seen_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (space, origin, epoch)
);
