package mirror

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Bounds of a search. Where the spaces have at most exactRows rows together all their vectors are compared. Beyond that
// the index proposes the nearest ones, of all spaces in the table, so it looks at more than are wanted.
const (
	exactRows  = 20_000
	indexReach = 1000 // the most that pgvector takes
	before     = 2    // memories before a candidate in its session that are returned with it
	after      = 1    // memories after it
)

// Query asks for candidates. Each kind of evidence proposes at most Limit. Filter is applied as far as SQL knows it;
// the caller applies it again.
type Query struct {
	Spaces []string // names in the database; none is all that the user may read
	Terms  []string // distinct, see Description.Terms
	// Weights are those of the terms, of which so many of some active memories hold each: the sum of those that a memory
	// holds, in view of its length, orders by words. A term without a weight proposes nothing.
	Weights func(active int, holding map[string]int) map[string]float64
	IDs     []string          // of memories that are wanted in any case
	Codes   map[string][]byte // of the vector of the query, by model
	Times   []Span            // besides the best of all times, the best of each of these
	Filter  memory.Filter
	AsOf    time.Time
	Past    bool // leave out what was created after AsOf
	Limit   int
}

// Span is a time without its end.
type Span struct{ From, Before time.Time }

// Extract is what one space has for a query.
type Extract struct {
	Space   string // name in the database
	Active  int64  // memories that are active
	Length  int64  // their words, weighted
	Holding map[string]int
	Found   []Found
}

// Found is a candidate, or a neighbour of one in its session.
type Found struct {
	Memory *memory.Memory
	Codes  map[string][]byte // of its vectors, by model
	Tokens map[string][]byte
}

// Find returns the candidates of a query by space, as of one moment, with the memories right before and after each in
// its session. Spaces without a candidate are left out. Errors: ErrNoMirror when a space that is named has none, or
// none may be read at all; ErrNoExtension, ErrOtherMaker, memory.ErrNewerVersion.
func (m *Mirror) Find(ctx context.Context, q *Query) (out []Extract, err error) {
	if _, err := m.version(ctx); err != nil {
		return nil, err
	}
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, m.conn, options, func(tx pgx.Tx) error {
		if err := limitTime(ctx, tx); err != nil {
			return err
		}
		f := &finding{tx: tx, q: q}
		err := f.resolve(ctx)
		if err == nil {
			err = checkMakers(ctx, tx, m.format)
		}
		if err == nil {
			out, err = f.find(ctx)
		}
		return err
	})
	if IsDropped(err) && !errors.Is(err, ErrNoMirror) {
		err = noneError{}
	}
	if errors.Is(err, ErrNoMirror) && !m.conn.IsClosed() {
		if missing := m.CheckExtension(ctx); errors.Is(missing, ErrNoExtension) {
			err = missing
		}
	}
	return out, wrap(err, "search the mirror")
}

// noneError is ErrNoMirror for all spaces of a database.
type noneError struct{}

func (noneError) Error() string { return "the database has no mirror that this user may read" }

func (noneError) Is(target error) bool { return target == ErrNoMirror }

// limitTime has the server end a statement when the caller no longer waits for it.
func limitTime(ctx context.Context, tx pgx.Tx) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	left := max(1, time.Until(deadline).Milliseconds())
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", left))
	return err
}

// IsTimeout reports whether the server ended a statement because the caller would no longer wait for it.
func IsTimeout(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "57014"
}

// finding is one search in one transaction.
type finding struct {
	tx     pgx.Tx
	q      *Query
	spaces map[int64]*Extract // by number
	ids    []int64            // numbers of the spaces, sorted

	memories, active, length int64 // of all spaces
}

// place is where a memory is.
type place struct {
	Space int64
	ID    string
}

// resolve looks the spaces up. Error: ErrNoMirror.
func (f *finding) resolve(ctx context.Context) error {
	rows, err := f.tx.Query(ctx, "SELECT s.id, s.name, m.memories, m.active, m.length FROM memsidecar.space s "+
		"JOIN memsidecar.mirror m ON m.space = s.id WHERE m.position >= 0 AND ($1::text[] IS NULL OR s.name = ANY($1)) "+
		"ORDER BY s.id", f.q.Spaces)
	if err != nil {
		return err
	}
	f.spaces = map[int64]*Extract{}
	var id, memories int64
	var e Extract
	found := map[string]bool{}
	_, err = pgx.ForEachRow(rows, []any{&id, &e.Space, &memories, &e.Active, &e.Length}, func() error {
		f.spaces[id], f.ids = &Extract{Space: e.Space, Active: e.Active, Length: e.Length, Holding: map[string]int{}}, append(f.ids, id)
		f.memories, f.active, f.length = f.memories+memories, f.active+e.Active, f.length+e.Length
		found[e.Space] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range f.q.Spaces {
		if !found[name] {
			return fmt.Errorf("space %q: %w that this user may read", name, ErrNoMirror)
		}
	}
	if len(f.ids) == 0 {
		return noneError{}
	}
	return nil
}

// find returns the candidates.
func (f *finding) find(ctx context.Context) ([]Extract, error) {
	weights, err := f.weigh(ctx)
	if err != nil {
		return nil, err
	}
	all, err := f.places(ctx, "SELECT m.space, m.id FROM memsidecar.memories m WHERE m.space = ANY($1) AND m.id = ANY($2)",
		[]any{f.ids, f.q.IDs})
	if err != nil {
		return nil, err
	}
	for _, span := range append([]Span{{}}, f.q.Times...) {
		some, err := f.propose(ctx, span, weights)
		if err != nil {
			return nil, err
		}
		all = distinct(append(all, some...))
	}
	around, err := f.around(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := f.load(ctx, distinct(append(all, around...))); err != nil {
		return nil, err
	}
	var out []Extract
	for _, id := range f.ids {
		if len(f.spaces[id].Found) > 0 {
			out = append(out, *f.spaces[id])
		}
	}
	return out, nil
}

// weigh counts the active memories of each space that hold each term, and returns the weights in all spaces together.
func (f *finding) weigh(ctx context.Context) (map[string]float64, error) {
	terms := storable(f.q.Terms)
	rows, err := f.tx.Query(ctx, "SELECT m.space, q.term, count(*) FROM unnest($2::text[], $3::text[]) AS q (term, quoted) "+
		"JOIN memsidecar.memories m ON m.terms @@ q.quoted::tsquery WHERE m.space = ANY($1) AND m.status = 'active' "+
		"GROUP BY m.space, q.term", f.ids, terms, quoted(terms))
	if err != nil {
		return nil, err
	}
	var space int64
	var term string
	var n int
	holding := map[string]int{}
	_, err = pgx.ForEachRow(rows, []any{&space, &term, &n}, func() error {
		f.spaces[space].Holding[term] = n
		holding[term] += n
		return nil
	})
	if err != nil || len(holding) == 0 {
		return nil, err
	}
	return f.q.Weights(int(f.active), holding), nil
}

// propose returns the best memories of a time by words, by vectors and, for a time that is named, by nothing else.
func (f *finding) propose(ctx context.Context, span Span, weights map[string]float64) ([]place, error) {
	where, args := f.where(span)
	all, err := f.byWords(ctx, weights, where, args)
	if err != nil {
		return nil, err
	}
	near, err := f.nearest(ctx, where, args)
	if err != nil || span == (Span{}) {
		return append(all, near...), err
	}
	dated, err := f.places(ctx, fmt.Sprintf("SELECT m.space, m.id FROM memsidecar.memories m WHERE %s "+
		"ORDER BY m.salience DESC, m.created_at DESC, m.space, m.id LIMIT %d", where, f.q.Limit), args)
	return slices.Concat(all, near, dated), err
}

// where is the condition of a search, as far as SQL knows it, with its arguments.
func (f *finding) where(span Span) (string, []any) {
	args := []any{f.ids}
	conditions := []string{"m.space = ANY($1)"}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(args))))
	}
	filter := &f.q.Filter
	if len(filter.Statuses) == 0 {
		conditions = append(conditions, "m.status = 'active'")
	} else {
		statuses := make([]string, len(filter.Statuses))
		for i, s := range filter.Statuses {
			statuses[i] = string(s)
		}
		add("m.status = ANY(?::text[])", statuses)
	}
	add("(m.pinned OR m.expires_at IS NULL OR m.expires_at > ?)", f.q.AsOf)
	if f.q.Past {
		add("m.created_at <= ?", f.q.AsOf)
	}
	if len(filter.Categories) > 0 {
		add("m.category = ANY(?::text[])", filter.Categories)
	}
	if len(filter.Sources) > 0 {
		add("m.source = ANY(?::text[])", filter.Sources)
	}
	if len(filter.Tags) > 0 {
		add("m.tags && ?::text[]", filter.Tags)
	}
	if len(filter.Sessions) > 0 { // their ids are somewhere in the memory
		add("EXISTS (SELECT FROM unnest(?::text[]) AS s (id) WHERE strpos(m.data, s.id) > 0)", filter.Sessions)
	}
	if filter.MinSalience > 0 {
		add("m.salience >= ?", filter.MinSalience)
	}
	if filter.Pinned != nil {
		add("m.pinned = ?", *filter.Pinned)
	}
	for _, bound := range []struct {
		condition string
		at        time.Time
	}{
		{"m.created_at >= ?", filter.CreatedFrom}, {"m.created_at < ?", filter.CreatedBefore},
		{"coalesce(m.updated_at, m.created_at) >= ?", filter.UpdatedFrom},
		{"coalesce(m.updated_at, m.created_at) < ?", filter.UpdatedBefore},
		{"m.created_at >= ?", span.From}, {"m.created_at < ?", span.Before},
	} {
		if !bound.at.IsZero() {
			add(bound.condition, bound.at)
		}
	}
	return strings.Join(conditions, " AND "), args
}

// byWords returns the memories whose terms weigh most. It is BM25 with a frequency of one: the caller knows better.
func (f *finding) byWords(ctx context.Context, weights map[string]float64, where string, args []any) ([]place, error) {
	var terms []string
	var values []float64
	for _, t := range storable(f.q.Terms) {
		if w := weights[t]; w > 0 {
			terms, values = append(terms, t), append(values, w)
		}
	}
	if len(terms) == 0 {
		return nil, nil
	}
	n := len(args)
	average := max(1, float64(f.length)/float64(max(1, f.active)))
	return f.places(ctx, fmt.Sprintf("SELECT m.space, m.id FROM unnest($%d::text[], $%d::float8[]) AS q (term, weight) "+
		"JOIN memsidecar.memories m ON m.terms @@ q.term::tsquery WHERE %s GROUP BY m.space, m.id "+
		"ORDER BY sum(q.weight) / (1.55 + 0.45 * max(m.length) / $%d::float8) DESC, m.space, m.id LIMIT %d",
		n+1, n+2, where, n+3, f.q.Limit), append(slices.Clone(args), quoted(terms), values, average))
}

// nearest returns the memories whose vectors are nearest to that of the query, by all models together where all are
// compared, by each where the index proposes them.
func (f *finding) nearest(ctx context.Context, where string, args []any) (all []place, err error) {
	n := len(args)
	args = slices.Clone(args)
	var distances []string
	for _, model := range models {
		if codes := f.q.Codes[model]; codes != nil {
			args = append(args, literal(codes))
			distances = append(distances, "m."+model+" <=> $%d::vector")
		}
	}
	if len(distances) == 0 {
		return nil, nil
	}
	if f.memories <= exactRows {
		return f.nearestExactly(ctx, where, args, distances)
	}
	if _, err := f.tx.Exec(ctx, fmt.Sprintf("SET LOCAL hnsw.ef_search = %d", indexReach)); err != nil {
		return nil, err
	}
	for i, distance := range distances {
		near, err := f.places(ctx, fmt.Sprintf("SELECT m.space, m.id FROM memsidecar.memories m WHERE %s ORDER BY %s LIMIT %d",
			where, fmt.Sprintf(distance, n+1), f.q.Limit), append(slices.Clone(args[:n]), args[n+i]))
		if err != nil {
			return nil, err
		}
		if len(near) < f.q.Limit { // most of the nearest ones are of other spaces, or left out
			return f.nearestExactly(ctx, where, args, distances)
		}
		all = append(all, near...)
	}
	return all, nil
}

// nearestExactly compares all vectors. A subquery keeps the planner from the index, which would propose those of other
// spaces.
func (f *finding) nearestExactly(ctx context.Context, where string, args []any, distances []string) ([]place, error) {
	n := len(args) - len(distances)
	var sum []string
	for i, d := range distances {
		sum = append(sum, "coalesce("+fmt.Sprintf(d, n+1+i)+", 1)")
	}
	return f.places(ctx, fmt.Sprintf("SELECT space, id FROM (SELECT m.space, m.id, %s AS distance FROM memsidecar.memories m "+
		"WHERE %s OFFSET 0) AS n ORDER BY distance, space, id LIMIT %d", strings.Join(sum, " + "), where, f.q.Limit), args)
}

// around returns the memories before and after some in their sessions. Where words decide alone, those that were learnt
// in no session have neighbours too.
func (f *finding) around(ctx context.Context, all []place) ([]place, error) {
	named := ""
	if len(f.q.Codes) > 0 {
		named = "AND n.session <> '' "
	}
	rows := "SELECT n.space, n.id FROM unnest($1::bigint[], $2::text[]) AS p (space, id) " +
		"JOIN memsidecar.memories m ON m.space = p.space AND m.id = p.id CROSS JOIN LATERAL (SELECT n.space, n.id " +
		"FROM memsidecar.memories n WHERE n.space = m.space AND n.session = m.session " + named + "AND (n.created_at, n.id) "
	spaces, ids := columns(all)
	return f.places(ctx, fmt.Sprintf(rows+"< (m.created_at, m.id) ORDER BY n.created_at DESC, n.id DESC LIMIT %d) AS n UNION "+
		rows+"> (m.created_at, m.id) ORDER BY n.created_at, n.id LIMIT %d) AS n", before, after), []any{spaces, ids})
}

// places runs a query for places.
func (f *finding) places(ctx context.Context, sql string, args []any) ([]place, error) {
	rows, err := f.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[place])
}

// distinct sorts places and drops repetitions.
func distinct(all []place) []place {
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(a.Space, b.Space), strings.Compare(a.ID, b.ID)) })
	return slices.Compact(all)
}

// columns are the numbers of the spaces, and the ids.
func columns(all []place) (spaces []int64, ids []string) {
	spaces, ids = make([]int64, len(all)), make([]string, len(all))
	for i, p := range all {
		spaces[i], ids[i] = p.Space, p.ID
	}
	return spaces, ids
}

// load reads memories with their vectors.
func (f *finding) load(ctx context.Context, all []place) error {
	spaces, ids := columns(all)
	rows, err := f.tx.Query(ctx, "SELECT m.space, data, access_count, accessed_at, vector_send(e5), vector_send(minilm), "+
		"e5_tokens, minilm_tokens FROM unnest($1::bigint[], $2::text[]) AS p (space, id) "+
		"JOIN memsidecar.memories m ON m.space = p.space AND m.id = p.id ORDER BY m.space, m.id", spaces, ids)
	if err != nil {
		return err
	}
	var space, count int64
	var data string
	var at *time.Time
	vectors, tokens := make([][]byte, len(models)), make([][]byte, len(models))
	_, err = pgx.ForEachRow(rows, []any{&space, &data, &count, &at, &vectors[0], &vectors[1], &tokens[0], &tokens[1]}, func() error {
		found := Found{Memory: &memory.Memory{}, Codes: map[string][]byte{}, Tokens: map[string][]byte{}}
		if err := json.Unmarshal([]byte(data), found.Memory); err != nil {
			return fmt.Errorf("a memory in the mirror: %w", err)
		}
		var last time.Time
		if at != nil {
			last = at.UTC()
		}
		found.Memory.SetAccesses(count, last)
		for i, model := range models {
			if vectors[i] == nil {
				continue
			}
			codes, err := codesOf(vectors[i])
			if err != nil {
				return err
			}
			found.Codes[model], found.Tokens[model] = codes, tokens[i]
		}
		f.spaces[space].Found = append(f.spaces[space].Found, found)
		return nil
	})
	return err
}
