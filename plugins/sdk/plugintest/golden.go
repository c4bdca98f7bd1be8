package plugintest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/plugins/sdk"
)

// Golden compares a result with testdata/NAME.golden.json. UPDATE_GOLDEN=1 writes the file instead.
func Golden(t testing.TB, name string, result *sdk.Result) {
	t.Helper()
	got, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		t.Fatalf("plugintest: the result is not valid JSON: %v", err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name+".golden.json")
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("plugintest: %v (run the test with UPDATE_GOLDEN=1 to write it)", err)
	}
	if !bytes.Equal(got, bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))) {
		t.Errorf("%s differs (UPDATE_GOLDEN=1 accepts it):\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
