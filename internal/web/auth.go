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

// How long what is given out holds, and how much of it there can be.
const (
	codeLife    = time.Minute
	sessionLife = 12 * time.Hour // without a request
	maxCodes    = 16
	maxSessions = 64
)

// keys are the ways to be let in: the token of the file, and sessions that began with a one-time code.
type keys struct {
	now   func() time.Time
	token string

	mu       sync.Mutex                      // guards what follows
	codes    map[[sha256.Size]byte]time.Time // by the hash of the code, when it expires
	sessions map[[sha256.Size]byte]time.Time // by the hash of the session's token
}

func newKeys(now func() time.Time) *keys {
	return &keys{now: now, token: secret(), codes: map[[sha256.Size]byte]time.Time{}, sessions: map[[sha256.Size]byte]time.Time{}}
}

// secret has 260 bits that nobody can guess.
func secret() string { return strings.ToLower(rand.Text() + rand.Text()) }

func (k *keys) newCode() string { return k.put(k.codes, codeLife, maxCodes) }

// login makes a session of a code, which is of no use after that.
func (k *keys) login(code string) (token string, ok bool) {
	if !k.take(k.codes, code) {
		return "", false
	}
	return k.put(k.sessions, sessionLife, maxSessions), true
}

// put gives out a secret. When there are too many the one that would expire first goes.
func (k *keys) put(in map[[sha256.Size]byte]time.Time, life time.Duration, most int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for hash, until := range in {
		if !now.Before(until) {
			delete(in, hash)
		}
	}
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
	s := secret()
	in[sha256.Sum256([]byte(s))] = now.Add(life)
	return s
}

func (k *keys) take(in map[[sha256.Size]byte]time.Time, s string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	hash := sha256.Sum256([]byte(s))
	until, ok := in[hash]
	delete(in, hash)
	return ok && k.now().Before(until)
}

// allows reports whether the request carries the token or that of a session, whose time begins anew.
func (k *keys) allows(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || given == "" || len(r.Header.Values("Authorization")) != 1 {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(k.token)) == 1 {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// Looking up a hash tells nobody by its time how near a guess was.
	hash := sha256.Sum256([]byte(given))
	until, ok := k.sessions[hash]
	if !ok || !k.now().Before(until) {
		return false
	}
	k.sessions[hash] = k.now().Add(sessionLife)
	return true
}
