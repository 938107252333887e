package criconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNotOurs is returned for a sandbox or container without the labels of a
// Kubernetes pod: something else runs on the same runtime.
var ErrNotOurs = errors.New("no pod labels")

// SandboxIdentity is whose sandbox one is.
type SandboxIdentity struct {
	PodUID       types.UID
	PodName      string
	PodNamespace string
	// Labels are the pod's own.
	Labels map[string]string
}

// ContainerIdentity is whose container one is and what is needed to stop and
// report it without its spec (A-CRI-2).
type ContainerIdentity struct {
	PodUID        types.UID
	PodName       string
	PodNamespace  string
	ContainerName string

	// Hash is 0 if unknown, which counts as a changed definition.
	Hash                          uint64
	RestartCount                  int
	TerminationMessagePath        string
	TerminationMessagePolicy      v1.TerminationMessagePolicy
	TerminationGracePeriodSeconds *int64
	DeletionGracePeriodSeconds    *int64
	PreStop                       *v1.LifecycleHandler
	Ports                         []v1.ContainerPort
}

// ParseSandbox reads the labels of a sandbox.
func ParseSandbox(labels map[string]string) (SandboxIdentity, error) {
	id := SandboxIdentity{
		PodUID: types.UID(labels[PodUIDLabel]), PodName: labels[PodNameLabel], PodNamespace: labels[PodNamespaceLabel],
		Labels: map[string]string{},
	}
	if id.PodUID == "" {
		return SandboxIdentity{}, ErrNotOurs
	}
	for key, value := range labels {
		if key != PodUIDLabel && key != PodNameLabel && key != PodNamespaceLabel {
			id.Labels[key] = value
		}
	}
	return id, nil
}

// ParseContainer reads the labels and annotations of a container. An annotation
// that is absent is left zero; one that does not parse is an error, and what
// could be read is returned with it.
func ParseContainer(labels, annotations map[string]string) (ContainerIdentity, error) {
	id := ContainerIdentity{
		PodUID: types.UID(labels[PodUIDLabel]), PodName: labels[PodNameLabel], PodNamespace: labels[PodNamespaceLabel],
		ContainerName:            labels[ContainerNameLabel],
		TerminationMessagePath:   annotations[terminationMessagePathAnnotation],
		TerminationMessagePolicy: v1.TerminationMessagePolicy(annotations[terminationMessagePolicyAnnotation]),
	}
	if id.PodUID == "" || id.ContainerName == "" {
		return ContainerIdentity{}, ErrNotOurs
	}
	p := parser{annotations: annotations}
	id.Hash = p.hex(hashAnnotation)
	if count := p.seconds(restartCountAnnotation); count != nil {
		id.RestartCount = int(*count)
	}
	id.TerminationGracePeriodSeconds = p.seconds(terminationGracePeriodAnnotation)
	id.DeletionGracePeriodSeconds = p.seconds(deletionGracePeriodAnnotation)
	p.json(preStopHandlerAnnotation, &id.PreStop)
	p.json(portsAnnotation, &id.Ports)
	return id, p.err
}

// parser collects the errors of annotations that do not parse.
type parser struct {
	annotations map[string]string
	err         error
}

func (p *parser) failed(key string, err error) bool {
	if err != nil {
		p.err = errors.Join(p.err, fmt.Errorf("read annotation %s: %w", key, err))
	}
	return err != nil
}

func (p *parser) hex(key string) uint64 {
	text, found := p.annotations[key]
	if !found {
		return 0
	}
	value, err := strconv.ParseUint(text, 16, 64)
	if p.failed(key, err) {
		return 0
	}
	return value
}

func (p *parser) seconds(key string) *int64 {
	text, found := p.annotations[key]
	if !found {
		return nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if p.failed(key, err) {
		return nil
	}
	return &value
}

func (p *parser) json(key string, target any) {
	if text, found := p.annotations[key]; found {
		p.failed(key, json.Unmarshal([]byte(text), target))
	}
}
