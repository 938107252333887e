package join

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/client-go/util/cert"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
)

// Invitation is what a machine is given to join with.
type Invitation struct {
	Server string   // URL of the API server
	Token  string   // ID.SECRET
	Hashes []string // of the authority's public key, "sha256:" and hex digits; only what has one of them is trusted
	// Unpinned does without a hash: any holder of a token could have made the answer up.
	Unpinned bool
}

var hashForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// validate says what is wrong; the token is never part of it.
func (i Invitation) validate() error {
	if err := ValidServer(i.Server); err != nil {
		return err
	}
	if !bootstraputil.IsValidBootstrapToken(i.Token) {
		return errors.New("the token has not the form ID.SECRET, 6 and 16 characters of a to z and 0 to 9")
	}
	for _, h := range i.Hashes {
		if !hashForm.MatchString(h) {
			return fmt.Errorf("--ca-hash %q: want sha256: and 64 hexadecimal digits", h)
		}
	}
	switch {
	case len(i.Hashes) == 0 && !i.Unpinned:
		return errors.New("without --ca-hash another server could pass itself off as the cluster: give the one of lifepod token create --print-join-command, or --insecure-skip-ca-verification")
	case len(i.Hashes) > 0 && i.Unpinned:
		return errors.New("--ca-hash and --insecure-skip-ca-verification exclude each other")
	}
	return nil
}

// ValidServer says what is wrong with the address of an API server.
func ValidServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fmt.Errorf("%q: want the API server's address, https://HOST:PORT", server)
	}
	return nil
}

func (i Invitation) tokenID() string {
	id, _, _ := strings.Cut(i.Token, ".")
	return id
}

func (i Invitation) tokenSecret() string {
	_, secret, _ := strings.Cut(i.Token, ".")
	return secret
}

// trusted are the certificates of an authority that have one of the hashes; others that
// stand beside them are not believed, since every holder of a token could have added one.
func (i Invitation) trusted(authority []byte) ([]byte, error) {
	certificates, err := cert.ParseCertsPEM(authority)
	if err != nil {
		return nil, fmt.Errorf("certificate authority of the cluster: %w", err)
	}
	if i.Unpinned {
		return authority, nil
	}
	var pinned, seen []string
	for _, c := range certificates {
		sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
		hash := "sha256:" + hex.EncodeToString(sum[:])
		if slices.Contains(i.Hashes, hash) {
			pinned = append(pinned, string(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})))
		}
		seen = append(seen, hash)
	}
	if len(pinned) > 0 {
		return []byte(strings.Join(pinned, "")), nil
	}
	return nil, fmt.Errorf("what answers at %s is another cluster, or somebody in between: the digest of its authority is %s", i.Server, strings.Join(seen, ", "))
}
