package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/lifecycle"
)

// name is the name of the JobSet. The names of its pods begin with it.
const name = "train"

const jobSet = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: NAME}
spec:
  failurePolicy: {maxRestarts: 1000, restartStrategy: InPlaceRestart}
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:
        backoffLimit: 2147483647
        podReplacementPolicy: Failed
        completions: WORKERS
        parallelism: WORKERS
        template:
          metadata: {annotations: {lifepod.dev/group: jobset}}
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 1
            topologySpreadConstraints:
            - maxSkew: 1
              topologyKey: kubernetes.io/hostname
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: NAME}}
            volumes:
            - {name: shared, hostPath: {path: SHARED, type: Directory}}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              env:
              - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
              command: [sh, -c, "until [ -e /shared/fail-$POD ]; do sleep 0.01; done; rm /shared/fail-$POD; exit 3"]
              volumeMounts: [{name: shared, mountPath: /shared}]
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

func (b *bench) manifest() string {
	return strings.NewReplacer("NAME", name, "WORKERS", fmt.Sprint(b.size()), "SHARED", b.work+"/shared").Replace(jobSet)
}

// size is how many pods the JobSet has.
func (b *bench) size() int { return b.plan.nodes * b.plan.workers }

// isMember says whether a pod is of the JobSet.
func isMember(pod string) bool { return strings.HasPrefix(pod, name+"-") }

// awaitAttempt waits until all pods run in an attempt.
func (b *bench) awaitAttempt(ctx context.Context, attempt int) (time.Time, error) {
	return b.pods.Await(ctx, fmt.Sprintf("all to run in attempt %d", attempt), func(pods map[string]*v1.Pod) bool {
		running := 0
		for name, pod := range pods {
			if isMember(name) && pod.Annotations[lifecycle.AttemptAnnotation] == fmt.Sprint(attempt) && testbed.IsReady(pod) {
				running++
			}
		}
		return running == b.size()
	})
}

// names are the pods of the JobSet.
func (b *bench) names() []string {
	var names []string
	_, err := b.pods.Await(context.Background(), "", func(pods map[string]*v1.Pod) bool {
		for name := range pods {
			if isMember(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return true
	})
	if err != nil { // the watch is broken, which the next wait says
		return nil
	}
	return names
}
