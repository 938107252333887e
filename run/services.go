package run

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// services have the pods of a run find each other by the names of their Services, in their hosts files: a name is the addresses of the
// Service's pods that are Ready, or, with publishNotReadyAddresses, of all.
type services struct {
	list []*v1.Service
	node *worker.Engine
	warn warner

	changed chan struct{} // what names mean has changed since the files were written

	mu   sync.Mutex
	pods map[types.UID]*served

	translated map[types.UID]string // the container of a pod when its ports were translated; only run has it
}

// served is a pod with an address.
type served struct {
	pod       *v1.Pod
	ips       []string
	ready     bool
	container string // the ID of one that runs; empty: none does
}

// newServices are nil if the run has no Service.
func newServices(list []*v1.Service, node *worker.Engine, warn warner) *services {
	if len(list) == 0 {
		return nil
	}
	s := &services{list: list, node: node, warn: warn, changed: make(chan struct{}, 1), pods: map[types.UID]*served{}, translated: map[types.UID]string{}}
	node.Services = s.namesFor
	return s
}

// selecting are the Services that a pod stands behind.
func (s *services) selecting(pod *v1.Pod) (list []v1.Service) {
	if s == nil {
		return nil
	}
	for _, service := range s.list {
		if manifest.Selects(service, pod) {
			list = append(list, *service)
		}
	}
	return list
}

func (s *services) isNow(pod *v1.Pod, status *v1.PodStatus) {
	if s == nil {
		return
	}
	now := &served{pod: pod}
	if !lifecycle.Terminal(status.Phase) {
		now.ready = isReady(status)
		for _, ip := range status.PodIPs {
			now.ips = append(now.ips, ip.IP)
		}
		for _, c := range status.ContainerStatuses {
			if c.State.Running != nil {
				_, now.container, _ = strings.Cut(c.ContainerID, "://")
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.pods[pod.UID]
	s.pods[pod.UID] = now
	if before == nil || before.ready != now.ready || before.container != now.container || !slices.Equal(before.ips, now.ips) {
		select {
		case s.changed <- struct{}{}:
		default: // several changes at once are written once
		}
	}
}

// run writes the hosts files anew when that changes what names mean, until ctx ends.
func (s *services) run(ctx context.Context) {
	if s == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			s.writeAll(ctx)
		}
	}
}

func (s *services) writeAll(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.pods))
	s.mu.Unlock()
	for _, one := range all {
		if err := s.translatePorts(ctx, one); err != nil {
			s.warn("pod %s can't be reached at the ports of its Services, only at its own: %v", one.pod.Name, err)
		}
	}
	for _, one := range all {
		if err := s.write(one); err != nil {
			s.warn("names of Services: %v", err)
		}
	}
}

// write writes the hosts file of a pod anew, if a container of it has one already.
func (s *services) write(one *served) error {
	dir := filepath.Join(s.node.Folders.Pods, string(one.pod.UID))
	if !exists(filepath.Join(dir, criconfig.HostsName)) || len(one.ips) == 0 {
		return nil // it is written when the first container starts
	}
	hostname, err := criconfig.HostnameOf(one.pod, s.node.DNS.Cluster.Domain)
	if err == nil {
		_, err = criconfig.WriteHosts(dir, one.pod, hostname, one.ips, s.namesFor)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// namesFor are the names that a pod can use: with the namespace, and in its own without one, too.
func (s *services) namesFor(of *v1.Pod) (list []v1.HostAlias) {
	s.mu.Lock()
	defer s.mu.Unlock()
	domain := s.node.DNS.Cluster.Domain
	names := func(name, namespace string) (all []string) {
		if namespace == of.Namespace {
			all = append(all, name)
		}
		all = append(all, name+"."+namespace, name+"."+namespace+".svc")
		if domain != "" {
			all = append(all, name+"."+namespace+".svc."+domain)
		}
		return all
	}
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		one := s.pods[uid]
		var all []string
		for _, service := range s.list {
			if !manifest.Selects(service, one.pod) || !one.ready && !service.Spec.PublishNotReadyAddresses {
				continue
			}
			all = append(all, names(service.Name, service.Namespace)...)
			if one.pod.Spec.Subdomain == service.Name && one.pod.Spec.Hostname != "" {
				all = append(all, names(one.pod.Spec.Hostname+"."+service.Name, service.Namespace)...)
			}
		}
		for _, ip := range one.ips {
			if len(all) > 0 {
				list = append(list, v1.HostAlias{IP: ip, Hostnames: all})
			}
		}
	}
	return list
}
