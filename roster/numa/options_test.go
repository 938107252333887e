package numa

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-NUMA-4: what options there are, which gates they need, and which exclude each other.
func TestCpusOptions(t *testing.T) {
	for _, test := range []struct {
		options map[string]string
		gates   CPUGates
		want    string
	}{
		{options: map[string]string{"full-pcpus-only": "true", "distribute-cpus-across-numa": "1"}, gates: CPUGates{Beta: true}},
		{options: map[string]string{"align-by-socket": "true", "strict-cpu-reservation": "true"}, gates: CPUGates{Alpha: true}},
		{
			options: map[string]string{"distribute-cpus-across-numa": "true"},
			want:    `CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided: it requires feature gate CPUManagerPolicyBetaOptions`,
		},
		{
			options: map[string]string{"align-by-socket": "false"}, gates: CPUGates{Beta: true},
			want: `CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided: it requires feature gate CPUManagerPolicyAlphaOptions`,
		},
		{
			options: map[string]string{"full-pcpus": "true"},
			want:    `unknown CPU Manager Policy option: "full-pcpus"; there are ["align-by-socket" "distribute-cpus-across-cores" "distribute-cpus-across-numa" "full-pcpus-only" "prefer-align-cpus-by-uncorecache" "strict-cpu-reservation"]`,
		},
		{options: map[string]string{"full-pcpus-only": "yes"}, want: `bad value for option "full-pcpus-only": "yes" should be true or false`},
		{
			options: map[string]string{"full-pcpus-only": "true", "distribute-cpus-across-cores": "true"}, gates: CPUGates{Alpha: true},
			want: "static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time",
		},
		{
			options: map[string]string{"prefer-align-cpus-by-uncorecache": "true", "distribute-cpus-across-numa": "true"}, gates: CPUGates{Beta: true},
			want: "static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time",
		},
	} {
		assert.Error(t, test.want, assert.ErrorOf(ParseCPUOptions(test.options, test.gates)), "A-NUMA-4: options ", test.options)
	}
}
