package node

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// givePodCIDR gives the pods of a node without a cluster the addresses of podCIDR
// (A-RES-5).
func givePodCIDR(ctx context.Context, s *setup) error {
	given := s.config.Kubelet.PodCIDR
	if given == "" {
		return nil
	}
	wrong := func(why string) error {
		return s.config.Wrong(field.Invalid(field.NewPath("podCIDR"), given, why))
	}
	if !s.runtime.Bundled() {
		request := &runtimeapi.UpdateRuntimeConfigRequest{
			RuntimeConfig: &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: given}},
		}
		if _, err := s.calls.Runtime.UpdateRuntimeConfig(ctx, request); err != nil {
			return fmt.Errorf("tell the container runtime podCIDR %s: %s", given, cri.Text(err))
		}
		return nil
	}
	if s.options.CNI.ConfDir != "" {
		return wrong("the addresses of pods are those of --cni-conf-dir: should be left out")
	}
	subnet, err := netip.ParsePrefix(given)
	if err != nil {
		return wrong("should be one prefix such as 10.88.0.0/16")
	}
	if err := s.runtime.JoinNetwork(ctx, subnet.Masked(), subnet.Masked()); err != nil {
		return wrong(err.Error())
	}
	return nil
}
