package stats

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
)

// addPressure adds the machine's pressure stall information, which the root cgroup
// doesn't have.
func addPressure(c *cgroups.Stats) {
	for name, psi := range map[string]**cgroups.PSIStats{"cpu": &c.CpuStats.PSI, "memory": &c.MemoryStats.PSI, "io": &c.BlkioStats.PSI} {
		if *psi == nil {
			*psi = readPressure("/proc/pressure/" + name)
		}
	}
}

// readPressure is nil where the kernel doesn't measure it.
func readPressure(path string) *cgroups.PSIStats {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // only read
	var psi cgroups.PSIStats
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "some":
			psi.Some = pressureData(rest)
		case "full":
			psi.Full = pressureData(rest)
		}
	}
	if lines.Err() != nil { // some kernels have the file only
		return nil
	}
	return &psi
}

// pressureData reads avg10=0.00 avg60=0.00 avg300=0.00 total=0, the last in microseconds.
func pressureData(text string) cgroups.PSIData {
	var data cgroups.PSIData
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		number, _ := strconv.ParseFloat(value, 64) // the kernel's own
		switch key {
		case "avg10":
			data.Avg10 = number
		case "avg60":
			data.Avg60 = number
		case "avg300":
			data.Avg300 = number
		case "total":
			data.Total, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return data
}
