package images

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	helperTimeout = 30 * time.Second
	// hubServer is the name of Docker Hub's registry to docker login and its helpers.
	hubServer = "https://index.docker.io/v1/"
	// tokenUser is the user of a helper whose secret is an identity token.
	tokenUser = "<token>"
)

// helpers are the programs that docker login has given credentials to, by the end of their names docker-credential-….
type helpers struct {
	CredHelpers map[string]string // by registry
	CredsStore  string            // of all others
}

// fileHelped asks the helper for a repository's registry, if there is one.
func (k keyring) fileHelped(ctx context.Context, config []byte, repository string) error {
	var h helpers
	if err := json.Unmarshal(config, &h); err != nil {
		return err
	}
	server, _, _ := strings.Cut(repository, "/")
	name, own := h.CredHelpers[server]
	if isDefaultRegistry(repository) {
		server = hubServer
	}
	if !own {
		name = h.CredsStore
	}
	if name == "" {
		return nil
	}
	if name != filepath.Base(name) {
		return fmt.Errorf("credential helper %q is no name of a program docker-credential-…", name)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	command.Stdin = strings.NewReader(server)
	text, err := command.Output()
	if bytes.HasPrefix(text, []byte("credentials not found")) {
		return nil
	}
	var answer struct{ Username, Secret string }
	if err == nil {
		err = json.Unmarshal(text, &answer)
	} else if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(append(text, exit.Stderr...)))
	}
	if err != nil {
		return fmt.Errorf("credential helper for %s: %s: %w", server, command.Args[0], err)
	}
	k.file(server, credential{username: answer.Username, password: answer.Secret})
	return nil
}
