package memory

import (
	"crypto/sha256"
	"encoding/hex"
)

// ForgottenHash is what is stored of a forgotten value: 128 bits of a salted SHA-256 of the normalised value, so that
// nobody can read the value from a file.
func ForgottenHash(salt, content string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + Normalize(content)))
	return salt + ":" + hex.EncodeToString(sum[:16])
}
