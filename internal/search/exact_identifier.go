package search

import "github.com/memsidecar/memsidecar/internal/search/analysis"

// addIdentifiers adds to the pool every memory that holds an identifier of the query, and marks those that hold it as
// the leading part of a longer one. An identifier was typed on purpose, so it counts more than words and meaning.
func (c *evidenceCollector) addIdentifiers() {
	for _, identifier := range c.q.identifiers {
		if doc, ok := c.index.docIDs.Find(identifier.Text, c.index.docs); ok {
			c.addIdentifier(doc)
		}
		if id, ok := c.index.terms.find(identifier.Term); ok && c.index.holders(id) <= maxIdentifierDocs {
			for _, p := range c.index.postings.of(id) {
				c.addIdentifier(p.doc())
			}
		}
		folded := analysis.FoldPhrase(identifier.Text)
		for i := range c.pool {
			if w := &c.pool[i]; w.identifiers == 0 && c.ownWords(w.doc) > 0 &&
				analysis.ContainsPhrase(c.index.docs[w.doc].Content, folded) {
				w.identifiers++
			}
		}
	}
}

// addIdentifier counts an identifier of a document, which joins the pool when the request admits it.
func (c *evidenceCollector) addIdentifier(doc uint32) {
	i, known := c.byDoc[doc]
	if !known {
		if !c.admitsDoc(doc) {
			return
		}
		i = len(c.pool)
		c.byDoc[doc] = i
		c.pool = append(c.pool, c.evidenceOf(doc))
	}
	c.pool[i].identifiers++
}
