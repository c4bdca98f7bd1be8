package plugins

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host/schema"
)

// sensitiveValues returns the texts in a configuration at or below what its schema marks as writeOnly.
func sensitiveValues(declared, config json.RawMessage) []string {
	secrets := schema.SecretsOf(declared)
	if secrets == nil || !json.Valid(declared) {
		return nil
	}
	return secrets.Texts(config)
}

// keepSensitive passes a configuration's secret values to Options.Sensitive.
func (p *plugin) keepSensitive(declared, config json.RawMessage) {
	report := p.manager.options.Sensitive
	if report == nil {
		return
	}
	if values := sensitiveValues(declared, config); len(values) > 0 {
		report(values)
	}
}
