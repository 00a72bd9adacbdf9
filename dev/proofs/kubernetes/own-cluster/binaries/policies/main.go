// Calico's programs for a node in one: the name under which it is called says which runs.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/projectcalico/calico/cni-plugin/pkg/plugin"
	"github.com/projectcalico/calico/felix/daemon"
)

const version = "v3.28"

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "felix":
		daemon.Run(os.DevNull, version, "", "")
	case "calico":
		plugin.Main(version)
	default:
		fmt.Fprintf(os.Stderr, "%s is none of the programs in this file\n", name)
		os.Exit(2)
	}
}
