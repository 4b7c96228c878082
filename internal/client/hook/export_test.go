package hook

import "github.com/memsidecar/memsidecar/internal/memory"

// ReadTranscript reads the messages of a transcript from an offset on.
func ReadTranscript(h *Host, path string, offset int64) (messages []memory.Message, end int64, err error) {
	entries, end, err := readTranscript(nil, h, path, offset, readAll)
	return messagesOf(entries), end, err
}

// ParseLine reads one line as a host's transcript.
func ParseLine(h *Host, line []byte) {
	if h.parse == nil {
		return
	}
	t := &transcript{calls: map[string]memory.ToolCall{}, back: func() {}}
	h.parse(line, t)
}

// ReadsTranscripts reports whether a host's transcripts are read.
func ReadsTranscripts(h *Host) bool { return h.parse != nil }
