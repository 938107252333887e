package toolbox

// Applets are those that need neither the shell nor the network.
func Applets() map[string]Applet {
	applets := map[string]Applet{
		"true":       func(*Call) int { return 0 },
		"false":      func(*Call) int { return 1 },
		"basename":   basename,
		"burn-cpu":   burnCPU,
		"check":      check,
		"date":       date,
		"dirname":    dirname,
		"eat-memory": eatMemory,
		"echo":       echo,
		"env":        env,
		"exit":       exit,
		"grep":       grep,
		"head":       head,
		"hostname":   hostname,
		"id":         id,
		"kill":       kill,
		"ln":         ln,
		"nproc":      nproc,
		"printenv":   printenv,
		"ps":         ps,
		"pwd":        pwd,
		"readlink":   readlink,
		"seq":        seq,
		"sleep":      sleep,
		"stat":       stat,
		"tail":       tail,
		"tee":        tee,
		"timeout":    timeout,
		"uname":      uname,
		"wc":         wc,
		"write":      write,
	}
	for name := range coreutils {
		applets[name] = coreutil
	}
	return applets
}

// NetApplets are the names of those in toolbox-net, see package netbox.
var NetApplets = []string{"dial", "fetch", "grpc-check", "grpc-health", "listen", "lookup", "serve", "wget"}
