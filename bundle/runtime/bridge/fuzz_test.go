package bridge

import "testing"

// FuzzConfig: whatever is on the plugin's standard input, it is refused, or names a bridge and ports that there can be; the
// result of an earlier ADD is read or refused, too.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"cniVersion":"1.0.0","name":"n","type":"t","bridge":"lp0","runtimeConfig":{"portMappings":[{"hostPort":80,"containerPort":80,"protocol":"tcp"}]}}`))
	f.Add([]byte(`{"cniVersion":"1.0.0","bridge":"lp0","runtimeConfig":{"portMappings":[{"hostPort":65536,"protocol":"tcp","hostIP":"::1%x"}]}}`))
	f.Add([]byte(`{"cniVersion":"9","bridge":"../x","prevResult":{"ips":[{"address":"10.0.0.1/33"}]}}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		c, err := parseConfig(stdin)
		if err != nil {
			return
		}
		if c.Bridge == "" {
			t.Fatalf("%s is taken without a bridge", stdin)
		}
		for _, m := range c.RuntimeConfig.PortMappings {
			if m.HostPort < 1 || m.HostPort > 65535 || m.ContainerPort < 1 || m.ContainerPort > 65535 {
				t.Fatalf("the mapping %+v is taken", m)
			}
		}
		if result, err := c.previous(); (err != nil) && result != nil {
			t.Fatalf("%+v with the error %v", result, err)
		}
	})
}
