// Package jsonstore publishes the memories of every space as memory.json, a file that people and other programs read,
// and adopts a directory in which such files were kept before there was a journal.
//
// The journal is the truth; a published file is never needed to recover. The package holds the format (Encode,
// Decode), the publication in the background (Publisher), the adoption (ReadDir, Adopt) and the rules that bring values
// of other programs within limits (Sanitize). Package reconcile adopts edits of a published file; here they only keep
// the file from being replaced.
package jsonstore

import (
	"encoding/json"
	"path"
	"time"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// FileName is the base name of the published file.
const FileName = "memory.json"

// Version is the version of the format that Encode writes and the newest that Decode reads.
const Version = 2

// File is a memory.json, for example:
//
//	{
//	  "version": 2,
//	  "last_updated": "2026-02-21T14:00:00Z",
//	  "revision": 1841,
//	  "rolling_summary": "Writes Python, likes short code.",
//	  "memories": [
//	    {
//	      "id": "a1b2c3d4",
//	      "category": "procedural",
//	      "content": "fetch_url finds nothing on pages drawn by scripts",
//	      "salience": 0.85,
//	      "created_at": "2026-02-21T10:30:00Z",
//	      "last_accessed": "2026-02-21T14:00:00Z",
//	      "access_count": 3,
//	      "source": "auto_reflection",
//	      "context": {
//	        "tool": "fetch_url",
//	        "error_type": "dynamic_content",
//	        "learned_from": "session_abc123"
//	      },
//	      "updated_at": "2026-02-21T10:30:00Z",
//	      "revision": 7,
//	      "tags": ["web", "网页"],
//	      "title": "Dynamic pages",
//	      "pinned": true,
//	      "confidence": 0.9,
//	      "expires_at": "2027-01-01T00:00:00Z",
//	      "status": "retired",
//	      "supersedes": ["00000001"],
//	      "superseded_by": "00000009",
//	      "relations": [
//	        {"type": "supports", "target": "b2c3d4e5", "strength": 0.5}
//	      ],
//	      "evidence": [
//	        {"log": "2026-02-21", "entry": "e1", "session": "abc123"}
//	      ],
//	      "structured_data": {"steps":["open","wait"]}
//	    }
//	  ],
//	  "forgotten": [
//	    {"hash": "5f2a:9c01", "at": "2026-02-21T12:00:00Z"}
//	  ]
//	}
//
// Up to source every field of a memory is always written, as are version, last_updated, rolling_summary and
// memories; the others only when they say something beyond their default. Fields that are not known here follow the
// known ones, byte for byte as they were read. docs/format.md describes each field.
type File struct {
	Version        int
	LastUpdated    time.Time // when the file was written
	Revision       int64     // LSN of the newest change the file includes; 0 in files of other programs
	RollingSummary string
	Memories       []*memory.Memory
	Forgotten      []Forgotten

	// Extra holds fields that this version does not know, kept as they were.
	Extra map[string]json.RawMessage
}

// Forgotten is the salted hash of a value that a user asked to forget.
type Forgotten struct {
	Hash string
	At   time.Time
}

// Path is the path of a space's file below the data directory.
func Path(space string) string { return path.Join(publish.SpaceDir(space), FileName) }
