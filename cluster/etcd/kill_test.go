package etcd

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lifepod/lifepod/internal/assert"
)

// Variables that make the test's program a writer.
const (
	writerDir  = "LIFEPOD_ETCD_WRITER" // of the data
	writerRun  = writerDir + "_RUN"    // begins its keys
	writerSize = writerDir + "_SIZE"   // of its values
)

// writer runs etcd in this process, tells what it has, then writes until it is
// killed or etcd can't go on, and tells what was acknowledged.
func writer(dir string) {
	ctx := context.Background()
	var out sync.Mutex
	say := func(what, key string) { // one write each: what is reported is reported whole
		out.Lock()
		defer out.Unlock()
		_, _ = os.Stdout.WriteString(what + " " + key + "\n")
	}
	fail := func(err error) {
		if err != nil {
			say("ended", err.Error())
			os.Exit(1)
		}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := Start(ctx, Config{Dir: dir, RunDir: filepath.Dir(filepath.Dir(dir)), Log: log, low: 1, enough: 1})
	fail(err)
	fail(s.AwaitReady(ctx))
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	fail(err)
	r, err := client.Get(ctx, "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	fail(err)
	for _, kv := range r.Kvs {
		say("has", string(kv.Key))
	}
	size, err := strconv.Atoi(os.Getenv(writerSize))
	fail(err)
	value := strings.Repeat("v", size)
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%s/%d/%d", os.Getenv(writerRun), w, i)
				if _, err := client.Put(ctx, key, value); err == nil {
					say("wrote", key)
				}
			}
		}()
	}
	err = s.Run(ctx)
	s.Close()
	fail(err)
}

// said is what a writer tells.
type said struct {
	*bufio.Scanner
	process *os.Process
}

func newWriter(t *testing.T, c Config, run string, size int) said {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), writerDir+"="+c.Dir, writerRun+"="+run, writerSize+"="+strconv.Itoa(size))
	command.Stderr = os.Stderr
	out := assert.Get(command.StdoutPipe()).Must(t)
	assert.Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	return said{bufio.NewScanner(out), command.Process}
}

// Nothing that was acknowledged is lost by kill -9, whenever it comes.
func TestKillLosesNothing(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "lp") // its sockets' names are short
	assert.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := Config{Dir: filepath.Join(dir, "data", "etcd")}
	acknowledged := map[string]bool{}
	const kills = 20
	for run := range kills + 1 {
		has, wrote := live(t, c, run, 1+37*run%101)
		for key := range acknowledged {
			assert.Require(t, has[key], "run %d: %s was acknowledged and is lost", run, key)
		}
		for key := range wrote {
			acknowledged[key] = true
		}
	}
	t.Logf("%d acknowledged writes, %d kills", len(acknowledged), kills)
}

// live runs a writer until it has written so often, and kills it.
func live(t *testing.T, c Config, run, writes int) (has, wrote map[string]bool) {
	t.Helper()
	said := newWriter(t, c, strconv.Itoa(run), 200)
	has, wrote = map[string]bool{}, map[string]bool{}
	for said.Scan() { // to the end: what was told before the kill counts
		switch what, key, _ := strings.Cut(said.Text(), " "); what {
		case "has":
			has[key] = true
		case "wrote":
			wrote[key] = true
		case "ended":
			t.Errorf("run %d ended: %s", run, key)
		}
		if len(wrote) == writes {
			_ = said.process.Kill()
		}
	}
	assert.Require(t, len(wrote) >= writes, "run %d ended after %d writes", run, len(wrote))
	return has, wrote
}
