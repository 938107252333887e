package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// Config is where agents run.
type Config struct {
	// Plane has to be one whose API server pods can reach.
	Plane *controlplane.ControlPlane
	// Address is one of the machine, at which pods reach the API server.
	Address string
	// Module is the folder of JobSet's sources.
	Module string
}

// Agents are JobSet's agents, as containers of an image that a registry on loopback has.
type Agents struct {
	config   Config
	registry *imageRegistry
	image    string
}

// Serve makes the image of the agent that `make jobset` has built, and serves it until Close.
func Serve(config Config) (*Agents, error) {
	program, err := os.ReadFile(config.Plane.Binary(programName))
	if err != nil {
		return nil, fmt.Errorf("%w: run `make jobset` first", err)
	}
	content, err := imageOf(program)
	if err != nil {
		return nil, fmt.Errorf("make the image of JobSet's agent: %w", err)
	}
	a := &Agents{config: config}
	if a.registry, err = serveRegistry(); err != nil {
		return nil, err
	}
	if a.image, err = a.registry.push(programName, content); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close ends the registry. Nodes that have pulled the image keep it.
func (a *Agents) Close() error { return a.registry.close() }

// Allow applies the manifests of KEP-467 in a namespace: the agents' service account, which may patch pods and read
// JobSets, and the policy that it may write nothing of a pod but its attempt. That is of one namespace at a time.
func (a *Agents) Allow(ctx context.Context, namespace string) error {
	text, err := os.ReadFile(filepath.Join(a.config.Module, "keps/467-InPlaceRestart/README.md"))
	if err != nil {
		return err
	}
	_, after, found := strings.Cut(string(text), "```yaml\n# Service account\n")
	manifests, _, ended := strings.Cut(after, "```")
	if !found || !ended {
		return errors.New("KEP-467 has no manifest of a service account for agents")
	}
	manifests = strings.NewReplacer("namespace: default", "namespace: "+namespace, ":serviceaccount:default:", ":serviceaccount:"+namespace+":").Replace(manifests)
	_, err = a.config.Plane.Kubectl(ctx, manifests, "apply", "--filename=-")
	return err
}
