package objects

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// variables are those of one Service (A-ENV-7): where it is, each of its named
// ports, and all ports once more in the form of Docker links.
func variables(service *v1.Service) []criconfig.KeyValue {
	prefix, ip := envName(service.Name), service.Spec.ClusterIP
	out := []criconfig.KeyValue{{Name: prefix + "_SERVICE_HOST", Value: ip}}
	for i, port := range service.Spec.Ports {
		number := strconv.Itoa(int(port.Port))
		if i == 0 {
			out = append(out, criconfig.KeyValue{Name: prefix + "_SERVICE_PORT", Value: number})
		}
		if port.Name != "" {
			out = append(out, criconfig.KeyValue{Name: prefix + "_SERVICE_PORT_" + envName(port.Name), Value: number})
		}
	}
	for i, port := range service.Spec.Ports {
		out = append(out, links(prefix, ip, port, i == 0)...)
	}
	return out
}

func links(prefix, ip string, port v1.ServicePort, first bool) []criconfig.KeyValue {
	protocol := string(cmp.Or(port.Protocol, v1.ProtocolTCP))
	number := strconv.Itoa(int(port.Port))
	lower := strings.ToLower(protocol)
	url := lower + "://" + net.JoinHostPort(ip, number)
	name := fmt.Sprintf("%s_PORT_%s_%s", prefix, number, strings.ToUpper(protocol))
	var out []criconfig.KeyValue
	if first {
		out = append(out, criconfig.KeyValue{Name: prefix + "_PORT", Value: url})
	}
	return append(out,
		criconfig.KeyValue{Name: name, Value: url},
		criconfig.KeyValue{Name: name + "_PROTO", Value: lower},
		criconfig.KeyValue{Name: name + "_PORT", Value: number},
		criconfig.KeyValue{Name: name + "_ADDR", Value: ip},
	)
}

func envName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
