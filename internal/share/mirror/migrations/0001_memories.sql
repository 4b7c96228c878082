-- The mirror: what the logs of shared spaces add up to, as tables for SQL. It is derived, and may be dropped: a machine
-- that keeps it fills it again. It needs the extension vector (pgvector).
CREATE EXTENSION IF NOT EXISTS vector;

-- A space that is mirrored.
CREATE TABLE memsidecar.mirror (
  space      bigint PRIMARY KEY REFERENCES memsidecar.space (id) ON DELETE CASCADE,
  position   bigint NOT NULL DEFAULT -1,     -- row of the log up to which it is mirrored; -1 before the first snapshot
  memories   bigint NOT NULL DEFAULT 0,      -- rows in memsidecar.memories
  active     bigint NOT NULL DEFAULT 0,      -- of these, active ones
  length     bigint NOT NULL DEFAULT 0,      -- words of the active ones, weighted as BM25 counts them
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- By what the terms and the vectors were made. Those of another version cannot be compared.
CREATE TABLE memsidecar.mirror_maker (
  name     text PRIMARY KEY,                 -- 'terms', 'e5' or 'minilm'
  identity text NOT NULL
);

CREATE TABLE memsidecar.memories (
  space        bigint NOT NULL REFERENCES memsidecar.mirror (space) ON DELETE CASCADE,
  id           text NOT NULL,
  category     text NOT NULL,
  title        text NOT NULL,
  content      text NOT NULL,
  salience     double precision NOT NULL,
  confidence   double precision NOT NULL,
  status       text NOT NULL,                -- active, superseded or retired
  source       text NOT NULL,
  pinned       boolean NOT NULL,
  tags         text[] NOT NULL,
  relations    jsonb NOT NULL,               -- [{"type", "target", "strength"}]
  created_at   timestamptz NOT NULL,
  updated_at   timestamptz,                  -- NULL: never changed
  expires_at   timestamptz,                  -- NULL: never
  accessed_at  timestamptz,                  -- NULL: never
  access_count bigint NOT NULL,
  session      text NOT NULL,                -- in which it was learnt; '' for none
  data         text NOT NULL,                -- the whole memory as JSON, but for its accesses
  terms        tsvector NOT NULL,            -- words as memsidecar analyses them: stems, Chinese characters and pairs
  length       bigint NOT NULL,              -- words, weighted as BM25 counts them
  text_key     bytea NOT NULL,               -- of the text that the vectors are of
  e5           vector(384),                  -- multilingual-e5-small
  minilm       vector(384),                  -- MiniLM, of English text only
  e5_tokens    bytea,                        -- vectors of its tokens, 2 bits a dimension
  minilm_tokens bytea,
  pending      text[] NOT NULL,              -- models whose vector is to be made
  PRIMARY KEY (space, id)
) WITH (fillfactor = 85);

CREATE INDEX memories_terms ON memsidecar.memories USING gin (terms);
CREATE INDEX memories_e5 ON memsidecar.memories USING hnsw (e5 vector_cosine_ops);
CREATE INDEX memories_minilm ON memsidecar.memories USING hnsw (minilm vector_cosine_ops);
CREATE INDEX memories_created ON memsidecar.memories (space, created_at);
CREATE INDEX memories_session ON memsidecar.memories (space, session, created_at, id) WHERE session <> '';
CREATE INDEX memories_pending ON memsidecar.memories (space, id) WHERE pending <> '{}';
