package config

import (
	_ "embed"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// taskfiles are the names under which Task looks for its file, in its order.
func taskfiles() []string {
	return []string{
		"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
		"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
	}
}

// maxScripts and maxPackage bound what is taken from a package.json.
const (
	maxScripts = 40
	maxPackage = 1 << 20
)

// Found is what init recognizes in a project: the blocks for it, and the names
// of what they declare.
type Found struct {
	Blocks string
	Names  []string
}

// Detect looks at the top directory of a project for what builds and tests it.
// Nothing is run. What cannot be read is taken for absent.
func Detect(dir fs.FS) Found {
	var f Found
	there := func(names ...string) string {
		i := slices.IndexFunc(names, func(name string) bool {
			info, err := fs.Stat(dir, name)
			return err == nil && info.Mode().IsRegular()
		})
		if i < 0 {
			return ""
		}
		return names[i]
	}
	if name := there(taskfiles()...); name != "" && there(".agent/Taskfile.yml") == "" {
		f.add("taskfile", taskfileBlock, "{{path}}", quoted(name))
	}
	for _, r := range runners() {
		if file := there(r.files...); file != "" {
			if names := r.commands(dir, file); len(names) > 0 {
				f.add(r.tool, runnerBlock, r.fill(file, names)...)
			}
		}
	}
	if there("go.mod") != "" {
		f.add("go_test", goBlock)
	}
	if scripts := npmScripts(dir); len(scripts) > 0 {
		manager := "npm"
		for _, m := range [][2]string{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}} {
			if there(m[0]) != "" {
				manager = m[1]
			}
		}
		f.add("script", nodeBlock, "{{manager}}", manager, "{{scripts}}", quotedList(scripts))
	}
	if there("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini") != "" {
		f.add("pytest", pythonBlock)
	}
	if there("Cargo.toml") != "" {
		f.add("cargo_test", rustBlock)
	}
	return f
}

func npmScripts(dir fs.FS) []string {
	var manifest struct {
		Scripts map[string]json.RawMessage `json:"scripts"`
	}
	data, err := fs.ReadFile(dir, "package.json")
	if err != nil || len(data) > maxPackage || json.Unmarshal(data, &manifest) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(manifest.Scripts))
	return names[:min(len(names), maxScripts)]
}

// add adds a block with its placeholders filled in. It is not a text/template:
// that keeps the linker from dropping methods that nobody calls.
func (f *Found) add(name, block string, fill ...string) {
	f.Blocks += strings.TrimSpace(strings.NewReplacer(fill...).Replace(block)) + "\n\n"
	f.Names = append(f.Names, name)
}

// quoted is a string as HCL writes it.
func quoted(text string) string { return tokens(cty.StringVal(text)) }

func quotedList(texts []string) string {
	values := make([]cty.Value, len(texts))
	for i, text := range texts {
		values[i] = cty.StringVal(text)
	}
	return tokens(cty.TupleVal(values))
}

func tokens(v cty.Value) string { return string(hclwrite.TokensForValue(v).Bytes()) }

const taskfileBlock = `
# The commands of this project's Taskfile: list_commands and run_command.
taskfile {
  path = {{path}}
}
`

const runnerBlock = `
# The {{what}}s of {{file}}.
tool {{tool}} {
  description = {{description}}
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "{{what}}" {
    type = string
    enum = {{names}}
  }
  command {
    argv    = [{{argv}}param.{{what}}]
    timeout = "10m"
  }
}
`

const goBlock = `
tool "go_test" {
  description = "Run the tests of Go packages. Returns: what go test prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "packages" {
    type    = list(string)
    default = ["./..."]
  }
  param "run" {
    description = "Only tests whose name matches this regular expression are run."
    type        = string
    default     = null
  }
  command {
    argv    = ["go", "test", "-run=${param.run}", param.packages]
    timeout = "10m"
  }
}
`

const nodeBlock = `
tool "script" {
  description = "Run a script of package.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    type = string
    enum = {{scripts}}
  }
  command {
    argv    = ["{{manager}}", "run", param.name]
    timeout = "10m"
  }
}
`

const pythonBlock = `
tool "pytest" {
  description = "Run the tests with pytest. Returns: what pytest prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "paths" {
    type    = list(string)
    default = ["."]
    path    = "read"
  }
  command {
    argv    = ["python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--", param.paths]
    timeout = "10m"
  }
}
`

const rustBlock = `
tool "cargo_test" {
  description = "Run the tests with cargo. Returns: what cargo prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "filter" {
    description = "Only tests whose name contains this are run."
    type        = string
    default     = null
  }
  command {
    argv    = ["cargo", "test", "--offline", param.filter]
    timeout = "10m"
  }
}
`

//go:embed template.hcl
var templateText string

// projectMark is where the blocks for this project go.
const projectMark = "# PROJECT\n\n"

// Template is the agent.hcl that `toolhost init` writes: what was found in the
// project, and how to go on.
func Template(found Found) []byte {
	return []byte(strings.Replace(templateText, projectMark, found.Blocks, 1))
}
