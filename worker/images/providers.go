package images

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Providers give credentials that are made when they are needed (package
// node/objects). What they cannot give they leave out.
type Providers interface {
	Logins(ctx context.Context, repository string, pod *v1.Pod) []Login
}

// Login is a user name and password for the registries that a pattern names.
type Login struct {
	Location string // like an entry of a docker config
	Username string
	Password string
	// Source is nil for a login that every pod of the node may use.
	Source *Source
}

func (s *Store) provided(ctx context.Context, repository string, pod *v1.Pod) *keyring {
	ring := &keyring{byLocation: map[string][]credential{}}
	if s.options.Providers == nil {
		return ring
	}
	for _, login := range s.options.Providers.Logins(ctx, repository, pod) {
		ring.file(login.Location, credential{username: login.Username, password: login.Password, source: login.Source})
	}
	return ring
}

// Matches says whether a pattern as credential providers have them (matchImages)
// fits a repository: host labels as globs, the port, and the path as a prefix.
func Matches(pattern, repository string) bool { return locationMatches(pattern, repository) }
