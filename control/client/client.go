package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/unattended"
)

// answerTimeout is for a lifepod to answer a simple question; one that was
// suspended does not.
const answerTimeout = 5 * time.Second

// socketsAtOnce is how many sockets are asked at the same time. One agent may be behind all of them, to whom each connection is an
// open file more: without room for another it can't write its pods' journals.
const socketsAtOnce = 1000

// Client knows the pods of one root.
type Client struct {
	Folder string // of the sockets
	root   string // for messages
	// Left are the pods whose lifepod has ended without them; may be nil.
	Left func() []unattended.Pod
	// Journals tell of the pods that have ended.
	Journals []journal.Folder
	// Elsewhere are the pods of that name or UID that a cluster has, in all namespaces and on all nodes or none; may be nil.
	Elsewhere func(ctx context.Context, nameOrUID string) ([]v1.Pod, error)
	patience  time.Duration
	atOnce    int // sockets that are asked at the same time
}

// New makes a client for the sockets in a folder, which belong to a state folder.
func New(folder, root string) *Client {
	return &Client{Folder: folder, root: root, patience: answerTimeout, atOnce: socketsAtOnce}
}

// Pod is one pod and the connection to its lifepod.
type Pod struct {
	*v1.Pod // as it was when it was found
	socket  string
	http    *http.Client
}

// Owner is the process of the pod's lifepod.
func (p *Pod) Owner() (pid int, err error) { return control.Owner(p.socket) }

// Silent is a socket whose lifepod did not answer.
type Silent struct {
	Socket string
	Err    error
}

// Pods are all that run, by namespace and name; silent are those of which
// nothing can be learned.
func (c *Client) Pods(ctx context.Context) (pods []*Pod, silent []Silent, err error) {
	paths, err := control.Sockets(c.Folder)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, errors.New("only root may see and steer pods: run it with sudo")
	}
	if err != nil {
		return nil, nil, err
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	room := make(chan struct{}, c.atOnce)
	for _, path := range paths {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			found, err := c.ask(ctx, path)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, fs.ErrNotExist): // it has ended
			case err != nil:
				silent = append(silent, Silent{Socket: path, Err: err})
			default:
				pods = append(pods, found...)
			}
		})
	}
	asking.Wait()
	slices.SortFunc(pods, func(a, b *Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name+"/"+string(a.UID), b.Namespace+"/"+b.Name+"/"+string(b.UID))
	})
	return pods, silent, nil
}

// ask asks the lifepod behind a socket for its pods.
func (c *Client) ask(ctx context.Context, path string) ([]*Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	p := &Pod{socket: path, http: &http.Client{Transport: &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return control.Dial(path) },
		DisableKeepAlives:  true,
		DisableCompression: true,
	}}}
	var list v1.PodList
	if err := p.call(ctx, http.MethodGet, "/v1/pods", nil, &list); err != nil {
		return nil, err
	}
	var pods []*Pod
	for i := range list.Items {
		pod := &list.Items[i]
		pod.APIVersion, pod.Kind = "v1", "Pod"
		pods = append(pods, &Pod{Pod: pod, socket: path, http: p.http})
	}
	return pods, nil
}

// Find is the one pod that a user means: by name, pod/name as for kubectl, namespace/name or UID; a
// namespace given apart must be its own. Of one that no lifepod leads it is an UnattendedError; of those that have ended it is
// the newest of the name. The error lists the candidates.
func (c *Client) Find(ctx context.Context, name, namespace string) (*Pod, error) {
	if inner, rest, found := strings.Cut(name, "/"); found && (inner == "pod" || inner == "pods") {
		name = rest
	} else if found {
		if namespace != "" && namespace != inner {
			return nil, fmt.Errorf("pod %s is not in namespace %q: leave -n out", name, namespace)
		}
		namespace, name = inner, rest
	}
	pods, silent, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	means := func(in, of string, uid types.UID) bool {
		return (namespace == "" || in == namespace) && (of == name || uid == types.UID(name))
	}
	found := slices.DeleteFunc(slices.Clone(pods), func(p *Pod) bool { return !means(p.Namespace, p.Name, p.UID) })
	left := slices.DeleteFunc(c.Unattended(pods), func(p unattended.Pod) bool { return !means(p.Namespace, p.Name, p.UID) })
	var unknown error
	if len(found)+len(left) == 0 {
		left, unknown = c.beyond(ctx, name, means)
	}
	switch {
	case len(found) == 1 && len(left) == 0:
		return found[0], nil
	case len(found) == 0 && len(left) == 1:
		return nil, &UnattendedError{Pod: left[0]}
	}
	for _, p := range left {
		found = append(found, &Pod{Pod: p.Pod})
	}
	err = c.notOne(name, namespace, found, pods, silent)
	if unknown != nil && len(found) == 0 {
		err = fmt.Errorf("%w; whether the cluster has it is not known: %w", err, unknown)
	}
	return nil, err
}

// Unattended are the pods whose lifepod has ended without them, but for those that
// another has taken over by now.
func (c *Client) Unattended(attended []*Pod) (left []unattended.Pod) {
	if c.Left == nil {
		return nil
	}
	for _, p := range c.Left() {
		if !slices.ContainsFunc(attended, func(a *Pod) bool { return a.UID == p.UID }) {
			left = append(left, p)
		}
	}
	return left
}

// beyond are the pods that no lifepod of this machine leads or has left: those of a cluster, of whose own the journals may tell,
// too, or else those that have ended. An error is that the cluster could not be asked.
func (c *Client) beyond(ctx context.Context, name string, means func(namespace, name string, uid types.UID) bool) (list []unattended.Pod, err error) {
	over := unattended.Over(c.root, c.Journals, func(p *journal.Pod) bool { return means(p.Namespace, p.Name, types.UID(p.UID)) })
	if c.Elsewhere != nil {
		var pods []v1.Pod
		pods, err = c.Elsewhere(ctx, name)
		for i := range pods {
			pod := &pods[i]
			if !means(pod.Namespace, pod.Name, pod.UID) {
				continue
			}
			p := unattended.Pod{Pod: pod, Root: c.root, Elsewhere: true}
			if i := slices.IndexFunc(over, func(o unattended.Pod) bool { return o.UID == pod.UID }); i >= 0 {
				p = over[i]
			}
			list = append(list, p)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	return newest(over), err
}

// newest are the pods without those whose name another one has had later.
func newest(sorted []unattended.Pod) (list []unattended.Pod) {
	for i, p := range sorted {
		if i+1 == len(sorted) || sorted[i+1].FullName() != p.FullName() {
			list = append(list, p)
		}
	}
	return list
}

// Ended are the pods that the journals have beside those that are known.
func (c *Client) Ended(attended []*Pod, left []unattended.Pod) []unattended.Pod {
	known := map[string]bool{}
	for _, p := range attended {
		known[string(p.UID)] = true
	}
	for _, p := range left {
		known[string(p.UID)] = true
	}
	return unattended.Over(c.root, c.Journals, func(p *journal.Pod) bool { return !known[p.UID] })
}

// UnattendedError is that the pod which is meant has no lifepod that could be asked.
type UnattendedError struct{ unattended.Pod }

// Error says why, and what to do.
func (e *UnattendedError) Error() string {
	return e.Notice()
}

// notOne is why a name does not stand for one pod.
func (c *Client) notOne(name, namespace string, found, all []*Pod, silent []Silent) error {
	var text strings.Builder
	where := ""
	if namespace != "" {
		where = fmt.Sprintf(" in namespace %q", namespace)
	}
	switch {
	case len(found) > 1:
		fmt.Fprintf(&text, "pod %q%s is ambiguous: %s", name, where, names(found, found))
		if found[0].Namespace != found[1].Namespace {
			text.WriteString("; name it so, or with -n")
		}
	case len(all) == 0 && len(silent) == 0:
		fmt.Fprintf(&text, "no pod %q%s: no pod runs with the state folder %s", name, where, c.root)
	case len(all) > 0:
		fmt.Fprintf(&text, "no pod %q%s: there is %s", name, where, names(all, all))
	default:
		fmt.Fprintf(&text, "no pod %q%s is known", name, where)
	}
	for _, s := range silent {
		fmt.Fprintf(&text, "; the lifepod at %s does not answer (%v)", s.Socket, s.Err)
	}
	return errors.New(text.String())
}

// names lists pods as namespace/name, or by UID where that is not enough.
func names(pods, among []*Pod) string {
	count := map[string]int{}
	for _, p := range among {
		count[p.Namespace+"/"+p.Name]++
	}
	var list []string
	for _, p := range pods {
		name := p.Namespace + "/" + p.Name
		if count[name] > 1 {
			name += fmt.Sprintf(" with UID %s", p.UID)
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}
