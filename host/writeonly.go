package host

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// recordable returns the parameters for the record, without values marked as writeOnly.
func (c *call) recordable() any {
	catalog := c.host.Catalog()
	entry := cmp.Or(catalog.byName[c.request.Tool], catalog.withheld[c.request.Tool])
	if entry == nil || len(c.request.Params) == 0 {
		return jsonOrText(c.request.Params)
	}
	secrets := entry.secretParameters()
	if secrets == nil {
		return jsonOrText(c.request.Params)
	}
	params := c.request.Params
	if n, ok := entry.Tool.(tool.Normalizer); ok {
		params = n.Normalize(params) // an old name may stand for a secret one
	}
	clean, hidden := withoutWriteOnly(secrets, params)
	c.hidden, c.secrets = newRedactor(hidden), hidden
	return jsonOrText(clean)
}

// withoutSecrets removes the same values from a command line.
func (c *call) withoutSecrets(argv []string) []string {
	if len(c.secrets) == 0 {
		return argv
	}
	return hidingWords(argv, c.secrets, c.hidden)
}

// hidingWords hides each word that is a secret, however short, and what a redactor finds.
func hidingWords(argv, secrets []string, redactor *redactor) []string {
	clean := make([]string, len(argv))
	for i, word := range argv {
		if clean[i] = redactor.string(word); word != "" && slices.Contains(secrets, word) {
			clean[i] = redact.Mark
		}
	}
	return clean
}

// withoutWriteOnly hides the secrets in params and returns them. Unreadable parameters are hidden whole.
func withoutWriteOnly(secrets *schema.Secrets, params json.RawMessage) (clean json.RawMessage, hidden []string) {
	clean, err := secrets.Hide(params, func(secret any) any {
		hidden = append(hidden, schema.TextsIn(secret)...)
		return redact.Mark
	})
	if err != nil {
		return tool.MustMarshal(redact.Mark), nil
	}
	return clean, hidden
}
