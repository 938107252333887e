package leftovers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keepForeign takes from the list what belongs to pods on another runtime than
// the place's: their containers may run on, and only with that runtime can they
// be swept up. Their records stay listed, and say so.
func keepForeign(place Place, found []Leftover) []Leftover {
	endpoints := map[string]string{}
	for i, leftover := range found {
		if leftover.Kind != PodRecord {
			continue
		}
		endpoint := endpointOf(leftover.Name)
		if endpoint == "" || place.Endpoint == "" || endpoint == place.Endpoint {
			continue
		}
		endpoints[strings.TrimSuffix(filepath.Base(leftover.Name), ".json")] = endpoint
		found[i].Kind, found[i].Detail = ForeignPod, endpoint
	}
	return slices.DeleteFunc(found, func(leftover Leftover) bool {
		if !slices.Contains([]Kind{Mount, PodFolder, LogFolder, PodRecord}, leftover.Kind) {
			return false
		}
		for uid := range endpoints {
			if strings.Contains(leftover.Name, uid) {
				return true
			}
		}
		return false
	})
}

// endpointOf is the runtime that the record of a pod names, "" for none.
func endpointOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	var record struct {
		Endpoint string `json:"endpoint"`
	}
	if json.Unmarshal(text, &record) != nil {
		return "" // as after a power failure
	}
	return record.Endpoint
}
