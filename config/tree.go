package config

import (
	"bytes"
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/toolhost/toolhost/host/tool"
)

// json returns an attribute as compact JSON in the order of the source, nil if missing or wrong.
func (b block) json(name string) json.RawMessage {
	a := b.attrs[name]
	if a == nil {
		return nil
	}
	data, ok := b.tree(a.Expr)
	if !ok {
		return nil
	}
	return data
}

// tree returns an expression as JSON. Written lists and objects keep their order; all else is evaluated.
func (r *reader) tree(e hcl.Expression) (json.RawMessage, bool) {
	if items, diags := hcl.ExprList(e); !diags.HasErrors() {
		return r.array(items)
	}
	if pairs, diags := hcl.ExprMap(e); !diags.HasErrors() {
		return r.object(pairs)
	}
	v, ok := r.value(e)
	if !ok {
		return nil, false
	}
	plain, _ := v.UnmarkDeep()
	data, err := ctyjson.Marshal(plain, plain.Type())
	if err != nil {
		r.fail(e.Range(), "Wrong type", "", "This cannot be given as JSON: %s.", err)
		return nil, false
	}
	for _, text := range markedTexts(v) {
		r.derived(text)
	}
	return data, true
}

func (r *reader) array(items []hcl.Expression) (json.RawMessage, bool) {
	var b bytes.Buffer
	good := true
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		data, ok := r.tree(item)
		b.Write(data)
		good = good && ok
	}
	b.WriteByte(']')
	return b.Bytes(), good
}

func (r *reader) object(pairs []hcl.KeyValuePair) (json.RawMessage, bool) {
	var b bytes.Buffer
	good := true
	seen := make(keys, len(pairs))
	b.WriteByte('{')
	for i, pair := range pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		key, ok := r.key(pair.Key)
		data, valueOK := r.tree(pair.Value)
		ok = ok && r.fresh(seen, key, pair.Key.Range())
		b.Write(tool.MustMarshal(key))
		b.WriteByte(':')
		b.Write(data)
		good = good && ok && valueOK
	}
	b.WriteByte('}')
	return b.Bytes(), good
}
