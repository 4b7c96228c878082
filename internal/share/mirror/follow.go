package mirror

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/share/merge"
	"github.com/memsidecar/memsidecar/internal/share/pglog"
)

// followAtOnce is how many rows of the log are mirrored as one transaction.
const followAtOnce = 500

// State is how far the mirror of a space is.
type State struct {
	Position int64 // row of the log up to which it is mirrored; -1 before the snapshot
	Memories int64
	Pending  int64 // memories that lack a vector which a model is to make
}

// State of a space. Error: ErrNoMirror.
func (m *Mirror) State(ctx context.Context, space int64) (s State, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = m.conn.QueryRow(ctx, "SELECT position, memories, (SELECT count(*) FROM memsidecar.memories c "+
		"WHERE c.space = m.space AND pending <> '{}') FROM memsidecar.mirror m WHERE space = $1", space).
		Scan(&s.Position, &s.Memories, &s.Pending)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNoMirror
	}
	return s, wrap(err, "read how far the mirror is")
}

// Check compares the rows of a space with how many there should be. Error: ErrNoMirror when somebody removed or added
// some by hand, or the mirror of the space; ErrOtherMaker.
func (m *Mirror) Check(ctx context.Context, space int64) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var want, got int64
	err := m.conn.QueryRow(ctx, "SELECT memories, (SELECT count(*) FROM memsidecar.memories c WHERE c.space = m.space) "+
		"FROM memsidecar.mirror m WHERE space = $1", space).Scan(&want, &got)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = ErrNoMirror
	case err == nil && want == got:
		err = checkMakers(ctx, m.conn, m.format)
	case err == nil:
		err = fmt.Errorf("it has %d rows and should have %d: %w", got, want, ErrNoMirror)
	}
	return wrap(err, "check the mirror")
}

// checkMakers compares the versions of what analyses and embeds. Error: ErrOtherMaker.
func checkMakers(ctx context.Context, conn querier, f *Format) error {
	rows, err := conn.Query(ctx, "SELECT name, identity FROM memsidecar.mirror_maker")
	if err != nil {
		return err
	}
	var name, identity string
	_, err = pgx.ForEachRow(rows, []any{&name, &identity}, func() error {
		if own, known := f.Makers[name]; known && own != identity {
			return fmt.Errorf("%s: %w", name, ErrOtherMaker)
		}
		return nil
	})
	return err
}

// Follow mirrors the rows of the log behind those that are mirrored, up to one that the caller has checked, and at
// first the newest snapshot. It returns when nothing is left, or when another machine is at it. All that one
// transaction mirrors moves the position with it, so nothing is mirrored half or twice. Errors: ErrNoMirror,
// pglog.ErrDamaged.
func (m *Mirror) Follow(ctx context.Context, space, upTo int64) error {
	for {
		more, err := m.step(ctx, space, upTo)
		if err != nil || !more {
			return wrap(err, "mirror the log")
		}
	}
}

// step is one transaction of Follow. more is false when nothing is left to this machine.
func (m *Mirror) step(ctx context.Context, space, upTo int64) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		position, mine, err := lock(ctx, tx, space)
		if err != nil || !mine || position >= upTo {
			return err
		}
		more = true
		if position < 0 {
			return m.fill(ctx, tx, space)
		}
		return m.follow(ctx, tx, space, position, upTo)
	})
	return more && err == nil, err
}

// lock takes the mirror of a space until the transaction ends. mine is false when another machine has it.
func lock(ctx context.Context, tx pgx.Tx, space int64) (position int64, mine bool, err error) {
	err = tx.QueryRow(ctx, "SELECT position FROM memsidecar.mirror WHERE space = $1 FOR UPDATE SKIP LOCKED", space).
		Scan(&position)
	if !errors.Is(err, pgx.ErrNoRows) {
		return position, err == nil, err
	}
	there := false
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM memsidecar.mirror WHERE space = $1)", space).Scan(&there)
	if err == nil && !there {
		err = ErrNoMirror
	}
	return 0, false, err
}

// fill mirrors the newest snapshot.
func (m *Mirror) fill(ctx context.Context, tx pgx.Tx, space int64) error {
	var at, parts int64
	err := tx.QueryRow(ctx, "SELECT position, parts FROM memsidecar.snapshot WHERE space = $1 ORDER BY position DESC LIMIT 1",
		space).Scan(&at, &parts)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("the space has no snapshot: %w", pglog.ErrDamaged)
	}
	if err != nil {
		return err
	}
	for part := range parts {
		var data string
		if err := tx.QueryRow(ctx, "SELECT data FROM memsidecar.snapshot_part WHERE space = $1 AND position = $2 AND part = $3",
			space, at, part).Scan(&data); err != nil {
			return fmt.Errorf("part %d of the snapshot at row %d: %w", part, at, err)
		}
		values, err := m.format.Values(data)
		if err != nil {
			return fmt.Errorf("part %d of the snapshot at row %d: %w", part, at, err)
		}
		changed := edit{put: map[string]*memory.Memory{}}
		for id, value := range values.Memories {
			changed.memory(id, value)
		}
		if err := m.apply(ctx, tx, space, &changed); err != nil {
			return err
		}
	}
	return move(ctx, tx, space, -1, at)
}

// follow mirrors some rows behind a position.
func (m *Mirror) follow(ctx context.Context, tx pgx.Tx, space, position, upTo int64) error {
	found, err := tx.Query(ctx, "SELECT seq, epoch, record FROM memsidecar.log WHERE space = $1 AND seq > $2 AND seq <= $3 "+
		"ORDER BY seq LIMIT $4", space, position, upTo, int64(followAtOnce))
	if err != nil {
		return err
	}
	changed, row, last := edit{put: map[string]*memory.Memory{}}, pglog.Row{}, position
	_, err = pgx.ForEachRow(found, []any{&row.Seq, &row.Epoch, &row.Record}, func() error {
		if row.Seq != last+1 {
			return fmt.Errorf("row %d of the log is missing: %w", last+1, pglog.ErrDamaged)
		}
		last = row.Seq
		changes, err := m.format.Changes(&row)
		for i := range changes {
			changed.change(&changes[i])
		}
		return err
	})
	if err == nil && last == position {
		err = fmt.Errorf("row %d of the log is missing: %w", position+1, pglog.ErrDamaged)
	}
	if err != nil {
		return err
	}
	if err := m.apply(ctx, tx, space, &changed); err != nil {
		return err
	}
	return move(ctx, tx, space, position, last)
}

// move moves the position of the mirror, which nobody else can have moved.
func move(ctx context.Context, tx pgx.Tx, space, from, to int64) error {
	tag, err := tx.Exec(ctx, "UPDATE memsidecar.mirror SET position = $1, updated_at = now() WHERE space = $2 AND position = $3",
		to, space, from)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("somebody else moved the mirror from row %d: %w", from, pglog.ErrDamaged)
	}
	return err
}

// edit is what changes of a mirror, each memory once.
type edit struct {
	put      map[string]*memory.Memory // nil is one that is removed
	accesses []merge.AccessValue       // of memories that are not in put
}

// memory has a memory be what it is then.
func (e *edit) memory(id string, value *memory.Memory) {
	e.put[id] = value
	e.accesses = slices.DeleteFunc(e.accesses, func(a merge.AccessValue) bool { return a.ID == id })
}

// change adds a change of the log, in its order.
func (e *edit) change(c *merge.Change) {
	switch {
	case c.Memory != nil:
		e.memory(c.Memory.ID, c.Memory.Value)
	case c.Access != nil:
		value, known := e.put[c.Access.ID]
		if !known {
			e.accesses = append(e.accesses, *c.Access)
		} else if value != nil {
			accessed := *value
			accessed.SetAccesses(c.Access.Count, c.Access.Last)
			e.put[c.Access.ID] = &accessed
		}
	}
}

// ids lists the memories that are put or removed, sorted.
func (e *edit) ids() []string { return slices.Sorted(maps.Keys(e.put)) }

// row is a memory as the table has it.
type row struct {
	ID          string            `json:"id"`
	Category    string            `json:"category"`
	Title       string            `json:"title"`
	Content     string            `json:"content"`
	Salience    float64           `json:"salience"`
	Confidence  float64           `json:"confidence"`
	Status      string            `json:"status"`
	Source      string            `json:"source"`
	Pinned      bool              `json:"pinned"`
	Tags        []string          `json:"tags"`
	Relations   []memory.Relation `json:"relations"`
	CreatedAt   time.Time         `json:"created_at"`
	UpdatedAt   time.Time         `json:"updated_at,omitzero"`
	ExpiresAt   time.Time         `json:"expires_at,omitzero"`
	AccessedAt  time.Time         `json:"accessed_at,omitzero"`
	AccessCount int64             `json:"access_count"`
	Session     string            `json:"session"`
	Data        string            `json:"data"`
	Terms       []string          `json:"terms"`
	Length      int64             `json:"length"`
	Key         string            `json:"text_key"` // hexadecimal
	Pending     []string          `json:"pending"`
}

// rowOf is a memory as the table has it.
func (m *Mirror) rowOf(v *memory.Memory) (row, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return row{}, fmt.Errorf("encode memory %s: %w", v.ID, err)
	}
	d := m.format.Describe(v)
	r := row{
		ID: v.ID, Category: text(v.Category), Title: text(v.Title), Content: text(v.Content), Salience: v.Salience,
		Confidence: v.Confidence, Status: string(memory.Active), Source: text(v.Source), Pinned: v.Pinned,
		Tags: []string{}, Relations: []memory.Relation{}, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
		ExpiresAt: v.ExpiresAt(), AccessedAt: v.LastAccessed(), AccessCount: v.AccessCount(), Session: text(d.Session),
		Data: string(data), Terms: storable(d.Terms), Length: d.Length, Key: hex.EncodeToString(d.Key), Pending: []string{},
	}
	for _, tag := range v.Tags {
		r.Tags = append(r.Tags, text(tag))
	}
	for _, rel := range v.Relations() {
		rel.Type, rel.Target = text(rel.Type), text(rel.Target)
		r.Relations = append(r.Relations, rel)
	}
	if v.IsActive() {
		r.Pending = models
	} else {
		r.Status = string(v.Status)
	}
	return r, nil
}

// put inserts or replaces rows. Vectors stay while the text that they are of does.
const put = `INSERT INTO memsidecar.memories AS m (space, id, category, title, content, salience, confidence, status, source,
  pinned, tags, relations, created_at, updated_at, expires_at, accessed_at, access_count, session, data, terms, length,
  text_key, pending)
SELECT $1, id, category, title, content, salience, confidence, status, source, pinned, tags, relations, created_at,
  updated_at, expires_at, accessed_at, access_count, session, data, array_to_tsvector(terms), length,
  decode(text_key, 'hex'), pending
FROM jsonb_to_recordset($2::jsonb) AS r (id text, category text, title text, content text, salience float8,
  confidence float8, status text, source text, pinned boolean, tags text[], relations jsonb, created_at timestamptz,
  updated_at timestamptz, expires_at timestamptz, accessed_at timestamptz, access_count bigint, session text, data text,
  terms text[], length bigint, text_key text, pending text[])
ON CONFLICT (space, id) DO UPDATE SET category = excluded.category, title = excluded.title, content = excluded.content,
  salience = excluded.salience, confidence = excluded.confidence, status = excluded.status, source = excluded.source,
  pinned = excluded.pinned, tags = excluded.tags, relations = excluded.relations, created_at = excluded.created_at,
  updated_at = excluded.updated_at, expires_at = excluded.expires_at, accessed_at = excluded.accessed_at,
  access_count = excluded.access_count, session = excluded.session, data = excluded.data, terms = excluded.terms,
  length = excluded.length, text_key = excluded.text_key,
  e5 = CASE WHEN m.text_key = excluded.text_key THEN m.e5 END,
  minilm = CASE WHEN m.text_key = excluded.text_key THEN m.minilm END,
  e5_tokens = CASE WHEN m.text_key = excluded.text_key THEN m.e5_tokens END,
  minilm_tokens = CASE WHEN m.text_key = excluded.text_key THEN m.minilm_tokens END,
  pending = CASE WHEN m.text_key = excluded.text_key AND m.status = excluded.status THEN m.pending
    ELSE excluded.pending END`

// apply changes rows of a space, whose mirror the transaction has, and what is counted of them.
func (m *Mirror) apply(ctx context.Context, tx pgx.Tx, space int64, e *edit) error {
	ids := e.ids()
	before, err := count(ctx, tx, space, ids)
	if err != nil {
		return err
	}
	var removed []string
	rows := []row{}
	for _, id := range ids {
		if e.put[id] == nil {
			removed = append(removed, id)
			continue
		}
		r, err := m.rowOf(e.put[id])
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	if len(removed) > 0 {
		if _, err := tx.Exec(ctx, "DELETE FROM memsidecar.memories WHERE space = $1 AND id = ANY($2::text[])", space, removed); err != nil {
			return err
		}
	}
	if len(rows) > 0 {
		raw, err := json.Marshal(rows)
		if err != nil {
			return fmt.Errorf("encode memories: %w", err)
		}
		if _, err := tx.Exec(ctx, put, space, string(raw)); err != nil {
			return err
		}
	}
	if err := access(ctx, tx, space, e.accesses); err != nil {
		return err
	}
	after, err := count(ctx, tx, space, ids)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE memsidecar.mirror SET memories = memories + $2, active = active + $3, length = length + $4 "+
		"WHERE space = $1", space, after.memories-before.memories, after.active-before.active, after.length-before.length)
	return err
}

// access sets the accesses of memories; the last of one counts.
func access(ctx context.Context, tx pgx.Tx, space int64, accesses []merge.AccessValue) error {
	last := map[string]merge.AccessValue{}
	for _, a := range accesses {
		last[a.ID] = a
	}
	if len(last) == 0 {
		return nil
	}
	type value struct {
		ID    string    `json:"id"`
		Count int64     `json:"count"`
		Last  time.Time `json:"last,omitzero"`
	}
	values := make([]value, 0, len(last))
	for _, id := range slices.Sorted(maps.Keys(last)) {
		values = append(values, value{id, last[id].Count, last[id].Last})
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encode accesses: %w", err)
	}
	_, err = tx.Exec(ctx, "UPDATE memsidecar.memories m SET access_count = r.count, accessed_at = r.last FROM "+
		"jsonb_to_recordset($2::jsonb) AS r (id text, count bigint, last timestamptz) WHERE m.space = $1 AND m.id = r.id",
		space, string(raw))
	return err
}

// counts are what is counted of some rows.
type counts struct{ memories, active, length int64 }

// count counts the rows with some ids.
func count(ctx context.Context, tx pgx.Tx, space int64, ids []string) (c counts, err error) {
	if len(ids) == 0 {
		return c, nil
	}
	err = tx.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE status = 'active'), "+
		"coalesce(sum(length) FILTER (WHERE status = 'active'), 0)::bigint FROM memsidecar.memories "+
		"WHERE space = $1 AND id = ANY($2::text[])", space, ids).Scan(&c.memories, &c.active, &c.length)
	return c, err
}
