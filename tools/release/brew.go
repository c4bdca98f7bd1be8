package main

import (
	"bytes"
	_ "embed"
	"text/template"
)

//go:embed templates/toolhost.rb.tmpl
var formulaTemplate string

type formulaSystem struct {
	Name     string
	Machines []formulaMachine
}

type formulaMachine struct{ Name, URL, SHA256 string }

func (b *build) formula(made map[string][]byte) ([]byte, error) {
	machines := map[string]string{"amd64": "intel", "arm64": "arm"}
	var systems []formulaSystem
	for _, s := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} {
		system := formulaSystem{Name: s[1]}
		for _, p := range b.targets() {
			if file := b.archiveName(name, p); p.os == s[0] {
				system.Machines = append(system.Machines, formulaMachine{machines[p.arch], b.downloadURL(file), digest(made[file])})
			}
		}
		if len(system.Machines) > 0 {
			systems = append(systems, system)
		}
	}
	var buf bytes.Buffer
	err := template.Must(template.New("formula").Parse(formulaTemplate)).Execute(&buf, map[string]any{
		"Summary": summary, "Homepage": homepage, "Version": number(b.version), "License": license, "Systems": systems})
	return buf.Bytes(), err
}
