// Package checks tests lifepod on a machine of its own (see [testmachine]): what only a real
// kernel, systemd, cgroup v2 and AppArmor show. The checks run one after the other on one
// machine, in the order of their list; the last one switches it off.
//
//	make test-machine                                         all checks
//	make test-machine CHECKS='hello|oom'                      some of them
package checks
