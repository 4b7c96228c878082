package archiver

// Action is what became of a log.
type Action string

// The actions. A log that is both archived and deleted in one run is reported twice, in that order.
const (
	Archive   Action = "archive"
	Delete    Action = "delete"
	Keep      Action = "keep"      // nothing is due
	Postponed Action = "postponed" // something is due, and Reason says why it has to wait
)

// Report of a run, or of what a run would do.
type Report struct {
	Today  string // the local date all ages were counted from
	DryRun bool
	Days   []Day // by space, oldest first
	// Waiting says why logs wait for the model, nil when they do not. They are among the postponed Days; it is no error of Run.
	Waiting *WaitError
}

// Count returns how many of the reported days had action a.
func (r *Report) Count(a Action) int {
	n := 0
	for i := range r.Days {
		if r.Days[i].Action == a {
			n++
		}
	}
	return n
}

// Notes counts the days that were summed up by rules although there is a model, and returns one of the reasons.
func (r *Report) Notes() (n int, note string) {
	for i := range r.Days {
		if r.Days[i].Note != "" {
			n, note = n+1, r.Days[i].Note
		}
	}
	return n, note
}

// Day reports on one daily log.
type Day struct {
	Space    string
	Date     string
	Age      int // whole local days; negative for a log dated in the future
	Action   Action
	Reason   string // why it was kept or postponed; no memory text
	Entries  int
	Summary  string     // of a log being archived
	Note     string     // why it was summed up by rules although there is a model; no memory text
	Promoted []Promoted // entries that became memories
	Skipped  []Skipped  // entries worth a memory that got none
	Op       int64      // the operation; 0 in a dry run and when nothing was changed

	revision int64 // of the log when it was looked at
	archived bool  // everything in it is, as far as its header tells
}

// Promoted is a log entry that became a memory.
type Promoted struct {
	ID       string // of the memory; empty in a dry run
	Entry    string // id of the entry, the first one when several of a kind became one memory; empty for the log's summary
	Category string
	Content  string
}

// Skipped is a log entry that was worth a memory and did not become one.
type Skipped struct {
	Entry    string
	Category string
	Content  string
	Reason   string // DUPLICATE, FORGOTTEN, LIMIT or INVALID
}
