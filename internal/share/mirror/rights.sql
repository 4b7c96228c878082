-- What the roles of `share schema --roles` may do with the tables of mirrors, and, after `share schema --by-space`, with
-- which spaces. It can be run again, and does nothing where there are no such roles or no mirror.
DO $$
BEGIN
  IF to_regclass('memsidecar.memories') IS NULL OR to_regclass('memsidecar.mirror') IS NULL OR
    NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'memsidecar_writer') THEN
    RETURN;
  END IF;
  GRANT SELECT ON memsidecar.mirror_migration, memsidecar.mirror_maker, memsidecar.mirror, memsidecar.memories
    TO memsidecar_reader, memsidecar_writer;
  GRANT INSERT, UPDATE, DELETE ON memsidecar.mirror, memsidecar.memories TO memsidecar_writer;
  GRANT INSERT, UPDATE ON memsidecar.mirror_maker TO memsidecar_writer;
  IF to_regprocedure('memsidecar.spaces(text)') IS NULL THEN
    RETURN;
  END IF;
  -- Another version of the program makes all mirrors anew, which nobody may who does not see them all.
  REVOKE UPDATE ON memsidecar.mirror_maker FROM memsidecar_writer;
  PERFORM set_config('client_min_messages', 'warning', true); -- not of policies that are not there yet
  DROP POLICY IF EXISTS see ON memsidecar.mirror;
  DROP POLICY IF EXISTS start ON memsidecar.mirror;
  DROP POLICY IF EXISTS move ON memsidecar.mirror;
  DROP POLICY IF EXISTS remove ON memsidecar.mirror;
  DROP POLICY IF EXISTS see ON memsidecar.memories;
  DROP POLICY IF EXISTS add ON memsidecar.memories;
  DROP POLICY IF EXISTS change ON memsidecar.memories;
  DROP POLICY IF EXISTS remove ON memsidecar.memories;
  CREATE POLICY see ON memsidecar.mirror FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
  CREATE POLICY start ON memsidecar.mirror FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
  CREATE POLICY move ON memsidecar.mirror FOR UPDATE
    USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
  CREATE POLICY remove ON memsidecar.mirror FOR DELETE USING (space IN (SELECT memsidecar.spaces('write')));
  CREATE POLICY see ON memsidecar.memories FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
  CREATE POLICY add ON memsidecar.memories FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
  CREATE POLICY change ON memsidecar.memories FOR UPDATE
    USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
  CREATE POLICY remove ON memsidecar.memories FOR DELETE USING (space IN (SELECT memsidecar.spaces('write')));
  ALTER TABLE memsidecar.mirror ENABLE ROW LEVEL SECURITY;
  ALTER TABLE memsidecar.memories ENABLE ROW LEVEL SECURITY;
END $$;
