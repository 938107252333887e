package config

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// Swap behaviours of memorySwap.swapBehavior; "" is noSwap.
const (
	noSwap      = "NoSwap"
	LimitedSwap = "LimitedSwap"
)

// MemoryQoS is the gate of memoryThrottlingFactor and memoryReservationPolicy.
const MemoryQoS = "MemoryQoS"

func validateImages(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		atLeast("registryPullQPS", *c.RegistryPullQPS, 0),
		atLeast("registryBurst", c.RegistryBurst, 0),
		oneOf(below("imagePullCredentialsVerificationPolicy"), c.ImagePullCredentialsVerificationPolicy,
			kubeletconfig.NeverVerify, kubeletconfig.NeverVerifyPreloadedImages,
			kubeletconfig.NeverVerifyAllowlistedImages, kubeletconfig.AlwaysVerify),
	)
	if parallel := c.MaxParallelImagePulls; parallel != nil {
		errs = append(errs, atLeast("maxParallelImagePulls", *parallel, 1)...)
		if *parallel > 1 && *c.SerializeImagePulls {
			errs = append(errs, field.Invalid(below("maxParallelImagePulls"), *parallel, "should be 1 unless serializeImagePulls is false"))
		}
	}
	if len(c.PreloadedImagesVerificationAllowlist) > 0 && c.ImagePullCredentialsVerificationPolicy != kubeletconfig.NeverVerifyAllowlistedImages {
		errs = append(errs, field.Forbidden(below("preloadedImagesVerificationAllowlist"), "is for imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages only"))
	}
	errs = append(errs, validateImageCollection(c)...)
	for i, pattern := range c.PreloadedImagesVerificationAllowlist {
		if wrong := allowlistMistake(pattern); wrong != "" {
			errs = append(errs, field.Invalid(below("preloadedImagesVerificationAllowlist").Index(i), pattern, wrong))
		}
	}
	return errs
}

// validateImageCollection checks when images are removed.
func validateImageCollection(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	high, low := *c.ImageGCHighThresholdPercent, *c.ImageGCLowThresholdPercent
	minAge, maxAge := c.ImageMinimumGCAge, c.ImageMaximumGCAge
	errs := gather(
		between("imageGCHighThresholdPercent", high, 0, 100),
		between("imageGCLowThresholdPercent", low, 0, 100),
	)
	if low >= high {
		errs = append(errs, field.Invalid(below("imageGCLowThresholdPercent"), low, fmt.Sprintf("should be less than imageGCHighThresholdPercent, which is %d", high)))
	}
	if minAge.Duration < 0 {
		errs = append(errs, field.Invalid(below("imageMinimumGCAge"), minAge.Duration.String(), "should not be negative"))
	}
	if maxAge.Duration < 0 {
		errs = append(errs, field.Invalid(below("imageMaximumGCAge"), maxAge.Duration.String(), "should not be negative"))
	}
	if maxAge.Duration > 0 && maxAge.Duration <= minAge.Duration {
		errs = append(errs, field.Invalid(below("imageMaximumGCAge"), maxAge.Duration.String(), fmt.Sprintf("should be greater than imageMinimumGCAge, which is %s", minAge.Duration)))
	}
	return errs
}

// allowlistMistake says what is wrong with the name of an image, or a prefix of
// names that ends in /*.
func allowlistMistake(pattern string) string {
	name, isPrefix := strings.CutSuffix(pattern, "/*")
	switch {
	case name == "":
		return "should name an image, or a prefix such as registry.example/team/*"
	case strings.ContainsAny(name, "* "):
		return "may have a * at its end only, behind a /, and no spaces"
	case !isPrefix && (strings.Contains(name, "@") || strings.LastIndex(name, ":") > strings.LastIndex(name, "/")):
		return "should have neither tag nor digest"
	}
	return ""
}

func validateLogs(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := gather(
		atLeast("containerLogMaxFiles", *c.ContainerLogMaxFiles, 2),
		atLeast("containerLogMaxWorkers", *c.ContainerLogMaxWorkers, 1),
		isDurationBetween(below("containerLogMonitorInterval"), c.ContainerLogMonitorInterval.Duration, 3*time.Second, 1<<63-1),
	)
	if _, err := resource.ParseQuantity(c.ContainerLogMaxSize); err != nil {
		errs = append(errs, field.Invalid(below("containerLogMaxSize"), c.ContainerLogMaxSize, "should be a quantity such as 10Mi"))
	}
	nonASCII := func(r rune) bool { return r > unicode.MaxASCII }
	if dir := c.PodLogsDir; !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || strings.ContainsFunc(dir, nonASCII) {
		errs = append(errs, field.Invalid(below("podLogsDir"), dir, "should be a path from / without .. and //, in ASCII"))
	}
	return errs
}

// isPeriodByGate refuses a period of one's own where its feature gate is off.
func isPeriodByGate(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	const gate = "CustomCPUCFSQuotaPeriod"
	on, set := c.FeatureGates[gate]
	if !set || on || c.CPUCFSQuotaPeriod.Duration == podcgroup.DefaultCPUPeriod {
		return nil
	}
	return field.ErrorList{field.Invalid(below("cpuCFSQuotaPeriod"), c.CPUCFSQuotaPeriod.Duration.String(), "requires feature gate "+gate)}
}

func validateMemoryQoS(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	errs := oneOf(below("memoryReservationPolicy"), c.MemoryReservationPolicy,
		kubeletconfig.NoneMemoryReservationPolicy, kubeletconfig.TieredReservationMemoryReservationPolicy)
	const formerDefault = 0.9 // may stand in a file
	gate, factor := Enabled(c, MemoryQoS), ptr.Deref(c.MemoryThrottlingFactor, formerDefault)
	if factor <= 0 || factor > 1 {
		errs = append(errs, field.Invalid(below("memoryThrottlingFactor"), factor, "should be above 0, and 1 at most"))
	}
	if !gate && factor != formerDefault {
		errs = append(errs, field.Invalid(below("memoryThrottlingFactor"), factor, "requires feature gate "+MemoryQoS))
	}
	if !gate && c.MemoryReservationPolicy == kubeletconfig.TieredReservationMemoryReservationPolicy {
		errs = append(errs, field.Invalid(below("memoryReservationPolicy"), c.MemoryReservationPolicy, "requires feature gate "+MemoryQoS))
	}
	return errs
}

func validateUsers(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	if c.UserNamespaces == nil || c.UserNamespaces.IDsPerPod == nil {
		return nil
	}
	ids := *c.UserNamespaces.IDsPerPod
	if ids >= criconfig.UserNamespaceLength && ids%criconfig.UserNamespaceLength == 0 && ids <= math.MaxUint32 {
		return nil
	}
	return field.ErrorList{field.Invalid(below("userNamespaces", "idsPerPod"), ids, "should be a multiple of 65536, within 32 bits")}
}

func validateContainers(c *kubeletconfig.KubeletConfiguration) field.ErrorList {
	return gather(
		oneOf(below("cgroupDriver"), c.CgroupDriver, "cgroupfs", "systemd"),
		isDurationBetween(below("cpuCFSQuotaPeriod"), c.CPUCFSQuotaPeriod.Duration, time.Millisecond, time.Second),
		isPeriodByGate(c),
		oneOf(below("memorySwap", "swapBehavior"), c.MemorySwap.SwapBehavior, "", noSwap, LimitedSwap),
		validateMemoryQoS(c),
		validateUsers(c),
		// A-BO-8
		isDurationBetween(below("crashLoopBackOff", "maxContainerRestartPeriod"), c.CrashLoopBackOff.MaxContainerRestartPeriod.Duration, time.Second, maxRestartPeriod),
	)
}
