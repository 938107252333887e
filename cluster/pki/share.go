package pki

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// shared are the files that all servers of a cluster have alike; what else they need
// is signed with these.
var shared = []string{
	caName + ".key", caName + ".crt", frontProxyCA + ".key", frontProxyCA + ".crt", serviceAccount + ".key", serviceAccount + ".pub",
}

// Share copies what all servers of a cluster have alike from another server's folder.
// Files that are there already must be the same.
func Share(from, to string) error {
	texts := map[string][]byte{}
	for _, name := range shared {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return fmt.Errorf("%w: want a copy of the folder ROOT/cluster/pki of a server that is there", err)
		}
		have, err := os.ReadFile(filepath.Join(to, name))
		if err == nil && !bytes.Equal(have, text) {
			return fmt.Errorf("%s is another than %s: this root belongs to another cluster; want another --root", filepath.Join(to, name), filepath.Join(from, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil {
			texts[name] = text
		}
	}
	if err := rootfolder.Ensure(to, 0o700); err != nil {
		return err
	}
	for _, name := range shared { // keys before certificates, as in writePair
		if text, ok := texts[name]; ok {
			if err := wholefile.Write(filepath.Join(to, name), text); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fingerprints are those of what all servers of a cluster have alike: SHA-256 of the
// public keys, by file. A folder without any has none.
func Fingerprints(dir string) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{caName + ".crt", frontProxyCA + ".crt", serviceAccount + ".pub"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			found[name], err = fingerprint(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return found, nil
}

// AuthorityFingerprint is that of an authority in PEM, as Fingerprints has it.
func AuthorityFingerprint(text []byte) (map[string]string, error) {
	sum, err := fingerprint(text)
	return map[string]string{caName + ".crt": sum}, err
}

func fingerprint(text []byte) (string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return "", errors.New("there is no PEM in it")
	}
	public := block.Bytes
	if block.Type == cert.CertificateBlockType {
		certificates, err := cert.ParseCertsPEM(text)
		if err != nil {
			return "", err
		}
		public = certificates[0].RawSubjectPublicKeyInfo
	}
	sum := sha256.Sum256(public)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
