package archiver

// Action is what a run did with a log.
type Action string

// The actions. A log that is both archived and deleted in one run is reported twice, in that order.
const (
	Archive Action = "archive"
	Delete  Action = "delete"
	Keep    Action = "keep" // not due
	// due, but Reason says why it must wait
	Postponed Action = "postponed"
)

// Report is the result of a run, or of a dry run.
type Report struct {
	// local date from which ages are counted
	Today  string
	DryRun bool
	// by space, oldest first
	Days []Day
	// Waiting says why logs wait for the model; nil if they do not. They are among the postponed Days, and no error
	// of Run.
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

// Notes counts the days that were summarised by rules although a model is configured, and returns one of the reasons.
func (r *Report) Notes() (n int, note string) {
	for i := range r.Days {
		if r.Days[i].Note != "" {
			n, note = n+1, r.Days[i].Note
		}
	}
	return n, note
}

// Day is the result for one daily log.
type Day struct {
	Space string
	Date  string
	// age in local days; negative for a log dated in the future
	Age    int
	Action Action
	// why it was kept or postponed; contains no memory text
	Reason  string
	Entries int
	// summary of an archived log
	Summary string
	// why it was summarised by rules although a model is configured; contains no memory text
	Note string
	// entries that became memories
	Promoted []Promoted
	// entries worth a memory that became none
	Skipped []Skipped
	// the operation; 0 in a dry run and when nothing was changed
	Op int64

	// of the log when it was classified
	revision int64
	// all entries are archived, according to the header
	archived bool
}

// Promoted is a log entry that became a memory.
type Promoted struct {
	// id of the memory; "" in a dry run
	ID string
	// id of the entry, the first one of several equal failures; "" for the log's summary
	Entry    string
	Category string
	Content  string
}

// Skipped is a log entry that was worth a memory but did not become one.
type Skipped struct {
	Entry    string
	Category string
	Content  string
	// EXACT_DUPLICATE, NEAR_DUPLICATE, FORGOTTEN, TOO_MANY or INVALID
	Reason string
}
