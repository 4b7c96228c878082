// Package graphform is the form in which a knowledge graph is kept in memories: one memory for each entity, for each
// observation about one, and for each relation. Its text says it in words, its structured data what it is in the
// graph:
//
//	Alice (person)          {"graph":{"kind":"entity","name":"Alice","type":"person"}}
//	Alice: likes green tea  {"graph":{"kind":"observation","entity":"Alice"}}
//	Alice works at Acme     {"graph":{"kind":"relation","from":"Alice","to":"Acme","type":"works at"}}
//
// The text of an observation is taken from the memory's text, so that an edit of the memory is one of the graph. The
// service of the graph and the import of one share this form. It stores nothing.
package graphform

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
)

// Source is that of memories that the service of the graph makes.
const Source = "graph"

// Kinds of memories of a graph.
const (
	KindEntity      = "entity"
	KindObservation = "observation"
	KindRelation    = "relation"
)

// EntitySalience keeps the bare statement that something exists behind what is known of it.
const EntitySalience = 0.3

// Part is what the structured data of a memory says of its place in the graph.
type Part struct {
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`   // of an entity
	Type   string `json:"type,omitempty"`   // of an entity or relation
	Entity string `json:"entity,omitempty"` // that an observation is about
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Plain says that an observation's memory holds it as it is, without the name of its entity before it.
	Plain bool `json:"plain,omitempty"`
}

// Of says what a memory is in the graph; false when it is not a part of one.
func Of(m *memory.Memory) (Part, bool) {
	if m == nil || len(m.StructuredData()) == 0 {
		return Part{}, false
	}
	var data struct {
		Graph *Part `json:"graph"`
	}
	if json.Unmarshal(m.StructuredData(), &data) != nil || data.Graph == nil {
		return Part{}, false
	}
	return *data.Graph, true
}

// Text is the text of an observation, taken from that of its memory.
func (p *Part) Text(m *memory.Memory) string {
	if p.Plain {
		return m.Content
	}
	return strings.TrimPrefix(m.Content, p.Entity+": ")
}

// IDOf names a part by what makes it what it is, so that it can be found without looking at the whole space.
func IDOf(kind string, words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return kind + "-" + hex.EncodeToString(sum[:16])
}

// memoryOf makes the memory of a part.
func memoryOf(p Part, id, title, category, content string, salience float64) *memory.Memory {
	data, err := json.Marshal(map[string]Part{"graph": p})
	if err != nil {
		panic(err) // strings always encode
	}
	return &memory.Memory{
		ID: id, Title: title, Category: category, Content: content, Salience: salience, Confidence: 1, Source: Source,
		Status: memory.Active, More: &memory.More{StructuredData: data},
	}
}

// Entity returns the memory that represents an entity.
func Entity(name, kind string) *memory.Memory {
	content := name
	if kind != "" {
		content += " (" + kind + ")"
	}
	return memoryOf(Part{Kind: KindEntity, Name: name, Type: kind}, IDOf(KindEntity, name), name, memory.General, content,
		EntitySalience)
}

// Observation returns the memory that represents an observation.
func Observation(entity, text string) *memory.Memory {
	p := Part{Kind: KindObservation, Entity: entity, Plain: strings.Contains(text, entity)}
	content := text
	if !p.Plain {
		content = entity + ": " + text
	}
	return memoryOf(p, IDOf(KindObservation, entity, text), entity, memory.Facts, content, memory.DefaultSalience)
}

// Relation returns the memory that represents a relation.
func Relation(from, kind, to string) *memory.Memory {
	p := Part{Kind: KindRelation, From: from, To: to, Type: kind}
	return memoryOf(p, IDOf(KindRelation, from, kind, to), "", memory.Facts, from+" "+kind+" "+to,
		memory.DefaultSalience)
}
