package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// mostScript bounds what a browser loads, compressed.
const mostScript = 60 << 10

// TestBuiltIsOfTheSources rebuilds the page: the embedded one is unedited.
func TestBuiltIsOfTheSources(t *testing.T) {
	files, err := build("../page")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Errorf("the page has %d files", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "built", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("built/%s is not what page/ gives; run go generate ./internal/face/console", name)
		}
	}
	entries, err := os.ReadDir("../built")
	if err != nil || len(entries) != len(files) {
		t.Errorf("built has %d entries, %v", len(entries), err)
	}
}

func TestScriptIsSmall(t *testing.T) {
	script, err := os.ReadFile("../built/app.js")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(script); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	t.Logf("app.js: %d bytes, %d compressed", len(script), packed.Len())
	if packed.Len() > mostScript {
		t.Errorf("app.js has %d bytes compressed, at most %d are allowed", packed.Len(), mostScript)
	}
}
