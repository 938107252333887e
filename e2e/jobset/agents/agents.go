package agents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/imageregistry"
)

type Config struct {
	// Plane has to be one whose API server pods can reach.
	Plane *controlplane.ControlPlane
	// Address is one of the machine, at which pods reach the API server.
	Address string
	// Module is the folder of JobSet's sources.
	Module string
}

// programName is the agent's, and that of its image.
const programName = "in-place-restart-agent"

// Agents are JobSet's agents, as containers of an image that a registry on loopback has.
type Agents struct {
	config   Config
	registry *imageregistry.Registry
	image    string
}

// Serve serves an image of the agent that `make jobset` has built, until Close. It is what the agent's own Dockerfile
// makes, but for a base that has nothing which the program needs.
func Serve(config Config) (*Agents, error) {
	program, err := os.ReadFile(config.Plane.Binary(programName))
	if err != nil {
		return nil, fmt.Errorf("%w: run `make jobset` first", err)
	}
	content, err := imageregistry.Program(programName, program)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the image of agents: %w", err)
	}
	a := &Agents{config: config, registry: imageregistry.Serve(listener)}
	if a.image, err = a.registry.Push(programName, content); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Close ends the registry. Nodes that have pulled the image keep it.
func (a *Agents) Close() error { return a.registry.Close() }

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
	inNamespace := strings.NewReplacer("namespace: default", "namespace: "+namespace, ":serviceaccount:default:", ":serviceaccount:"+namespace+":")
	_, err = a.config.Plane.Kubectl(ctx, inNamespace.Replace(manifests), "apply", "--filename=-")
	return err
}
