package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle/group"
)

// What members of a group without a leader say in annotations is decimal; what is none of it says nothing (B-GRP-17).
func TestGroupPeer(t *testing.T) {
	for name, test := range map[string]struct {
		attempt, began, size string
		want                 group.Peer
	}{
		"all of it":      {"010", "3-abc", "08", group.Peer{Size: 8, Attempt: new(int32(10)), Began: &group.Began{Attempt: 3, MembersHash: "abc"}}},
		"nothing":        {"", "", "", group.Peer{}},
		"not decimal":    {"0x10", "0x3-abc", "0x8", group.Peer{}},
		"below 0":        {"-1", "-1-abc", "-1", group.Peer{}},
		"without a hash": {"1", "3", "2", group.Peer{Size: 2, Attempt: new(int32(1))}},
		"a mode":         {"3.5", "", "2", group.Peer{Size: 2, Attempt: new(int32(3)), Mode: 5}},
		"a wrong mode":   {"3.x", "", "2", group.Peer{Size: 2}},
		"no attempt":     {"1", "x-abc", "2", group.Peer{Size: 2, Attempt: new(int32(1))}},
	} {
		got, is := GroupPeer(&metav1.ObjectMeta{Annotations: map[string]string{
			GroupAnnotation: LedByMembers, GroupSizeAnnotation: test.size, MemberAttemptAnnotation: test.attempt, MemberBeganAnnotation: test.began,
		}})
		diff := cmp.Diff(test.want, got)
		assert.True(t, is && diff == "", "%s: %t (-want +got):\n%s", name, is, diff)
	}
}
