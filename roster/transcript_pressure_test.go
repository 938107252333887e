package roster

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/roster/pressure"
)

// thresholds are those of a roster verb, with a minute of transition.
func (tr *transcript) thresholds() pressure.Config {
	values := func(key string) map[string]string {
		out := map[string]string{}
		if tr.has(key) {
			for _, pair := range tr.list(key, "") {
				signal, value, _ := strings.Cut(pair, "=")
				out[signal] = value
			}
		}
		return out
	}
	list, err := pressure.ParseThresholds(&kubeletconfig.KubeletConfiguration{
		EvictionHard: values("hard"), EvictionSoft: values("soft"), EvictionSoftGracePeriod: values("soft-grace"), EvictionMinimumReclaim: values("reclaim"),
	})
	assert.Require(tr.t, err == nil, "%s: %v", tr.d.Pos, err)
	config := pressure.Config{Thresholds: list, Transition: time.Minute, MaxPodGrace: 20}
	if tr.has("max-grace") {
		config.MaxPodGrace = tr.number("max-grace")
	}
	return config
}

func (tr *transcript) factOfNode() Fact {
	var pairs []string
	for _, arg := range tr.d.CmdArgs {
		if len(arg.Vals) > 0 {
			pairs = append(pairs, arg.Key+"="+arg.Vals[0])
		}
	}
	switch tr.d.Cmd {
	case "measured":
		f := tr.measured(pairs...)
		f.Disks.Images = tr.has("images")
		return f
	case "reclaimed":
		return Reclaimed{Seen: tr.measured(pairs...).Seen}
	}
	used := pressure.Usage{}
	for _, pair := range pairs {
		uid, text, _ := strings.Cut(pair, "=")
		quantity := resource.MustParse(text)
		bytes := new(uint64(quantity.Value()))
		disk := &statsapi.FsStats{UsedBytes: bytes}
		used[types.UID(uid)] = &statsapi.PodStats{
			Memory: &statsapi.MemoryStats{WorkingSetBytes: bytes}, ProcessStats: &statsapi.ProcessStats{ProcessCount: bytes},
			Containers: []statsapi.ContainerStats{{
				Name: "main", Memory: &statsapi.MemoryStats{WorkingSetBytes: bytes}, Rootfs: disk, Logs: &statsapi.FsStats{UsedBytes: new(uint64)},
			}},
		}
	}
	return PodsMeasured{Used: used, Failed: tr.has("failed")}
}

// measured is what the node has left now.
func (tr *transcript) measured(pairs ...string) NodeMeasured {
	f := NodeMeasured{Seen: pressure.Observations{}}
	tr.looks++
	for _, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		signal, quantity, capacity := pressure.Signal(name), resource.MustParse(text), int64(10<<30)
		if r := signal.Resource(); r == pressure.Inodes || r == pressure.ProcessCount {
			capacity = 1000
		}
		f.Seen[signal] = pressure.Observation{Available: quantity.Value(), Capacity: capacity, At: tr.now.Add(time.Duration(tr.looks))}
	}
	return f
}
