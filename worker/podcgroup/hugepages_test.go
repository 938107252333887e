package podcgroup

import (
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/opencontainers/cgroups"
)

// TestEnsureWithHugePages: a pod with huge pages gets its cgroup on every
// machine, and the limit where there is such a controller.
func TestEnsureWithHugePages(t *testing.T) {
	if len(cgroups.HugePageSizes()) == 0 {
		t.Log("the kernel has no huge pages: nothing but the cgroup itself is proven")
	}
	d := testDriver(t)
	huge := v1.ResourceList{"cpu": resource.MustParse("1"), "hugepages-2Mi": resource.MustParse("6Mi")}
	pod := podOf(needs(huge, huge))
	if err := d.Ensure(pod); err != nil {
		t.Fatalf("A-CRI-9 %v", err)
	}
	for _, dir := range folders(d, d.Path(pod)) {
		for _, file := range []string{"hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.max"} {
			if !cgroups.PathExists(filepath.Join(dir, file)) {
				continue
			}
			got, err := cgroups.ReadFile(dir, file)
			if err != nil || got != "6291456\n" {
				t.Errorf("A-CRI-9 %s = %q, %v, want 6291456", file, got, err)
			}
		}
	}
}
