package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/toolhost/toolhost/host/argv"
)

// CheckExamples calls every tool of the file with its examples, which must be
// accepted, and its rejects, which must be refused. Paths in them are checked
// by paths. Nothing is run.
func CheckExamples(cfg *Config, paths argv.Paths) Diagnostics {
	var diags Diagnostics
	for i := range cfg.Tools {
		if cfg.Tools[i].Command == nil && cfg.Tools[i].Passthrough == nil {
			continue // a mistake that Parse reports
		}
		for _, problem := range cfg.Tools[i].CheckExamples(paths) {
			diag := &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "Example does not hold",
				Detail: problem.Message + ". " + problem.Suggestion, Extra: &note{suggestion: problem.Suggestion},
			}
			if at, ok := cfg.places[problem.Pos]; ok {
				diag.Subject = &at
			}
			diags = append(diags, diagnostic(diag, cfg.file))
		}
	}
	return diags
}
