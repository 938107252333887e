package stats

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// at is a CRI time stamp.
func at(nanoseconds int64) metav1.Time { return metav1.NewTime(time.Unix(0, nanoseconds)) }

func value(v *runtimeapi.UInt64Value) *uint64 {
	if v == nil {
		return nil
	}
	return &v.Value
}

// cpu is nil if the runtime doesn't say.
func (s *Stats) cpu(id string, used *runtimeapi.CpuUsage) *statsapi.CPUStats {
	if used == nil {
		return nil
	}
	stats := &statsapi.CPUStats{
		Time: at(used.Timestamp), UsageNanoCores: value(used.UsageNanoCores),
		UsageCoreNanoSeconds: value(used.UsageCoreNanoSeconds), PSI: pressureStats(used.Psi),
	}
	if stats.UsageNanoCores == nil && stats.UsageCoreNanoSeconds != nil {
		stats.UsageNanoCores = s.rates.nanoCores(id, stats.Time.Time, *stats.UsageCoreNanoSeconds)
	}
	return stats
}

func memory(used *runtimeapi.MemoryUsage) *statsapi.MemoryStats {
	if used == nil {
		return nil
	}
	return &statsapi.MemoryStats{
		Time: at(used.Timestamp), AvailableBytes: value(used.AvailableBytes), UsageBytes: value(used.UsageBytes),
		WorkingSetBytes: value(used.WorkingSetBytes), RSSBytes: value(used.RssBytes),
		PageFaults: value(used.PageFaults), MajorPageFaults: value(used.MajorPageFaults), PSI: pressureStats(used.Psi),
	}
}

func swap(used *runtimeapi.SwapUsage) *statsapi.SwapStats {
	if used == nil {
		return nil
	}
	return &statsapi.SwapStats{
		Time: at(used.Timestamp), SwapUsageBytes: value(used.SwapUsageBytes), SwapAvailableBytes: value(used.SwapAvailableBytes),
	}
}

// inputOutput is nil where the kernel doesn't measure its pressure.
func inputOutput(used *runtimeapi.IoUsage) *statsapi.IOStats {
	if used.GetPsi() == nil {
		return nil
	}
	return &statsapi.IOStats{Time: at(used.Timestamp), PSI: pressureStats(used.Psi)}
}

func pressureStats(psi *runtimeapi.PsiStats) *statsapi.PSIStats {
	if psi == nil {
		return nil
	}
	of := func(d *runtimeapi.PsiData) statsapi.PSIData {
		return statsapi.PSIData{Total: d.GetTotal(), Avg10: d.GetAvg10(), Avg60: d.GetAvg60(), Avg300: d.GetAvg300()}
	}
	return &statsapi.PSIStats{Some: of(psi.Some), Full: of(psi.Full)}
}

func podNetwork(used *runtimeapi.NetworkUsage) *statsapi.NetworkStats {
	if used == nil {
		return nil
	}
	of := func(u *runtimeapi.NetworkInterfaceUsage) statsapi.InterfaceStats {
		return statsapi.InterfaceStats{
			Name: u.GetName(), RxBytes: value(u.GetRxBytes()), RxErrors: value(u.GetRxErrors()),
			TxBytes: value(u.GetTxBytes()), TxErrors: value(u.GetTxErrors()),
		}
	}
	stats := &statsapi.NetworkStats{Time: at(used.Timestamp), InterfaceStats: of(used.DefaultInterface)}
	for _, u := range used.Interfaces {
		stats.Interfaces = append(stats.Interfaces, of(u))
	}
	return stats
}

// sum adds b to a; what isn't known isn't counted.
func sum(a, b *uint64) *uint64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(*a + *b)
}
