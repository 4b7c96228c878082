package mirror

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Lacking is a memory that lacks vectors.
type Lacking struct {
	ID     string
	Key    []byte // of the text
	Models []string
}

// Lacking lists memories of a space that lack vectors, behind an id, in order of ids.
func (m *Mirror) Lacking(ctx context.Context, space int64, after string, limit int) ([]Lacking, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, err := m.conn.Query(ctx, "SELECT id, text_key, pending FROM memsidecar.memories WHERE space = $1 AND id > $2 AND "+
		"pending <> '{}' ORDER BY id LIMIT $3", space, after, int64(limit))
	if err != nil {
		return nil, wrap(err, "look for memories without vectors")
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Lacking])
	return out, wrap(err, "look for memories without vectors")
}

// Made is what a model made of the text of a memory.
type Made struct {
	ID, Model string
	Key       []byte // of the text
	// Codes are the components of the vector as signed bytes; nil when the model does not take the text.
	Codes  []byte
	Tokens []byte // vectors of tokens; nil for none
}

// PutVectors adds vectors to the memories that have the text which they are of and lack them. It returns how many
// memories changed.
func (m *Mirror) PutVectors(ctx context.Context, space int64, made []Made) (changed int64, err error) {
	raw, err := encodeMade(made)
	if err != nil || raw == "" {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		// A step that mirrors or purges goes first: both change the same rows.
		if _, err := tx.Exec(ctx, "SELECT FROM memsidecar.mirror WHERE space = $1 FOR UPDATE", space); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "UPDATE memsidecar.memories m SET e5 = coalesce(r.e5::vector, m.e5), "+
			"minilm = coalesce(r.minilm::vector, m.minilm), e5_tokens = coalesce(decode(r.e5_tokens, 'hex'), m.e5_tokens), "+
			"minilm_tokens = coalesce(decode(r.minilm_tokens, 'hex'), m.minilm_tokens), "+
			"pending = ARRAY(SELECT p FROM unnest(m.pending) p WHERE p <> ALL (r.done)) "+
			"FROM jsonb_to_recordset($2::jsonb) AS r (id text, text_key text, e5 text, minilm text, e5_tokens text, "+
			"minilm_tokens text, done text[]) "+
			"WHERE m.space = $1 AND m.id = r.id AND m.text_key = decode(r.text_key, 'hex') AND m.pending && r.done",
			space, raw)
		changed = tag.RowsAffected()
		return err
	})
	return changed, wrap(err, "add vectors to the mirror")
}

// encodeMade is JSON with one object for each memory and text, "" for none.
func encodeMade(made []Made) (string, error) {
	type object struct {
		ID           string   `json:"id"`
		Key          string   `json:"text_key"`
		E5           string   `json:"e5,omitempty"`
		MiniLM       string   `json:"minilm,omitempty"`
		E5Tokens     string   `json:"e5_tokens,omitempty"`
		MiniLMTokens string   `json:"minilm_tokens,omitempty"`
		Done         []string `json:"done"`
	}
	var all []object
	for _, v := range made {
		if v.Codes != nil && len(v.Codes) != Dim || !slices.Contains(models, v.Model) {
			continue
		}
		key := hex.EncodeToString(v.Key)
		i := slices.IndexFunc(all, func(o object) bool { return o.ID == v.ID && o.Key == key })
		if i < 0 {
			i = len(all)
			all = append(all, object{ID: v.ID, Key: key})
		}
		o := &all[i]
		o.Done = append(o.Done, v.Model)
		if v.Codes == nil {
			continue
		}
		if v.Model == "e5" {
			o.E5, o.E5Tokens = literal(v.Codes), hex.EncodeToString(v.Tokens)
		} else {
			o.MiniLM, o.MiniLMTokens = literal(v.Codes), hex.EncodeToString(v.Tokens)
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("encode vectors: %w", err)
	}
	return string(raw), nil
}

// literal is a vector as pgvector reads it. Its length does not matter: only cosines are asked for.
func literal(codes []byte) string {
	b := make([]byte, 0, 5*len(codes))
	for _, c := range codes {
		b = strconv.AppendInt(append(b, ','), int64(int8(c)), 10)
	}
	b[0] = '['
	return string(append(b, ']'))
}

// codesOf is the opposite of literal, from the bytes in which pgvector sends a vector: two numbers of 16 bits, the first
// of which counts the components, and the components as numbers of 32 bits. Error: when it is none of ours.
func codesOf(sent []byte) ([]byte, error) {
	const head, size = 4, 4
	if len(sent) != head+size*Dim || binary.BigEndian.Uint16(sent) != Dim {
		return nil, errors.New("a vector in the mirror has an unknown form")
	}
	out := make([]byte, Dim)
	for i := range out {
		v := math.Float32frombits(binary.BigEndian.Uint32(sent[head+size*i:]))
		if v != float32(int8(v)) {
			return nil, errors.New("a vector in the mirror was not made by memsidecar")
		}
		out[i] = byte(int8(v))
	}
	return out, nil
}
