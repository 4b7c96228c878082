-- Who may see which space: row-level security. One row of memsidecar.permission lets a user, or the members of a group,
-- read a space, or write to it too. Spaces that exist when it is run stay open to memsidecar_reader and
-- memsidecar_writer until their rows are changed. The owner of the tables is not bound by it. Run again, it
-- changes nothing.
DO $by_space$ BEGIN
IF to_regclass('memsidecar.permission') IS NULL THEN
CREATE TABLE memsidecar.permission (
  space text NOT NULL,                    -- name of a space, also of one that is still to be created
  role  name NOT NULL,                    -- a user or a group
  may   text NOT NULL CHECK (may IN ('read', 'write')),
  PRIMARY KEY (space, role)
);
INSERT INTO memsidecar.permission SELECT name, 'memsidecar_reader', 'read' FROM memsidecar.space;
INSERT INTO memsidecar.permission SELECT name, 'memsidecar_writer', 'write' FROM memsidecar.space;
GRANT SELECT ON memsidecar.permission TO PUBLIC; -- everybody sees their own rows
GRANT SELECT, INSERT, UPDATE, DELETE ON memsidecar.permission TO memsidecar_administrator;

-- It runs with the rights of the caller, and needs none but those of everybody.
CREATE FUNCTION memsidecar.may(space_name text, what text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM memsidecar.permission p WHERE p.space = space_name AND p.may IN (what, 'write') AND
    p.role IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(r.oid, 'USAGE')))
$$;
-- Numbers of the spaces that the caller may read, or write to.
CREATE FUNCTION memsidecar.spaces(what text) RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
  SELECT s.id FROM memsidecar.space s WHERE memsidecar.may(s.name, what)
$$;

CREATE POLICY own ON memsidecar.permission FOR SELECT
  USING (role IN (SELECT r.rolname FROM pg_catalog.pg_roles r WHERE pg_catalog.pg_has_role(r.oid, 'USAGE')));
CREATE POLICY administer ON memsidecar.permission TO memsidecar_administrator USING (true) WITH CHECK (true);

-- A row that may be read and not changed is refused with an error. Without USING it would be passed over in silence.
CREATE POLICY see ON memsidecar.space FOR SELECT USING (memsidecar.may(name, 'read'));
CREATE POLICY create_one ON memsidecar.space FOR INSERT WITH CHECK (memsidecar.may(name, 'write'));
CREATE POLICY append ON memsidecar.space FOR UPDATE
  USING (memsidecar.may(name, 'read')) WITH CHECK (memsidecar.may(name, 'write'));
CREATE POLICY list ON memsidecar.space FOR SELECT TO memsidecar_administrator USING (true);
CREATE POLICY remove ON memsidecar.space FOR DELETE TO memsidecar_administrator USING (true);

CREATE POLICY see ON memsidecar.log FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
CREATE POLICY append ON memsidecar.log FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
CREATE POLICY erase ON memsidecar.log FOR UPDATE
  USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('write')));

CREATE POLICY see ON memsidecar.snapshot FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
CREATE POLICY store ON memsidecar.snapshot FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
CREATE POLICY drop_old ON memsidecar.snapshot FOR DELETE USING (space IN (SELECT memsidecar.spaces('write')));

CREATE POLICY see ON memsidecar.snapshot_part FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
CREATE POLICY store ON memsidecar.snapshot_part FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
CREATE POLICY erase ON memsidecar.snapshot_part FOR UPDATE
  USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('write')));

CREATE POLICY see ON memsidecar.purge FOR SELECT USING (space IN (SELECT memsidecar.spaces('read')));
CREATE POLICY ask ON memsidecar.purge FOR INSERT WITH CHECK (space IN (SELECT memsidecar.spaces('write')));
CREATE POLICY forget ON memsidecar.purge FOR UPDATE
  USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('write')));

CREATE POLICY take_part ON memsidecar.member
  USING (space IN (SELECT memsidecar.spaces('read'))) WITH CHECK (space IN (SELECT memsidecar.spaces('read')));
CREATE POLICY list ON memsidecar.member FOR SELECT TO memsidecar_administrator USING (true);
CREATE POLICY remove ON memsidecar.member FOR DELETE TO memsidecar_administrator USING (true);

ALTER TABLE memsidecar.permission    ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.space         ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.log           ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.snapshot      ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.snapshot_part ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.purge         ENABLE ROW LEVEL SECURITY;
ALTER TABLE memsidecar.member        ENABLE ROW LEVEL SECURITY;
END IF;
END $by_space$;
