package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
)

// checked lists what a check finds, and requires that it changed nothing and agrees with what saving comes to.
func (w *world) checked(name, space, date, text string) []string {
	w.t.Helper()
	before, digest := w.state(), w.read(name)
	problems, err := w.edits.Check(w.t.Context(), space, date, []byte(text))
	must(w.t, err)
	diff(w.t, "state after the check", before, w.state())
	if w.read(name) != digest {
		w.t.Fatal("the check wrote the file")
	}
	var out []string
	for _, p := range problems {
		kind := "waits"
		if p.Refused {
			kind = "refused"
		}
		out = append(out, fmt.Sprintf("%s %d:%d %s: %s", kind, p.Line, p.Column, p.Path, p.Message))
	}
	w.write(name, text)
	_, err = w.edits.Scan(w.t.Context(), true)
	must(w.t, err)
	if waits := len(w.waiting()) > 0; waits != (len(out) > 0) {
		w.t.Fatalf("found %q, and saved it waits: %q", out, w.waiting())
	}
	return out
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name    string
		date    string
		was, is string // of the text; all of it when was is empty
		want    string // how the only problem begins, "" for none
	}{
		{name: "nothing changed"},
		{name: "a change", was: "8443", is: "8444"},
		{name: "no JSON", was: `"salience": 0.5,`, is: `"salience": 0.5`, want: "refused 12:7 memories[0]: "},
		{name: "another type", was: `"salience": 0.5,`, is: `"salience": "high",`, want: "refused 11:19 memories[0].salience: must be a number"},
		{name: "not within the limits", was: "The API listens on port 8443", is: "", want: "refused 10:18 memories[0].content: is empty"},
		{name: "emptied", is: `{"version": 2, "revision": 5, "memories": []}`, want: "waits 0:0 : "},
		{name: "an entry", date: day, was: "修好了部署", is: "修好了发布"},
		{name: "an entry without text", date: day, was: `"修好了部署"`, is: `""`, want: "refused 16:18 entries[1].content: is empty"},
		{name: "half a log", date: day, is: `{"date": "` + day + `", "entries": [`, want: "refused 1:"},
		{name: "the log of another day", date: day, was: `"date": "` + day, is: `"date": "2026-02-22`, want: "refused 0:0 : says that it is the log of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.three()
			w.twoDays()
			name := file
			if tt.date != "" {
				name = logName
			}
			text := w.read(name)
			if tt.was == "" && tt.is != "" {
				text = tt.is
			} else if tt.was != "" {
				text = strings.Replace(text, tt.was, tt.is, 1)
			}
			got := w.checked(name, "", tt.date, text)
			if tt.want == "" && len(got) > 0 ||
				tt.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tt.want)) {
				t.Errorf("found %q, want %q in\n%s", got, tt.want, text)
			}
		})
	}
}

func TestCheckOfNoFile(t *testing.T) {
	w := newWorld(t)
	for _, at := range [][2]string{{"..", ""}, {"Space", ""}, {"", "yesterday"}, {"", "../x"}} {
		if _, err := w.edits.Check(t.Context(), at[0], at[1], nil); err == nil {
			t.Errorf("space %q, date %q: no error", at[0], at[1])
		}
	}
}
