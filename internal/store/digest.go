package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Digest hashes everything durable that users can see: memories, summaries, forgotten values, logs and sessions of all
// spaces. Two stores that applied the same operations have the same digest, whatever crashes and restarts came between.
// Tests, backups and Check compare states by it. It is the first 128 bits of a SHA-256, in hexadecimal.
func (s *Store) Digest() (string, error) {
	sum := sha256.New()
	for _, name := range s.Spaces() {
		v := s.Space(name)
		memories := v.Memories()
		slices.SortFunc(memories, func(a, b *memory.Memory) int { return cmp.Compare(a.ID, b.ID) })
		forgotten := v.Forgotten()
		if err := errors.Join(hashValues(sum, name, memories...),
			hashValues(sum, v.Summary(), new(len(forgotten)))); err != nil {
			return "", err
		}
		// Hashes of forgotten values are salted with the store's identity; their times are the same in a restored
		// copy.
		for _, at := range slices.SortedFunc(maps.Values(forgotten), time.Time.Compare) {
			if err := hashValues(sum, "forgotten", &at); err != nil {
				return "", err
			}
		}
		if archived := v.Archived(); len(archived) > 0 {
			if err := hashValues(sum, "archived", archived...); err != nil {
				return "", err
			}
		}
		if err := s.digestBodies(sum, v); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// digestBodies adds the daily logs and sessions of a space.
func (s *Store) digestBodies(sum hash.Hash, v *Space) error {
	for _, d := range v.Days() {
		header, entries, err := v.Log(d.Date)
		if err != nil {
			return err
		}
		if err := errors.Join(hashValues(sum, "log", header), hashValues(sum, "entries", entries...)); err != nil {
			return err
		}
	}
	for _, header := range v.Sessions() {
		messages, err := v.Messages(header.ID, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(hashValues(sum, "session", header),
			hashValues(sum, "messages", messages...)); err != nil {
			return err
		}
	}
	return nil
}

// hashValues adds values to a hash as JSON, after a line with their label and number, so that lists cannot be confused.
func hashValues[T any](sum hash.Hash, label string, values ...*T) error {
	_, _ = fmt.Fprintf(sum, "%s %d\n", label, len(values))
	enc := json.NewEncoder(sum)
	for _, v := range values { // one at a time, to bound memory
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	return nil
}
