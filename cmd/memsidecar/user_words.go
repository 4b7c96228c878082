package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Messages of cobra and pflag, which speak of positions and of Go's packages.
var (
	argCount  = regexp.MustCompile(`^(accepts|requires) .*arg\(s\).*received (\d+)$|^accepts between .* received (\d+)$`)
	noArgs    = regexp.MustCompile(`^unknown command "(.*)" for ".*"$`)
	flagValue = regexp.MustCompile(`^invalid argument "(.*)" for "(?:-\w, )?(--[\w-]+)" flag: (.*)$`)
)

// flagKinds say what a flag of a type must be.
var flagKinds = map[string]string{
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number", "float64": "a number, such as 0.8",
	"bool": "true or false", "duration": "a time span, such as 30s or 5m",
}

// userWords says a usage error of the parser in the words of the help.
func userWords(cmd *cobra.Command, text string) string {
	if m := flagValue.FindStringSubmatch(text); m != nil {
		if f := cmd.Flags().Lookup(strings.TrimPrefix(m[2], "--")); f != nil && flagKinds[f.Value.Type()] != "" {
			return m[2] + " is " + quote(m[1]) + "; it must be " + flagKinds[f.Value.Type()]
		}
		return m[2] + " is " + quote(m[1]) + ": " + m[3]
	}
	_, takes, _ := strings.Cut(cmd.Use, " ")
	if m := argCount.FindStringSubmatch(text); m != nil {
		if m[2]+m[3] == "0" {
			return quote(cmd.CommandPath()) + " needs " + takes
		}
		return quote(cmd.CommandPath()) + " takes " + takes + "; " + m[2] + m[3] + " were given (quote a text with spaces)"
	}
	if m := noArgs.FindStringSubmatch(text); m != nil && takes == "" && !cmd.HasSubCommands() {
		return quote(cmd.CommandPath()) + " takes no arguments; got " + quote(m[1])
	}
	return text
}

// flagNames are the flags for fields of a request whose names differ.
var flagNames = map[string]string{
	"tags": "--tag", "categories": "--category", "sources": "--source", "statuses": "--status", "idempotency_key": "--key",
	"expected_revision": "--expect", "pinned": "--pin", "page_size": "--limit", "session_id": "the session",
	"session_ids": "--session", "spaces": "--space", "content": "the text", "query": "the query", "ids": "the ids",
	"id": "the id", "date": "the date", "text": "the text", "summary": "the summary",
	"include_logs": "--logs", "wait_indexed": "--wait-indexed", "mirror_url": "--with", "min_positions": "--min-position",
}

// fieldWords names a field of a request as the command line does.
func fieldWords(field string) string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	if flag := flagNames[name]; flag != "" {
		return flag
	}
	switch name {
	case "category", "salience", "confidence", "title", "source", "space", "reason", "limit", "profile", "arm", "tool",
		"type", "error", "min_salience", "min_score", "created_at", "expires_at", "created_from", "created_before":
		return "--" + strings.ReplaceAll(name, "_", "-")
	}
	return field
}
