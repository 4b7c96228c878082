package importers

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/memory/graphform"
)

// graphObject is an entity or a relation of the knowledge graph.
type graphObject struct {
	Type         flexibleString  `json:"type"`
	Name         flexibleString  `json:"name"`
	EntityType   flexibleString  `json:"entityType"`
	Observations flexibleStrings `json:"observations"`
	From         flexibleString  `json:"from"`
	To           flexibleString  `json:"to"`
	RelationType flexibleString  `json:"relationType"`
}

// graph reads the knowledge graph of the MCP reference server: one entity or relation a line, or both as members of
// an object, as read_graph returns it. An observation says something of its entity, so it becomes a memory that
// begins with the name of that; so does a relation. Each is
// a part of the graph here, too, as the compatibility mode of the MCP server reads it.
func (r *reader) graph() error {
	for _, f := range r.tree.find(isJSON) {
		err := r.values(f, !wholeGraph(r.tree.head(f, 512)), func(v jsonValue, p Place) error {
			var g graphObject
			if err := json.Unmarshal(v.raw, &g); err != nil {
				return r.skip(p, "is neither an entity nor a relation: %s", jsonProblem(err))
			}
			switch {
			case g.Type == "entity" || v.key == "entities":
				return r.graphEntity(g, p)
			case g.Type == "relation" || v.key == "relations":
				return r.graphRelation(g, p)
			}
			return r.skip(p, "is neither an entity nor a relation")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeGraph reports whether a file is one object.
func wholeGraph(head []byte) bool {
	text := strings.TrimSpace(strings.TrimPrefix(string(head), "\ufeff"))
	rest := strings.TrimSpace(strings.TrimPrefix(text, "{"))
	return rest != text && (strings.HasPrefix(rest, `"entities"`) || strings.HasPrefix(rest, `"relations"`))
}

// graphEntity turns an entity into a memory, and each of its observations into one.
func (r *reader) graphEntity(g graphObject, p Place) error {
	if g.Name == "" {
		return r.skip(p, "is an entity without a name")
	}
	name, kind := cleanText(string(g.Name)), cleanText(string(g.EntityType))
	if inGraph(name) && utf8.RuneCountInString(kind) <= maxGraphType {
		m := graphform.Entity(name, kind)
		err := r.memory(draft{place: p, key: name, fallback: memory.General, content: m.Content, title: name,
			salience: m.Salience, graph: m})
		if err != nil {
			return err
		}
	} else if len(g.Observations) == 0 {
		return r.skip(p, "is an entity with a name that no graph can hold, of which nothing is said")
	}
	for i, o := range g.Observations {
		at := p
		at.Item = strings.TrimSpace(fmt.Sprintf("%s observation %d", p.Item, i+1))
		d := draft{
			place: at, key: string(g.Name), kind: categoryOfEntity(string(g.EntityType)),
			content: prefixedStatement(string(g.Name), o),
			title:   string(g.Name), tags: []string{string(g.EntityType)},
			origin: map[string]any{"entity": string(g.Name), "entity_type": string(g.EntityType)},
		}
		if text := cleanText(o); inGraph(name) && text != "" {
			if m := graphform.Observation(name, text); utf8.RuneCountInString(m.Content) <= memory.MaxContent {
				d.content, d.graph = m.Content, m
			}
		}
		if err := r.memory(d); err != nil {
			return err
		}
	}
	return nil
}

// Limits of the parts of a graph, in characters. What is longer becomes a plain memory.
const maxGraphType = 200

// inGraph reports whether a name may be that of an entity.
func inGraph(name string) bool { return name != "" && utf8.RuneCountInString(name) <= memory.MaxTitle }

// graphRelation turns one relation into a memory such as "A works_at B".
func (r *reader) graphRelation(g graphObject, p Place) error {
	if g.From == "" || g.To == "" || g.RelationType == "" {
		return r.skip(p, "is a relation of which a part is missing")
	}
	d := draft{
		place: p, content: string(g.From) + " " + string(g.RelationType) + " " + string(g.To), title: string(g.From),
		tags: []string{"relation"},
		origin: map[string]any{"relation": map[string]string{"from": string(g.From), "type": string(g.RelationType),
			"to": string(g.To)}},
	}
	from, to, kind := cleanText(string(g.From)), cleanText(string(g.To)), cleanText(string(g.RelationType))
	if inGraph(from) && inGraph(to) && kind != "" && utf8.RuneCountInString(kind) <= maxGraphType {
		d.graph = graphform.Relation(from, kind, to)
		d.content = d.graph.Content
	}
	return r.memory(d)
}

// categoryOfEntity takes the type of an entity for a category only if it is one: that of most says what the entity is,
// not what is said.
func categoryOfEntity(kind string) string {
	if c := categoryNames[strings.ToLower(strings.TrimSpace(kind))]; c != "" {
		return c
	}
	return ""
}

// prefixedStatement is a statement that says of whom it is.
func prefixedStatement(name, statement string) string {
	if strings.Contains(strings.ToLower(statement), strings.ToLower(strings.ReplaceAll(name, "_", " "))) ||
		strings.Contains(statement, name) {
		return statement
	}
	return name + ": " + statement
}
