package criconfig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerInput is everything a container config depends on.
type ContainerInput struct {
	Node      Node
	Pod       *v1.Pod
	Container *v1.Container
	// RestartCount is also the attempt and the name of the log file.
	RestartCount int
	// ImageRef is what the runtime calls the pulled image; ImageUser is whom the
	// image says to run as.
	ImageRef    string
	ImageUser   ImageUser
	Environment Environment
	// Mounts are those of the volumes.
	Mounts []*runtimeapi.Mount
	// Devices are the volumes that are block devices.
	Devices []*runtimeapi.Device
	// Assigned is what the container is given of the node by name.
	Assigned Assigned
	// HostsFile and TerminationLog are the host's files to mount; empty means
	// no such mount (A-NET-1, A-VOL-6).
	HostsFile      string
	TerminationLog string
	// TargetContainerID is the running container whose processes an ephemeral
	// container sees (A-CRI-5).
	TargetContainerID string
	// UserNamespace is set for a pod with hostUsers=false (A-SEC-6).
	UserNamespace *runtimeapi.UserNamespace
	// VolumeGroups are volumes' Mounted.Groups.
	VolumeGroups []int64
}

// Container builds a container config. An error is the message of the reason
// CreateContainerConfigError.
func Container(in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	if err := verifyNonRoot(in); err != nil {
		return nil, err
	}
	security, err := containerSecurity(in)
	if err != nil {
		return nil, err
	}
	c := in.Container
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(in.RestartCount)},
		Image:       &runtimeapi.ImageSpec{Image: in.ImageRef, UserSpecifiedImage: c.Image},
		Command:     in.Environment.Command,
		Args:        in.Environment.Args,
		WorkingDir:  c.WorkingDir,
		Envs:        envs(in.Environment.Env),
		Mounts:      mounts(in),
		Devices:     slices.Concat(in.Assigned.Devices, in.Devices),
		CDIDevices:  in.Assigned.cdiDevices(),
		Labels:      containerLabels(in.Pod, c),
		Annotations: containerAnnotations(in),
		LogPath:     ContainerLogPath(c.Name, in.RestartCount),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  stopSignal(c),
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       in.Assigned.limit(Resources(in.Node, in.Pod, c)),
			SecurityContext: security,
		},
	}, nil
}

// stopSignal is lifecycle.stopSignal, else the image's own (A-CRI-12, KEP-4960).
func stopSignal(c *v1.Container) runtimeapi.Signal {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT
	}
	name := strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(string(*c.Lifecycle.StopSignal)) // SIGRTMIN+3
	return runtimeapi.Signal(runtimeapi.Signal_value["SIGNAL_"+name])
}

func envs(variables []KeyValue) []*runtimeapi.KeyValue {
	out := make([]*runtimeapi.KeyValue, 0, len(variables))
	for _, v := range variables {
		out = append(out, &runtimeapi.KeyValue{Key: v.Name, Value: []byte(v.Value)})
	}
	return out
}

// mounts are those of devices, the volumes, the hosts file and the termination log, in
// this order. In a user namespace the ids of each are mapped (A-VOL-2).
func mounts(in ContainerInput) []*runtimeapi.Mount {
	out := slices.Concat(in.Assigned.Mounts, in.Mounts)
	if in.HostsFile != "" {
		out = append(out, &runtimeapi.Mount{HostPath: in.HostsFile, ContainerPath: "/etc/hosts", SelinuxRelabel: in.Node.SELinux})
	}
	if in.TerminationLog != "" && in.Container.TerminationMessagePath != "" {
		out = append(out, &runtimeapi.Mount{HostPath: in.TerminationLog, ContainerPath: in.Container.TerminationMessagePath, SelinuxRelabel: in.Node.SELinux})
	}
	if in.UserNamespace == nil {
		return out
	}
	for _, mount := range out {
		mount.UidMappings, mount.GidMappings = in.UserNamespace.Uids, in.UserNamespace.Gids
	}
	return out
}

// origin is where a variable's value comes from; zero: the pod's own text, Services or devices.
type origin struct{ kind, name, key string }

func originOf(from *v1.EnvVarSource) origin {
	switch {
	case from.SecretKeyRef != nil:
		return origin{"Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key}
	case from.ConfigMapKeyRef != nil:
		return origin{"ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key}
	case from.FileKeyRef != nil:
		return origin{"file", from.FileKeyRef.Path, from.FileKeyRef.Key}
	}
	return origin{}
}

func envFromOrigin(from v1.EnvFromSource, key string) origin {
	if from.SecretRef != nil {
		return origin{"Secret", from.SecretRef.Name, key}
	}
	return origin{"ConfigMap", from.ConfigMapRef.Name, key}
}

func (o origin) String() string {
	if o.kind == "" {
		return ""
	}
	return fmt.Sprintf(" (key %q of %s %q)", o.key, o.kind, o.name)
}

// check refuses what would not reach the container as it is (A-ENV-10). The values of variables are bytes in CRI, but
// all runtimes write a container's process down as JSON, which has text only.
func (r *Environment) check(origins []origin) error {
	for i, v := range r.Env {
		if problem := unpassable(v.Value); problem != "" {
			return fmt.Errorf("environment variable %q%s %s: mount it as a file", v.Name, origins[i], problem)
		}
	}
	for _, list := range []struct {
		name  string
		texts []string
	}{{"command", r.Command}, {"args", r.Args}} {
		for i, text := range list.texts {
			if problem := unpassable(text); problem != "" {
				return fmt.Errorf("%s[%d] %s", list.name, i, problem)
			}
		}
	}
	return nil
}

func unpassable(value string) string {
	switch {
	case strings.Contains(value, "\x00"):
		return "has a zero byte, at which the program would take it to end"
	case !utf8.ValidString(value):
		return "is not UTF-8 text, which runtimes can't pass on unchanged"
	}
	return ""
}
