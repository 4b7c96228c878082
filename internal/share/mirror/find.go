package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of a search. Up to exactRows rows of a space all vectors are compared; beyond that the index proposes the
// nearest ones, of all spaces in the table, so it looks at more than are wanted.
const (
	exactRows  = 20_000
	indexReach = 1000 // the most that pgvector takes
)

// View is the mirror of one space at one moment. It is used by one goroutine at a time.
type View struct {
	tx    pgx.Tx
	space int64

	State
	Active int64 // memories that are active
	Length int64 // their words, weighted
}

// Read has fn look at the mirror of a space, by its name in the database. Errors: ErrNoMirror, that of fn.
func (m *Mirror) Read(ctx context.Context, name string, fn func(*View) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := pgx.BeginTxFunc(ctx, m.conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		v := &View{tx: tx}
		err := tx.QueryRow(ctx, "SELECT s.id, m.position, m.memories, m.active, m.length, (SELECT count(*) FROM "+
			"memsidecar.memories c WHERE c.space = m.space AND pending <> '{}') FROM memsidecar.space s "+
			"JOIN memsidecar.mirror m ON m.space = s.id WHERE s.name = $1 AND m.position >= 0", name).
			Scan(&v.space, &v.Position, &v.Memories, &v.Active, &v.Length, &v.Pending)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNoMirror
		}
		if err != nil {
			return err
		}
		if err := checkMakers(ctx, tx, m.format); err != nil {
			return err
		}
		return fn(v)
	})
	return wrap(err, "search the mirror")
}

// Holding counts the active memories that hold each of some terms; one that none holds is left out.
func (v *View) Holding(ctx context.Context, terms []string) (map[string]int, error) {
	out := map[string]int{}
	batch := &pgx.Batch{}
	for _, t := range storable(terms) {
		batch.Queue("SELECT count(*) FROM memsidecar.memories WHERE space = $1 AND status = 'active' AND terms @@ $2::tsquery",
			v.space, quoted(t)).QueryRow(func(r pgx.Row) error {
			n := 0
			err := r.Scan(&n)
			if n > 0 {
				out[t] = n
			}
			return err
		})
	}
	return out, v.tx.SendBatch(ctx, batch).Close()
}

// Query asks for candidates. Each kind proposes at most Limit; Filter is applied as far as SQL knows it.
type Query struct {
	Weights map[string]float64 // of terms: the sum of those that a memory holds, in view of its length, orders by words
	IDs     []string           // of memories that are wanted in any case
	Codes   map[string][]byte  // of the vector of the query, by model
	Times   []Span             // besides the best of all times, the best of each of these
	Filter  memory.Filter
	AsOf    time.Time
	Past    bool // leave out what was created after AsOf
	Limit   int
}

// Span is a time without its end.
type Span struct{ From, Before time.Time }

// Found is a candidate, or a neighbour of one in its session.
type Found struct {
	Memory *memory.Memory
	Codes  map[string][]byte // of its vectors, by model
	Tokens map[string][]byte
}

// Find returns the candidates by words and by vectors, and the memories right before and after each in its session.
func (v *View) Find(ctx context.Context, q *Query) ([]Found, error) {
	ids := slices.Clone(q.IDs)
	for _, span := range append([]Span{{}}, q.Times...) {
		where, args := v.where(q, span)
		byWords, err := v.byWords(ctx, q, where, args)
		if err != nil {
			return nil, err
		}
		near, err := v.nearest(ctx, q, where, args)
		if err != nil {
			return nil, err
		}
		ids = append(append(ids, byWords...), near...)
		if span != (Span{}) { // what nothing but the date speaks for
			more, err := v.ids(ctx, "SELECT id FROM memsidecar.memories m WHERE "+where+fmt.Sprintf(
				" ORDER BY salience DESC, created_at DESC, id LIMIT %d", q.Limit), args)
			if err != nil {
				return nil, err
			}
			ids = append(ids, more...)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	around, err := v.around(ctx, ids)
	if err != nil {
		return nil, err
	}
	ids = append(ids, around...)
	slices.Sort(ids)
	return v.load(ctx, slices.Compact(ids))
}

// where is the condition of a search, as far as SQL knows it, with its arguments.
func (v *View) where(q *Query, span Span) (string, []any) {
	args := []any{v.space}
	conditions := []string{"m.space = $1"}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	f := &q.Filter
	if len(f.Statuses) == 0 {
		conditions = append(conditions, "m.status = 'active'")
	} else {
		statuses := make([]string, len(f.Statuses))
		for i, s := range f.Statuses {
			statuses[i] = string(s)
		}
		add("m.status = ANY(?::text[])", statuses)
	}
	add("(m.pinned OR m.expires_at IS NULL OR m.expires_at > ?)", q.AsOf)
	if q.Past {
		add("m.created_at <= ?", q.AsOf)
	}
	for column, names := range map[string][]string{"category": f.Categories, "source": f.Sources} {
		if len(names) > 0 {
			add("m."+column+" = ANY(?::text[])", names)
		}
	}
	if len(f.Tags) > 0 {
		add("m.tags && ?::text[]", f.Tags)
	}
	if f.MinSalience > 0 {
		add("m.salience >= ?", f.MinSalience)
	}
	if f.Pinned != nil {
		add("m.pinned = ?", *f.Pinned)
	}
	for condition, at := range map[string]time.Time{
		"m.created_at >= ?": f.CreatedFrom, "m.created_at < ?": f.CreatedBefore,
		"coalesce(m.updated_at, m.created_at) >= ?": f.UpdatedFrom, "coalesce(m.updated_at, m.created_at) < ?": f.UpdatedBefore,
	} {
		if !at.IsZero() {
			add(condition, at)
		}
	}
	if !span.From.IsZero() {
		add("m.created_at >= ?", span.From)
	}
	if !span.Before.IsZero() {
		add("m.created_at < ?", span.Before)
	}
	return strings.Join(conditions, " AND "), args
}

// byWords returns the memories whose terms weigh most. It is BM25 with a frequency of one: the caller knows better.
func (v *View) byWords(ctx context.Context, q *Query, where string, args []any) ([]string, error) {
	var terms []string
	var weights []float64
	for t, w := range q.Weights {
		if len(storable([]string{t})) > 0 && w > 0 {
			terms, weights = append(terms, quoted(t)), append(weights, w)
		}
	}
	if len(terms) == 0 {
		return nil, nil
	}
	n := len(args)
	average := float64(v.Length) / float64(max(1, v.Active))
	return v.ids(ctx, fmt.Sprintf("SELECT m.id FROM unnest($%d::text[], $%d::float8[]) AS q (term, weight) "+
		"JOIN memsidecar.memories m ON m.terms @@ q.term::tsquery WHERE %s GROUP BY m.id "+
		"ORDER BY sum(q.weight) / (1.55 + 0.45 * max(m.length) / $%d::float8) DESC, m.id LIMIT %d",
		n+1, n+2, where, n+3, q.Limit), append(slices.Clone(args), terms, weights, max(1, average)))
}

// nearest returns the memories whose vectors are nearest to that of the query, by all models together where all are
// compared, by each where the index proposes them.
func (v *View) nearest(ctx context.Context, q *Query, where string, args []any) (ids []string, err error) {
	n := len(args)
	args = slices.Clone(args)
	var distances []string
	for _, model := range models {
		if codes := q.Codes[model]; codes != nil {
			args = append(args, literal(codes))
			distances = append(distances, fmt.Sprintf("m.%s <=> $%d::vector", model, len(args)))
		}
	}
	if len(distances) == 0 {
		return nil, nil
	}
	if v.Memories <= exactRows {
		return v.nearestExactly(ctx, q, where, args, distances)
	}
	if _, err := v.tx.Exec(ctx, fmt.Sprintf("SET LOCAL hnsw.ef_search = %d", indexReach)); err != nil {
		return nil, err
	}
	for i, distance := range distances {
		near, err := v.ids(ctx, fmt.Sprintf("SELECT m.id FROM memsidecar.memories m WHERE %s ORDER BY %s LIMIT %d", where,
			strings.ReplaceAll(distance, fmt.Sprintf("$%d:", n+1+i), fmt.Sprintf("$%d:", n+1)), q.Limit),
			append(slices.Clone(args[:n]), args[n+i]))
		if err != nil {
			return nil, err
		}
		if len(near) < min(q.Limit, int(v.Active)) { // most of the nearest ones are of other spaces, or left out
			return v.nearestExactly(ctx, q, where, args, distances)
		}
		ids = append(ids, near...)
	}
	return ids, nil
}

// nearestExactly compares all vectors. A subquery keeps the planner from the index, which would propose those of other
// spaces.
func (v *View) nearestExactly(ctx context.Context, q *Query, where string, args []any, distances []string) ([]string, error) {
	var sum []string
	for _, d := range distances {
		sum = append(sum, "coalesce("+d+", 1)")
	}
	return v.ids(ctx, fmt.Sprintf("SELECT id FROM (SELECT m.id, %s AS distance FROM memsidecar.memories m WHERE %s OFFSET 0) "+
		"AS n ORDER BY distance, id LIMIT %d", strings.Join(sum, " + "), where, q.Limit), args)
}

// around returns the memories before and after those with some ids in their sessions: two before, one after.
func (v *View) around(ctx context.Context, ids []string) ([]string, error) {
	const rows = "SELECT n.id FROM memsidecar.memories m CROSS JOIN LATERAL (SELECT n.id FROM memsidecar.memories n " +
		"WHERE n.space = m.space AND n.session = m.session AND n.session <> '' AND (n.created_at, n.id) "
	const of = ") AS n WHERE m.space = $1 AND m.id = ANY($2::text[]) AND m.session <> ''"
	return v.ids(ctx, rows+"< (m.created_at, m.id) ORDER BY n.created_at DESC, n.id DESC LIMIT 2"+of+" UNION "+
		rows+"> (m.created_at, m.id) ORDER BY n.created_at, n.id LIMIT 1"+of, []any{v.space, ids})
}

// ids runs a query for ids.
func (v *View) ids(ctx context.Context, sql string, args []any) ([]string, error) {
	rows, err := v.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// load reads memories with their vectors.
func (v *View) load(ctx context.Context, ids []string) ([]Found, error) {
	rows, err := v.tx.Query(ctx, "SELECT data, access_count, accessed_at, e5::text, minilm::text, e5_tokens, minilm_tokens "+
		"FROM memsidecar.memories WHERE space = $1 AND id = ANY($2::text[]) ORDER BY id", v.space, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (found Found, err error) {
		var data string
		var count int64
		var at *time.Time
		vectors, tokens := make([]*string, len(models)), make([][]byte, len(models))
		if err := r.Scan(&data, &count, &at, &vectors[0], &vectors[1], &tokens[0], &tokens[1]); err != nil {
			return found, err
		}
		found = Found{Memory: &memory.Memory{}, Codes: map[string][]byte{}, Tokens: map[string][]byte{}}
		if err := json.Unmarshal([]byte(data), found.Memory); err != nil {
			return found, fmt.Errorf("a memory in the mirror: %w", err)
		}
		found.Memory.AccessCount, found.Memory.LastAccessed = count, time.Time{}
		if at != nil {
			found.Memory.LastAccessed = at.UTC()
		}
		for i, model := range models {
			if vectors[i] == nil {
				continue
			}
			if found.Codes[model], err = codesOf(*vectors[i]); err != nil {
				return found, err
			}
			found.Tokens[model] = tokens[i]
		}
		return found, nil
	})
}
