package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memsidecar/memsidecar/internal/lazyregexp"
)

// invalidArgument begins the errors with which the SDK refuses arguments. Behind it stands the whole value, which a
// model has in its context already.
const invalidArgument = `validating "arguments": `

// argumentName finds the argument in such an error: the last property of the path.
var argumentName = lazyregexp.New(`/properties/([\w]+)`)

// argumentFaults turn the keyword of a schema and its bound into a sentence. Values are left out.
var argumentFaults = []struct {
	pattern *lazyregexp.Pattern
	says    string
}{
	{lazyregexp.New(`(?s)maxLength: .* contains (\d+) Unicode code points, more than (\d+)$`),
		"has $1 characters; the limit is $2"},
	{lazyregexp.New(`(?s)minLength: .* fewer than (\d+)$`), "must have at least $1 characters"},
	{lazyregexp.New(`(?s)maximum: .* is greater than (\d+)(?:\.0+)?$`), "must be at most $1"},
	{lazyregexp.New(`(?s)maximum: .* is greater than ([\d.]+)$`), "must be at most $1"},
	{lazyregexp.New(`(?s)minimum: .* is less than (\d+)(?:\.0+)?$`), "must be at least $1"},
	{lazyregexp.New(`(?s)minimum: .* is less than ([\d.]+)$`), "must be at least $1"},
	{lazyregexp.New(`(?s)enum: .* does not equal any of: (\[[^\]]*\])$`), "must be one of $1"},
	{lazyregexp.New(`(?s)type: .* has type "(\w+)", want (?:one of )?"?([\w", ]+?)"?$`), "is of type $1; it must be $2"},
	{lazyregexp.New(`required: missing properties: (\[[^\]]*\])$`), "lacks $1"},
}

// hideArguments says what is wrong with arguments without repeating them: a text of 9,000 characters that is too long
// would stand in the model's context twice.
func (s *Server) hideArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		out, ok := res.(*mcp.CallToolResult)
		if !ok || out == nil || !out.IsError {
			return res, err
		}
		for _, c := range out.Content {
			text, ok := c.(*mcp.TextContent)
			if !ok {
				continue
			}
			if was := text.Text; strings.HasPrefix(text.Text, invalidArgument) {
				text.Text = argumentFault(text.Text)
				if m := unknownArguments.FindStringSubmatch(was); m != nil {
					text.Text = s.unknownArgument(req, m[1])
				}
			}
		}
		return res, err
	}
}

// unknownArguments finds the names of arguments that a tool does not have.
var unknownArguments = lazyregexp.New(`^validating "arguments": (?:validating root: )?` +
	`unexpected additional properties (\[.*\])$`)

// unknownArgument names arguments that the tool of a call does not have, and those that it has.
func (s *Server) unknownArgument(req mcp.Request, names string) string {
	call, ok := req.(*mcp.CallToolRequest)
	if !ok {
		return "Unknown arguments: " + names + "."
	}
	known, _ := s.known.Load(call.Params.Name)
	return fmt.Sprintf("%s has no arguments %s. It takes: %v. Call it again with these.", call.Params.Name, names, known)
}

// argumentFault is the sentence about an argument that the schema refuses.
func argumentFault(text string) string {
	subject := "The call"
	if names := argumentName.FindAllStringSubmatch(pathOf(text), -1); len(names) > 0 {
		subject = "The argument " + names[len(names)-1][1]
	}
	for _, f := range argumentFaults {
		if m := f.pattern.FindString(text); m != "" {
			return subject + " " + f.pattern.ReplaceAllString(m, f.says) + ". Call the tool again with values within these limits."
		}
	}
	return subject + " is not valid. Call the tool again with the arguments that its schema names."
}

// pathOf is the part of an error that names the place in the schema: steps that begin with "validating".
func pathOf(text string) string {
	var path []string
	for part := range strings.SplitSeq(strings.TrimPrefix(text, invalidArgument), ": ") {
		if !strings.HasPrefix(part, "validating ") {
			break
		}
		path = append(path, part)
	}
	return strings.Join(path, " ")
}
