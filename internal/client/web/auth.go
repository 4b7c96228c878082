package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Two things authorize a request. Programs of the same user read the token from a file with mode 0600. A browser
// cannot read files, so `memsidecar ui` opens an address with a login code in its fragment, and the panel exchanges
// the code for the token of a session, which only its tab knows. Secrets are kept as SHA-256 hashes.

// Lifetimes and numbers of login codes and sessions.
const (
	codeLifetime    = time.Minute
	sessionLifetime = 12 * time.Hour // since the last request
	maxCodes        = 16
	maxSessions     = 64
)

// credentials holds what authorizes a request: the token in Files.Token, and the tokens of browser sessions, which
// begin with a login code. A code works once, so an address in a browser's history opens nothing. All of them are
// lost when the daemon stops.
type credentials struct {
	now   func() time.Time
	token string // of Files.Token

	mu       sync.Mutex                      // guards codes and sessions
	codes    map[[sha256.Size]byte]time.Time // hash of a code -> its expiry
	sessions map[[sha256.Size]byte]time.Time // hash of a session's token -> its expiry
}

// newCredentials makes a new token; there are no sessions yet.
func newCredentials(now func() time.Time) *credentials {
	return &credentials{
		now: now, token: newSecret(), codes: map[[sha256.Size]byte]time.Time{},
		sessions: map[[sha256.Size]byte]time.Time{},
	}
}

// newSecret returns 260 random bits as text.
func newSecret() string { return strings.ToLower(rand.Text() + rand.Text()) }

// newCode returns a login code.
func (k *credentials) newCode() string { return k.issue(k.codes, codeLifetime, maxCodes) }

// login exchanges a code for a session's token. The code is used up, also when it has expired.
func (k *credentials) login(code string) (token string, ok bool) {
	if !k.redeem(k.codes, code) {
		return "", false
	}
	return k.issue(k.sessions, sessionLifetime, maxSessions), true
}

// issue adds a secret with a lifetime to a set and returns it. Expired secrets are dropped; when the set still has
// most elements, the one that expires first is dropped too.
func (k *credentials) issue(in map[[sha256.Size]byte]time.Time, life time.Duration, most int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for hash, until := range in {
		if !now.Before(until) {
			delete(in, hash)
		}
	}
	// The bound keeps a page that asks in a loop from filling memory.
	for len(in) >= most {
		var oldest [sha256.Size]byte
		first := true
		for hash, until := range in {
			if first || until.Before(in[oldest]) {
				oldest, first = hash, false
			}
		}
		delete(in, oldest)
	}
	s := newSecret()
	in[sha256.Sum256([]byte(s))] = now.Add(life)
	return s
}

// redeem removes a secret from a set and reports whether it was there and had not expired.
func (k *credentials) redeem(in map[[sha256.Size]byte]time.Time, s string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash := sha256.Sum256([]byte(s))
	until, ok := in[hash]
	delete(in, hash)
	return ok && k.now().Before(until)
}

// authorizes reports whether a request carries the token or that of a session. It extends the session's lifetime.
func (k *credentials) authorizes(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || given == "" || len(r.Header.Values("Authorization")) != 1 {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(k.token)) == 1 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// A lookup by hash takes no longer for a guess that is nearly right.
	hash := sha256.Sum256([]byte(given))
	until, ok := k.sessions[hash]
	if !ok || !k.now().Before(until) {
		return false
	}
	k.sessions[hash] = k.now().Add(sessionLifetime)
	return true
}
