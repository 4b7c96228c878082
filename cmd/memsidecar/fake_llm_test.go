package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memsidecar/memsidecar/internal/memtest/fakellm"
)

// fakes are the ways in which the model servers of scripts behave.
func fakes() map[string][]fakellm.Step {
	ready := fakellm.Reply(`{"memsidecar_probe":"ready","words_counted":4}`, 120, 15)
	// Both decide in one: what a reflection replies is not what a consolidation does.
	learnt := fakellm.Reply("Here you are:\n```json\n"+
		`{"summary":"The user told how they commit and which database staging has.","history":"Agreed on small `+
		`commits.",`+
		`"items":[{"action":"ADD","target":0,"category":"preferences","title":"Commits","content":"The user prefers small commits with an imperative subject line","salience":0.7,"why":"It holds for all commits."},`+
		`{"action":"UPDATE","target":1,"category":"facts","title":"","content":"The staging database is Postgres `+
		`16","salience":0.6,"why":"It was upgraded."}],"rules":[]}`+"\n```", 900, 120)
	lesson := fakellm.Reply(`{"summary":"用户查询渡轮时刻表，页面抓取失败。","history":"","items":[],`+
		`"rules":[{"failure":1,"title":"动态网页","content":"fetch_url 抓不到需要 JavaScript 的页面，改用浏览器工具","salience":0.8,"why":"同样的失败发生了两次。"}]}`, 800, 80)
	doubtful := fakellm.Reply(`{"summary":"They spoke of the database.","history":"",`+
		`"items":[{"action":"UPDATE","target":1,"category":"facts","title":"","content":"Staging has a database","salience":0.6,"why":"x"}],"rules":[]}`, 500, 60)
	return map[string][]fakellm.Step{
		"doubtful": {doubtful},
		"learnt":   {learnt},
		"lesson":   {lesson},
		"merged": {fakellm.Reply(`{"action":"UPDATE","target":1,"content":"The user flies with China Eastern and `+
			`prefers morning flights","why":"More is known."}`, 300, 30)},
		"outdated": {fakellm.Reply(`{"action":"DELETE","target":1,"content":"","why":"It moved."}`, 300, 30)},
		"archivist": {fakellm.Reply(`{"days":[{"day":1,"summary":"The pump of the old harbour was repaired."},{"day":2,"summary":"用户要求下次不要直接改生产库。"},`+
			`{"day":3,"summary":"It was decided to use PostgreSQL for the bookings."},{"day":4,"summary":"The `+
			`timetable service moved to the new machine."}]}`, 700, 90)},
		"liar":      {fakellm.Reply(`{"days":[{"day":1,"summary":"Ivan painted the new boat."}]}`, 300, 20)},
		"chosen":    {fakellm.Reply(`{"selected":[1]}`, 200, 5)},
		"good":      {ready},
		"object":    {{Refuse: []string{"json_schema"}}, ready},
		"lax":       {fakellm.Reply("Four words.", 60, 3), ready},
		"unmetered": {{Text: ready.Text, NoUsage: true}},
		"stubborn":  {fakellm.Reply("Four words.", 60, 3)},
		"401":       {fakellm.Status(401, `{"error":{"message":"bad key topsecretkey","code":"invalid_api_key"}}`)},
		"404":       {fakellm.Status(404, `{"error":{"code":"model_not_found"}}`)},
		"500":       {fakellm.Status(500, "")},
		"html":      {fakellm.HTML()},
		"hang":      {{Hang: true}},
		"cut":       {{Text: `{"memsidecar_probe":"re`, Finish: "length", Input: 1, Output: 9}},
	}
}

// models are the servers of all scripts, by address.
var models sync.Map

// cmdAsked compares a server's book with how often it is to have been asked, and with the daemon's ledger.
func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: asked URL TIMES")
	}
	model, ok := models.Load(args[0])
	if !ok {
		ts.Fatalf("no model server has the address %s", args[0])
	}
	book := model.(*fakellm.Server).Stats()
	if fmt.Sprint(book.Requests) != args[1] {
		ts.Fatalf("the model was asked %d times, not %s", book.Requests, args[1])
	}
	want := fmt.Sprintf(`"requests":%d,"failed":%d,"reported":{"input":%d,"output":%d}`, book.Requests, book.Refused,
		book.Input, book.Output)
	if ledger := ts.ReadFile(ts.Getenv("DATA") + "/llm.json"); !strings.Contains(ledger, want) {
		ts.Fatalf("the ledger is %s, the server's book %s", ledger, want)
	}
}

func cmdFakeLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || fakes()[args[1]] == nil {
		ts.Fatalf("usage: fakellm NAME HOW")
	}
	model := fakellm.New(fakes()[args[1]]...)
	srv := httptest.NewServer(model)
	models.Store(srv.URL, model)
	ts.Defer(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	ts.Setenv(args[0], srv.URL)
}
