package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

// gateSources declare the feature gates that the kubelet knows, by module.
var gateSources = map[string][]string{
	"k8s.io/kubernetes":              {"pkg/features/kube_features.go"},
	"k8s.io/apiextensions-apiserver": {"pkg/features/kube_features.go"},
	"k8s.io/controller-manager":      {"pkg/features/kube_features.go"},
	"k8s.io/apiserver":               {"pkg/features/kube_features.go"},
	"k8s.io/client-go":               {"features/known_features.go"},
	"k8s.io/component-base":          {"logs/api/v1/kube_features.go", "zpages/features/kube_features.go"},
}

// TestGatesAreKubernetes holds the table against the sources of the version that
// go.mod names: no gate is missing, none is made up, the same ones are locked, and those that lifepod follows are on by default
// where they are on there.
func TestGatesAreKubernetes(t *testing.T) {
	want := map[string]gate{"AllAlpha": {}, "AllBeta": {}}
	for module, files := range gateSources {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		assert.Require(t, err == nil, "find module %s: %v", module, err)
		for _, file := range files {
			readGates(t, filepath.Join(strings.TrimSpace(string(out)), file), want)
		}
	}
	delete(want, "ControllerManagerReleaseLeaderElectionLockOnExit") // kube-controller-manager registers it, the kubelet does not
	got := map[string]gate{}
	for name, g := range gates {
		entry := gate{locked: g.locked, byDefault: want[name].byDefault}
		if g.here == free {
			entry.byDefault = stateOf(Enabled(&kubeletconfig.KubeletConfiguration{}, name))
		}
		got[name] = entry
	}
	diff := cmp.Diff(want, got, cmp.AllowUnexported(gate{}))
	assert.True(t, diff == "", "gates (-Kubernetes +table):\n%s", diff)
}

// readGates finds what maps a gate's constant to a list of specs, the last of which
// holds.
func readGates(t *testing.T, path string, into map[string]gate) {
	t.Helper()
	file := assert.Get(parser.ParseFile(token.NewFileSet(), path, nil, 0)).Must(t)
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			value := spec.Values[0]
			if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 {
				value = call.Args[0] // featuregate.Feature("…")
			}
			if literal, ok := value.(*ast.BasicLit); ok {
				names[spec.Names[0].Name] = strings.Trim(literal.Value, `"`)
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isIdent := pair.Key.(*ast.Ident)
		if found, isGate := lastSpec(pair.Value); isIdent && isGate && names[key.Name] != "" {
			into[names[key.Name]] = found
		}
		return true
	})
}

func lastSpec(value ast.Expr) (g gate, isGate bool) {
	list, ok := value.(*ast.CompositeLit)
	if !ok || len(list.Elts) == 0 {
		return gate{}, false
	}
	spec := list // a gate without versions has its one spec itself
	if last, ok := list.Elts[len(list.Elts)-1].(*ast.CompositeLit); ok {
		spec = last
	}
	values := map[string]string{}
	for _, e := range spec.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if value, ok := pair.Value.(*ast.Ident); ok {
				values[pair.Key.(*ast.Ident).Name] = value.Name
			} else {
				values[pair.Key.(*ast.Ident).Name] = "?"
			}
		}
	}
	if values["PreRelease"] == "" {
		return gate{}, false
	}
	g.byDefault = stateOf(values["Default"] == "true")
	if values["LockToDefault"] == "true" {
		g.locked = g.byDefault
	}
	return g, true
}

// TestGatesOfTheContract: what the contract says of Kubernetes' gates and of lifepod's
// way (A-GATE-1, A-GATE-2, A-GATE-3).
func TestGatesOfTheContract(t *testing.T) {
	locked := []string{ // A-GATE-1
		"InPlacePodVerticalScaling", "InPlacePodVerticalScalingInitContainers", "PodObservedGenerationTracking", "ImageVolume", "UserNamespacesSupport",
		"RecursiveReadOnlyMounts", "SupplementalGroupsPolicy", "PodReadyToStartContainersCondition", "HostnameOverride", "NodeDeclaredFeatures",
		"NodeSwap", "ExecProbeTimeout", "ProcMountType", "RelaxedEnvironmentVariableValidation", "DynamicResourceAllocation", "DRAExtendedResource",
		"PLEGOnDemandRelist",
	}
	for _, name := range locked {
		assert.Equal(t, on, gates[name].locked, "%s", name)
	}
	for name, want := range map[string]bool{"MemoryQoS": true, "PodsAPI": true, "PodCertificateRequest": true, "SELinuxMount": true} { // A-GATE-1, A-GATE-2
		got := Enabled(&kubeletconfig.KubeletConfiguration{}, name)
		assert.True(t, got == want, "%s is %v by default, want %v", name, got, want)
		set := &kubeletconfig.KubeletConfiguration{FeatureGates: map[string]bool{name: !want}}
		assert.True(t, Enabled(set, name) != want, "%s is %v, set to %v", name, want, !want)
	}
	here := map[string]state{
		"CustomCPUCFSQuotaPeriod": on, "DynamicResourceAllocation": on, // A-GATE-1
		"ContainerRestartRules": on, "RestartAllContainersOnContainerExits": on, "KubeletEnsureSecretPulledImages": on, // A-GATE-2
		"InPlacePodLevelResourcesVerticalScaling": on,
		"GracefulNodeShutdown":                    on, "GracefulNodeShutdownBasedOnPodPriority": on, "KubeletSeparateDiskGC": off, "ResourceHealthStatus": on, "ResourceHealthStatusMessage": on,
		"ContainerStopSignals": on, "EventedPLEG": on, "ReduceDefaultCrashLoopBackOffDecay": off, // A-GATE-3
		"ImageVolumeWithDigest": off, "MemoryQoS": free, "PodCertificateRequest": free, "ContainerCheckpoint": free, "PodsAPI": free, "NodeLogQuery": on, "ChangeContainerStatusOnKubeletRestart": off,
	}
	for name, want := range here {
		g := gates[name]
		assert.True(t, g.here == want && (g.locked == unsaid || g.locked == on), "%s is %s here, want %s", name, g.here, want)
	}
}
