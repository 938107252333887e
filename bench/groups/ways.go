package main

import (
	"fmt"
	"strings"

	"github.com/lifepod/lifepod/lifecycle"
)

// way is how pods are a group, and who leads it.
type way struct {
	title      string
	kind       string // of what is created, with the name "train"
	exits      string // begin of the name of the pod whose worker exits
	annotation string // has the attempt
	manifest   string
}

// template is the pods' template in both ways. memberLabel selects the pods.
const template = `
            labels: {lifepod.dev/bench: member%s}
            annotations: {%s}
          spec:
            restartPolicy: Never
            automountServiceAccountToken: false
            nodeSelector: {lifepod.dev/simulated: "true"}
            containers:
            - name: worker
              image: lifepod.dev/toolbox:1
              restartPolicy: Never
              restartPolicyRules:
              - action: RestartAllContainers
                exitCodes: {operator: NotIn, values: [0]}
`

const memberLabel = "lifepod.dev/bench=member"

// jobSpec is the Job's spec in both ways.
const jobSpec = `
        backoffLimit: 2147483647
        backoffLimitPerIndex: 2147483647
        podReplacementPolicy: Failed
        completionMode: Indexed
        completions: PODS
        parallelism: PODS
        template:
          metadata:`

const jobManifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:` + jobSpec

const jobSetManifest = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  failurePolicy: {maxRestarts: 1000000, restartStrategy: InPlaceRestart}
  network: {enableDNSHostnames: NAMES}
  replicatedJobs:
  - name: workers
    replicas: 1
    template:
      spec:` + jobSpec

// ways are those that are measured, the same pods each time.
func ways(p plan) []way {
	in := strings.NewReplacer("NAMES", fmt.Sprint(p.names), "PODS", fmt.Sprint(p.pods))
	members := fmt.Sprintf(template, ", lifepod.dev/group-name: train", `lifepod.dev/group: members, lifepod.dev/group-size: "PODS"`)
	jobSet := fmt.Sprintf(template, "", "lifepod.dev/group: jobset")
	return []way{
		{"A JobSet", "jobset", "train-workers-0-1-", lifecycle.AttemptAnnotation, in.Replace(jobSetManifest + jobSet)},
		{"A Job, by its members", "job", "train-1-", lifecycle.MemberAttemptAnnotation, in.Replace(jobManifest + members)},
	}
}
