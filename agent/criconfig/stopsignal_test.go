package criconfig

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestStopSignal: B-SIG-1.
func TestStopSignal(t *testing.T) {
	named := func(name v1.Signal) *v1.Lifecycle { return &v1.Lifecycle{StopSignal: &name} }
	for _, tc := range []struct {
		lifecycle *v1.Lifecycle
		want      runtimeapi.Signal
	}{
		{nil, runtimeapi.Signal_RUNTIME_DEFAULT},
		{&v1.Lifecycle{}, runtimeapi.Signal_RUNTIME_DEFAULT},
		{named(v1.SIGUSR1), runtimeapi.Signal_SIGUSR1},
		{named(v1.SIGRTMINPLUS3), runtimeapi.Signal_SIGRTMINPLUS3},
		{named(v1.SIGRTMAXMINUS14), runtimeapi.Signal_SIGRTMAXMINUS14},
	} {
		if got := stopSignal(&v1.Container{Lifecycle: tc.lifecycle}); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.lifecycle, got, tc.want)
		}
	}
}
