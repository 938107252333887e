package podcgroup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written of a container and a pod of each class (A-RES-7).
func TestMemoryQoS(t *testing.T) {
	on := MemoryQoS{On: true, ThrottlingFactor: 0.9, Allocatable: 1000 << 20}
	tiered := on
	tiered.Tiered = true
	none := map[string]string{"memory.min": "0", "memory.low": "0"}
	guaranteed := podOf(needs(list("1", "64Mi"), list("1", "64Mi")))
	burstable := podOf(needs(list("", "100Mi"), list("", "200Mi")))
	unlimited := podOf(needs(list("", "100Mi"), nil))
	for name, test := range map[string]struct {
		qos            MemoryQoS
		pod            string
		wantPod, wantC map[string]string
	}{
		"off":                      {MemoryQoS{Tiered: true}, "guaranteed", nil, nil},
		"nothing reserved":         {on, "guaranteed", none, none},
		"Guaranteed":               {tiered, "guaranteed", map[string]string{"memory.min": "67108864", "memory.low": "0"}, map[string]string{"memory.min": "67108864", "memory.low": "0"}},
		"Burstable":                {tiered, "burstable", map[string]string{"memory.min": "0", "memory.low": "104857600"}, map[string]string{"memory.min": "0", "memory.low": "104857600", "memory.high": "199229440"}},
		"throttled, not reserved":  {on, "burstable", none, map[string]string{"memory.min": "0", "memory.low": "0", "memory.high": "199229440"}},
		"throttled by allocatable": {on, "unlimited", none, map[string]string{"memory.min": "0", "memory.low": "0", "memory.high": "954204160"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := guaranteed
			switch test.pod {
			case "burstable":
				pod = burstable
			case "unlimited":
				pod = unlimited
			}
			if diff := cmp.Diff(test.wantPod, test.qos.OfPod(pod)); diff != "" {
				t.Errorf("A-RES-7 pod (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantC, test.qos.OfContainer(pod, &pod.Spec.Containers[0])); diff != "" {
				t.Errorf("A-RES-7 container (-want +got):\n%s", diff)
			}
		})
	}
}

// The levels cover what is protected in them (A-RES-7).
func TestProtectedBelow(t *testing.T) {
	root := t.TempDir()
	for file, content := range map[string]string{
		"pod1/memory.min": "100", "pod2/memory.min": "20", "burstable/memory.min": "0",
		"burstable/pod3/memory.low": "7", "burstable/pod4/memory.low": "8", "burstable/pod4/memory.min": "0",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if low, min := protectedBelow(root, filepath.Join(root, "burstable")); low != "15" || min != "135" {
		t.Errorf("A-RES-7 memory.low %s of burstable, memory.min %s of all: want 15 and 135", low, min)
	}
}
