package groups

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifepod/lifepod/lifecycle/group"
)

// namesMost is how many replicated jobs are named at most.
const namesMost = 3

// Where a JobSet has its replicated jobs, and what its controller says of the Jobs of each.
func jobsPath() []string   { return []string{"spec", "replicatedJobs"} }
func statusPath() []string { return []string{"status", "replicatedJobsStatus"} }

func parallelismPath() []string { return []string{"template", "spec", "parallelism"} }

// sizeOf is how many members a JobSet has (B-GRP-7), and which of its Jobs are neither active nor have succeeded: they
// have no pod that is pending or runs (B-GRP-16).
func sizeOf(jobSet *unstructured.Unstructured) group.Size {
	var size group.Size
	standing := map[string]map[string]any{}
	for _, job := range list(jobSet, statusPath()) {
		standing[nameOf(job)] = job
	}
	for _, job := range list(jobSet, jobsPath()) {
		replicas, parallelism := number(job, "replicas"), number(job, parallelismPath()...)
		size.Members += replicas * parallelism
		now, known := standing[nameOf(job)]
		if podless := replicas - number(now, "active") - number(now, "succeeded"); known && podless > 0 {
			size.Podless += podless * parallelism
			if len(size.Jobs) < namesMost {
				size.Jobs = append(size.Jobs, group.Jobs{Name: nameOf(job), Podless: podless, Of: replicas})
			} else {
				size.MoreJobs++
			}
		}
	}
	return size
}

func list(jobSet *unstructured.Unstructured, path []string) (all []map[string]any) {
	items, _, err := unstructured.NestedSlice(jobSet.Object, path...)
	if err != nil {
		return nil
	}
	for _, item := range items {
		if job, is := item.(map[string]any); is {
			all = append(all, job)
		}
	}
	return all
}

func nameOf(job map[string]any) string {
	name, _, _ := unstructured.NestedString(job, "name") // the schema has it be one
	return name
}

// number is one of 32 bits, by the JobSet's schema; missing: 0.
func number(job map[string]any, path ...string) int32 {
	value, _, _ := unstructured.NestedInt64(job, path...)
	return int32(value)
}

// trimJobs keeps of a JobSet's replicated jobs what sizeOf looks at.
func trimJobs(jobSet, kept *unstructured.Unstructured) error {
	jobs, standing := []any{}, []any{}
	for _, job := range list(jobSet, jobsPath()) {
		trimmed := map[string]any{"name": nameOf(job), "replicas": int64(number(job, "replicas"))}
		if err := unstructured.SetNestedField(trimmed, int64(number(job, parallelismPath()...)), parallelismPath()...); err != nil {
			return fmt.Errorf("trim JobSet %s/%s: %w", jobSet.GetNamespace(), jobSet.GetName(), err)
		}
		jobs = append(jobs, trimmed)
	}
	for _, job := range list(jobSet, statusPath()) {
		standing = append(standing, map[string]any{
			"name": nameOf(job), "active": int64(number(job, "active")), "succeeded": int64(number(job, "succeeded")),
		})
	}
	for _, part := range []struct {
		path  []string
		items []any
	}{{jobsPath(), jobs}, {statusPath(), standing}} {
		if len(part.items) == 0 {
			continue
		}
		if err := unstructured.SetNestedSlice(kept.Object, part.items, part.path...); err != nil {
			return fmt.Errorf("trim JobSet %s/%s: %w", jobSet.GetNamespace(), jobSet.GetName(), err)
		}
	}
	return nil
}
