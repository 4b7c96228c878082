package memorysvc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memsidecar/memsidecar/internal/memory"
	"github.com/memsidecar/memsidecar/internal/redact"
	"github.com/memsidecar/memsidecar/internal/service/memorysvc"
	"github.com/memsidecar/memsidecar/internal/store"
)

// TestKeep: who insists gets what was given, without private passages; otherwise every outcome names kind and place.
func TestKeep(t *testing.T) {
	const secret = "AKIAQ3EGP7XSZ2LMN5RT"
	for _, keep := range []bool{false, true} {
		b := newBench(t)
		d := draft("m1", "facts", "The key is "+secret+" <private>diary</private>")
		d.Memory.Tags = []string{"ops", secret}
		d.Memory.SetStructuredData(json.RawMessage(`{"login":{"password":"hunter22x"}}`))
		d.Keep = keep
		added, err := b.Add(t.Context(), store.Meta{}, []memorysvc.Draft{d})
		if err != nil {
			t.Fatal(err)
		}
		text := "The key is now " + secret
		changed, _, err := b.Update(t.Context(), store.Meta{}, "m1", 0, memorysvc.Patch{Content: &text, Keep: keep})
		if err != nil {
			t.Fatal(err)
		}
		logged, err := b.AppendLog(t.Context(), store.Meta{}, []*memory.Entry{{Content: "x", Error: secret}}, keep)
		if err != nil {
			t.Fatal(err)
		}
		private := memory.Redaction{Field: "content", Kind: "private", From: 32, To: 56}
		want := [][]memory.Redaction{{private}, nil, nil}
		if !keep {
			want = [][]memory.Redaction{
				{
					{Field: "content", Kind: "aws-key", From: 11, To: 31}, private,
					{Field: "tags[1]", Kind: "aws-key", From: 0, To: 20},
					{Field: "structured_data.login.password", Kind: "password", From: 0, To: 9},
				},
				{{Field: "content", Kind: "aws-key", From: 15, To: 35}},
				{{Field: "error", Kind: "aws-key", From: 0, To: 20}},
			}
		}
		got := [][]memory.Redaction{
			added.Outcomes[0].Redactions, changed.Outcomes[0].Redactions, logged.Outcomes[0].Redactions,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("keep %v (-want +got):\n%s", keep, diff)
		}
		m := b.get(t, "m1")
		if strings.Contains(m.Content+string(m.StructuredData()), secret) != keep ||
			strings.Contains(string(m.StructuredData()), "hunter22x") != keep || strings.Contains(m.Content, "diary") {
			t.Errorf("keep %v: stored %+v", keep, m)
		}
	}
}

// TestCleanOfUnknownFields: what comes from elsewhere has fields that nobody knows, and secrets in them.
func TestCleanOfUnknownFields(t *testing.T) {
	m := &memory.Memory{Content: "x", More: &memory.More{Extra: map[string]json.RawMessage{
		"api_token": json.RawMessage(`"Zq8vKx2LwN5rTb7YcD1eFgH4jM6pQ9sU"`), "n": json.RawMessage(`12345678901234567890`),
		"note": json.RawMessage(`{"deep":["the password is hunter22x"]}`),
	}}}
	given := m.Extra()
	var c redact.Cleaner
	memorysvc.Clean(&c, m)
	raw, err := json.Marshal(m.Extra())
	if err != nil {
		t.Fatal(err)
	}
	if s := string(raw); strings.Contains(s, "Zq8v") || strings.Contains(s, "hunter22x") ||
		!strings.Contains(s, "12345678901234567890") || len(c.Found) != 2 {
		t.Errorf("became %s, %v", s, c.Found)
	}
	if !strings.Contains(string(given["note"]), "hunter22x") {
		t.Error("the map that was given was changed")
	}
}
