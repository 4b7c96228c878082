package publish

// SetRecycleFrom sets the size from which a backup is overwritten instead of written anew.
func (f *Files) SetRecycleFrom(bytes int64) { f.recycleFrom = bytes }

// SetMaxLog sets how long the log of the manifest becomes before a whole one is written, if that is shorter.
func (f *Files) SetMaxLog(bytes int64) { f.state.maxLog = bytes }

// NoteSize says how many bytes a file has that was published before the start.
func (p *Scheduler) NoteSize(key string, bytes int64) { p.noteSize(key, bytes) }

// Wait makes what is written hurry until the function that it returns is called.
func (f *Files) Wait() (done func()) { return f.waiting.Wait() }

// Urgent is closed while somebody waits for what is written.
func (f *Files) Urgent() <-chan struct{} { return f.waiting.Urgent() }
