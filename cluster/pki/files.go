package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"

	"github.com/lifepod/lifepod/internal/wholefile"
)

func (f *Folder) readPair(name string) (p pair, err error) {
	if p.certificate, err = os.ReadFile(f.path(name + ".crt")); err != nil {
		return pair{}, err
	}
	p.key, err = os.ReadFile(f.path(name + ".key"))
	return p, err
}

// writePair writes the key first: who finds the certificate finds its key.
func (f *Folder) writePair(name string, p pair) error {
	if err := wholefile.Write(f.path(name+".key"), p.key); err != nil {
		return err
	}
	return wholefile.Write(f.path(name+".crt"), p.certificate)
}

// authority reads one, or makes it. One of which half is gone is never replaced:
// all that trust it would trust nobody any more. Only from its key alone, which is
// what is there if this process was killed here before, the certificate is made.
func (f *Folder) authority(file, name string) (*authority, error) {
	a, err := f.readOrMake(file, name)
	if err != nil {
		return nil, fmt.Errorf("certificate authority %s: %w", f.path(file+".crt"), err)
	}
	return a, nil
}

func (f *Folder) readOrMake(file, name string) (*authority, error) {
	certificate, err := os.ReadFile(f.path(file + ".crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return f.makeAuthority(file, name)
	}
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(f.path(file + ".key"))
	if err != nil {
		return nil, fmt.Errorf("its key: %w: put it back from a backup", err)
	}
	a, err := readAuthority(pair{certificate, key}, f.Now())
	if err != nil {
		return nil, fmt.Errorf("%w: put it and its key back from a backup", err)
	}
	return a, nil
}

func (f *Folder) makeAuthority(file, name string) (*authority, error) {
	key, err := f.keyOf(file + ".key")
	if err != nil {
		return nil, err
	}
	p, err := newAuthority(name, key, f.Now())
	if err != nil {
		return nil, err
	}
	if err := f.writePair(file, p); err != nil {
		return nil, err
	}
	return readAuthority(p, f.Now())
}

// keyOf is the key in a file, or a new one if there is none.
func (f *Folder) keyOf(file string) (crypto.Signer, error) {
	text, err := os.ReadFile(f.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return newKey()
	}
	if err != nil {
		return nil, err
	}
	key, err := readKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: put it back from a backup", f.path(file), err)
	}
	return key, nil
}

// tokenKey makes the key of service account tokens, if it is not there. One that is
// damaged or gone is not replaced: the tokens that it has signed would be worth
// nothing.
func (f *Folder) tokenKey() error {
	if err := f.makeTokenKey(); err != nil {
		return fmt.Errorf("key of service account tokens: %w", err)
	}
	return nil
}

func (f *Folder) makeTokenKey() error {
	text, err := os.ReadFile(f.TokenPublicKey())
	hasPublic := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(f.TokenKey()); hasPublic && err != nil {
		return fmt.Errorf("%w: put it back from a backup", err)
	}
	key, err := f.keyOf(filepath.Base(f.TokenKey()))
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	switch {
	case hasPublic && bytes.Equal(text, public):
		return nil
	case hasPublic:
		return fmt.Errorf("%s is not that of %s: put both back from a backup", f.TokenPublicKey(), f.TokenKey())
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	if err := wholefile.Write(f.TokenKey(), private); err != nil {
		return err
	}
	return wholefile.Write(f.TokenPublicKey(), public)
}
