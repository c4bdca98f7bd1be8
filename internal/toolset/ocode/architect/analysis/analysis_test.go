package analysis

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

func read(t *testing.T, files map[string]string) *Project {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	testfile.WriteAll(t, dir, files)
	ws, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { ws.Close() })
	p, err := Read(context.Background(), ws, ".")
	require.NoError(t, err)
	return p
}

func edges(p *Project) []string {
	list := []string{}
	for _, e := range p.Graph.Edges {
		list = append(list, e.From+" -> "+e.To)
	}
	return list
}

func externals(p *Project) []string {
	list := []string{}
	for _, e := range p.Graph.External {
		list = append(list, e.Name)
	}
	return list
}

func TestImportsAreResolved(t *testing.T) {
	tests := []struct {
		name     string
		files    map[string]string
		edges    []string
		external []string
	}{
		{
			name: "go: packages of the module, of a nested module, standard library and others",
			files: map[string]string{
				"go.mod": "module example.org/shop\n\nrequire github.com/lib/pq/v2 v2.0.0\n",
				"main.go": "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/shop/cart\"\n)\n\n" +
					"func main() { fmt.Println(cart.X) }\n",
				"cart/cart.go":   "package cart\n\nimport _ \"github.com/lib/pq/v2/oid\"\nimport _ \"example.org/tool/gen\"\n",
				"cart/x_test.go": "package cart\n\nimport _ \"example.org/shop\"\n",
				"tool/go.mod":    "module example.org/tool\n",
				"tool/gen/g.go":  "package gen\n\nimport _ \"example.org/shop/nowhere\"\n",
			},
			edges:    []string{". -> cart", "cart -> tool/gen"},
			external: []string{"example.org/shop/nowhere", "github.com/lib/pq/v2"},
		},
		{
			name: "python: absolute, relative, members that are modules, parentheses, strings that look like imports",
			files: map[string]string{
				"shop/__init__.py": "",
				"shop/cart.py": "import os, shop.model as m\nfrom .model import (\n" +
					"    Item,  # comment\n    Price,\n)\nfrom . import text; import requests.sessions\n",
				"shop/model.py":           "\"\"\"\nimport nothing\n\"\"\"\nx = 'import nothing'\n",
				"shop/text/__init__.py":   "from ..model import *\n",
				"shop/text/wrap.py":       "from \\\n  shop \\\n  import cart\n",
				"run.py":                  "def f():\n    from shop import cart, missing\nif __name__ == '__main__':\n    f()\n",
				"src/lib/__init__.py":     "",
				"src/lib/a.py":            "import lib.b\nimport numpy as np\n",
				"src/lib/b.py":            "",
				"tests/test_cart.py":      "import shop.cart\n",
				"requirements.txt":        "requests>=2 # http\n-r other.txt\nnumpy\n",
				"node_modules/x/index.py": "import shop.cart\n",
			},
			edges: []string{
				"run.py -> shop/__init__.py", "run.py -> shop/cart.py",
				"shop/cart.py -> shop/model.py", "shop/cart.py -> shop/text/__init__.py",
				"shop/text/__init__.py -> shop/model.py", "shop/text/wrap.py -> shop/cart.py",
				"src/lib/a.py -> src/lib/b.py",
			},
			external: []string{"numpy", "requests"},
		},
		{
			name: "javascript and typescript: every form, endings, index files, packages of the tree",
			files: map[string]string{
				"package.json": `{"name": "shop", "bin": {"shop": "cli.js"}, "dependencies": {"react": "1"}}`,
				"cli.js": "#!/usr/bin/env node\nconst a = require('./src/app');\n" +
					"require(\"fs\");\n// require('./src/none')\n",
				"src/app.ts": "import React, { useState } from 'react'\n" +
					"import type { T } from './types'\nexport * from './util/index.js'\n" +
					"import './side.js'\nconst x = await import('./lazy.js')\n" +
					"import p from '@acme/ui/button'\nimport * as n from 'node:path'\n",
				"src/types.ts":              "export type T = string\n",
				"src/util/index.ts":         "/* import x from '../app' */\nconst s = \"import y from '../app'\";\n",
				"src/side.js":               "",
				"src/lazy.js":               "import {\n  a,\n  b\n} from \"ui\";\n",
				"packages/ui/package.json":  `{"name": "ui", "main": "lib/main.js"}`,
				"packages/ui/lib/main.js":   "import x from './x'\n",
				"packages/ui/lib/x.jsx":     "",
				"src/app.test.ts":           "import './side'\n",
				"packages/ui/lib/x.spec.js": "import './main'\n",
			},
			edges: []string{
				"cli.js -> src/app.ts", "packages/ui/lib/main.js -> packages/ui/lib/x.jsx",
				"src/app.ts -> src/lazy.js", "src/app.ts -> src/side.js", "src/app.ts -> src/types.ts",
				"src/app.ts -> src/util/index.ts",
				"src/lazy.js -> packages/ui/lib/main.js",
			},
			external: []string{"@acme/ui", "react"},
		},
		{
			name: "java: packages, static and wildcard imports",
			files: map[string]string{
				"src/main/java/com/acme/App.java": "package com.acme;\nimport java.util.List;\n" +
					"import com.acme.model.Item;\nimport static com.acme.text.Words.join;\n" +
					"/* import com.acme.none.X; */\npublic class App { public static void main(String[] a) {} }\n",
				"src/main/java/com/acme/model/Item.java": "package com.acme.model;\nimport com.acme.text.*;\nimport org.slf4j.Logger;\n",
				"src/main/java/com/acme/text/Words.java": "package com.acme.text;\n",
			},
			edges: []string{
				"src/main/java/com/acme -> src/main/java/com/acme/model",
				"src/main/java/com/acme -> src/main/java/com/acme/text",
				"src/main/java/com/acme/model -> src/main/java/com/acme/text",
			},
			external: []string{"org.slf4j"},
		},
		{
			name: "rust: crate, self, super, braces, crates of the tree",
			files: map[string]string{
				"Cargo.toml":  "[package]\nname = \"shop\"\n[dependencies]\nserde = \"1\"\n",
				"src/main.rs": "mod cart;\nuse crate::cart::{item::Item, self};\nuse std::fmt;\nfn main() {}\n",
				"src/cart/mod.rs": "pub mod item;\nuse self::item::Item as I;\n" +
					"use serde::{Serialize, de::{self, Visitor}};\n// use crate::none::X;\n",
				"src/cart/item.rs":   "use super::super::price::Price;\nuse my_text::wrap;\n",
				"src/price.rs":       "pub struct Price;\n",
				"text/Cargo.toml":    "[package]\nname = \"my-text\"\n",
				"text/src/lib.rs":    "mod wrap;\n",
				"text/src/wrap.rs":   "use super::Thing;\n",
				"text/tests/wrap.rs": "use my_text::wrap;\n",
			},
			edges: []string{
				"src/cart/item.rs -> src/price.rs", "src/cart/item.rs -> text/src/wrap.rs",
				"src/cart/mod.rs -> src/cart/item.rs",
				"src/main.rs -> src/cart/item.rs", "src/main.rs -> src/cart/mod.rs",
				"text/src/wrap.rs -> text/src/lib.rs",
			},
			external: []string{"serde"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := read(t, test.files)
			assert.Equal(t, test.edges, edges(p))
			assert.ElementsMatch(t, test.external, externals(p))
		})
	}
}

func TestCyclesAreNamed(t *testing.T) {
	p := read(t, map[string]string{
		"a.js": "import './b'\nimport './e'\n", "b.js": "import './c'\nimport './d'\n", "c.js": "import './a'\n",
		"d.js": "import './a'\n", "e.js": "", "x.js": "import './y'\n", "y.js": "import './x'\n",
	})
	require.Len(t, p.Graph.Cycles, 2)
	assert.Equal(t, "a.js -> b.js -> c.js -> a.js", p.Graph.Cycles[0].String())
	assert.Equal(t, 4, p.Graph.Cycles[0].Members)
	assert.Equal(t, "x.js -> y.js -> x.js", p.Graph.Cycles[1].String())
	out, err := p.Report(architect.Dependencies, architect.Text, 3)
	require.NoError(t, err)
	assert.Contains(t, out, "a.js -> b.js -> c.js -> a.js")
	assert.Contains(t, out, "one way round a group of 4")
}

func TestIgnoredAndHiddenDirectoriesStayOut(t *testing.T) {
	p := read(t, map[string]string{
		".gitignore": "out/\n", "out/x.go": "package x\n", ".git/config": "x", ".agent/runs/a.go": "package a\n",
		"node_modules/m/i.js": "1", "a.go": "package a\n", ".ci/run": "#!/bin/sh\ntrue\n",
	})
	var paths []string
	for _, f := range p.Files {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{".ci/run", ".gitignore", "a.go"}, paths)
	assert.Equal(t, "Shell", p.Files[0].Language, "by its first line")
}

func TestCounts(t *testing.T) {
	p := read(t, map[string]string{"a.go": "// Package a.\npackage a\n\nfunc f(x int) {\n\tif x > 0 && x < 9 {\n\t}\n}\n",
		"blob.bin": "\x00\x01", "empty.py": ""})
	assert.Equal(t, Counts{Lines: 7, Code: 5, Comments: 1, Blanks: 1, Complexity: 2}, p.totals())
	assert.Equal(t, []string{"Go", "Python"}, p.Summary().Languages)
}

func TestReportsOfEveryKindAndFormat(t *testing.T) {
	p := read(t, map[string]string{
		"go.mod":           "module example.org/shop\n",
		"cmd/shop/main.go": "package main\n\nimport _ \"example.org/shop/cart\"\n\nfunc main() {}\n",
		"cart/cart.go":     "package cart\n", `we"ird <b>#x;/a.py`: "import os\n", "deep/er/than/three/x.js": "1\n",
	})
	for _, kind := range []architect.Kind{architect.Overview, architect.Structure, architect.Dependencies,
		architect.Metrics} {
		text, err := p.Report(kind, architect.Text, 3)
		require.NoError(t, err)
		assert.NotEmpty(t, text)
		out, err := p.Report(kind, architect.JSON, 3)
		require.NoError(t, err)
		assert.True(t, json.Valid([]byte(out)), out)
		assert.NotContains(t, out, ": null", "a list without elements is []")
		diagram, err := p.Report(kind, architect.Mermaid, 3)
		require.NoError(t, err)
		assert.NotContains(t, diagram, `we"ird`)
	}
	text, err := p.Report(architect.Structure, architect.Text, 2)
	require.NoError(t, err)
	assert.Contains(t, text, "└── er/  (1 file, 1 line of code, mostly JavaScript) + 1 deeper directory")
	text, err = p.Report(architect.Overview, architect.Text, 2)
	require.NoError(t, err)
	assert.Contains(t, text, "cmd/shop")
}

func TestUnknownKindAndFormat(t *testing.T) {
	p := read(t, map[string]string{"a.go": "package a\n"})
	_, err := p.Report("poem", architect.Text, 1)
	assert.Equal(t, tool.InvalidArgument, tool.AsError(err).Code)
	_, err = p.Report(architect.Overview, "pdf", 1)
	assert.Equal(t, tool.InvalidArgument, tool.AsError(err).Code)
}

func TestDepthJoinsComponents(t *testing.T) {
	p := read(t, map[string]string{
		"go.mod": "module m\n", "a/one/x.go": "package one\n\nimport _ \"m/b/two\"\n",
		"a/two/x.go": "package two\n\nimport _ \"m/b/two\"\nimport _ \"m/a/one\"\n", "b/two/x.go": "package two\n",
	})
	g := p.Graph.collapse(1)
	assert.Equal(t, []Edge{{From: "a", To: "b", Imports: 2}}, g.Edges)
	assert.Len(t, g.Nodes, 2)
}

func TestManifests(t *testing.T) {
	p := read(t, map[string]string{
		"go.mod":         "module example.org/a\n\nrequire (\n\texample.org/b v1.0.0\n\texample.org/c v1.0.0 // indirect\n)\n",
		"package.json":   `{"name":"n","dependencies":{"b":"1"},"devDependencies":{"a":"1"}}`,
		"pyproject.toml": "[project]\nname = \"p\"\ndependencies = [\"requests>=2\", \"rich[x]; python_version > '3'\"]\n",
		"Cargo.toml":     "[package]\nname = \"c\"\n[dependencies]\nserde = { version = \"1\" }\n",
		"pom.xml": "<project><artifactId>m</artifactId><dependencies><dependency><groupId>g</" +
			"groupId><artifactId>a</artifactId></dependency></dependencies></project>",
		"bad/package.json": "{",
	})
	got := map[string]string{}
	for _, m := range p.Manifests {
		got[m.Path] = fmt.Sprintf("%s %s %s %t", m.Kind, m.Name, strings.Join(m.Dependencies, ","), m.Error != "")
	}
	assert.Equal(t, map[string]string{
		"go.mod":           "Go module example.org/a example.org/b,example.org/c false",
		"package.json":     "npm package n a,b false",
		"pyproject.toml":   "Python project p requests,rich false",
		"Cargo.toml":       "Rust crate c serde false",
		"pom.xml":          "Maven project m g:a false",
		"bad/package.json": "npm package   true",
	}, got)
}

func FuzzReadSource(f *testing.F) {
	f.Add("Python", "from . import (a\n'''")
	f.Add("TypeScript", "import {a} from 'b' /*")
	f.Add("Rust", "use a::{b::{c}, d};")
	f.Add("Java", "package a.b; import static c.D.e;")
	f.Add("Go", "package a; import \"")
	f.Fuzz(func(t *testing.T, language, code string) {
		for _, i := range readSource(language, "x", []byte(code)).imports {
			assert.False(t, i.name == "" && i.level == 0, "an import of nothing")
		}
	})
}
