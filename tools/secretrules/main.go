// Secretrules writes internal/redact/gitleaks.json: the rules of gitleaks for secrets, reduced to what package redact
// uses. Run it from the root of the repository with tools/secretrules/update, which fetches the newest gitleaks through
// the Go module proxy. The module itself is no dependency: its scanner of repositories would add 15 MB to the program.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// source is the part of a gitleaks configuration that is used.
type source struct {
	Allowlist struct {
		Regexes   []string
		Stopwords []string
	}
	Rules []struct {
		ID          string
		Regex       string
		Path        string
		Entropy     float64
		SecretGroup int `toml:"secretGroup"`
		Keywords    []string
		Allowlists  []struct {
			Regexes     []string
			RegexTarget string `toml:"regexTarget"`
			Stopwords   []string
			Condition   string
			Paths       []string
		}
	}
}

// rule and file are what package redact reads.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Entropy  float64  `json:"entropy,omitempty"`
	Keywords []string `json:"keywords"`
	Allow    []string `json:"allow,omitempty"` // expressions; a value that matches one is no secret
}

type file struct {
	Version string   `json:"version"`
	Allow   []string `json:"allow"` // for every rule
	Rules   []rule   `json:"rules"`
}

// left lists rules that are not taken. Public identifiers are no secrets; a rule for any name with "key" in it and one
// for every SHA-1 beside a product's name find, in prose, mostly what is none: package redact has its own for names.
var left = []string{
	"generic-api-key", "sourcegraph-access-token", "adobe-client-id", "asana-client-id", "discord-client-id",
	"linkedin-client-id", "flutterwave-public-key", "lob-pub-api-key", "mailgun-pub-key", "mapbox-api-token",
	"messagebird-client-id", "slack-webhook-url", "sendbird-access-id", "plaid-client-id", "curl-auth-user", "curl-auth-header",
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "secretrules:", err)
		os.Exit(1)
	}
}

// run converts the configuration at path, of a version of gitleaks, to out.
func run(path, version, out string) error {
	var in source
	if _, err := toml.DecodeFile(path, &in); err != nil {
		return err
	}
	f := file{Version: version, Allow: in.Allowlist.Regexes}
	for _, r := range in.Rules {
		// A rule for files of one name cannot be judged without the name.
		if r.Regex == "" || r.Path != "" || len(r.Keywords) == 0 || slices.Contains(left, r.ID) {
			continue
		}
		to := rule{ID: r.ID, Regex: r.Regex, Entropy: r.Entropy}
		for _, k := range r.Keywords {
			to.Keywords = append(to.Keywords, strings.ToLower(k))
		}
		for _, a := range r.Allowlists {
			if (a.RegexTarget == "" || a.RegexTarget == "secret") && a.Condition == "" && len(a.Paths) == 0 {
				to.Allow = append(to.Allow, a.Regexes...)
			}
		}
		f.Rules = append(f.Rules, to)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(f); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(text.String()), 0o644)
}
