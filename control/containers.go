package control

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/worker/podlog"
)

// defaultContainer is kubectl's annotation for the container that a command without a
// container's name is for.
const defaultContainer = "kubectl.kubernetes.io/default-container"

// ContainerNames are all containers of a pod, the regular ones first.
func ContainerNames(pod *v1.Pod) (names []string) {
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

// DefaultContainer is the container that a request without a name is for.
func DefaultContainer(pod *v1.Pod) string {
	if name := pod.Annotations[defaultContainer]; slices.Contains(ContainerNames(pod), name) {
		return name
	}
	return pod.Spec.Containers[0].Name
}

// containerOf is the container that a request names, or the default one.
func containerOf(pod *v1.Pod, r *http.Request) (string, error) {
	name := r.URL.Query().Get("container")
	if name == "" {
		return DefaultContainer(pod), nil
	}
	return name, known(pod, name)
}

// known refuses a container that the pod does not have.
func known(pod *v1.Pod, name string) error {
	names := ContainerNames(pod)
	if slices.Contains(names, name) {
		return nil
	}
	return notFound("pod %s has no container %q: it has %s", pod.Name, name, strings.Join(names, ", "))
}

// StatusOf is a container's status, nil if there is none yet.
func StatusOf(pod *v1.Pod, container string) *v1.ContainerStatus {
	return podlog.StatusOf(pod, container)
}

// runningContainer is the one that a request names, or the default one, which has to run, and its ID.
func runningContainer(pod *v1.Pod, r *http.Request) (container, id string, err error) {
	if container, err = containerOf(pod, r); err == nil {
		id, err = runningID(pod, container)
	}
	return container, id, err
}

// runningID is the runtime's ID of a container that runs.
func runningID(pod *v1.Pod, container string) (string, error) {
	status := StatusOf(pod, container)
	if status == nil || status.State.Running == nil {
		return "", conflict("container %s is not running: %s", container, stateText(status))
	}
	_, id, _ := strings.Cut(status.ContainerID, "://")
	return id, nil
}

func stateText(status *v1.ContainerStatus) string {
	switch {
	case status == nil:
		return "it has not started yet"
	case status.State.Terminated != nil:
		return fmt.Sprintf("it has exited with code %d", status.State.Terminated.ExitCode)
	case status.State.Waiting != nil && status.State.Waiting.Reason != "":
		return "it is waiting, " + status.State.Waiting.Reason
	}
	return "it has not started yet"
}

// TerminalOf says whether a container has a terminal of its own, and standard input.
func TerminalOf(pod *v1.Pod, container string) (tty, stdin bool) {
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			if c.Name == container {
				return c.TTY, c.Stdin
			}
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == container {
			return c.TTY, c.Stdin
		}
	}
	return false, false
}

// peerKey is the key in a request's context for the sender.
type peerKey struct{}

// peer is the process at the other end of a connection; err says why it is not known.
type peer struct {
	pid int32
	uid uint32
	err error
}

// withPeer notes who connected, as the kernel saw it then (SO_PEERCRED).
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOf(conn))
}

func peerOf(conn net.Conn) peer {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return peer{err: fmt.Errorf("a %T has no peer credentials", conn)}
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	var credentials *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return peer{err: err}
	}
	return peer{pid: credentials.Pid, uid: credentials.Uid}
}

// Owner is the process behind a socket.
func Owner(path string) (pid int, err error) {
	conn, err := Dial(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nothing was sent
	p := peerOf(conn)
	return int(p.pid), p.err
}

// rootOnly refuses everybody but root.
func rootOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := r.Context().Value(peerKey{}).(peer)
		if !ok || p.err != nil || p.uid != 0 {
			fail(w, refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "only root may see and steer pods"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
