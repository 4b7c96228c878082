package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdFakeEmbeddings starts a server for which coffee and espresso mean the same, and trains something else. It takes
// no text that holds "unspeakable".
func cmdFakeEmbeddings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fakeembeddings NAME")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/embeddings" ||
			strings.Contains(strings.Join(req.Input, "\n"), "unspeakable") {
			http.Error(w, "not that", http.StatusBadRequest)
			return
		}
		var data []string
		for i, text := range req.Input {
			n := func(words ...string) (count int) {
				for _, word := range words {
					count += strings.Count(text, word)
				}
				return count
			}
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d,0.5]}`, i, n("coffee", "espresso"),
				n("train", "rail")))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}))
	ts.Defer(srv.Close)
	ts.Setenv(args[0], srv.URL)
}
