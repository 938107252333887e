package objects

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
)

// publicKey is what all kinds of public keys have.
type publicKey interface{ Equal(crypto.PublicKey) bool }

func publicOf(key any) publicKey { return key.(crypto.Signer).Public().(publicKey) }

// describeKey is the type of a key and its size, or the error.
func describeKey(key crypto.Signer, err error) string {
	if err != nil {
		return err.Error()
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return fmt.Sprintf("%T %d", k, k.Size())
	case *ecdsa.PrivateKey:
		return fmt.Sprintf("%T %s", k, k.Curve.Params().Name)
	case ed25519.PrivateKey:
	}
	return fmt.Sprintf("%T", key)
}
