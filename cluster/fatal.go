package cluster

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// surviveFatal keeps parts that can't go on because ctx has ended, such as the API
// server's hooks, from ending the process before the others have ended well. What ends
// it otherwise is reported; klog has its message among the details.
func surviveFatal(ctx context.Context, log *slog.Logger) {
	klog.OsExit = func(code int) {
		if ctx.Err() != nil {
			runtime.Goexit()
		}
		log.Error("a part of the control plane has ended the process; its reason is logged with --log-level debug", "stack", string(debug.Stack()))
		os.Exit(code)
	}
}
