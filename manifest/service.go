package manifest

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
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
// their names, but no address of its own stands before the pods.
func (in *input) admitServices(namespace string) {
	seen := map[string]*object{}
	for _, s := range in.services {
		service, o := s.typed, s.object
		if namespace == "" && service.Namespace == "" {
			in.errs = append(in.errs, o.errorf("metadata.namespace", "should be said, as the Pods are in several namespaces", "missing"))
			continue
		}
		fillMetadata(&service.ObjectMeta, namespace, in.options.Now)
		in.errs = append(in.errs, o.fieldErrors(validateService(service))...)
		name := service.Namespace + "/" + service.Name
		if other := seen[name]; other != nil {
			in.errs = append(in.errs, o.errorf("metadata.name", "rename one or remove it", "there is another Service %q in %s", service.Name, other.place()))
		}
		seen[name] = o
		if len(service.Spec.Selector) == 0 || service.Spec.Type == v1.ServiceTypeExternalName {
			in.warnings = append(in.warnings, o.warning("", "passed over: Service %s: it has no pods of this run", service.Name))
			continue
		}
		if ignored := ignoredOfService(&service.Spec); len(ignored) > 0 {
			in.warnings = append(in.warnings, o.warning("spec", "of the Service %s counts for the pods of this run alone: not %s", service.Name, strings.Join(ignored, ", ")))
		}
		for i, port := range service.Spec.Ports {
			for _, other := range in.otherPorts(service, &port) {
				path := field.NewPath("spec", "ports").Index(i).Child("targetPort").String()
				in.warnings = append(in.warnings, o.warning(path, "port %d of the Service %s is %d at its pods, and nothing translates it here: other pods reach it at %s:%d",
					port.Port, service.Name, other, service.Name, other))
			}
		}
		in.found = append(in.found, service)
	}
}

func validateService(service *v1.Service) field.ErrorList {
	corev1.SetObjectDefaults_Service(service)
	if ip := service.Spec.ClusterIP; ip != "" && len(service.Spec.ClusterIPs) == 0 {
		service.Spec.ClusterIPs = []string{ip} // as an API server does
	}
	internal := &core.Service{}
	if err := corev1.Convert_v1_Service_To_core_Service(service, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return validation.ValidateServiceCreate(internal)
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

// otherPorts are the ports of the Service's pods that are another number than its own.
func (in *input) otherPorts(service *v1.Service, port *v1.ServicePort) (list []int32) {
	seen := map[int32]bool{port.Port: true}
	for _, p := range in.pods {
		if !Selects(service, p.typed) {
			continue
		}
		if target := TargetPort(p.typed, port); target != 0 && !seen[target] {
			seen[target] = true
			list = append(list, target)
		}
	}
	return list
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
