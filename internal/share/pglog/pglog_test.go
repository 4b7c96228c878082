package pglog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVerification: without a word about it, TLS to another machine checks certificate and name.
func TestVerification(t *testing.T) {
	services := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(services, []byte("[plain]\nhost=db.example.com\n[open]\nhost=db.example.com\nsslmode=disable\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", services)
	t.Setenv("PGSSLMODE", "")
	for address, verified := range map[string]bool{
		"postgres://alice@db.example.com/memories":        true,
		"host=db.example.com dbname=memories":             true,
		"postgres://alice@db.service.example.com/service": true, // no parameter, whatever it is called
		"host=sslmode.example.com dbname=service":         true,
		"service=plain": true,
		"service=open":  false,
		"postgres://db.example.com/memories?sslmode=require":             false,
		"host=db.example.com sslmode = disable":                          false,
		"postgres:///memories?host=/var/run/postgresql":                  false,
		"postgres://localhost/memories":                                  false,
		"postgres://localhost,db.example.com/memories?sslmode=verify-ca": false,
		"postgres://localhost,db.example.com/memories":                   true,
	} {
		cfg, err := config(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		got := cfg.TLSConfig != nil && !cfg.TLSConfig.InsecureSkipVerify && cfg.TLSConfig.ServerName == cfg.Host
		for _, f := range cfg.Fallbacks {
			got = got && f.TLSConfig != nil && !f.TLSConfig.InsecureSkipVerify && f.TLSConfig.ServerName == f.Host
		}
		if got != verified {
			t.Errorf("%s: verified %v, want %v", address, got, verified)
		}
	}
}
