package config_test

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/config"
)

// All mistakes of a file are reported at once, for people with Write and for programs with WriteJSON. What
// could be read is returned as well.
func ExampleParse() {
	cfg, mistakes := config.Parse("agent.hcl", []byte(`
tool "count" {
  description = "Count lines. Returns: the number."
  rsk         = "read_only"
  command {
    argv = ["wc", "-l", param.file]
  }
}
`), config.LoadOptions{})
	_ = mistakes.Write(os.Stdout, false)
	fmt.Println(mistakes.HasErrors(), cfg != nil)
	// Output:
	// Error: Unknown attribute
	//
	//   on agent.hcl:4:3, in tool "count":
	//    4:   rsk         = "read_only"
	//
	// There is no attribute "rsk" in the block tool. Did you mean "risk"?
	//
	// Error: Unknown parameter
	//
	//   on agent.hcl:6:25, in tool "count":
	//    6:     argv = ["wc", "-l", param.file]
	//
	// There is no parameter "file". Declare it with a param block.
	//
	// true true
}
