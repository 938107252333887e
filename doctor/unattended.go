package doctor

import (
	"fmt"

	"github.com/lifepod/lifepod/unattended"
)

// checkUnattended tells of pods whose lifepod has ended without them. They are no
// leftovers: somebody may want to go on with them.
func checkUnattended(h Host, options Options) Result {
	const name = "unattended pods"
	if !h.IsRoot() {
		return notChecked(name, "only root can look")
	}
	pods := options.Unattended()
	if len(pods) == 0 {
		return ok(name, "none below "+options.Root)
	}
	var advice []string
	for _, p := range pods {
		advice = append(advice, fmt.Sprintf("%s: %s: %s", p.FullName(), p.Why(fmt.Sprintf), p.Advice(fmt.Sprintf)))
	}
	return warn(name, fmt.Sprintf("%d below %s", len(pods), options.Root), advice...)
}

func uids(pods []unattended.Pod) (list []string) {
	for _, p := range pods {
		list = append(list, string(p.UID))
	}
	return list
}
