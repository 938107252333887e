package counts

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Counts are lifepod's own metrics of pods. Its methods may be called concurrently.
type Counts struct {
	starts, steps  *prometheus.HistogramVec
	restarts       *prometheus.CounterVec
	restartTime    prometheus.Histogram
	restartsAll    prometheus.Counter
	restartAllTime prometheus.Histogram
	pulledBytes    prometheus.Counter

	entries, journalErrors prometheus.Counter
	journalTime            prometheus.Histogram

	mu    sync.Mutex
	lives map[types.UID]*life
}

// life is what is remembered of a pod for the next change of its status. Guarded by
// Counts.mu.
type life struct {
	met        bool                 // a status of it was seen
	seen       time.Time            // when it was seen first; zero for one that was taken over
	reached    map[milestone]bool   // of its start
	causes     map[string]string    // why a container was told to end, by name
	exits      map[string]time.Time // when containers were seen to have ended, by name
	known      map[string]bool      // the ends that were seen, by container ID
	counted    map[string]int32     // restarts, by container
	restartAll time.Time            // when the restart of all containers began that is under way
}

var (
	// startBuckets go from a sandbox that takes no time to an image that takes an hour.
	startBuckets = []float64{.05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600}
	stepBuckets  = []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	// restartBuckets are finer: a restart in place takes a fraction of a second.
	restartBuckets = []float64{.025, .05, .1, .2, .3, .5, 1, 2, 5, 10, 20, 40, 80, 160, 300}
	// journalBuckets are those of a write that nobody is to notice.
	journalBuckets = []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .1, 1}
)

func New() *Counts {
	c := &Counts{
		starts:         histograms("lifepod_pod_start_duration_seconds", "Duration in seconds from lifepod's first sight of a new pod to a milestone of its start.", startBuckets, "milestone"),
		steps:          histograms("lifepod_pod_step_duration_seconds", "Duration in seconds of what lifepod does for pods, by step and result.", stepBuckets, "step", "result"),
		restarts:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lifepod_container_restarts_total", Help: "Number of restarts of containers, by what led to them."}, []string{"cause"}),
		restartTime:    histogram("lifepod_container_restart_duration_seconds", "Duration in seconds from a container's exit to its running again, back-off included.", restartBuckets),
		restartsAll:    counter("lifepod_restart_all_containers_total", "Number of restarts of all containers of a pod in place."),
		restartAllTime: histogram("lifepod_restart_all_containers_duration_seconds", "Duration in seconds from the beginning of a restart of all containers to all of them running again.", restartBuckets),
		pulledBytes:    counter("lifepod_image_pulled_bytes_total", "Size in bytes of the images that were pulled, as the runtime tells it."),
		entries:        counter("lifepod_journal_entries_total", "Number of entries written to the journals of pods."),
		journalErrors:  counter("lifepod_journal_errors_total", "Number of failures to write to the journals of pods."),
		journalTime:    histogram("lifepod_journal_write_duration_seconds", "Duration in seconds of writing the entries of one step to a pod's journal.", journalBuckets),
		lives:          map[types.UID]*life{},
	}
	for _, cause := range causes { // they are there from the start
		c.restarts.WithLabelValues(cause)
	}
	return c
}

// Collectors are the metrics, to be registered.
func (c *Counts) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		c.starts, c.steps, c.restarts, c.restartTime, c.restartsAll, c.restartAllTime, c.pulledBytes, c.entries, c.journalErrors, c.journalTime,
	}
}

func (c *Counts) Gone(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lives, pod.UID)
}

// of is what is remembered of a pod. The caller holds mu.
func (c *Counts) of(pod *v1.Pod) *life {
	l := c.lives[pod.UID]
	if l == nil {
		l = &life{reached: map[milestone]bool{}, causes: map[string]string{}, exits: map[string]time.Time{}, known: map[string]bool{}, counted: map[string]int32{}}
		c.lives[pod.UID] = l
	}
	return l
}

// Journal takes that the entries of a step were written to a pod's journal, or why not.
func (c *Counts) Journal(entries int, took time.Duration, err error) {
	if err != nil {
		c.journalErrors.Inc()
		return
	}
	c.entries.Add(float64(entries))
	c.journalTime.Observe(took.Seconds())
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}
