-- Roles for people and machines that share spaces. They belong to the whole cluster, have no password and cannot log in:
-- GRANT memsidecar_writer TO alice. It can be run again.
BEGIN;
DO $$
DECLARE name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['memsidecar_reader', 'memsidecar_writer', 'memsidecar_administrator'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN', name);
    END IF;
  END LOOP;
END $$;

GRANT USAGE ON SCHEMA memsidecar TO memsidecar_reader, memsidecar_writer, memsidecar_administrator;
GRANT SELECT ON memsidecar.migration TO memsidecar_reader, memsidecar_writer, memsidecar_administrator;

-- Receives spaces. It says how far it is, so that a purge waits for it.
GRANT SELECT ON memsidecar.space, memsidecar.log, memsidecar.snapshot, memsidecar.snapshot_part, memsidecar.purge
  TO memsidecar_reader, memsidecar_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON memsidecar.member TO memsidecar_reader, memsidecar_writer;

-- Appends to spaces, and creates them.
GRANT INSERT, UPDATE (head, hash) ON memsidecar.space TO memsidecar_writer;
GRANT INSERT, UPDATE (record, replaced) ON memsidecar.log TO memsidecar_writer;
GRANT INSERT, DELETE ON memsidecar.snapshot TO memsidecar_writer;
GRANT INSERT, UPDATE (data, digest) ON memsidecar.snapshot_part TO memsidecar_writer;
GRANT INSERT, UPDATE (texts) ON memsidecar.purge TO memsidecar_writer;

-- Removes spaces, and machines that will never return. It reads no memory.
GRANT SELECT, DELETE ON memsidecar.space, memsidecar.member TO memsidecar_administrator;
COMMIT;
