package run

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
)

// TestJob lives Jobs by words: +PAUSE lets time pass, "NUMBER ok" and "NUMBER CODE" end a pod, "NUMBER restarts N CODE" has its
// containers restart; what follows is which indexes begin, and what becomes of the Job.
func TestJob(t *testing.T) {
	ofThree := batchv1.JobSpec{Completions: ptr.To[int32](3), Parallelism: ptr.To[int32](2)}
	indexed := ofThree
	indexed.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	queue := batchv1.JobSpec{Parallelism: ptr.To[int32](2)}
	once := batchv1.JobSpec{Completions: ptr.To[int32](1), Parallelism: ptr.To[int32](1), BackoffLimit: ptr.To[int32](2)}
	onFailure := once
	onFailure.Template.Spec.RestartPolicy = v1.RestartPolicyOnFailure
	deadline := once
	deadline.ActiveDeadlineSeconds = ptr.To[int64](15)
	queueDeadline := queue
	queueDeadline.ActiveDeadlineSeconds = ptr.To[int64](15)
	policy := once
	policy.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{1, 2}}},
	}}
	for _, tc := range []struct {
		name  string
		spec  batchv1.JobSpec
		story string
	}{
		{"completions, two at a time", ofThree, "begins 1 2; 1 ok: begins 3; 2 ok: waits; 3 ok: over"},
		{"indexes", indexed, "begins 1=0 2=1; 2 7: waits; +9s: waits; +1s: begins 3=1; 1 ok: begins 4=2; 3 ok: waits; 4 ok: over"},
		{"without completions one success is enough", queue, "begins 1 2; 1 ok: waits; 2 7: over"},
		{"back-off doubles, and a success ends it", once, "begins 1; 1 7: waits; +10s: begins 2; 2 7: waits; +19s: waits; +1s: begins 3; 3 ok: over"},
		{"backoffLimit", once, "begins 1; 1 5: waits; +10s: begins 2; 2 6: waits; +20s: begins 3; 3 7: BackoffLimitExceeded 7 over"},
		{"backoffLimit of restarts", onFailure, "begins 1; 1 restarts 1 4: waits; 1 restarts 2 9: ends BackoffLimitExceeded 9; 1 143: BackoffLimitExceeded 9 over"},
		{"deadline", deadline, "begins 1; +14s: waits; +1s: ends DeadlineExceeded 1; 1 143: DeadlineExceeded 1 over"},
		{"deadline while the last pods run", queueDeadline, "begins 1 2; 1 ok: waits; +15s: ends DeadlineExceeded 1; 2 143: DeadlineExceeded 1 over"},
		{"deadline in a back-off", deadline, "begins 1; +14s: waits; 1 8: waits; +1s: DeadlineExceeded 8 over"},
		{"policy fails the Job", policy, "begins 1; 1 42: PodFailurePolicy 42 over"},
		{"policy ignores", policy, "begins 1; 1 9: waits; +10s: begins 2; 2 9: waits; +20s: begins 3; 3 9: waits; +40s: begins 4; 4 ok: over"},
		{"policy counts", policy, "begins 1; 1 1: waits; +10s: begins 2; 2 1: waits; +20s: begins 3; 3 2: BackoffLimitExceeded 2 over"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := time.Unix(0, 0)
			s := newJobState(&tc.spec, now)
			var got []string
			for i, word := range strings.Split(tc.story, "; ") {
				what, _, _ := strings.Cut(word, ": ")
				var number, restarts, code int
				switch {
				case i == 0:
				case what[0] == '+':
					pause := assert.Get(time.ParseDuration(what[1:])).Must(t)
					now = now.Add(pause)
				case strings.HasSuffix(what, "ok"):
					_, _ = fmt.Sscan(what, &number)
					s.ended(number, 0, &v1.PodStatus{Phase: v1.PodSucceeded}, now)
				case strings.Contains(what, "restarts"):
					_, _ = fmt.Sscanf(what, "%d restarts %d %d", &number, &restarts, &code)
					s.status(number, &v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
						RestartCount: int32(restarts), LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(code)}},
					}}})
				default:
					_, _ = fmt.Sscan(what, &number, &code)
					s.ended(number, code, &v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: []v1.ContainerStatus{{
						State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(code)}},
					}}}, now)
				}
				facts := factsOf(s, s.next(now, false))
				if i > 0 {
					facts = what + ": " + facts
				}
				got = append(got, facts)
			}
			assert.Deep(t, "", strings.Split(tc.story, "; "), got)
		})
	}
}

func factsOf(s *jobState, step jobStep) string {
	var words []string
	for _, number := range slices.Sorted(maps.Keys(step.begin)) {
		word := fmt.Sprint(number)
		if s.indexed {
			word += fmt.Sprintf("=%d", step.begin[number])
		}
		words = append(words, word)
	}
	if words != nil {
		return "begins " + strings.Join(words, " ")
	}
	if step.end && !step.over {
		words = append(words, "ends")
	}
	if s.reason != "" {
		words = append(words, s.reason, fmt.Sprint(s.code))
	}
	if step.over {
		words = append(words, "over")
	}
	if words == nil {
		return "waits"
	}
	return strings.Join(words, " ")
}

// Once somebody has asked for the end nothing begins, and the pods that run are waited for.
func TestJobThatIsToEnd(t *testing.T) {
	s := newJobState(&batchv1.JobSpec{Completions: ptr.To[int32](2)}, time.Unix(0, 0))
	if step := s.next(time.Unix(0, 0), false); len(step.begin) != 1 {
		t.Fatalf("%+v", step)
	}
	step := s.next(time.Unix(1, 0), true)
	assert.True(t, step.begin == nil && !step.over && !step.end, "%+v", step)
	s.ended(1, 143, &v1.PodStatus{Phase: v1.PodFailed}, time.Unix(1, 0))
	step = s.next(time.Unix(1, 0), true)
	assert.True(t, step.begin == nil && step.over, "%+v", step)
}

// A Job whose pods can't begin ends with that error: no other pod takes the place of one that has failed so.
func TestJobThatCannotBegin(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "nonsense")
	group := assert.Get(manifest.ReadAll([]manifest.Source{{Name: "job.yaml", Data: []byte(`
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i:1}]}}
`)}}, manifest.Options{Now: time.Now()})).Must(t)
	for range 20 { // which of two events a select takes is chance
		p := newPrinter(Options{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
		s := &stopper{printer: p, done: make(chan struct{})}
		l := &lives{options: Options{New: true}, runtime: &host.Runtime{Root: t.TempDir()}, printer: p, stopper: s, group: group, ending: make(chan struct{})}
		s.attach(l, nil, 0)
		j := l.jobs()[0]
		j.run(t.Context(), &worker.Engine{}, nil)
		close(s.done)
		p.close()
		err := s.failure()
		assert.Require(t, err != nil && j.state.begun == 2, "%d pods began, error %v", j.state.begun, err)
	}
}
