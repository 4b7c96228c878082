package llm

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
)

// DefaultBaseURL is the base URL of a provider's hosted service, "" for an unknown provider.
func DefaultBaseURL(provider string) string {
	switch provider {
	case OpenAI:
		return "https://api.openai.com/v1"
	case Anthropic:
		return "https://api.anthropic.com"
	}
	return ""
}

// CheckBaseURL validates a base URL. Plain http is allowed for loopback addresses only, unless allowHTTP is set. The
// error does not quote the URL, which may contain a password.
func CheckBaseURL(base string, allowHTTP bool) error {
	_, err := parseBase(base, allowHTTP)
	return err
}

// parseBase parses and validates a base URL; see CheckBaseURL.
func parseBase(base string, allowHTTP bool) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("must be an address such as https://api.openai.com/v1 or http://localhost:11434/v1")
	case u.User != nil:
		return nil, errors.New("must not hold a user or password; keys come from the environment or a file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("must not have a ? or # part")
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("is plain http to another machine (%s), readable by anyone on the network path; use "+
			"https, "+
			"or set llm_allow_http to true", u.Hostname())
	}
	return u, nil
}

// isLoopback does not resolve names: anyone who can redirect localhost already controls this machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// endpoint appends the provider's path to the base URL. A version segment at the end of the base is not repeated.
func endpoint(base *url.URL, w provider) string {
	u := *base
	path := strings.TrimRight(u.Path, "/")
	if first, _, ok := strings.Cut(strings.TrimPrefix(w.path, "/"), "/"); ok && strings.HasSuffix(path, "/"+first) {
		path = strings.TrimSuffix(path, "/"+first)
	}
	u.Path, u.RawPath = path+w.path, ""
	return u.String()
}

// forbiddenHeaders are set by the request itself, or would put a key into the configuration.
var forbiddenHeaders = []string{
	"Accept", "Accept-Encoding", "Anthropic-Version", "Api-Key", "Authorization", "Connection", "Content-Encoding",
	"Content-Length", "Content-Type", "Cookie", "Host",
	"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"X-Api-Key",
}

// CheckHeader validates an additional request header. The error names the header and does not quote its value.
func CheckHeader(name, value string) error {
	switch {
	case name == "" || strings.Trim(name, headerName) != "":
		return errors.New("a header's name must have letters, digits and hyphens only")
	case slices.Contains(forbiddenHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return fmt.Errorf("the header %s cannot be set; use llm_api_key_env or llm_api_key_file for the key", name)
	case len(value) > 4096 || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return fmt.Errorf("the value of the header %s must be at most 4096 printable ASCII characters", name)
	}
	return nil
}

// headerName are the characters of a header's name.
const headerName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
