package images

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Source says where a credential comes from, for the records of who may use an
// image (A-IMG-8). A credential of the node has no Source.
type Source struct {
	SecretUID       string
	SecretNamespace string
	SecretName      string
	// CredentialHash is the SHA-256 of user name, password and email as the JSON
	// of Kubernetes, in hex.
	CredentialHash string
	// ServiceAccount, instead of a secret, is the one whose token a credential
	// provider was given.
	ServiceAccount *ServiceAccount
}

// ServiceAccount is one of the API server's.
type ServiceAccount struct {
	UID       string
	Namespace string
	Name      string
}

// credential is one user name and password that may open a registry.
type credential struct {
	username string
	password string
	email    string // is part of the hash only
	source   *Source
}

// hash is that of the kubelet, so that its records stay good.
func (c credential) hash() string {
	text, err := json.Marshal(struct {
		Username string `json:"username,omitempty"`
		Password string `json:"password,omitempty"`
		Email    string `json:"email,omitempty"`
	}{c.username, c.password, c.email})
	if err != nil {
		return "" // strings always can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// dockerConfig is what a registry login leaves behind: entries by registry,
// optionally with a path.
type dockerConfig map[string]dockerEntry

type dockerEntry struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email"`
	// Auth is base64(username:password), padded or not; it wins over the two.
	Auth string `json:"auth"`
}

// credential resolves Auth.
func (e dockerEntry) credential() (credential, error) {
	if e.Auth == "" {
		return credential{username: e.Username, password: e.Password, email: e.Email}, nil
	}
	unpadded := strings.TrimRight(strings.TrimSpace(e.Auth), "=")
	decoded, err := base64.RawStdEncoding.DecodeString(unpadded)
	if err != nil {
		return credential{}, fmt.Errorf("auth is not base64: %w", err)
	}
	username, password, found := strings.Cut(string(decoded), ":")
	if !found {
		return credential{}, errors.New("auth is not base64 of username:password")
	}
	return credential{username: username, password: password, email: e.Email}, nil
}

// parseConfigJSON reads the form of ~/.docker/config.json.
func parseConfigJSON(data []byte) (dockerConfig, error) {
	var config struct {
		Auths dockerConfig `json:"auths"`
	}
	err := json.Unmarshal(data, &config)
	return config.Auths, err
}

// secretConfig is the docker config within a pull secret; nil for a secret of
// another type or without content, which Kubernetes passes over in silence.
func secretConfig(secret *v1.Secret) (config dockerConfig, err error) {
	switch {
	case secret.Type == v1.SecretTypeDockerConfigJson && len(secret.Data[v1.DockerConfigJsonKey]) > 0:
		return parseConfigJSON(secret.Data[v1.DockerConfigJsonKey])
	case secret.Type == v1.SecretTypeDockercfg && len(secret.Data[v1.DockerConfigKey]) > 0:
		err = json.Unmarshal(secret.Data[v1.DockerConfigKey], &config) // the form of ~/.dockercfg has no "auths" level
	}
	return config, err
}

// secretKeyring holds the credentials of all pull secrets of a pod. An
// unreadable secret makes the pull fail, as in Kubernetes.
func secretKeyring(secrets []v1.Secret) (keyring, error) {
	ring := keyring{}
	for i := range secrets {
		secret := &secrets[i]
		config, err := secretConfig(secret)
		if err == nil {
			err = ring.add(config, &Source{
				SecretUID:       string(secret.UID),
				SecretNamespace: secret.Namespace,
				SecretName:      secret.Name,
			})
		}
		if err != nil {
			return nil, fmt.Errorf("read pull secret %s: %w", path.Join(secret.Namespace, secret.Name), err)
		}
	}
	return ring, nil
}

// nodeKeyring holds the credentials that every pod on this node may use: those
// of the first file that exists, and of the helper that it names for the repository.
// It is read at each pull, so that a login takes effect at once.
func nodeKeyring(ctx context.Context, paths []string, repository string) (keyring, error) {
	ring := keyring{}
	for _, file := range paths {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read registry credentials of the node: %w", err)
		}
		config, err := parseConfigJSON(data)
		if err == nil {
			err = ring.fileHelped(ctx, data, repository)
		}
		if err == nil {
			err = ring.add(config, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("read registry credentials of the node from %s: %w", file, err)
		}
		return ring, nil
	}
	return ring, nil
}
