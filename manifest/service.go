package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"github.com/lifepod/lifepod/lifecycle"
)

const serviceKind = "Service"

type serviceInput struct {
	object *object
	typed  *v1.Service
}

func (in *input) readService(o *object) []*Error {
	s := serviceInput{o, &v1.Service{}}
	in.services = append(in.services, s)
	return o.decode(s.typed)
}

// admitServices completes and checks the Services, and says what of them is not as in a cluster: the pods of a run find each other by
// their names, which are the addresses of the pods.
func (in *input) admitServices(namespace string) {
	for _, s := range in.services {
		service, o := s.typed, s.object
		if !in.place(o, &service.ObjectMeta, namespace) {
			continue
		}
		in.errs = append(in.errs, o.fieldErrors(validateService(service))...)
		in.errs = append(in.errs, in.unique(o, &service.ObjectMeta)...)
		if len(service.Spec.Selector) == 0 || service.Spec.Type == v1.ServiceTypeExternalName {
			in.passOver(o, "without pods of this run")
			continue
		}
		if ignored := ignoredOfService(&service.Spec); len(ignored) > 0 {
			in.warnings = append(in.warnings, o.warning("spec", "the Service %s is for the pods of this run alone; ignored: %s", service.Name, strings.Join(ignored, ", ")))
		}
		in.found = append(in.found, service)
	}
	in.checkPorts()
}

// checkPorts warns of ports of Services that can't be had at a pod.
func (in *input) checkPorts() {
	warned := map[string]bool{}
	for _, p := range in.pods {
		_, not := Translations(in.found, p.typed)
		for _, t := range not {
			i := slices.IndexFunc(in.services, func(s serviceInput) bool { return s.typed == t.Service })
			path := fmt.Sprintf("spec.ports[%d].targetPort", t.Index)
			w := in.services[i].object.warning(path, "port %d of the Service %s is %d at its pods, which have another port %[1]d: pods reach it at %[2]s:%[3]d", t.Port, t.Service.Name, t.Target)
			if !warned[w.line()] {
				in.warnings = append(in.warnings, w)
			}
			warned[w.line()] = true
		}
	}
}

func validateService(service *v1.Service) field.ErrorList {
	corev1.SetObjectDefaults_Service(service)
	if ip := service.Spec.ClusterIP; ip != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{ip} // as an API server does
	}
	return judged(service, corev1.Convert_v1_Service_To_core_Service, validation.ValidateServiceCreate)
}

// ignoredOfService are fields that mean nothing to the pods of a run.
func ignoredOfService(spec *v1.ServiceSpec) (list []string) {
	if spec.Type != v1.ServiceTypeClusterIP {
		list = append(list, fmt.Sprintf("type %s (-p publishes a port)", spec.Type))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"clusterIP", spec.ClusterIP != "" && spec.ClusterIP != v1.ClusterIPNone}, {"externalIPs", len(spec.ExternalIPs) > 0},
		{"sessionAffinity", spec.SessionAffinity == v1.ServiceAffinityClientIP}, {"trafficDistribution", spec.TrafficDistribution != nil},
	} {
		if f.set {
			list = append(list, f.name)
		}
	}
	return list
}

// Translation is a port of a Service that is another number at a pod.
type Translation struct {
	Service      *v1.Service
	Index        int // of the Service's port
	Protocol     v1.Protocol
	Port, Target int32
}

// Translations are those of a pod's Services, and those that can't be: the pod uses the number itself, or for another Service.
func Translations(services []*v1.Service, pod *v1.Pod) (list, not []Translation) {
	type port struct {
		protocol v1.Protocol
		number   int32
	}
	targets := map[port]int32{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			targets[port{p.Protocol, p.ContainerPort}] = p.ContainerPort
		}
	}
	for _, s := range services {
		if !Selects(s, pod) {
			continue
		}
		for i := range s.Spec.Ports {
			p := &s.Spec.Ports[i]
			t := Translation{s, i, p.Protocol, p.Port, TargetPort(pod, p)}
			taken, is := targets[port{t.Protocol, t.Port}]
			switch {
			case t.Target == 0 || t.Target == t.Port || taken == t.Target:
			case is || pod.Spec.HostNetwork:
				not = append(not, t)
			default:
				targets[port{t.Protocol, t.Port}] = t.Target
				list = append(list, t)
			}
		}
	}
	return list, not
}

// Selects says whether a pod is one of a Service's.
func Selects(service *v1.Service, pod *v1.Pod) bool {
	for key, value := range service.Spec.Selector {
		if has, is := pod.Labels[key]; !is || has != value {
			return false
		}
	}
	return len(service.Spec.Selector) > 0 && service.Namespace == pod.Namespace
}

// TargetPort is which port of a pod a Service's port is; 0: the pod has none of that name.
func TargetPort(pod *v1.Pod, port *v1.ServicePort) int32 {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal
	}
	for i, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal && p.Protocol == port.Protocol && (i < len(pod.Spec.Containers) || lifecycle.IsSidecar(&c)) {
				return p.ContainerPort
			}
		}
	}
	return 0
}
