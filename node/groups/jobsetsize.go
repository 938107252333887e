package groups

import "github.com/lifepod/lifepod/lifecycle/group"

// content is what is looked at of a JobSet; its schema has these types.
type content struct {
	Spec struct {
		FailurePolicy struct {
			RestartStrategy string `json:"restartStrategy"`
		} `json:"failurePolicy"`
		ReplicatedJobs []struct {
			Name     string `json:"name"`
			Replicas int32  `json:"replicas"`
			Template struct {
				Spec struct {
					Parallelism int32 `json:"parallelism"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"replicatedJobs"`
	} `json:"spec"`
	Status struct {
		CurrentAttempt       *int32       `json:"currentInPlaceRestartAttempt"`
		PreviousAttempt      *int32       `json:"previousInPlaceRestartAttempt"`
		ReplicatedJobsStatus []jobsStatus `json:"replicatedJobsStatus"`
	} `json:"status"`
}

// jobsStatus is what the JobSet's controller says of the Jobs of one replicated job.
type jobsStatus struct {
	Name      string `json:"name"`
	Active    int32  `json:"active"`
	Succeeded int32  `json:"succeeded"`
}

// namesMost is how many replicated jobs are named at most.
const namesMost = 3

// size is how many members a JobSet has (B-GRP-7), and which of its Jobs are neither active nor have succeeded: they
// have no pod that is pending or runs (B-GRP-16).
func (c *content) size() group.Size {
	var size group.Size
	standing := map[string]jobsStatus{}
	for _, jobs := range c.Status.ReplicatedJobsStatus {
		standing[jobs.Name] = jobs
	}
	for _, job := range c.Spec.ReplicatedJobs {
		parallelism := job.Template.Spec.Parallelism
		size.Members += job.Replicas * parallelism
		now, known := standing[job.Name]
		if podless := job.Replicas - now.Active - now.Succeeded; known && podless > 0 {
			size.Podless += podless * parallelism
			if len(size.Jobs) < namesMost {
				size.Jobs = append(size.Jobs, group.Jobs{Name: job.Name, Podless: podless, Of: job.Replicas})
			} else {
				size.MoreJobs++
			}
		}
	}
	return size
}
