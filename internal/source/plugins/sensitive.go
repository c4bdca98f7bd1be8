package plugins

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host/schema"
)

// sensitiveValues are the texts in a configuration that its schema marks as writeOnly, and all below.
func sensitiveValues(declared, config json.RawMessage) []string {
	secrets := schema.SecretsOf(declared)
	if secrets == nil || !json.Valid(declared) {
		return nil
	}
	return secrets.Texts(config)
}

// keepSensitive passes the secret values of a configuration to Options.Sensitive.
func (p *plugin) keepSensitive(declared, config json.RawMessage) {
	report := p.manager.options.Sensitive
	if report == nil {
		return
	}
	if values := sensitiveValues(declared, config); len(values) > 0 {
		report(values)
	}
}
