package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// TestRootFolderCheck: a folder of another user, one that others can write to, one below such, and links to such or
// of others are refused.
func TestRootFolderCheck(t *testing.T) {
	assert.Require(t, os.Geteuid() == 0, "only root can give folders to others")
	const other = 4242
	for name, test := range map[string]struct {
		mode       os.FileMode
		uid, gid   int
		link       bool // to the folder
		linkOwner  int
		below      bool // the state folder is one below it, which isn't there yet
		want, ways string
	}{
		"root's":                     {mode: 0o755},
		"root's, for itself":         {mode: 0o700},
		"root's group writes":        {mode: 0o775},
		"link to root's":             {mode: 0o711, link: true},
		"another user's":             {mode: 0o755, uid: other, want: "FOLDER belongs to the user 4242", ways: "give it to root"},
		"another group writes":       {mode: 0o770, gid: other, want: "others can write to FOLDER (mode 0770, group 4242)", ways: "chmod go-w "},
		"all write":                  {mode: 0o777, want: "others can write to FOLDER (mode 0777, group 0)", ways: "use another folder"},
		"all write, sticky":          {mode: 0o777 | os.ModeSticky, want: "others can write to FOLDER"},
		"link to another user's":     {mode: 0o755, uid: other, link: true, want: "FOLDER belongs to the user 4242"},
		"link to where all write":    {mode: 0o777, link: true, want: "others can write to FOLDER"},
		"another user's link":        {mode: 0o755, link: true, linkOwner: other, want: "the link LINK belongs to the user 4242"},
		"another group, reads only":  {mode: 0o750, gid: other},
		"below another user's":       {mode: 0o755, uid: other, below: true, want: "FOLDER belongs to the user 4242"},
		"below where a group writes": {mode: 0o770, gid: other, below: true, want: "others can write to FOLDER"},
		"below where all write":      {mode: 0o777, below: true, want: "others can write to FOLDER"},
		"below a sticky folder":      {mode: 0o777 | os.ModeSticky, below: true},
		"below another's sticky one": {mode: 0o777 | os.ModeSticky, uid: other, below: true, want: "FOLDER belongs to the user 4242"},
		"below a link to another's":  {mode: 0o755, uid: other, link: true, below: true, want: "FOLDER belongs to the user 4242"},
		"below another user's link":  {mode: 0o755, link: true, linkOwner: other, below: true, want: "the link LINK belongs to the user 4242"},
		"below a link to root's":     {mode: 0o755, link: true, below: true},
	} {
		t.Run(name, func(t *testing.T) {
			folder, link := filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "link")
			assert.Must(t, os.Mkdir(folder, 0o700))
			assert.Must(t, os.Chown(folder, test.uid, test.gid))
			assert.Must(t, os.Chmod(folder, test.mode))
			path := folder
			if test.link {
				assert.Must(t, os.Symlink(folder, link))
				assert.Must(t, os.Lchown(link, test.linkOwner, 0))
				path = link
			}
			if test.below {
				path = filepath.Join(path, "new", "root")
			}
			err := rootfolder.Check(path)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			want := strings.NewReplacer("FOLDER", folder, "LINK", link).Replace(test.want)
			assert.True(t, err != nil && strings.Contains(err.Error(), "state folder "+path+": "+want) && strings.Contains(err.Error(), test.ways),
				"got %v, want …%s…%s…", err, want, test.ways)
		})
	}
	assert.NoError(t, rootfolder.Check(filepath.Join(t.TempDir(), "new")), "one that isn't there")
	file, dangling := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	assert.Must(t, os.Symlink("/nowhere", dangling))
	for path, want := range map[string]string{file: "it is no folder", dangling: "it is a link to a folder that does not exist"} {
		assert.ErrorContains(t, want, rootfolder.Check(path), path)
	}
}

// TestRootFolderEnsure: a folder has the mode that it is made with, whatever the umask is and whoever was faster to make
// it with another one.
func TestRootFolderEnsure(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	run := filepath.Join(t.TempDir(), "above", "run")
	for _, before := range []os.FileMode{0, 0o700, 0o777} { // 0: nobody
		if before != 0 {
			assert.Must(t, os.Chmod(run, before))
		}
		assert.Must(t, rootfolder.EnsureRun(run))
		info, err := os.Stat(run)
		assert.True(t, err == nil && info.Mode() == os.ModeDir|0o711, "after mode %#o: %v, %v, want drwx--x--x", before, info.Mode(), err)
	}
	file := filepath.Join(run, "file")
	assert.Must(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorIs(t, syscall.ENOTDIR, rootfolder.Ensure(file, 0o700), "a file in its place")
}

// TestRootFolderMadeMeanwhile: several processes may begin with a folder that none of them has made yet.
func TestRootFolderMadeMeanwhile(t *testing.T) {
	for range 200 {
		path := filepath.Join(t.TempDir(), "root")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				assert.NoError(t, rootfolder.Make(path))
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
