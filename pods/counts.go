package pods

import (
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/roster/pressure"
)

// noCounts count nothing.
type noCounts struct{}

func (noCounts) Status(*v1.Pod, *v1.PodStatus, *v1.PodStatus) {}
func (noCounts) Updated(*v1.Pod, *v1.Pod)                     {}
func (noCounts) Rejected(string)                              {}
func (noCounts) Restarted(bool)                               {}
func (noCounts) Orphaned()                                    {}
func (noCounts) Gone(*v1.Pod)                                 {}

func (noCounts) Evicted([]pressure.Signal, pressure.Observations) {}
func (noCounts) Preempted(v1.ResourceName)                        {}
