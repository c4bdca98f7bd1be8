package plugins

import "encoding/json"

// settings is the part of a JSON Schema that says which values are secret.
type settings struct {
	WriteOnly  bool                 `json:"writeOnly"`
	Properties map[string]*settings `json:"properties"`
	Items      *settings            `json:"items"`
	Additional json.RawMessage      `json:"additionalProperties"`
}

// sensitiveValues are the texts in a configuration that its schema marks as
// writeOnly, and all below a mark.
func sensitiveValues(declared, config json.RawMessage) []string {
	s := new(settings)
	var value any
	if len(declared) == 0 || json.Unmarshal(declared, s) != nil || json.Unmarshal(config, &value) != nil {
		return nil
	}
	return s.collect(nil, value, false)
}

func (s *settings) collect(found []string, value any, marked bool) []string {
	if s == nil {
		s = new(settings)
	}
	marked = marked || s.WriteOnly
	switch v := value.(type) {
	case string:
		if marked && v != "" {
			found = append(found, v)
		}
	case []any:
		for _, item := range v {
			found = s.Items.collect(found, item, marked)
		}
	case map[string]any:
		for name, item := range v {
			found = s.property(name).collect(found, item, marked)
		}
	}
	return found
}

// property is the schema of a property, nil for none.
func (s *settings) property(name string) *settings {
	if p := s.Properties[name]; p != nil {
		return p
	}
	other := new(settings)
	if len(s.Additional) == 0 || json.Unmarshal(s.Additional, other) != nil {
		return nil
	}
	return other
}

// keepSensitive passes the secret values of a configuration to
// Options.Sensitive.
func (p *plugin) keepSensitive(declared, config json.RawMessage) {
	tell := p.manager.options.Sensitive
	if tell == nil {
		return
	}
	if values := sensitiveValues(declared, config); len(values) > 0 {
		tell(values)
	}
}
