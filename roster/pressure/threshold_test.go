package pressure

import (
	"errors"
	"testing"
	"time"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/internal/assert"
)

type settings = kubeletconfig.KubeletConfiguration

// B-EVI-1, B-EVI-2: hard before soft, memory first, that of all pods' memory derived.
func TestParseThresholds(t *testing.T) {
	list := assert.Get(ParseThresholds(&settings{
		EnforceNodeAllocatable:  []string{"pods"},
		EvictionHard:            map[string]string{"nodefs.available": "10%", "memory.available": "100Mi", "imagefs.available": "0%", "pid.available": "100%"},
		EvictionSoft:            map[string]string{"memory.available": "1.5Gi"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": "1m30s"},
		EvictionMinimumReclaim:  map[string]string{"memory.available": "0", "nodefs.available": "500Mi"},
	})).Must(t)
	var got []string
	for i := range list {
		text := string(list[i].Signal) + " " + list[i].kind() + " " + list[i].Value.of(1000).String() + " " + list[i].Grace.String()
		if list[i].MinimumReclaim != nil {
			text += " +" + list[i].MinimumReclaim.of(1000).String()
		}
		got = append(got, text)
	}
	want := []string{
		"memory.available hard 100Mi 0s +0", "allocatableMemory.available hard 100Mi 0s +0", "nodefs.available hard 100 0s +500Mi",
		"memory.available soft 1536Mi 1m30s +0",
	}
	assert.Deep(t, "", want, got)
}

func TestWrongThresholds(t *testing.T) {
	one := func(value string) map[string]string { return map[string]string{"memory.available": value} }
	for name, test := range map[string]struct {
		settings settings
		field    string
	}{
		"no such signal":        {settings{EvictionHard: map[string]string{"memory.free": "1Gi"}}, "evictionHard"},
		"zero":                  {settings{EvictionHard: one("0")}, "evictionHard"},
		"more than all":         {settings{EvictionSoft: one("101%")}, "evictionSoft"},
		"below zero":            {settings{EvictionSoft: one("-1%")}, "evictionSoft"},
		"soft without grace":    {settings{EvictionSoft: one("1Gi")}, "evictionSoft"},
		"no duration":           {settings{EvictionSoftGracePeriod: one("5")}, "evictionSoftGracePeriod"},
		"negative duration":     {settings{EvictionSoftGracePeriod: one("-5s")}, "evictionSoftGracePeriod"},
		"negative reclaim":      {settings{EvictionMinimumReclaim: one("-1Gi")}, "evictionMinimumReclaim"},
		"reclaim of no percent": {settings{EvictionMinimumReclaim: one("0%")}, "evictionMinimumReclaim"},
		"no quantity":           {settings{EvictionMinimumReclaim: one("much")}, "evictionMinimumReclaim"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseThresholds(&test.settings)
			var wrong *SettingError
			assert.True(t, errors.As(err, &wrong) && wrong.Field == test.field, "error %v, want one about %s", err, test.field)
		})
	}
}

// B-EVI-1: the thresholds of containerfs are those of the file system that it is on.
func TestContainerFs(t *testing.T) {
	list := assert.Get(ParseThresholds(&settings{EvictionHard: map[string]string{
		"nodefs.available": "10%", "imagefs.available": "15%", "containerfs.available": "99%", "nodefs.inodesFree": "5%",
	}})).Must(t)
	for disks, want := range map[Disks]string{{}: "100", {Images: true}: "150", {Images: true, Containers: true}: "100"} {
		found := ""
		for _, threshold := range onDisks(list, disks) {
			if threshold.Signal == ContainerFs {
				found += threshold.Value.of(1000).String()
			}
		}
		assert.Equal(t, want, found, "%+v: threshold of containerfs", disks)
	}
}

// B-EVI-4: figures that are no newer don't act.
func TestOldFiguresDoNotAct(t *testing.T) {
	list := assert.Get(ParseThresholds(&settings{EvictionHard: map[string]string{"memory.available": "1Gi"}})).Must(t)
	config, state, now := &Config{Thresholds: list, Transition: time.Minute}, State{}, time.Unix(1000, 0)
	seen := Observations{Memory: {Available: 1 << 20, Capacity: 4 << 30, At: now}}
	v := state.Look(config, now, seen, Disks{})
	assert.True(t, len(v.Acts) == 1, "acts %v, want one", v.Acts)
	v = state.Look(config, now.Add(time.Second), seen, Disks{})
	assert.True(t, len(v.Acts) == 0 && len(v.Conditions) == 1, "acts %v under %v, want none under one", v.Acts, v.Conditions)
}
