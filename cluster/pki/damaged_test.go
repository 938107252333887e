package pki

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestDamaged: what all trust is never replaced; what it signs is.
func TestDamaged(t *testing.T) {
	const gone = "gone"
	for _, tc := range []struct {
		name, file, text string
		want             string   // of the error
		made             []string // again
	}{
		{name: "authority without its key", file: "ca.key", text: gone, want: "ca.crt: its key: "},
		{name: "damaged certificate", file: "ca.crt", text: "-----BEGIN", want: "ca.crt: tls: failed to find any PEM data in certificate input: put it and its key back from a backup"},
		{name: "empty certificate", file: "front-proxy-ca.crt", text: "", want: "front-proxy-ca.crt: "},
		{name: "damaged key", file: "ca.key", text: "half", want: "ca.crt: tls: failed to find any PEM data in key input: put it and its key back from a backup"},
		{name: "key of another", file: "ca.key", text: "front-proxy-ca.key", want: "ca.crt: tls: private key does not match public key"},
		{name: "no authority's", file: "ca.crt", text: "apiserver.crt", want: "ca.crt: "},
		{name: "killed before the certificate was written", file: "ca.crt", text: gone, made: []string{"ca.crt"}},
		{name: "private key of tokens is gone", file: "service-account.key", text: gone, want: "key of service account tokens: stat "},
		{name: "damaged key of tokens", file: "service-account.key", text: "half", want: "service-account.key: "},
		{name: "another key of tokens", file: "service-account.key", text: "ca.key", want: "service-account.pub is not that of "},
		{name: "killed before the public key was written", file: "service-account.pub", text: gone, made: []string{"service-account.pub"}},
		{name: "damaged certificate of a server", file: "apiserver.crt", text: "half", made: []string{"apiserver.crt", "apiserver.key"}},
		{name: "key of a server is another's", file: "node.key", text: "apiserver.key", made: []string{"node.crt", "node.key"}},
		{name: "certificate of a client is a server's", file: "front-proxy-client.crt", text: gone, made: []string{"front-proxy-client.crt", "front-proxy-client.key"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, dir := newClock(), t.TempDir()
			key := open(t, c.config(dir)).ca.certificate.RawSubjectPublicKeyInfo
			whole := content(t, dir)
			path := filepath.Join(dir, tc.file)
			if text, isFile := whole[tc.text]; isFile {
				tc.text = text
			}
			assert.Must(t, os.WriteFile(path, []byte(tc.text), 0o600))
			if tc.text == gone {
				assert.Must(t, os.Remove(path))
			}
			before := content(t, dir)
			f, err := Open(c.config(dir))
			if tc.want != "" {
				assert.True(t, err != nil && strings.Contains(err.Error(), tc.want) && strings.Contains(err.Error(), "from a backup"),
					"got %v, want …%s…", err, tc.want)
				assert.Deep(t, "files are changed", before, content(t, dir))
				return
			}
			assert.Must(t, err)
			assert.True(t, bytes.Equal(f.ca.certificate.RawSubjectPublicKeyInfo, key), "another authority")
			assert.Deep(t, "made again", tc.made, changed(before, content(t, dir)))
		})
	}
}
