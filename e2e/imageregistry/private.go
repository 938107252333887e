package imageregistry

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// User is who a private registry lets in.
const User = "me"

// Private serves a registry for who has the password; without one for everybody.
func Private(password string) http.Handler {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); password != "" && given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// Push puts an image into a registry, and returns its reference.
func Push(host, password, repository string, content v1.Image) (string, error) {
	image := host + "/" + repository + ":1"
	reference, err := name.ParseReference(image, name.Insecure)
	if err != nil {
		return "", err
	}
	var user authn.Authenticator = authn.Anonymous
	if password != "" {
		user = &authn.Basic{Username: User, Password: password}
	}
	return image, remote.Write(reference, content, remote.WithAuth(user))
}

// Toolbox is the toolbox image as lifepod carries it, from the archive that it has unpacked below its state folder.
func Toolbox(root string) (v1.Image, error) {
	archives, err := filepath.Glob(filepath.Join(root, "bundle/*/images/*.tar"))
	if err != nil || len(archives) != 1 {
		return nil, fmt.Errorf("carried archives %v: %w", archives, err)
	}
	tag, err := name.NewTag("lifepod.dev/toolbox:1")
	if err != nil {
		return nil, err
	}
	return tarball.ImageFromPath(archives[0], &tag)
}
