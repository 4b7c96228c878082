package memsidecar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/memsidecar/memsidecar/clients/go"
)

// step is one call of a case; see clients/conformance.
type step struct {
	Call    string            `json:"call"`
	Request json.RawMessage   `json:"request"`
	Expect  any               `json:"expect"`
	Save    map[string]string `json:"save"`
	Error   *struct {
		Code     string            `json:"code"`
		Reason   string            `json:"reason"`
		Metadata map[string]string `json:"metadata"`
		Fields   []string          `json:"fields"`
	} `json:"error"`
}

func TestConformance(t *testing.T) {
	data, err := os.ReadFile("../conformance/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string `json:"name"`
		Steps []step `json:"steps"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	for i, tt := range cases {
		t.Run(tt.Name, func(t *testing.T) {
			vars := map[string]string{"space": fmt.Sprintf("go-%d", i)}
			for _, s := range tt.Steps {
				s.run(t, c, vars)
			}
		})
	}
}

func (s step) run(t *testing.T, c *memsidecar.Client, vars map[string]string) {
	t.Helper()
	response, err := s.call(t, c, []byte(substitute(string(s.Request), vars)))
	if s.Error != nil {
		s.checkError(t, err, vars)
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", s.Call, err)
	}
	text, err := protojson.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if problem := compare(s.Expect, got, vars, ""); problem != "" {
		t.Fatalf("%s: %s\nin %s", s.Call, problem, text)
	}
	for name, path := range s.Save {
		value := at(got, path)
		if value == nil {
			t.Fatalf("%s: there is no %s in %s", s.Call, path, text)
		}
		vars[name] = fmt.Sprint(value)
	}
}

// call finds the method by its name on the client's fields. Of a stream it takes the first message.
func (s step) call(t *testing.T, c *memsidecar.Client, request []byte) (proto.Message, error) {
	t.Helper()
	service, name, _ := strings.Cut(s.Call, "/")
	stub := map[string]any{
		"MemoryService": c.Memory, "SearchService": c.Searches, "SessionService": c.Sessions, "LogService": c.Logs,
		"OperationService": c.Operations, "FileService": c.Files, "AdminService": c.Admin,
	}[service]
	method := reflect.ValueOf(stub).MethodByName(name)
	if !method.IsValid() {
		t.Fatalf("%s: no such call", s.Call)
	}
	req := reflect.New(method.Type().In(1).Elem())
	if err := protojson.Unmarshal(request, req.Interface().(proto.Message)); err != nil {
		t.Fatalf("%s: request: %v", s.Call, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := method.Call([]reflect.Value{reflect.ValueOf(ctx), req})
	if recv := out[0].MethodByName("Recv"); out[1].IsNil() && recv.IsValid() {
		out = recv.Call(nil)
	}
	err, _ := out[1].Interface().(error)
	response, _ := out[0].Interface().(proto.Message)
	return response, err
}

func (s step) checkError(t *testing.T, err error, vars map[string]string) {
	t.Helper()
	var e *memsidecar.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: error is %v, want %s", s.Call, err, s.Error.Reason)
	}
	if code := upperSnake(e.Code.String()); code != s.Error.Code || e.Reason != s.Error.Reason {
		t.Errorf("%s: error is %s %s, want %s %s", s.Call, code, e.Reason, s.Error.Code, s.Error.Reason)
	}
	for k, v := range s.Error.Metadata {
		if want := substitute(v, vars); e.Metadata[k] != want {
			t.Errorf("%s: metadata %s is %q, want %q", s.Call, k, e.Metadata[k], want)
		}
	}
	fields := map[string]bool{}
	for _, v := range e.Violations {
		fields[v.Field] = true
	}
	for _, f := range s.Error.Fields {
		if !fields[f] {
			t.Errorf("%s: no violation of %s in %v", s.Call, f, e.Violations)
		}
	}
}

// compare returns what does not hold, or "".
func compare(want, got any, vars map[string]string, path string) string {
	switch want := want.(type) {
	case nil:
		return ""
	case string:
		switch want {
		case "$present":
			if got == nil {
				return path + " is absent"
			}
			return ""
		case "$absent":
			if got != nil {
				return fmt.Sprintf("%s is there: %v", path, got)
			}
			return ""
		}
		if want = substitute(want, vars); want != fmt.Sprint(got) {
			return fmt.Sprintf("%s is %v, want %s", path, got, want)
		}
		return ""
	case map[string]any:
		object, _ := got.(map[string]any)
		for k, w := range want {
			if problem := compare(w, object[k], vars, path+"."+k); problem != "" {
				return problem
			}
		}
		return ""
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return fmt.Sprintf("%s has %d elements, want %d", path, len(list), len(want))
		}
		for i, w := range want {
			if problem := compare(w, list[i], vars, fmt.Sprintf("%s[%d]", path, i)); problem != "" {
				return problem
			}
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

// at follows a path such as result.outcomes.0.id.
func at(v any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func substitute(s string, vars map[string]string) string {
	for name, value := range vars {
		s = strings.ReplaceAll(s, "${"+name+"}", value)
	}
	return s
}

var lower = regexp.MustCompile(`([a-z])([A-Z])`)

func upperSnake(s string) string { return strings.ToUpper(lower.ReplaceAllString(s, "${1}_$2")) }
