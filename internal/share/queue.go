package share

// waitersInARow is how many spaces that requests wait for are served before one of the others has its turn.
const waitersInARow = 16

// queue orders the spaces of a link that have something to do: those that requests wait for come first, each kind in
// the order in which it came. It is not safe for concurrent use.
type queue struct {
	// queued has the spaces in the queue, and whether a request waits for them. The lists may have others, which left.
	queued        map[*space]bool
	first, others []*space
	inARow        int // of first, since one of the others had its turn
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
		q.first = append(q.first, sp)
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
	if q.inARow < waitersInARow {
		if sp := q.pop(&q.first, true); sp != nil {
			q.inARow++
			return sp
		}
	}
	q.inARow = 0
	if sp := q.pop(&q.others, false); sp != nil {
		return sp
	}
	return q.pop(&q.first, true)
}

// pop takes the first space out of a list that is still in the queue as one of its kind.
func (q *queue) pop(list *[]*space, awaited bool) *space {
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
