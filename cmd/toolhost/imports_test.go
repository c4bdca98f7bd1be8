package main

import (
	"encoding/json"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/toolhost/toolhost"

type listedPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	packages, err := goList()
	require.NoError(t, err)
	return packages
}

var goList = sync.OnceValues(func() ([]listedPackage, error) {
	// By directories: a pattern of import paths needs the module files of the whole graph, which a
	// machine without network may lack.
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []listedPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for dec.More() {
		var p listedPackage
		if err := dec.Decode(&p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
})

// importRule says what a group of packages must not depend on, even indirectly.
type importRule struct {
	name string
	of   func(pkg string) bool
	not  func(dep string) bool
}

func within(names ...string) func(string) bool {
	return func(pkg string) bool {
		rel := strings.TrimPrefix(pkg, module+"/")
		return slices.ContainsFunc(names, func(n string) bool { return rel == n || strings.HasPrefix(rel, n+"/") })
	}
}

func exactly(names ...string) func(string) bool {
	return func(pkg string) bool { return slices.Contains(names, strings.TrimPrefix(pkg, module+"/")) }
}

func either(tests ...func(string) bool) func(string) bool {
	return func(pkg string) bool {
		return slices.ContainsFunc(tests, func(f func(string) bool) bool { return f(pkg) })
	}
}

func except(f, but func(string) bool) func(string) bool {
	return func(pkg string) bool { return f(pkg) && !but(pkg) }
}

func external(prefixes ...string) func(string) bool {
	return func(dep string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return dep == p || strings.HasPrefix(dep, p+"/") })
	}
}

var (
	libHCL      = external("github.com/hashicorp/hcl", "github.com/zclconf/go-cty")
	libGoPlugin = external("github.com/hashicorp/go-plugin")
	libGoTask   = external("github.com/go-task/task")
	libMCP      = external("github.com/modelcontextprotocol/go-sdk")
	libAnalysis = external("github.com/go-enry/go-enry", "github.com/boyter/scc")
	libOTel     = external("go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters")
	libNATS     = external("github.com/nats-io")
	libJOSE     = external("github.com/go-jose")
	libCobra    = external("github.com/spf13/cobra")
	theHost     = exactly("host")
	theManager  = exactly("internal/source/plugins")
	groundFloor = within("host/tool", "internal/file/atomicfile", "internal/file/filelock", "internal/source/supervisor",
		"internal/source/registry", "internal/store/hmackey", "internal/text/truncate", "host/schema",
		"internal/file/workspace", "internal/file/textedit", "internal/file/gitread", "internal/file/search",
		"internal/run/proc", "host/argv", "internal/run/sandbox", "internal/run/netguard", "internal/face/export",
		"internal/store/undo", "internal/policy", "internal/store/state", "internal/store/record",
		"internal/store/redact", "internal/project/trust", "internal/store/userdir", "internal/file/realpath",
		"internal/versions")
	toolFloor = within("builtin", "taskfile", "internal/source/command", "internal/toolset")
	theSDK    = within("plugins/sdk")
	theFront  = func(pkg string) bool { return pkg == module }
)

// TestImports checks that imports only go down the layers.
func TestImports(t *testing.T) {
	ours := func(dep string) bool { return strings.HasPrefix(dep, module+"/") }
	rules := []importRule{
		{"the contract needs the standard library only", exactly("host/tool"),
			func(dep string) bool { return strings.Contains(strings.Split(dep, "/")[0], ".") }},
		{"the ground floor knows no host", groundFloor, either(theHost, within("config"), theManager)},
		{"tools know neither host nor config", toolFloor, either(theHost, within("config"), theManager)},
		{"the host links no HCL, plugin, task or MCP library", theHost, either(libHCL, libGoPlugin, libGoTask, libMCP)},
		{"the MCP SDK stays in its two packages",
			except(ours, either(within("internal/face/mcpserve", "internal/source/mcpclient", "internal/project",
				"internal/test", "cmd", "examples"), within("internal/toolset/ocode"), theFront)), libMCP},
		{"config runs nothing", within("config"),
			either(theHost, theManager, within("internal/run/proc"), external("os/exec"))},
		{"a project is assembled without a command line", either(within("internal"), theFront), libCobra},
		{"the SDK is small", theSDK, either(theManager, theHost, libHCL, libGoTask, libCobra, libMCP)},
		{"only tests use what is for tests", except(ours, within("internal/test")), within("internal/test")},
		{"only toolhost-otel links OpenTelemetry",
			except(ours, within("cmd/toolhost-otel", "cmd/toolhost-task", "internal/face/telemetry/otlp")), libOTel},
		{"only fleet/ links NATS", ours, libNATS},
		{"only fleet/ checks access tokens", except(ours, within("cmd/toolhost-task")), libJOSE},
		{"only toolhost-task links go-task", except(ours, exactly("cmd/toolhost-task")), libGoTask},
		{"only toolhost-architect links go-enry and scc",
			except(ours, within("cmd/toolhost-architect", "internal/toolset/ocode/architect/analysis")), libAnalysis},
	}
	packages := listPackages(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			matched := 0
			for _, p := range packages {
				if !rule.of(p.ImportPath) {
					continue
				}
				matched++
				for _, dep := range p.Deps {
					assert.False(t, rule.not(dep) && dep != p.ImportPath, "%s depends on %s", p.ImportPath, dep)
				}
			}
			assert.Positive(t, matched, "the rule is about no package")
		})
	}
}

// TestPublicPackages lists all that other programs can import: toolhost itself, other intended
// packages, and what their signatures name.
func TestPublicPackages(t *testing.T) {
	var public []string
	for _, p := range listPackages(t) {
		rel := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(rel, "cmd/") || strings.HasPrefix(rel, "examples/") ||
			slices.Contains(strings.Split(rel, "/"), "internal") {
			continue
		}
		public = append(public, rel)
	}
	assert.Equal(t, []string{
		module, "builtin", "config", "config/packs", "host", "host/argv", "host/schema", "host/tool",
		"plugins/sdk", "plugins/sdk/plugintest", "plugins/sdk/typed", "taskfile",
	}, public)
}

// TestToolsDoNotImportEachOther keeps tool directories independent. What toolsets share is in the
// packages named here.
func TestToolsDoNotImportEachOther(t *testing.T) {
	home := func(pkg string) string {
		rel := strings.TrimPrefix(pkg, module+"/")
		switch parts := strings.Split(rel, "/"); {
		case parts[0] == "builtin" && len(parts) > 2:
			return path.Join(parts[:3]...)
		case within("internal/toolset")(rel) && len(parts) > 2 &&
			!slices.Contains([]string{"data", "hands", "kit"}, parts[2]):
			return path.Join(parts[:3]...)
		case parts[0] == "taskfile":
			return "taskfile"
		}
		return ""
	}
	for _, p := range listPackages(t) {
		from := home(p.ImportPath)
		if from == "" {
			continue
		}
		for _, imported := range p.Imports {
			to := home(imported)
			assert.True(t, to == "" || to == from, "%s imports %s", p.ImportPath, imported)
		}
	}
}
