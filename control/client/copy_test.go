package client

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// both are two folders, of which one is as if it were a container's root.
type both struct {
	*Tree
	t              *testing.T
	dir            string
	inside, beside string
	left           []string // what was left out
}

func newBoth(t *testing.T, script string) *both {
	t.Helper()
	dir := t.TempDir()
	b := &both{t: t, dir: dir, inside: filepath.Join(dir, "c"), beside: filepath.Join(dir, "l")}
	t.Cleanup(func() { _ = unix.Unmount(b.inside+"/proc", unix.MNT_DETACH) }) // if there is one
	b.sh("umask 022; mkdir c l; " + script)
	root := assert.Get(outside(b.inside, unix.O_PATH|unix.O_DIRECTORY)).Must(t)
	t.Cleanup(func() { _ = root.Close() })
	b.Tree = &Tree{root: root, uid: 1234, gid: 5678, Warn: func(format string, args ...any) { b.left = append(b.left, fmt.Sprintf(format, args...)) }}
	return b
}

func (b *both) sh(script string) string {
	b.t.Helper()
	command := exec.CommandContext(b.t.Context(), "sh", "-ec", script)
	command.Dir = b.dir
	text, err := command.CombinedOutput()
	assert.Require(b.t, err == nil, "%s: %v\n%s", script, err, text)
	return string(text)
}

// copy copies, then returns what is where the copy should be, what was left out, and the error.
func (b *both) copy(out bool, from, to string) string {
	b.t.Helper()
	var err error
	side := b.beside
	if out {
		err = b.CopyOut(b.t.Context(), from, filepath.Join(b.beside, to)+to[len(filepath.Clean(to)):])
	} else {
		side = b.inside
		err = b.CopyIn(b.t.Context(), filepath.Join(b.beside, from), to)
	}
	text := b.sh("cd " + side + "; find . -mindepth 1 -printf '%P %M %U:%G %l\n' | sed 's/ *$//' | sort")
	slices.Sort(b.left)
	for _, l := range b.left {
		text += l + "\n"
	}
	if err != nil {
		text += strings.ReplaceAll(err.Error(), b.dir+"/", "") + "\n"
	}
	return text
}

func TestCopy(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		out          bool
		from, to     string
		want         string
	}{
		{"a file gets a name", "echo > c/f; chmod 6755 c/f", true, "/f", "g", "g -rwxr-xr-x 0:0\n"},
		{"into a folder, in place of a file", "echo new > c/f; echo old > l/f; chmod 600 l/f", true, "f", ".", "f -rw-r--r-- 0:0\n"},
		{"a folder with links", "mkdir -p c/d/e; echo > c/d/e/f; ln -s ../e c/d/e/in; ln -s e c/d/in", true, "/d", "n",
			"n drwxr-xr-x 0:0\nn/e drwxr-xr-x 0:0\nn/e/f -rw-r--r-- 0:0\nn/e/in lrwxrwxrwx 0:0 ../e\nn/in lrwxrwxrwx 0:0 e\n"},
		{"what is in a folder", "mkdir c/d; echo > c/d/f; mkdir l/n", true, "/d/.", "n", "n drwxr-xr-x 0:0\nn/f -rw-r--r-- 0:0\n"},
		{"links on the way are followed inside", "mkdir c/d; echo > c/d/f; ln -s /d c/a; ln -s ../../../d/f c/b", true, "/../a/../b", "f", "f -rw-r--r-- 0:0\n"},
		{"nothing is there", "", true, "/f", "f", "open /f: no such file or directory\n"},
		{"no folder is there", "echo > c/f", true, "/f", "n/", "open l/n/: no such file or directory\n"},
		{"a folder in place of a file", "mkdir c/d; echo > l/d", true, "/d", ".", "d -rw-r--r-- 0:0\nopen d: not a directory\n"},
		{"a file in place of a folder", "mkdir l/f; echo > c/f", true, "/f", ".", "f drwxr-xr-x 0:0\ncopy /f: is a directory\n"},

		{"in: the container's user has it, with its bits", "mkdir l/d; echo > l/d/f; chmod 4700 l/d/f; ln -s /etc l/d/l; chmod 1777 l/d", false, "d", "/n",
			"n drwxrwxrwt 1234:5678\nn/f -rws------ 1234:5678\nn/l lrwxrwxrwx 1234:5678 /etc\n"},
		{"in: a link to a folder is inside", "mkdir c/d; ln -s /d c/a; echo > l/f", false, "f", "/a/..", "a lrwxrwxrwx 0:0 /d\nd drwxr-xr-x 0:0\nf -rw-r--r-- 1234:5678\n"},
		{"in: a link in place of the file", "ln -s ../l/secret c/f; echo > l/secret; echo > l/f", false, "f", "/f", "f -rw-r--r-- 1234:5678\n"},
		{"in: no folder", "echo > l/f", false, "f", "/n/f", "open /n: no such file or directory\n"},
		{"in: no name", "echo > l/f", false, "f", "/n/..", "open /n/..: no such file or directory\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			assert.Deep(t, "copy", tc.want, newBoth(t, tc.script).copy(tc.out, tc.from, tc.to))
		})
	}
}

// TestHostileTree: nothing leads out of a container's tree, and nothing but files and folders is opened.
func TestHostileTree(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		out          bool
		from, to     string
		want         string
	}{
		{"a link to what the machine has", "echo > secret; ln -s ../secret c/a", true, "/a", "f", "open /a: no such file or directory\n"},
		{"dots", "echo > secret", true, "/../secret", "f", "open /../secret: no such file or directory\n"},
		{"a link of /proc", "mkdir c/proc; mount -t proc proc c/proc", true, "/proc/self/root", ".", "open /proc/self/root: too many levels of symbolic links\n"},
		{"what the kernel makes up", "mkdir c/proc; mount -t proc proc c/proc", true, "/", "f", "f drwxr-xr-x 0:0\n/proc is left out: the kernel makes up what is in it\n"},
		{"links that lead out", "mkdir -p c/d/e; ln -s / c/d/a; ln -s ../x c/d/b; ln -s e/../../x c/d/c; ln -s e/.. c/d/e/d", true, "/d", ".",
			"d drwxr-xr-x 0:0\nd/e drwxr-xr-x 0:0\n/d/a is left out: it is a link that leads elsewhere, to /\n" +
				"/d/b is left out: it is a link that leads elsewhere, to ../x\n" +
				"/d/c is left out: it is a link that leads elsewhere, to e/../../x\n" +
				"/d/e/d is left out: it is a link that leads elsewhere, to e/..\n"},
		{"what must not be opened", "mkdir c/d; mkfifo c/d/fifo; mknod c/d/null c 1 3; mknod c/d/loop b 7 0", true, "/d", ".",
			"d drwxr-xr-x 0:0\n/d/fifo is left out: it is no file, folder or link\n/d/loop is left out: it is no file, folder or link\n/d/null is left out: it is no file, folder or link\n"},
		{"a FIFO", "mkfifo c/f", true, "/f", "f", "/f is left out: it is no file, folder or link\n"},
		{"a link where a folder was", "mkdir -p l/d/e out; echo > l/d/e/f; mkdir c/d; ln -s ../../out c/d/e", false, "d", "/", "d drwxr-xr-x 0:0\nd/e lrwxrwxrwx 0:0 ../../out\nopen e: not a directory\n"},
		{"a link here, which an earlier copy made", "mkdir -p c/d/e l/d out; echo > c/d/e/f; ln -s ../../out l/d/e", true, "/d", ".", "d drwxr-xr-x 0:0\nd/e lrwxrwxrwx 0:0 ../../out\nopen e: not a directory\n"},
		{"into itself", "mkdir c/d; rmdir l; ln -s c/d l", true, "/", ".", "copy /d: it has the folder that the copy is to be in\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBoth(t, tc.script)
			assert.Deep(t, "copy", strings.Split(tc.want, "\n"), strings.Split(b.copy(tc.out, tc.from, tc.to), "\n"))
			assert.Equal(t, "", b.sh("[ ! -d out ] || ls -A out"), "beside the container is")
		})
	}
}

// TestTreeChangesMeanwhile: a folder of the container's that becomes a link to the machine's while it is copied stays in the container.
func TestTreeChangesMeanwhile(t *testing.T) {
	b := newBoth(t, "mkdir -p c/d/e l/d/e out l/o; echo secret > out/f; echo own > c/d/e/f; echo new > l/d/e/f; ln -s ../../out c/link")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var swapped atomic.Int64
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			_ = unix.Renameat2(unix.AT_FDCWD, b.inside+"/d/e", unix.AT_FDCWD, b.inside+"/link", unix.RENAME_EXCHANGE)
			swapped.Add(1)
		}
	})
	for n := 0; n < 300 || swapped.Load() < 1000; n++ {
		_ = b.CopyOut(ctx, "/d/e", b.beside+"/o")
		_ = b.CopyOut(ctx, "/d", b.beside+"/o")
		_ = b.CopyIn(ctx, b.beside+"/d", "/")
		_ = b.CopyIn(ctx, b.beside+"/d/e/f", "/d/e/f")
	}
	cancel()
	swapping.Wait()
	assert.Deep(t, "what is beside the container", "f\nsecret\n", b.sh("ls -A out; cat out/*"))
	assert.Deep(t, "what was copied out of elsewhere", "", b.sh("grep -rl secret l || true"))
}

// TestUnfinished: a copy that is ended leaves nothing of the file on which it was.
func TestUnfinished(t *testing.T) {
	b := newBoth(t, "truncate -s 8G c/f; echo old > l/f")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, context.DeadlineExceeded, b.CopyOut(ctx, "/f", b.beside+"/f"))
	text := assert.Get(os.ReadFile(b.beside + "/f")).Must(t)
	assert.Deep(t, "what is left", "f\nold\n", b.sh("ls -A l")+string(text))
}

// TestMounted: a file that is mounted into a container, such as /etc/hosts, would vanish from it, if another one took its place.
func TestMounted(t *testing.T) {
	b := newBoth(t, "echo new > l/proc; echo old > c/proc; mount --bind c/proc c/proc")
	assert.Deep(t, "copy", "proc -rw-r--r-- 0:0\ncopy l/proc: proc is mounted into the container by itself, and can't be replaced\n", b.copy(false, "proc", "/"))
}

func TestReadFile(t *testing.T) {
	b := newBoth(t, "echo a > c/f; ln -s /f c/l; mkfifo c/p; ln -s ../l/x c/out; echo secret > l/x; truncate -s 2M c/big")
	for path, want := range map[string]string{
		"/l":   "a\n",
		"/out": "open /out: not a directory", // /l/x in the container
		"/p":   "/p is no file of at most 1048576 bytes",
		"/big": "/big is no file of at most 1048576 bytes",
	} {
		text, err := b.ReadFile(path)
		got := string(text)
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, want, got, "%s", path)
	}
}
