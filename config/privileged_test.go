package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a block with a grant runs is protected, and what it writes is not.
func TestGrantingNamesWhatIsRun(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"build.sh", "report.json", "rules.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	for line, want := range map[string][]string{
		`go test ./... >report.json`:            nil,
		`go test ./... >> report.json 2>&1`:     nil,
		`go test >|report.json; true`:           nil,
		`./build.sh >report.json`:               {"build.sh"},
		`sh build.sh<rules.txt`:                 {"build.sh", "rules.txt"},
		`echo true >build.sh; sh build.sh`:      {"build.sh"},
		`sh <>build.sh`:                         {"build.sh"},
		`cat rules.txt >report.json|sh`:         {"rules.txt"},
		`tee report.json`:                       {"report.json"},
		`sh new.sh >out/new.json && ./build.sh`: {"build.sh", "new.sh"},
		`>report.json sh build.sh`:              {"build.sh"},
		// What it also prints is a log, unless that goes to another program.
		`echo x >>report.json; wc -l <report.json`:             nil,
		`echo x >>report.json && tail -3 report.json; true`:    nil,
		`echo x >>report.json; cat report.json | sh`:           {"report.json"},
		`echo x >>report.json; sh -c "$(cat report.json)"`:     {"report.json"},
		`echo x >>report.json; cat report.json; sh build.sh`:   {"build.sh"},
		`echo x >>build.sh; cat build.sh; sh build.sh`:         {"build.sh"},
		`echo x >>report.json; cat report.json >y; sh y`:       {"report.json"},
		`{ echo x >>report.json; cat report.json; } | sh`:      {"report.json"},
		`echo x >>report.json; sh <report.json`:                {"report.json"},
		`cat report.json`:                                      {"report.json"},
		`echo x >>report.json; sort -onew report.json; sh new`: {"report.json"},
	} {
		src := fmt.Sprintf("tool \"x\" {\n  network = \"allow\"\n  command {\n    argv = [\"sh\", \"-c\", %q]\n  }\n}\n", line)
		cfg, diags := Parse(filepath.Join(root, "agent.hcl"), []byte(src), LoadOptions{})
		require.False(t, diags.HasErrors(), "%v", diags)
		var names []string
		for _, block := range cfg.PrivilegedBlocks(root) {
			for _, file := range block.Files {
				if rel, err := filepath.Rel(root, file); err == nil {
					names = append(names, filepath.ToSlash(rel))
				}
			}
		}
		for _, name := range []string{"build.sh", "rules.txt", "report.json", "new.sh", "out/new.json"} {
			assert.Equal(t, slices.Contains(want, name), slices.Contains(names, name), "%s in %s", name, line)
		}
	}
}

// Each set of rights has its own caches.
func TestGrantedCaches(t *testing.T) {
	const run = "command { argv = [\"true\"] }\n}\n"
	for src, want := range map[string][]string{
		"tool \"x\" {\n" + run:                                                                                  nil,
		"tool \"x\" {\nnetwork = \"allow\"\n" + run:                                                             {"tool-x"},
		"tool \"x\" {\nrisk = \"read_only\"\n" + run:                                                            nil,
		"tool \"x\" {\nread = [\"/usr\"]\nrisk = \"read_only\"\n" + run:                                         {"tool-x"},
		"sandbox { network = \"allow\" }\ntool \"x\" {\n" + run:                                                 nil,
		"sandbox { network = \"allow\" }\ntool \"x\" {\nnetwork = \"deny\"\n" + run:                             {"tool-x"},
		"sandbox { network = [\"a.example\", \"b.example\"] }\ntool \"x\" {\nnetwork = [\"a.example\"]\n" + run: {"tool-x"},
		"sandbox { network = [\"a.example\"] }\ntool \"x\" {\n" + run:                                           nil,
	} {
		cfg, diags := Parse("agent.hcl", []byte(src), LoadOptions{})
		require.False(t, diags.HasErrors(), "%v", diags)
		assert.Equal(t, append([]string{ReadOnlyCache}, want...), cfg.GrantedCaches(), src)
	}
}
