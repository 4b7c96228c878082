package search

// Queued counts the records that are applied and not indexed. A search indexes them first.
func (e *Engine) Queued() int {
	e.queueMu.Lock()
	defer e.queueMu.Unlock()
	return len(e.queue)
}
