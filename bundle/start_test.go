package bundle

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestMain lets the test binary be a containerd, too: one that ends as often as
// its configuration says, and then answers.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "containerd" {
		os.Exit(m.Run())
	}
	if err := passForContainerd(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "containerd:", err)
		os.Exit(1)
	}
}

func passForContainerd(config string) error {
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	left, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	if left > 0 {
		if err := os.WriteFile(config, []byte(strconv.Itoa(left-1)), 0o600); err != nil {
			return err
		}
		return fmt.Errorf("too many open files, %d more times", left-1)
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGTERM)
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		return err
	}
	if _, err := conn.Write([]byte("READY=1")); err != nil {
		return err
	}
	<-end
	return nil
}

// A containerd that ends while it starts is started again: what it wanted may be
// there a moment later. One that never starts is an error that says how it ended.
func TestStartAgain(t *testing.T) {
	for _, test := range []struct {
		name    string
		ends    int
		wantErr string
	}{
		{"at once", 0, ""},
		{"the last time", startTries - 1, ""},
		{"never", startTries, "it ended at once (exit status 1)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := &daemon{paths: shortPaths(t), log: slog.New(slog.DiscardHandler)}
			d.paths.Bundle = t.TempDir()
			self := assert.Get(os.Executable()).Must(t)
			assert.Must(t, os.Mkdir(filepath.Dir(d.paths.Containerd()), 0o700))
			assert.Must(t, os.Symlink(self, d.paths.Containerd()))
			assert.Must(t, os.WriteFile(d.paths.config(), []byte(strconv.Itoa(test.ends)), 0o600))
			started, err := d.start(t.Context())
			if err == nil {
				defer started.Close()
				assert.NoError(t, started.Stop(t.Context(), stopPatience))
			}
			got := fmt.Sprint(err)
			assert.True(t, (test.wantErr == "") == (err == nil) && (strings.Contains(got, test.wantErr) || err == nil), "error %q, want %q", got, test.wantErr)
			assert.True(t, err == nil || strings.Contains(got, "too many open files, 0 more times"), "error %q: want the end of the log", got)
		})
	}
}
