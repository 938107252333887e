package roster

// Source is where a pod comes from, as the annotation kubernetes.io/config.source
// names it (B-STA-2).
type Source string

// The sources of pods.
const (
	API  Source = "api"
	File Source = "file"
	URL  Source = "http"
	// Runtime is that of a pod that only the runtime knows: no source wants it (B-WRK-21).
	Runtime Source = "runtime"
)

// Static says that the source's pods are static: the API server shows mirror pods of them.
func (s Source) Static() bool { return s == File || s == URL }
