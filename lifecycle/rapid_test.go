package lifecycle

import "flag"

// 500 walks take two seconds and come by every rare branch several times. A failing walk prints its seed, which is all that is needed to walk it again
// (-rapid.seed); files of failures would be taken for transcripts.
func init() {
	for name, value := range map[string]string{"rapid.checks": "500", "rapid.nofailfile": "true", "rapid.shrinktime": "5s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
