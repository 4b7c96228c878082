package publish

import (
	"cmp"
	"container/heap"
	"time"
)

const (
	// backlog is how many overdue files make it matter which of them goes first.
	backlog = 16
	// newestTurns is how many of newestTurns+1 publications of a backlog go to what became due last.
	newestTurns = 3
	// backlogRest is how long publication rests in a backlog after each file, in units of the time that the file took:
	// each costs syncs, for which writers would wait.
	backlogRest = 1
)

// next returns the key to publish now, or how long there is nothing to do. Of what is overdue, after a start with many
// spaces for example, what is used goes before what waited, but for every fourth turn, so that nothing waits for ever.
// A backlog takes half of the time at most.
func (p *Scheduler) next() (string, time.Duration) {
	now := p.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.queue) > 0 && !p.queue[0].due.After(now) {
			p.overdue = append(p.overdue, heap.Pop(&p.queue).(*job))
		}
		overdue := len(p.overdue)
		if !p.waitingDue().After(now) {
			overdue += len(p.waiting.files)
		}
		if overdue == 0 {
			break
		}
		if rest := p.restUntil.Sub(now); rest > 0 && overdue > backlog {
			return "", rest
		}
		it := p.takeOverdue(overdue)
		it.queued = false
		switch {
		case !it.dirty():
		case p.due(it).After(now):
			p.enqueueLocked(it)
		default:
			return it.status.Key, 0
		}
	}
	wait := p.cfg.Deferred
	if len(p.queue) > 0 {
		wait = p.queue[0].due.Sub(now)
	}
	if len(p.waiting.files) > 0 {
		wait = min(wait, p.waitingDue().Sub(now))
	}
	return "", wait
}

// waitingDue is when those without a job may be published.
func (p *Scheduler) waitingDue() time.Time { return p.waiting.since.Add(p.cfg.Quiet) }

// takeOverdue removes and returns one of so many overdue jobs, and makes it for a file that waits. p.mu must be held.
func (p *Scheduler) takeOverdue(overdue int) (it *job) {
	p.turn++
	oldest := overdue <= backlog || p.turn%(newestTurns+1) == 0
	last := len(p.overdue) - 1
	switch waiting := overdue > len(p.overdue); {
	case waiting && oldest && (last < 0 || !p.overdue[0].due.Before(p.waitingDue())):
		return p.jobOf(p.waiting.files[0].key)
	case oldest:
		it, p.overdue[0] = p.overdue[0], nil
		p.overdue = p.overdue[1:]
	case last >= 0:
		it, p.overdue[last] = p.overdue[last], nil
		p.overdue = p.overdue[:last]
	default:
		return p.jobOf(p.waiting.files[len(p.waiting.files)-1].key)
	}
	return it
}

// enqueueLocked queues a dirty job, unless it is. A time that moves back later is noticed by next.
func (p *Scheduler) enqueueLocked(it *job) {
	switch due := p.due(it); {
	case !it.queued:
		it.queued, it.due = true, due
		heap.Push(&p.queue, it)
	case it.index >= 0 && due.Before(it.due):
		it.due = due
		heap.Fix(&p.queue, it.index)
	}
}

// jobQueue is a heap of jobs by the time when they are due, for package heap.
type jobQueue []*job

func (q jobQueue) Len() int { return len(q) }

func (q jobQueue) Less(i, j int) bool {
	return cmp.Or(q[i].due.Compare(q[j].due), cmp.Compare(q[i].status.Key, q[j].status.Key)) < 0
}

func (q jobQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *jobQueue) Push(x any) {
	it := x.(*job)
	it.index = len(*q)
	*q = append(*q, it)
}

func (q *jobQueue) Pop() any {
	last := len(*q) - 1
	it := (*q)[last]
	it.index = -1
	(*q)[last], *q = nil, (*q)[:last]
	return it
}
