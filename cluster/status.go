package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/cluster/addons"
	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/join"
)

// Status is a cluster as one sees it from beside it.
type Status struct {
	Process    int          `json:"process"`  // 0: it does not run, and nothing else is set
	Resident   int64        `json:"resident"` // bytes of memory
	Server     string       `json:"server"`
	Kubeconfig string       `json:"kubeconfig"`
	API        string       `json:"api"` // "ready", or why it isn't
	Nodes      []NodeStatus `json:"nodes"`
	Pods       int          `json:"pods"`
	Running    int          `json:"running"`
	Stored     int64        `json:"stored"` // bytes of etcd's database

	Etcd        []string `json:"etcd,omitempty"`   // endpoints of another's etcd; nothing is known of what is stored there
	Free        int64    `json:"free"`             // bytes that may be stored yet on its disk
	FreeVolumes int64    `json:"freeVolumes"`      // bytes free for volumes
	Alarms      []string `json:"alarms,omitempty"` // of etcd, which refuses writes then
	Addons      []string `json:"addons,omitempty"` // what is wrong with files of add-ons

	Unattended int    `json:"unattended,omitempty"` // pods that run while the cluster, or the node, does not
	Joined     string `json:"joined,omitempty"`     // the server of another's cluster whose node this machine is
	Joining    int    `json:"joining,omitempty"`    // process of lifepod join; 0: it does not run
}

// NodeStatus is a node in few words.
type NodeStatus struct {
	Name    string `json:"name"`
	State   string `json:"state"` // Ready, NotReady
	Version string `json:"version"`
}

// patience is how long an API server may take to answer who asks for the status.
const patience = 5 * time.Second

func Look(ctx context.Context, c Config) (Status, error) {
	l, err := c.layout()
	if err != nil {
		return Status{}, err
	}
	if os.Geteuid() != 0 {
		return Status{}, errors.New("only root may see the cluster: run it with sudo")
	}
	s := Status{Kubeconfig: l.file("kubeconfig")}
	if s.Process, err = l.process(); err != nil || s.Process == 0 {
		s.Unattended = len(node.Left(l.Root))
		return s, errors.Join(err, s.lookAtNode(c))
	}
	s.Resident = resident(s.Process)
	if info, err := os.Stat(filepath.Join(l.file("etcd"), "member", "snap", "db")); err == nil {
		s.Stored = info.Size()
	}
	s.lookAtStores(ctx, l)
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		s.API = err.Error()
		return s, nil //nolint:nilerr // the status says it
	}
	s.Server, config.Timeout = config.Host, patience
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return s, err
	}
	s.API = s.ask(ctx, client)
	return s, nil
}

// lookAtNode fills in the cluster that this machine has joined, if any.
func (s *Status) lookAtNode(c Config) error {
	l, err := c.joined()
	if err != nil || !l.exists() {
		return err
	}
	state, err := join.Folder{Dir: l.file("")}.State()
	if err != nil {
		return err
	}
	s.Joined = state.Server
	s.Joining, err = l.process()
	return err
}

// lookAtStores fills in what is stored, as far as it can be found out.
func (s *Status) lookAtStores(ctx context.Context, l *layout) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if o, err := l.outerBefore(); err == nil && len(o.Endpoints) > 0 {
		s.Etcd = o.Endpoints
	} else if health, err := etcd.Inspect(ctx, etcd.Endpoint(l.paths.RunDir), l.file("etcd")); err == nil {
		s.Stored, s.Free, s.Alarms = health.Bytes, health.Free, health.Alarms
	} else {
		s.Alarms = []string{err.Error()}
	}
	volumes := l.volumes()
	if _, err := os.Stat(volumes); errors.Is(err, fs.ErrNotExist) {
		volumes = l.Root
	}
	s.FreeVolumes, _ = etcd.FreeSpace(volumes) // 0 if that can't be found out
}

// ask fills in what the API server knows and says how that is.
func (s *Status) ask(ctx context.Context, client kubernetes.Interface) string {
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Sprintf("not ready: %v", err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, node := range nodes.Items {
		s.Nodes = append(s.Nodes, NodeStatus{Name: node.Name, State: nodeState(&node), Version: node.Status.NodeInfo.KubeletVersion})
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	s.Pods = len(pods.Items)
	for _, pod := range pods.Items {
		if pod.Status.Phase == v1.PodRunning {
			s.Running++
		}
	}
	files, err := addons.List(ctx, client)
	if err != nil {
		return err.Error()
	}
	for _, f := range files {
		if !f.Applied {
			s.Addons = append(s.Addons, f.File+": "+f.Message)
		}
	}
	return "ready"
}

func nodeState(node *v1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == v1.NodeReady && c.Status == v1.ConditionTrue {
			return "Ready"
		}
	}
	return "NotReady"
}

// resident is how much memory a process has, 0 if that can't be read.
func resident(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty, if it has ended
	var kib int64
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(size, &kib) // 0 if it is no number
		}
	}
	return kib << 10
}
