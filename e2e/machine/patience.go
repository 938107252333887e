package machine

import (
	"os"
	"strconv"
	"time"
)

// Patience is how long a test waits for what must come until it fails: five minutes, times $LIFEPOD_TEST_SLACK (a number of at
// least 1) on a machine that is slower than any that was thought of. What comes is waited for no longer than it takes.
var Patience = time.Duration(float64(5*time.Minute) * slack(os.Getenv("LIFEPOD_TEST_SLACK")))

func slack(text string) float64 {
	if text == "" {
		return 1
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor < 1 || factor > 100 {
		panic("LIFEPOD_TEST_SLACK=" + text + ": want a number from 1 to 100")
	}
	return factor
}
