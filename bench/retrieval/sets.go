package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// document is a line of corpus.jsonl.
type document struct {
	ID, Conv, Time, Text, Status string
	Kind                         string // category of a paraphrase set
	Session                      json.Number
	Tags, Scope                  []string
	Pinned                       bool
	Salience                     *float64
}

// query is a line of queries.jsonl.
type query struct {
	ID, Conv, Text, Category, Time string
	UserText                       string `json:"text_user"` // the turns of the user, when text has others too
	Relevant, Scope                []string
	Trap                           bool // shares a word with a memory that does not help
}

// set is one folder.
type set struct {
	name    string
	docs    []document
	queries []query
	convs   []string // in the order they first appear
	newest  time.Time
}

// readSets reads every DIR/*/corpus.jsonl and the queries.jsonl beside it.
func readSets(dir string) ([]*set, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "corpus.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no %s/*/corpus.jsonl", dir)
	}
	var sets []*set
	for _, f := range files {
		s := &set{name: filepath.Base(filepath.Dir(f))}
		if s.docs, err = readLines[document](f); err != nil {
			return nil, err
		}
		if s.queries, err = readLines[query](filepath.Join(filepath.Dir(f), "queries.jsonl")); err != nil {
			return nil, err
		}
		for i := range s.queries {
			s.queries[i].Text = cmp.Or(s.queries[i].UserText, s.queries[i].Text)
		}
		for i := range s.docs {
			d := &s.docs[i]
			if !slices.Contains(s.convs, d.Conv) {
				s.convs = append(s.convs, d.Conv)
			}
			if at := moment(d.Time); at.After(s.newest) {
				s.newest = at
			}
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// readLines decodes a file of one JSON value per line of up to 16 MiB.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, v)
	}
	return all, in.Err()
}

// moment reads a time without zone as UTC; zero when there is none.
func moment(s string) time.Time {
	at, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(s, "Z"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// chosen are the queries of a half: of every other conversation, or every other query when all are of one.
func (s *set) chosen(half string) []query {
	if half == "" {
		return s.queries
	}
	rest := map[string]int{"a": 0, "b": 1}[half]
	parted := slices.ContainsFunc(s.queries, func(q query) bool { return q.Conv != s.queries[0].Conv })
	var out []query
	for i, q := range s.queries {
		if parted {
			i = slices.Index(s.convs, q.Conv)
		}
		if i%2 == rest {
			out = append(out, q)
		}
	}
	return out
}

// family is what the sets have in common that were made of the same conversations: the name up to the first dash.
func (s *set) family() string {
	name, _, _ := strings.Cut(s.name, "-")
	return name
}

// implicit reports whether the questions are also prompts for an implicit recall: those of the paraphrase sets.
func (s *set) implicit() bool { return s.family() == "paraphrase" }

// speaksChinese reports whether the memories of a conversation are in Chinese.
func (s *set) speaksChinese(conv string) bool {
	return slices.ContainsFunc(s.docs, func(d document) bool { return d.Conv == conv && hasHan(d.Text) })
}

// chinese reports whether the questions are in Chinese.
func (s *set) chinese() bool {
	return len(s.queries) > 0 && hasHan(s.queries[0].Text)
}

func hasHan(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
}
