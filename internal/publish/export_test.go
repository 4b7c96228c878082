package publish

// SetMaxLog sets how long the log of the manifest becomes before a whole one is written, if that is shorter.
func (f *Files) SetMaxLog(bytes int64) { f.state.maxLog = bytes }
