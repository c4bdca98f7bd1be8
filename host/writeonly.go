package host

import (
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// recordable gives the parameters of a call for the record: without the values
// of what the tool's schema marks as writeOnly.
func (c *call) recordable() any {
	entry := c.host.Catalog().declared(c.request.Tool)
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

// withoutSecrets gives the words of a command line without the same values.
func (c *call) withoutSecrets(argv []string) []string {
	if len(c.secrets) == 0 {
		return argv
	}
	return hidingWords(argv, c.secrets, c.hidden)
}

// hidingWords hides a word that is a secret, however short, and what a redactor finds.
func hidingWords(argv, secrets []string, redactor *redactor) []string {
	clean := make([]string, len(argv))
	for i, word := range argv {
		if clean[i] = redactor.string(word); word != "" && slices.Contains(secrets, word) {
			clean[i] = redact.Mark
		}
	}
	return clean
}

// withoutWriteOnly hides what is secret in params, and gives it. What cannot be
// read is hidden whole.
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
