package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/manifest"
)

// selectingKinds are the kinds of objects that stand for their pods, each by the names that kubectl takes.
var selectingKinds = [][]string{
	{"services", "service", "svc"}, {"deployments", "deployment", "deploy"}, {"statefulsets", "statefulset", "sts"},
	{"replicasets", "replicaset", "rs"}, {"daemonsets", "daemonset", "ds"},
}

// selecting is an object that stands for its pods.
type selecting struct {
	namespace string
	labels    labels.Selector
	service   *v1.Service // nil: it is none
}

// findBehind is the pod that the user named, or one of those behind the object that KIND/NAME names; service is that, if it is one.
func (p *onPod) findBehind(ctx context.Context, name string) (pod *client.Pod, service *v1.Service, err error) {
	kind, of, _ := strings.Cut(name, "/")
	i := slices.IndexFunc(selectingKinds, func(names []string) bool { return slices.Contains(names, kind) })
	if i < 0 || of == "" {
		pod, err = p.find(ctx, name)
		return pod, nil, err
	}
	c, err := p.global.pods()
	if err != nil {
		return nil, nil, err
	}
	pods, _, err := c.Pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := p.ofCluster(ctx, selectingKinds[i][0], of)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if i == 0 && len(found) == 0 {
		found = p.ofRuns(ctx, of, pods)
	}
	switch {
	case len(found) == 0:
		return nil, nil, fmt.Errorf("no %s %q in the cluster or in a lifepod run of the state folder %s; --root names another folder", selectingKinds[i][1], of, p.global.root)
	case slices.ContainsFunc(found, func(s selecting) bool { return s.namespace != found[0].namespace }):
		return nil, nil, fmt.Errorf("%s is in several namespaces: say which with -n", name)
	}
	pod, err = found[0].ready(pods)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return pod, found[0].service, err
}

// ofCluster are the objects of that name that the cluster of the state folder has, if there is one.
func (p *onPod) ofCluster(ctx context.Context, resource, name string) (list []selecting, err error) {
	c, err := p.global.cluster()
	if c == nil {
		return nil, err
	}
	from := c.AppsV1().RESTClient()
	if resource == selectingKinds[0][0] {
		from = c.CoreV1().RESTClient()
	}
	content, err := from.Get().Namespace(p.namespace).Resource(resource).
		Param("fieldSelector", fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	if resource == selectingKinds[0][0] {
		var services v1.ServiceList
		err = json.Unmarshal(content, &services)
		for i := range services.Items {
			list = append(list, selectingService(&services.Items[i]))
		}
		return list, err
	}
	var workloads struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct{ Selector *metav1.LabelSelector }
		}
	}
	err = json.Unmarshal(content, &workloads)
	for _, w := range workloads.Items {
		selector, e := metav1.LabelSelectorAsSelector(w.Spec.Selector)
		if e != nil {
			return nil, e
		}
		list = append(list, selecting{namespace: w.Metadata.Namespace, labels: selector})
	}
	return list, err
}

// ofRuns are the Services of that name that runs of pods have.
func (p *onPod) ofRuns(ctx context.Context, name string, pods []*client.Pod) (list []selecting) {
	for _, pod := range pods {
		services, _ := pod.Services(ctx) // a lifepod that does not tell has none that counts
		for i := range services {
			if s := &services[i]; s.Name == name && (p.namespace == "" || s.Namespace == p.namespace) {
				list = append(list, selectingService(s))
			}
		}
	}
	return list
}

func selectingService(s *v1.Service) selecting {
	if len(s.Spec.Selector) == 0 {
		return selecting{s.Namespace, labels.Nothing(), s}
	}
	return selecting{s.Namespace, labels.SelectorFromSet(s.Spec.Selector), s}
}

// ready is the first of the pods behind it that is Ready.
func (s selecting) ready(pods []*client.Pod) (*client.Pod, error) {
	var others []string
	for _, pod := range pods {
		switch {
		case pod.Namespace != s.namespace || !s.labels.Matches(labels.Set(pod.Labels)):
		case client.IsReady(pod.Pod) && pod.DeletionTimestamp == nil:
			return pod, nil
		default:
			others = append(others, pod.Name+" is "+client.Status(pod.Pod))
		}
	}
	if len(others) == 0 {
		return nil, fmt.Errorf("no pod of this machine is behind it (selector %q)", s.labels)
	}
	return nil, fmt.Errorf("none of its pods on this machine is Ready: %s (lifepod why says why)", plain.Line(strings.Join(others, ", ")))
}

// servicePort is a TCP port of a Service by its number or name, and which port of the pod it is, as kubectl takes it: of a Service
// without an address of its own, the same one.
func servicePort(service *v1.Service, pod *v1.Pod, text string) (own, target int32, err error) {
	var has []string
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		number := strconv.Itoa(int(port.Port))
		switch {
		case port.Protocol != "" && port.Protocol != v1.ProtocolTCP:
			continue
		case text != number && (text != port.Name || text == ""):
			has = append(has, strings.TrimSuffix(number+" "+port.Name, " "))
			continue
		case service.Spec.ClusterIP == v1.ClusterIPNone:
			return port.Port, port.Port, nil
		}
		if target = manifest.TargetPort(pod, port); target == 0 {
			return 0, 0, fmt.Errorf("its targetPort is %q, which no port of pod %s is called", port.TargetPort.String(), pod.Name)
		}
		return port.Port, target, nil
	}
	return 0, 0, fmt.Errorf("%q is no TCP port of Service %s: it has %s", text, service.Name, strings.Join(has, ", "))
}
