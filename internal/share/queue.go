package share

// queue orders the spaces of a link that have something to do: those that requests wait for, and the others, which are
// mostly to receive what other machines wrote, take turns; each kind in the order in which it came. It is not safe for
// concurrent use.
type queue struct {
	// queued has the spaces in the queue, and whether a request waits for them. The lists may have others, which left.
	queued          map[*space]bool
	awaited, others []*space
	othersTurn      bool
}

// newQueue returns an empty queue.
func newQueue() *queue { return &queue{queued: map[*space]bool{}} }

// put adds a space. One that is there already moves ahead when a request waits for it now.
func (q *queue) put(sp *space, awaited bool) {
	was, there := q.queued[sp]
	switch {
	case there && (was || !awaited):
		return
	case awaited:
		q.awaited = append(q.awaited, sp)
	default:
		q.others = append(q.others, sp)
	}
	q.queued[sp] = awaited
}

// drop takes a space out.
func (q *queue) drop(sp *space) { delete(q.queued, sp) }

// empty reports whether nothing has anything to do.
func (q *queue) empty() bool { return len(q.queued) == 0 }

// take takes the next space out, nil when there is none.
func (q *queue) take() *space {
	awaited := !q.othersTurn
	sp := q.pop(awaited)
	if sp == nil {
		awaited = !awaited
		sp = q.pop(awaited)
	}
	q.othersTurn = awaited
	return sp
}

// pop takes the first space of a kind out.
func (q *queue) pop(awaited bool) *space {
	list := &q.others
	if awaited {
		list = &q.awaited
	}
	for len(*list) > 0 {
		sp := (*list)[0]
		*list = (*list)[1:]
		if is, there := q.queued[sp]; there && is == awaited {
			delete(q.queued, sp)
			return sp
		}
	}
	return nil
}
