package images

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// defaultRegistry is the name under which a login to Docker Hub is filed; it
// answers for "docker.io", too, when nothing more specific does.
const defaultRegistry = "index.docker.io"

// keyring answers which credentials fit a repository, most specific first.
// go-containerregistry's Kubernetes keychain gives only the first match, and
// A-IMG-7 wants each one tried, hence this one. It has them by location.
type keyring map[string][]credential

// add files the entries of a docker config. An entry whose location isn't a
// URL is passed over, as in Kubernetes.
func (k keyring) add(config dockerConfig, source *Source) error {
	for _, entry := range slices.Sorted(maps.Keys(config)) {
		login, err := config[entry].credential()
		if err != nil {
			return fmt.Errorf("entry %q: %w", entry, err)
		}
		if source != nil {
			own := *source
			own.CredentialHash = login.hash()
			login.source = &own
		}
		k.file(entry, login)
	}
	return nil
}

// file puts a credential under its location.
func (k keyring) file(entry string, login credential) {
	if location, ok := canonicalLocation(entry); ok {
		k[location] = append(k[location], login)
	}
}

// lookup returns every credential that fits the repository, in the order in
// which they are to be tried: locations in reverse alphabetical order, which
// puts the longer path before the shorter; within one, the order of the secrets.
func (k keyring) lookup(repository string) []credential {
	var found []credential
	for _, location := range slices.Backward(slices.Sorted(maps.Keys(k))) {
		if locationMatches(location, repository) {
			found = append(found, k[location]...)
		}
	}
	if len(found) == 0 && isDefaultRegistry(repository) {
		return k[defaultRegistry]
	}
	return found
}

// canonicalLocation strips scheme and API version: "https://r.io/v1/team"
// becomes "r.io/team".
func canonicalLocation(entry string) (string, bool) {
	if !strings.HasPrefix(entry, "https://") && !strings.HasPrefix(entry, "http://") {
		entry = "https://" + entry
	}
	parsed, err := url.Parse(entry)
	if err != nil {
		return "", false
	}
	folder := parsed.Path
	if strings.HasPrefix(folder, "/v1/") || strings.HasPrefix(folder, "/v2/") {
		folder = folder[len("/v1"):]
	}
	if folder == "/" {
		folder = ""
	}
	return parsed.Host + folder, true
}

// locationMatches compares host labels one by one as glob patterns ("*.r.io"
// fits "eu.r.io", not "a.eu.r.io"), ports exactly, and paths as a prefix.
func locationMatches(location, repository string) bool {
	wantHost, wantPath := splitLocation(location)
	host, folder := splitLocation(repository)
	if !strings.HasPrefix(folder, wantPath) {
		return false
	}
	wantName, wantPort := splitPort(wantHost)
	name, port := splitPort(host)
	wantLabels, labels := strings.Split(wantName, "."), strings.Split(name, ".")
	if wantPort != port || len(wantLabels) != len(labels) {
		return false
	}
	for i, pattern := range wantLabels {
		if ok, err := path.Match(pattern, labels[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// splitLocation separates the host from the path, which keeps its slash.
func splitLocation(location string) (host, folder string) {
	if i := strings.IndexByte(location, '/'); i >= 0 {
		return location[:i], location[i:]
	}
	return location, ""
}

// splitPort separates the port; a bracketed IPv6 address keeps its colons.
func splitPort(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}

// isDefaultRegistry tells whether a repository belongs to Docker Hub.
func isDefaultRegistry(repository string) bool {
	host, _ := splitLocation(repository)
	return host == "docker.io" || host == defaultRegistry
}

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

func (s *Store) provided(ctx context.Context, repository string, pod *v1.Pod) keyring {
	ring := keyring{}
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

// DefaultNodeConfigs is where a machine keeps registry credentials of its own,
// as [Options.NodeConfigs] takes them: those of root, who runs lifepod.
func DefaultNodeConfigs() []string {
	return []string{"/root/.docker/config.json"}
}

// AgentNodeConfigs is where the agent of a cluster's node looks, as the kubelet
// does: below its root folder, then as root, then at the top (A-IMG-7).
func AgentNodeConfigs(root string) []string {
	return append(append([]string{filepath.Join(root, "config.json")}, DefaultNodeConfigs()...), "/.docker/config.json")
}
