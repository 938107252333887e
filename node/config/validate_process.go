package config

import (
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-base/logs/api/v1"
	tracing "k8s.io/component-base/tracing/api/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// JSONLog is the format of the log that programs read.
const JSONLog = "json"

// validateProcess is about lifepod itself.
func validateProcess(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		between("oomScoreAdj", *c.OOMScoreAdj, -1000, 1000),
		isDurationBetween(below("runtimeRequestTimeout"), c.RuntimeRequestTimeout.Duration, time.Second, math.MaxInt64),
		validateLogging(&c.Logging),
		tracing.ValidateTracingConfiguration(c.Tracing, nil, below("tracing")),
	)
	if endpoint := c.ImageServiceEndpoint; endpoint != "" && !strings.HasPrefix(endpoint, "unix://") {
		errs = append(errs, field.Invalid(below("imageServiceEndpoint"), endpoint, "should be unix:///path/to/socket"))
	}
	if group := c.KubeletCgroups; group != "" && strings.Trim(group, "/") == "" {
		errs = append(errs, field.Invalid(below("kubeletCgroups"), group, "should be the path of a cgroup other than the root's, such as /system.slice/kubelet.service"))
	}
	return errs
}

// validateLogging refuses what would log other lines than lifepod has, or elsewhere.
func validateLogging(l *v1.LoggingConfiguration) field.ErrorList {
	path := below("logging")
	errs := oneOf(path.Child("format"), l.Format, v1.DefaultLogFormat, JSONLog)
	if l.Verbosity > math.MaxInt32 {
		errs = append(errs, field.Invalid(path.Child("verbosity"), l.Verbosity, "should be at most 2147483647"))
	}
	if len(l.VModule) > 0 {
		errs = append(errs, field.Forbidden(path.Child("vmodule"), "not supported: lifepod logs by level, not by source file"))
	}
	if l.Options.Text.SplitStream || l.Options.JSON.SplitStream {
		errs = append(errs, field.Forbidden(path.Child("options"), "not supported: lifepod's log is one stream, standard error: splitStream should be false"))
	}
	return errs
}
