package rootfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a folder of another user, one that others can write to, and links to such or
// of others are refused.
func TestCheck(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("only root can give folders to others")
	}
	const other = 4242
	for name, test := range map[string]struct {
		mode       os.FileMode
		uid, gid   int
		link       bool // to the folder
		linkOwner  int
		want, ways string
	}{
		"root's":                    {mode: 0o755},
		"root's, for itself":        {mode: 0o700},
		"root's group writes":       {mode: 0o775},
		"link to root's":            {mode: 0o711, link: true},
		"another user's":            {mode: 0o755, uid: other, want: "it belongs to the user 4242", ways: "chown -h root: "},
		"another group writes":      {mode: 0o770, gid: other, want: "others can write to it (mode 0770, group 4242)", ways: "chmod go-w "},
		"all write":                 {mode: 0o777, want: "others can write to it (mode 0777, group 0)", ways: "use another folder"},
		"all write, sticky":         {mode: 0o777 | os.ModeSticky, want: "others can write to it"},
		"link to another user's":    {mode: 0o755, uid: other, link: true, want: "it belongs to the user 4242"},
		"link to where all write":   {mode: 0o777, link: true, want: "others can write to it"},
		"another user's link":       {mode: 0o755, link: true, linkOwner: other, want: "the link belongs to the user 4242"},
		"another group, reads only": {mode: 0o750, gid: other},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "root")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(dir, test.uid, test.gid); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, test.mode); err != nil {
				t.Fatal(err)
			}
			if test.link {
				link := filepath.Join(t.TempDir(), "link")
				if err := os.Symlink(dir, link); err != nil {
					t.Fatal(err)
				}
				if err := os.Lchown(link, test.linkOwner, 0); err != nil {
					t.Fatal(err)
				}
				dir = link
			}
			err := Check(dir)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "state folder "+dir+": "+test.want) || !strings.Contains(err.Error(), test.ways) {
				t.Errorf("got %v, want …%s…%s…", err, test.want, test.ways)
			}
		})
	}
	if err := Check(filepath.Join(t.TempDir(), "new")); err != nil {
		t.Errorf("one that isn't there: %v", err)
	}
	file, dangling := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "it is no folder", dangling: "it is a link to a folder that does not exist"} {
		if err := Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
