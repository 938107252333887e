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
              command: [sh, -c, "until [ -e /shared/exit-$POD ]; do sleep 1; done; read line < /shared/exit-$POD; exit 3"]
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

// standing is how far the pods of the JobSet are: the attempt that all have announced, and the worker that runs in each.
type standing struct {
	attempt string
	names   []string          // of the pods
	workers map[string]string // ID of the container, by pod
}

// awaitAttempt waits until all pods run in another attempt, each with another worker than before: an agent tells the
// attempt by itself, maybe before its node has reported anything.
func (b *bench) awaitAttempt(ctx context.Context, before standing) (now standing, at time.Time, err error) {
	at, err = b.pods.Await(ctx, fmt.Sprintf("all to run in the attempt after %q", before.attempt), func(pods map[string]*v1.Pod) bool {
		now = standing{workers: map[string]string{}}
		for name, pod := range pods {
			if !isMember(name) {
				continue
			}
			attempt := pod.Annotations[lifecycle.AttemptAnnotation]
			if attempt == before.attempt || now.attempt != "" && attempt != now.attempt || pod.DeletionTimestamp != nil || !testbed.IsReady(pod) {
				return false
			}
			now.attempt, now.workers[name] = attempt, pod.Status.ContainerStatuses[0].ContainerID
			if now.workers[name] == before.workers[name] {
				return false
			}
			now.names = append(now.names, name)
		}
		return len(now.names) == b.size()
	})
	slices.Sort(now.names)
	return now, at, err
}
