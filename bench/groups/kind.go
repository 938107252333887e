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

// kind is one of the two JobSets.
type kind struct {
	name        string
	annotations string // of its pods
	agent       string // its init containers
}

var (
	lifepodKind = kind{name: "lifepod", annotations: "{lifepod.dev/group: jobset}", agent: "[]"}
	agentsKind  = kind{name: "agents", annotations: "{}", agent: agent}
)

// agent is JobSet's agent as its documentation has it, but for its image: what the module's program runs on is ours. No
// proxy of services is here, so that it reaches the API server by the machine's address.
const agent = `
            - name: agent
              image: lifepod.dev/toolbox:1
              command: [/agent/in-place-restart-agent]
              restartPolicy: Always
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
              startupProbe:
                httpGet: {path: /barrier-is-down, port: 8081}
                failureThreshold: 600
                periodSeconds: 1
              env:
              - {name: JOBSET_NAME, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['jobset.sigs.k8s.io/jobset-name']"}}}
              - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
              - {name: KUBERNETES_SERVICE_HOST, value: kubernetes.default.svc}
              - {name: KUBERNETES_SERVICE_PORT, value: "PORT"}
              volumeMounts: [{name: agent, mountPath: /agent}]
`

const jobSet = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agents}
rules:
- {apiGroups: [""], resources: [pods], verbs: [patch]}
- {apiGroups: [jobset.x-k8s.io], resources: [jobsets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agents}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: agents}
subjects:
- {kind: ServiceAccount, name: default}
---
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
          metadata: {annotations: ANNOTATIONS}
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 1
            hostAliases: [{ip: ADDRESS, hostnames: [kubernetes.default.svc]}]
            topologySpreadConstraints:
            - maxSkew: 1
              topologyKey: kubernetes.io/hostname
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: NAME}}
            volumes:
            - {name: shared, hostPath: {path: SHARED, type: Directory}}
            - {name: agent, hostPath: {path: PROGRAMS, type: Directory}}
            initContainers: AGENT
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

func (k kind) manifest(b *bench, address string) string {
	programs := strings.TrimSuffix(b.plane.Binary("jobset"), "/jobset")
	return strings.NewReplacer("AGENT", strings.ReplaceAll(k.agent, "PORT", fmt.Sprint(b.gate.Port())), "NAME", k.name,
		"WORKERS", fmt.Sprint(b.size()), "ANNOTATIONS", k.annotations, "ADDRESS", address,
		"SHARED", b.work+"/shared", "PROGRAMS", programs).Replace(jobSet)
}

// size is how many pods a JobSet has.
func (b *bench) size() int { return b.plan.nodes * b.plan.workers }

// ofKind says whether a pod is of that JobSet.
func (k kind) ofKind(pod string) bool { return strings.HasPrefix(pod, k.name+"-") }

// awaitAttempt waits until all pods of a JobSet run in an attempt.
func (b *bench) awaitAttempt(ctx context.Context, k kind, attempt int) (time.Time, error) {
	return b.pods.Await(ctx, fmt.Sprintf("all to run in attempt %d", attempt), func(pods map[string]*v1.Pod) bool {
		running := 0
		for name, pod := range pods {
			if k.ofKind(name) && pod.Annotations[lifecycle.AttemptAnnotation] == fmt.Sprint(attempt) && testbed.IsReady(pod) {
				running++
			}
		}
		return running == b.size()
	})
}

// names are the pods of a JobSet.
func (b *bench) names(k kind) []string {
	var names []string
	_, err := b.pods.Await(context.Background(), "", func(pods map[string]*v1.Pod) bool {
		for name := range pods {
			if k.ofKind(name) {
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
