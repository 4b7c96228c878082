// Package dailylog publishes the daily logs of every space as logs/DATE.json, files that people and other programs
// read. It holds the format (Encode, Decode, Complete) and the publication in the background (Publisher).
//
// The journal is the truth; a published file is never needed to recover. Whether and when a log is summarised or
// deleted is the archiver's decision.
package dailylog

import (
	"path"
	"strings"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/publish"
)

// File is a daily log, for example logs/2026-02-21.json:
//
//	{
//	  "date": "2026-02-21",
//	  "entries": [
//	    {
//	      "id": "0198a1c2",
//	      "time": "16:20:00",
//	      "at": "2026-02-21T16:20:00+08:00",
//	      "type": "reflection",
//	      "content": "fetch_url found nothing: the page is drawn by scripts",
//	      "category": "procedural",
//	      "tool": "fetch_url",
//	      "error": "empty_content",
//	      "session": "abc123"
//	    }
//	  ],
//	  "summary": null,
//	  "archived": false,
//	  "revision": 1841
//	}
//
// category, tool, error, session and revision are written when they are set, id and at too; the others always.
// Fields that are not known here follow the known ones, byte for byte as they were read. docs/format.md describes
// each field.
type File struct {
	Day     memory.Day // Entries is the length of the list
	Entries []*memory.Entry
}

const suffix = ".json"

// Dir is the directory of a space's daily logs.
func Dir(space string) string { return path.Join(publish.SpaceDir(space), "logs") }

// Path is the path of a day's log below the data directory.
func Path(space, date string) string { return path.Join(Dir(space), date+suffix) }

// DateOf returns the day that a file's base name stands for, and false when it is not the name of a daily log.
func DateOf(base string) (date string, ok bool) {
	date, ok = strings.CutSuffix(base, suffix)
	if !ok {
		return "", false
	}
	return date, memory.IsDate(date)
}
