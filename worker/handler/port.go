package handler

import (
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PortOf is the number of a port that is given as a number, as the name of one of
// the container's ports, or as a number in a string (A-PROBE-9).
func PortOf(port intstr.IntOrString, container *v1.Container) (int, error) {
	number := port.IntValue()
	if port.Type == intstr.String {
		var err error
		if number, err = portNamed(port.StrVal, container); err != nil {
			return 0, err
		}
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", number)
	}
	return number, nil
}

func portNamed(name string, container *v1.Container) (int, error) {
	for _, p := range container.Ports {
		if p.Name == name {
			return int(p.ContainerPort), nil
		}
	}
	return strconv.Atoi(name)
}
