package config

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"

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
		f.add("taskfile", "taskfile", name)
	}
	for _, r := range runners() {
		if file := there(r.files...); file != "" {
			if names := r.commands(dir, file); len(names) > 0 {
				f.add(r.tool, "runner",
					map[string]any{"Tool": r.tool, "File": file, "What": r.what, "Argv": r.argv, "Names": names})
			}
		}
	}
	if there("go.mod") != "" {
		f.add("go_test", "go", nil)
	}
	if scripts := npmScripts(dir); len(scripts) > 0 {
		manager := "npm"
		for _, m := range [][2]string{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}} {
			if there(m[0]) != "" {
				manager = m[1]
			}
		}
		f.add("script", "node", map[string]any{"Manager": manager, "Scripts": scripts})
	}
	if there("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini") != "" {
		f.add("pytest", "python", nil)
	}
	if there("Cargo.toml") != "" {
		f.add("cargo_test", "rust", nil)
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

func (f *Found) add(name, block string, data any) {
	var text bytes.Buffer
	if err := detected().ExecuteTemplate(&text, block, data); err != nil {
		panic(err) // a mistake in the templates below
	}
	f.Blocks += strings.TrimSpace(text.String()) + "\n\n"
	f.Names = append(f.Names, name)
}

// detected are the blocks for each kind of project.
func detected() *template.Template {
	quote := func(v any) string {
		value := cty.NullVal(cty.String)
		switch v := v.(type) {
		case string:
			value = cty.StringVal(v)
		case []string:
			texts := make([]cty.Value, len(v))
			for i, s := range v {
				texts[i] = cty.StringVal(s)
			}
			value = cty.TupleVal(texts)
		}
		return string(hclwrite.TokensForValue(value).Bytes())
	}
	return template.Must(template.New("").Funcs(template.FuncMap{"quote": quote}).Parse(detectedText))
}

const detectedText = `
{{define "taskfile"}}
# The commands of this project's Taskfile: list_commands and run_command.
taskfile {
  path = {{quote .}}
}
{{end}}

{{define "runner"}}
# The {{.What}}s of {{.File}}.
tool {{quote .Tool}} {
  description = {{quote (printf "Run a %s of %s. Returns: what it prints." .What .File)}}
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param {{quote .What}} {
    type = string
    enum = {{quote .Names}}
  }
  command {
    argv    = [{{range .Argv}}{{quote .}}, {{end}}param.{{.What}}]
    timeout = "10m"
  }
}
{{end}}

{{define "go"}}
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
{{end}}

{{define "node"}}
tool "script" {
  description = "Run a script of package.json. Returns: what it prints."
  risk        = "dangerous" # it runs the project's code, in the sandbox
  param "name" {
    type = string
    enum = {{quote .Scripts}}
  }
  command {
    argv    = [{{quote .Manager}}, "run", param.name]
    timeout = "10m"
  }
}
{{end}}

{{define "python"}}
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
{{end}}

{{define "rust"}}
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
{{end}}
`
